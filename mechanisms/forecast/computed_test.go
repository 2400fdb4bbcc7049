package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
)

// users are n people with random values within bounds.
type users struct {
	shape  string
	value  func(*rand.Rand) float64
	bounds [3]string
	n      int
}

// computation is a histogram of users, and figures from it.
type computation struct {
	users
	buckets *mechanisms.Bucketing
	rho     bool
	epsilon string
	figures []mechanisms.Query
}

func (c computation) String() string {
	return fmt.Sprintf("%s of %s, %d users, ε %s, ρ %v", c.buckets, c.shape, c.n, c.epsilon, c.rho)
}

func (c computation) query(t testing.TB) mechanisms.Query {
	t.Helper()
	q := mechanisms.Query{Statistic: mechanisms.Histogram, Epsilon: dec(c.epsilon), Buckets: c.buckets, ZCDP: c.rho,
		Grid: grid(t, c.bounds[0], c.bounds[1], c.bounds[2])}
	for _, of := range c.figures {
		of.Grid = q.Grid
		cuts, err := of.ComputedCuts()
		if err != nil {
			t.Fatal(err)
		}
		q.Cuts = append(q.Cuts, cuts...)
	}
	return q
}

// observed draws the histograms of a computation and collects the errors of its figures.
type observed struct {
	computation
	mechanism mechanisms.Mechanism
	buckets   *histogram.Buckets
	noise     histogram.Noise
	free      []*mechanisms.Computed
	bits      *rand.ChaCha8
	errors    [][]float64 // by figure
}

func (c computation) observed(t testing.TB) *observed {
	t.Helper()
	q := c.query(t)
	o := &observed{computation: c, mechanism: build(t, q), errors: make([][]float64, len(c.figures)),
		bits: rand.NewChaCha8([32]byte{byte(c.n), 9})}
	o.buckets = mechanisms.Buckets(o.mechanism)
	o.noise = mechanisms.HistogramNoise(o.mechanism.Name(), q.Epsilon.InexactFloat64(), o.buckets.Levels())
	for _, of := range c.figures {
		of.Grid = q.Grid
		f, err := mechanisms.NewComputed(of, o.buckets)
		if err != nil {
			t.Fatal(err)
		}
		o.free = append(o.free, f)
	}
	return o
}

// draw draws one histogram and compares what is computed from it with the true figures.
func (o *observed) draw(t testing.TB, s *mechanisms.Sample, truths []float64) {
	t.Helper()
	draw, err := o.mechanism.Draw(s, mechanisms.Public{}, o.bits)
	if err != nil {
		t.Fatal(err)
	}
	e := o.buckets.Estimate(draw.Raw, draw.Coarse, o.noise, 1)
	for i, f := range o.free {
		distance := math.Inf(1)
		if v, ok := f.Of(e); ok {
			distance = math.Abs(v.Value.InexactFloat64() - truths[i])
		}
		o.errors[i] = append(o.errors[i], distance)
	}
}

// simulate draws the values of users, one by one, and lets every computation see the same users. All computations want
// the same figures. It shares nothing with the forecast but the mechanism.
func (u users) simulate(t testing.TB, all []*observed, times int) {
	t.Helper()
	g := grid(t, u.bounds[0], u.bounds[1], u.bounds[2])
	step, lower := g.Step().InexactFloat64(), g.Lower().InexactFloat64()
	random := rand.New(rand.NewPCG(uint64(u.n), 7))
	counts := make([]int64, g.Last()+1) // of the users of each value
	truths := make([]float64, len(all[0].figures))
	var points []mechanisms.Point
	for range times {
		low, high := g.Last(), int64(0)
		for range u.n {
			index := int64(min(max(math.Round((u.value(random)-lower)/step), 0), float64(g.Last())))
			counts[index]++
			low, high = min(low, index), max(high, index)
		}
		points = points[:0]
		for i := low; i <= high; i++ {
			if counts[i] > 0 {
				points = append(points, mechanisms.Point{Index: i, Count: counts[i]})
				counts[i] = 0
			}
		}
		s := mechanisms.NewSample(g, points)
		for i, of := range all[0].figures {
			of.Grid = g
			right := of.Truth(s)[0]
			truths[i] = (right[0].InexactFloat64() + right[len(right)-1].InexactFloat64()) / 2
		}
		for _, o := range all {
			o.draw(t, s, truths)
		}
	}
}

func quantileOf(p string) mechanisms.Query {
	return mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{dec(p)}}
}

func computations() (all []computation) {
	native := func(scale int) *mechanisms.Bucketing { return &mechanisms.Bucketing{Native: true, Scale: scale} }
	list := &mechanisms.Bucketing{Ends: []decimal.Decimal{dec("50"), dec("100"), dec("200"), dec("400"), dec("800")}}
	of := []mechanisms.Query{quantileOf("0.5"), quantileOf("0.9"), quantileOf("0.99"),
		{Statistic: mechanisms.Share, Above: new(dec("150"))}, {Statistic: mechanisms.Count, Above: new(dec("150"))}}
	for _, n := range []int{20, 150, 1000, 7000} {
		wide := users{"lognormal:120,0.6", latency, [3]string{"0", "60000", "1"}, n}
		narrow := users{"normal:60,17", normal, [3]string{"-50", "200", "0.01"}, n}
		for _, epsilon := range []string{"0.1", "1"} {
			if epsilon == "0.1" && n == 7000 {
				continue // it takes long, and is like 1,000 users with more ε
			}
			all = append(all,
				computation{wide, native(3), false, epsilon, of},
				computation{wide, native(2), n == 150, epsilon, of},
				computation{wide, list, n == 1000, epsilon, of},
				computation{narrow, native(1), false, epsilon, of})
		}
	}
	return all
}

