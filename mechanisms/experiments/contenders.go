package main

import (
	"slices"

	"github.com/louver/louver/mechanisms/experiments/laws"
)

// contender is a mechanism in the study, with its law on a sample.
type contender struct {
	name string
	law  func(c *setting, s *laws.Sample) laws.Law
}

// setting is one row of the study.
type setting struct {
	input   input
	n       int
	epsilon float64
	p, q    int64
	flat    []float64
	cells   []float64
	tapered []float64
	borders []int64 // candidates of above_threshold
	known   map[sensitivity]float64
}

// sensitivity identifies a smooth sensitivity that several noises share.
type sensitivity struct {
	sample *laws.Sample
	p, q   int64
	beta   float64
}

func (c *setting) smoothQuantile(s *laws.Sample, beta float64) float64 {
	key := sensitivity{s, c.p, c.q, beta}
	if _, ok := c.known[key]; !ok {
		c.known[key] = laws.SmoothQuantile(s, c.p, c.q, beta)
	}
	return c.known[key]
}

func newSetting(in input) *setting {
	bounds := laws.CellBounds(in.last(), in.anchor())
	return &setting{
		input: in, flat: laws.Uniform(in.last()), cells: laws.Cells(in.last(), in.anchor()),
		tapered: laws.Tapered(in.last(), in.anchor()),
		borders: bounds[1 : len(bounds)-1], known: map[sensitivity]float64{},
	}
}

// information is ε·n·min(α, 1−α): the users on the quantile's smaller side, for each unit of noise.
func (c *setting) information() float64 {
	return c.epsilon * float64(c.n) * float64(min(c.p, c.q-c.p)) / float64(c.q)
}

// contenders returns the pure mechanisms for one quantile that a user can name, some under two measures. The first one
// was once the default.
func contenders() []contender {
	exponential := func(name string, u func(p, q int64) laws.Utility, cells bool) contender {
		return contender{name, func(c *setting, s *laws.Sample) laws.Law {
			mu := c.flat
			if cells {
				mu = c.cells
			}
			return laws.Exponential(s, u(c.p, c.q), c.epsilon, mu)
		}}
	}
	smooth := func(noise func(epsilon float64) laws.Noise) contender {
		return contender{noise(1).Name, func(c *setting, s *laws.Sample) laws.Law {
			n := noise(c.epsilon)
			if c.p*2 == c.q {
				g, median := laws.SmoothMedian(s, n.Beta)
				return laws.Smooth(s.Last(), median, g, n)
			}
			return laws.Smooth(s.Last(), float64(s.Quantile(c.p, c.q)), c.smoothQuantile(s, n.Beta), n)
		}}
	}
	symmetric := func(p, q int64) laws.Utility { return laws.Margin(p, q, 1, 1) }
	return []contender{
		exponential("margin", tilted, true),
		exponential("margin 1:1", symmetric, true),
		exponential("margin uniform", tilted, false),
		exponential("margin 1:1 uniform", symmetric, false),
		exponential("duff", laws.Duff, true),
		exponential("duff uniform", laws.Duff, false),
		{"permute_and_flip", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Flip(s, symmetric(c.p, c.q), c.epsilon, c.flat)
		}},
		exponential("rank", laws.Rank, false),
		exponential("mid_rank", laws.MidRank, false),
		{"piecewise_laplace", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Piecewise(s, laws.Duff(c.p, c.q), c.epsilon)
		}},
		{"above_threshold", func(c *setting, s *laws.Sample) laws.Law { return threshold(c, s, c.epsilon) }},
		smooth(laws.Power),
		smooth(func(e float64) laws.Noise { return laws.Student(e, false) }),
		smooth(func(e float64) laws.Noise { return laws.Cauchy(e, false) }),
	}
}

func tilted(p, q int64) laws.Utility {
	a, b := laws.Tilt(p, q)
	return laws.Margin(p, q, a, b)
}

// threshold starts at the end with more users between it and the quantile. For α < ½ it works on the mirrored sample.
func threshold(c *setting, s *laws.Sample, epsilon float64) laws.Law {
	alpha := float64(c.p) / float64(c.q)
	if alpha >= 0.5 {
		return laws.Threshold(s, alpha, epsilon/(2*alpha), epsilon/2, 0, c.borders)
	}
	var borders []int64
	for _, x := range slices.Backward(c.borders) {
		borders = append(borders, s.Last()-(x-1))
	}
	law := laws.Threshold(s.Mirror(), 1-alpha, epsilon/(2*(1-alpha)), epsilon/2, 0, borders)
	slices.Reverse(law)
	return law
}

// defaultChoices returns the defaults: the library's choice if nothing is known, if the account counts in zCDP, and if
// the number of users is given, correctly or not. The last one shows the value of asking for the number.
func defaultChoices() []contender {
	flip := func(c *setting, s *laws.Sample, epsilon float64) laws.Law {
		// The limit for few users depends on the ε of the whole query.
		return laws.Flip(s, laws.Default(c.p, c.q, c.epsilon), epsilon, c.tapered)
	}
	// A tail suits above_threshold if the candidates begin at 0 or pass 0.
	tail := func(c *setting) bool {
		end := c.input.last()
		if 2*c.p < c.q {
			end = 0
		}
		return 4*max(c.p, c.q-c.p) > 3*c.q && c.input.anchor() != end
	}
	told := func(name string, factor float64) contender {
		return contender{name, func(c *setting, s *laws.Sample) laws.Law {
			if tail(c) && factor*float64(c.n) < float64(laws.FewUsers(8, c.p, c.q, c.epsilon)) {
				return threshold(c, s, c.epsilon)
			}
			return flip(c, s, c.epsilon)
		}}
	}
	return []contender{
		{theDefault, func(c *setting, s *laws.Sample) laws.Law {
			if !tail(c) {
				return flip(c, s, c.epsilon)
			}
			share := 1. / 128
			if 20*min(c.p, c.q-c.p) >= c.q {
				share = 1. / 32
			}
			few := laws.FewProbability(s.Users(), laws.FewUsers(8, c.p, c.q, c.epsilon), share*c.epsilon)
			switch rest := (1 - share) * c.epsilon; {
			case few < 1e-12:
				return flip(c, s, rest)
			case few > 1-1e-12:
				return threshold(c, s, rest)
			default:
				return laws.Mix(few, threshold(c, s, rest), flip(c, s, rest))
			}
		}},
		{"default for zCDP", func(c *setting, s *laws.Sample) laws.Law {
			return laws.Exponential(s, laws.Default(c.p, c.q, c.epsilon), c.epsilon, c.tapered)
		}},
		told("default, told the users", 1),
		told("default, told a third", 1./3),
		told("default, told three times", 3),
		{"default without above_threshold", func(c *setting, s *laws.Sample) laws.Law { return flip(c, s, c.epsilon) }},
	}
}

const theDefault = "default"

func (c *setting) alpha() float64 { return float64(c.p) / float64(c.q) }

// samples returns several data sets of the same kind. Large ones differ less, so there are fewer of them.
func (c *setting) samples(s *session) []*laws.Sample {
	reps := s.reps(32, 1)
	for n := 100; n < c.n; n *= 10 {
		reps = max(1, reps/2)
	}
	return c.input.samples(c.n, reps)
}
