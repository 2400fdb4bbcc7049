package mechanisms

import "math/bits"

// Tapered returns the default measure. It has the cells of [Cells], but from 1/128 of the grid on the mass of a cell
// falls with its distance from the value 0:
//
//	mass_j ∝ 1/d_j,  d_j = max(start, offset + distance of cell j from 0),  start = max(16, (N+1)/128),
//
// where offset is 1/64 of the grid if 0 lies inside it, else 1.
//
// A draw with almost no information follows the measure. Under [Cells] the few cells at the far end of a wide grid make
// up most of its mean error. Under Tapered every octave of distance contributes equally. Data in the upper part of the
// range pay the price, as the study in the folder experiments shows. On grids of a few points it is the same as Cells.
//
// Privacy: it is a function of the public grid. See [Measure].
func Tapered(g *Grid) *Measure {
	bounds := g.cells()
	return cellMeasure(bounds, taperedMass(bounds, g.anchor), finest)
}

// taperedMass returns the mass of each cell in Q32, about 2^32 in all.
func taperedMass(bounds []int64, anchor int64) []uint64 {
	points := bounds[len(bounds)-1]
	start, offset := max(16, points/128), int64(1)
	if 0 < anchor && anchor < points-1 {
		offset = (points + 63) / 64
	}
	// There are at most 2·(16·ln(d/start) + 48) cells up to the distance d, so that the shares add up to less than
	// 2^64.
	raw, sum := make([]uint64, len(bounds)-1), uint64(0)
	for j := range raw {
		distance := offset + max(bounds[j]-anchor, anchor-bounds[j+1], 0)
		raw[j] = (1 << 62) / uint64(max(start, distance))
		sum += raw[j]
	}
	mass := raw
	for j, r := range raw {
		hi, lo := bits.Mul64(r, one)
		mass[j], _ = bits.Div64(hi, lo, sum)
	}
	return mass
}