// simulatedComputations are the simulations of all [computations], each of as many windows: both tests below compare
// with them.
var simulatedComputations struct {
	once sync.Once
	all  []*observed
}

const simulatedWindows = 2000

// computationsSimulated makes them once. The errors of each figure are in ascending order.
func computationsSimulated(t testing.TB) []*observed {
	t.Helper()
	simulatedComputations.once.Do(func() {
		type key struct {
			shape string
			n     int
		}
		same := map[key][]*observed{}
		var all []*observed
		for _, c := range computations() {
			o := c.observed(t)
			all = append(all, o)
			same[key{c.shape, c.n}] = append(same[key{c.shape, c.n}], o)
		}
		for _, of := range same {
			of[0].simulate(t, of, simulatedWindows)
		}
		for _, o := range all {
			for _, errors := range o.errors {
				slices.Sort(errors)
			}
		}
		simulatedComputations.all = all
	})
	return simulatedComputations.all
}

// Compares the forecast with 2,000 simulated windows of each setting. The forecast itself tries 4,096 samples: it is
// off by less than 3 % in probability with 1 − 10^−4 (four standard deviations of √(¼/4096) = 0.8 %). The total chance
// of a false alarm beyond that is 10⁻⁶, divided among settings, figures, two levels and two sides.
func TestComputedAgainstSimulation(t *testing.T) {
	const slack, times = 0.03, simulatedWindows
	all := computationsSimulated(t)
	alarm := 1e-6 / float64(4*5*len(all))
	for _, c := range all {
		q, errors := c.query(t), c.errors
		forecasts, err := Computed(q, build(t, q), c.figures,
			Public{Users: int64(c.n), Shape: shape(t, c.shape, q.Grid)})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range forecasts {
			for p, figure := range map[float64]*float64{0.5: f.TypicalError, 0.95: f.Error95} {
				if figure == nil { // more than so many are withheld
					figure = new(math.Inf(1))
				}
				if why := contradicts(errors[i], *figure, p, slack, alarm); why != "" {
					t.Errorf("%s, %s %v: %s", c, c.figures[i].Statistic, c.figures[i].P, why)
				}
			}
			// The error of a number of users holds for any data.
			if f.CountError != nil {
				within := 0
				for _, x := range errors[i] {
					if x <= float64(*f.CountError) {
						within++
					}
				}
				// Binomial(2000, 0.95) is less with a probability of 10⁻⁴ at most; a band holds 0.97
				if within < times*93/100 {
					t.Errorf("%s: %d of %d counts are within %d users", c, within, times, *f.CountError)
				}
			}
		}
	}
}

// The same comparison catches a forecast for a larger ε, and one that knows only the noise and not the width of the
// buckets: that of finer ones, whose noise is about the same.
func TestSimulationCatchesWrongComputed(t *testing.T) {
	type setting struct {
		scale, n int // a scale of 0: the list
		epsilon  string
	}
	simulated := map[setting]*observed{}
	for _, c := range computationsSimulated(t) {
		if c.shape == "lognormal:120,0.6" {
			simulated[setting{c.computation.buckets.Scale, c.n, c.epsilon}] = c
		}
	}
	for _, x := range []struct {
		name        string
		right       setting
		scale       int // of the wrong forecast, and its ε
		epsilon     string
		figure      int
		probability float64
	}{
		{"a larger ε", setting{3, 1000, "0.1"}, 3, "0.14", 0, 0.5},
		{"a larger ε", setting{3, 1000, "0.1"}, 3, "0.14", 1, 0.95},
		{"noise alone", setting{0, 7000, "1"}, 3, "1", 2, 0.5},
	} {
		right := simulated[x.right]
		if right == nil {
			t.Fatalf("%s: %+v is not simulated", x.name, x.right)
		}
		errors, wrong := right.errors[x.figure], right.computation
		wrong.buckets, wrong.epsilon = &mechanisms.Bucketing{Native: true, Scale: x.scale}, x.epsilon
		q := wrong.query(t)
		f, err := Computed(q, build(t, q), wrong.figures[x.figure:x.figure+1],
			Public{Users: int64(wrong.n), Shape: shape(t, wrong.shape, q.Grid)})
		if err != nil {
			t.Fatal(err)
		}
		figure := f[0].TypicalError
		if x.probability == 0.95 {
			figure = f[0].Error95
		}
		if contradicts(errors, *figure, x.probability, 0.03, 1e-6) == "" {
			t.Errorf("%s: %v passes, where it is %v", x.name, *figure, law(errors).at(x.probability))
		}
	}
}

func BenchmarkComputed(b *testing.B) {
	c := computations()[0]
	q := c.query(b)
	m, public := build(b, q), Public{Users: 1000, Shape: shape(b, c.shape, q.Grid)}
	for b.Loop() {
		if _, err := Computed(q, m, c.figures, public); err != nil {
			b.Fatal(err)
		}
	}
}
