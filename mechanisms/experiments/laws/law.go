// Package laws computes the distributions that private mechanisms draw from, in float64 and directly from their
// definitions, so that experiments can state expected errors instead of averages over draws. It shares no code with the
// samplers. Tests compare the two.
//
// All distributions are on the grid indices 0..N. A [Law] holds the probability of each index.
package laws

import (
	"math"
	"slices"
)

// Law is a distribution on the grid: Law[x] is the probability of index x.
type Law []float64

// Sample is a multiset of grid indices, one for each user.
type Sample struct {
	Sorted []int64
	last   int64
	counts []int64 // users at each index; nil on a fine grid
}

// NewSample sorts values in place. They are indices in 0..last.
func NewSample(values []int64, last int64) *Sample {
	slices.Sort(values)
	s := Fine(values, last)
	s.counts = make([]int64, last+1)
	for _, v := range values {
		s.counts[v]++
	}
	return s
}

// Fine returns a sample on a grid so fine that it approximates the real numbers. Of the laws only [MeanOverGaps]
// supports it.
func Fine(values []int64, last int64) *Sample {
	slices.Sort(values)
	return &Sample{Sorted: values, last: last}
}

// Mirror returns the mirrored sample.
func (s *Sample) Mirror() *Sample {
	values := make([]int64, len(s.Sorted))
	for i, x := range s.Sorted {
		values[i] = s.last - x
	}
	return NewSample(values, s.last)
}

// Last returns the last grid index N.
func (s *Sample) Last() int64 { return s.last }

// Users returns the number of users.
func (s *Sample) Users() int64 { return int64(len(s.Sorted)) }

// Distinct returns the distinct values in order, and for each how many users hold it or a smaller one.
func (s *Sample) Distinct() (values, upTo []int64) {
	for i, v := range s.Sorted {
		if last := len(values) - 1; last < 0 || values[last] < v {
			values, upTo = append(values, v), append(upTo, 0)
		}
		upTo[len(upTo)-1] = int64(i + 1)
	}
	return values, upTo
}

// Below returns how many users hold less than x.
func (s *Sample) Below(x int64) int64 {
	i, _ := slices.BinarySearch(s.Sorted, x)
	return int64(i)
}

// At returns X(r), the r-th smallest value: the lower end of the grid for r < 1, the upper end for r > n.
func (s *Sample) At(r int64) int64 {
	switch {
	case r < 1:
		return 0
	case r > s.Users():
		return s.Last()
	}
	return s.Sorted[r-1]
}

// Quantile returns X(⌈pn/q⌉), from which errors are measured.
func (s *Sample) Quantile(p, q int64) int64 {
	return s.At(max(1, (p*s.Users()+q-1)/q))
}

// Errors is the distribution of |x − T| in grid steps, over one or several samples.
type Errors struct {
	weight []float64
	total  float64
}

// Add includes the law of one sample, whose true value is the index target.
func (e *Errors) Add(law Law, target int64) {
	if e.weight == nil {
		e.weight = make([]float64, len(law))
	}
	for x, p := range law {
		e.weight[max(int64(x)-target, target-int64(x))] += p
	}
	e.total++
}

// Mean is E|x − T|.
func (e *Errors) Mean() float64 {
	sum := 0.0
	for d, w := range e.weight {
		sum += float64(d) * w
	}
	return sum / e.total
}

// Quantile is the least d with P(|x − T| ≤ d) ≥ level.
func (e *Errors) Quantile(level float64) float64 {
	sum := 0.0
	for d, w := range e.weight {
		if sum += w; sum >= level*e.total {
			return float64(d)
		}
	}
	return float64(len(e.weight) - 1)
}

// normalise divides by the sum.
func normalise(law Law) Law {
	sum := 0.0
	for _, w := range law {
		sum += w
	}
	for x := range law {
		law[x] /= sum
	}
	return law
}

// nodes and weights of 8-point Gauss-Legendre quadrature on [−1, 1]: the positive half.
var (
	gaussNode   = [4]float64{0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363}
	gaussWeight = [4]float64{0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763}
)

// integrate calls f with the nodes in each panel between neighbouring ends and with their weights in the sum.
func integrate(ends []float64, f func(t, weight float64)) {
	for i := 1; i < len(ends); i++ {
		half, middle := (ends[i]-ends[i-1])/2, (ends[i]+ends[i-1])/2
		if half <= 0 {
			continue
		}
		for k, node := range gaussNode {
			f(middle-half*node, half*gaussWeight[k])
			f(middle+half*node, half*gaussWeight[k])
		}
	}
}

// evenly returns the ends of n panels of [0, to].
func evenly(to float64, n int) []float64 {
	ends := make([]float64, n+1)
	for i := range ends {
		ends[i] = to * float64(i) / float64(n)
	}
	return ends
}

// Uniform is the base measure with equal weight for all points.
func Uniform(last int64) []float64 {
	mu := make([]float64, last+1)
	for i := range mu {
		mu[i] = 1
	}
	return mu
}

// CellBounds returns the ends of the cells of the logarithmic base measure around anchor, the index of the value 0. A
// cell's width is a sixteenth of its distance from there, and at most 1/32 of the grid. If 0 is inside the grid,
// distances start at 1/64 of the grid.
func CellBounds(last, anchor int64) []int64 {
	points := last + 1
	widest := (points + 31) / 32
	offset := int64(0)
	if 0 < anchor && anchor < last {
		offset = (points + 63) / 64
	}
	width := func(distance int64) int64 { return max(1, min((distance+offset)/16, widest)) }
	bounds := []int64{anchor}
	for at := anchor; at > 0; {
		at -= min(width(anchor-at+1), at)
		bounds = append(bounds, at)
	}
	slices.Reverse(bounds)
	for at := anchor; at < points; {
		at += min(width(at-anchor), points-at)
		bounds = append(bounds, at)
	}
	return bounds
}

// Cells is the base measure in which all cells of [CellBounds] have the same mass.
func Cells(last, anchor int64) []float64 { return byDistance(last, anchor, math.Inf(1)) }

// Tapered is the base measure in which the mass of a cell falls with its distance from the value 0, starting at 1/128
// of the grid.
func Tapered(last, anchor int64) []float64 {
	return byDistance(last, anchor, max(16, math.Floor(float64(last+1)/128)))
}

// byDistance is a measure in which the mass of a cell falls with the distance from the value 0, beginning at start.
func byDistance(last, anchor int64, start float64) []float64 {
	mu := make([]float64, last+1)
	bounds := CellBounds(last, anchor)
	offset := int64(1)
	if 0 < anchor && anchor < last {
		offset = (last + 64) / 64
	}
	for j := 1; j < len(bounds); j++ {
		from, to := bounds[j-1], bounds[j]
		distance := max(from-anchor, anchor-to, 0) + offset
		for x := from; x < to; x++ {
			mu[x] = 1 / max(1, float64(distance)/start) / float64(to-from)
		}
	}
	return mu
}

// exponential returns P(x) ∝ μ(x)·e^{−κ·level(x)}.
func exponential(levels []int64, kappa float64, mu []float64) Law {
	law := make(Law, len(levels))
	best := slices.Min(levels)
	weight, at := 1.0, best
	for x, level := range levels {
		if level != at {
			weight, at = math.Exp(-kappa*float64(level-best)), level
		}
		law[x] = weight * mu[x]
	}
	return normalise(law)
}
