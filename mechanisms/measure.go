package mechanisms

// Measure is a public base measure on a grid: cells of neighbouring points and one whole weight for all points of a
// cell. It is immutable and safe for concurrent use.
type Measure struct {
	bounds []int64  // cell j holds the points bounds[j] ≤ x < bounds[j+1]
	weight []uint64 // of one point of cell j, at least 1
	before []uint64 // before[j] = mass of all cells left of j; the last entry is the total, less than 2^63
}
