package mechanisms

import (
	"io"
	"math"

	"github.com/louver/louver/mechanisms/exact"
)

// mode is the exponential mechanism for the value that most users hold, P(x) ∝ e^{ε·n_x} over the whole grid, for n_x
// users at x.
//
// Privacy: ε-DP and ε-bounded-range without the usual factor ½. One more user raises one weight by the factor e^ε and
// lowers none, so that the normaliser grows by a factor in [1, e^ε] too and every probability changes by one in
// [e^{−ε}, e^ε]. (Gillenwater & Muñoz Medina 2020 use the distance instead of the count, at half the weight.)
type mode struct {
	header
	grid    *Grid
	rate    exact.Rate
	surplus float64 // how much fewer users than the best a value may have before all such values together are negligible
}

func newMode(q *Query) (Mechanism, error) {
	epsilon := q.Epsilon.InexactFloat64()
	return &mode{
		header:  header{"duff", boundedRange(q.Epsilon)},
		grid:    q.Grid,
		rate:    q.rate(1),
		surplus: math.Ceil(math.Log(float64(q.Grid.last+1)/negligible) / epsilon),
	}, nil
}

// Draw puts the values of almost as many users as the best on the wheel, and the whole grid once more as one piece of
// the level just below. A point drawn from that piece is kept if it is not on the wheel itself, and with the
// probability that makes up for its true level; else all is drawn again (see outward).
func (m *mode) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	if err := s.check(); err != nil {
		return Draw{}, err
	}
	source := exact.NewSource(random)
	floor := int64(min(float64(s.most), m.surplus))
	var wheel exact.Wheel
	wheel.Reset(m.rate, 0)
	var seen []int64
	before := int64(0)
	for j, upTo := range s.upTo {
		if level := s.most - (upTo - before); level < floor {
			wheel.Add(1, level)
			seen = append(seen, s.values[j])
		}
		before = upTo
	}
	wheel.Add(uint64(m.grid.last)+1, floor)
	d := Draw{RankError95: []float64{math.NaN()}}
	for {
		if i := wheel.Spin(source); i < len(seen) {
			d.Values = []int64{seen[i]}
			return d, source.Err()
		}
		x := int64(source.Below(uint64(m.grid.last) + 1))
		level := s.most - (s.atMost(x) - s.below(x))
		if level >= floor && source.ExpCoin(m.rate, level-floor) {
			d.Values = []int64{x}
			return d, source.Err()
		}
	}
}
