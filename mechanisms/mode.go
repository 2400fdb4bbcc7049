package mechanisms

import (
	"cmp"
	"io"
	"math"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// mode is the exponential mechanism for the most frequent value, P(x) ∝ e^{ε·n_x} over the whole grid, for n_x users at
// x.
//
// Privacy: ε-DP and ε-bounded-range without the usual factor ½. One more user raises one weight by the factor e^ε and
// lowers none, so that the normaliser grows by a factor in [1, e^ε] too and every probability changes by one in
// [e^{−ε}, e^ε]. (Gillenwater & Muñoz Medina 2020 use the distance instead of the count, at half the weight.)
type mode struct {
	header
	rate    exact.Rate
	measure *Measure
	choose  chooser
	scratch *scratches
	surplus float64 // values that are so many users behind the best, or more, are negligible together
}

func newMode(q *Query) (Mechanism, error) {
	epsilon := q.Epsilon.InexactFloat64()
	return &mode{
		header:  header{cmp.Or(q.Mechanism, "exponential"), privacy.NewBoundedRange(q.Epsilon)},
		rate:    q.rate(1),
		measure: Uniform(q.Grid),
		choose:  (*survey).exponential,
		scratch: &scratches{},
		surplus: math.Ceil(math.Log(float64(q.Grid.last+1)/negligible) / epsilon),
	}, nil
}

func (m *mode) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return m.scratch.draw(s, random, func(k *scratch) (Draw, error) {
		m.look(s, &k.survey)
		return Draw{Values: single(m.choose(&k.survey, &k.source), unbounded())}, nil
	})
}

// look surveys the values that have almost as many users as the most frequent one. A draw finds a point of the rest by
// trying points of the whole grid. The rest is asked for in proportion to its mass, so that few tries are needed.
func (m *mode) look(s *Sample, v *survey) {
	v.begin(popularity{s}, m.rate, m.measure, 0)
	v.floor = int64(min(float64(s.most), m.surplus))
	v.unseen = func(source *exact.Source) int64 {
		for {
			if x := int64(source.Below(v.measure.total())); v.level(x) >= v.floor {
				return x
			}
		}
	}
	before := int64(0)
	for j, upTo := range s.upTo {
		if level := s.most - (upTo - before); level < v.floor {
			v.see(run{from: uint64(s.values[j]), mass: 1, heaviest: 1, level: level})
		}
		before = upTo
	}
	if len(v.runs) == 0 { // no users
		v.see(run{mass: v.rest, heaviest: 1})
	}
}

// Lead95 is the least lead g, in users, with which a mode is found. A value that is ahead of each of `others` values by
// g users or more is drawn with probability 95 % at least: P(x) ∝ e^{ε·n_x} draws it with probability 1/(1 +
// others·e^{−εg}) at least, and permute-and-flip is no worse.
func Lead95(epsilon float64, others int64) int64 {
	return int64(min(math.Ceil(math.Log(19*float64(others))/epsilon), 1<<53))
}

// popularity has the levels n_best − n_x.
type popularity struct{ *Sample }

func (s popularity) level(x int64) int64 { return s.most - (s.AtMost(x) - s.Below(x)) }

func newModeFlip(q *Query) (Mechanism, error) {
	m, err := newMode(q)
	if err != nil {
		return nil, err
	}
	flipped := *m.(*mode)
	flipped.header = header{"permute_and_flip", privacy.NewPure(q.Epsilon)}
	flipped.choose = (*survey).flip
	return &flipped, nil
}
