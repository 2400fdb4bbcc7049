package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// windows are samples of users with values of some shape, every one drawn anew, found without this package.
type windows struct {
	users
	values  [][]int64 // of each window, in ascending order
	samples []*mechanisms.Sample
}

func (u users) windows(t testing.TB, times int) windows {
	t.Helper()
	g := grid(t, u.bounds[0], u.bounds[1], u.bounds[2])
	step, lower := g.Step().InexactFloat64(), g.Lower().InexactFloat64()
	random := rand.New(rand.NewChaCha8([32]byte{byte(u.n), byte(u.n >> 8)}))
	w, points := windows{users: u}, make([]mechanisms.Point, u.n)
	for range times {
		values := make([]int64, u.n)
		for i := range values {
			index := math.Round((u.value(random) - lower) / step)
			values[i] = int64(min(max(index, 0), float64(g.Last())))
		}
		slices.Sort(values)
		for i, v := range values {
			points[i] = mechanisms.Point{Index: v, Count: 1}
		}
		w.values, w.samples = append(w.values, values), append(w.samples, mechanisms.NewSample(g, points))
	}
	return w
}

// simulated returns errors of a mechanism: the distance of one release for each window from the window's own statistic;
// for even n that is the midpoint of the two middle values.
func (w windows) simulated(t testing.TB, q mechanisms.Query) []float64 {
	t.Helper()
	m, step, from := build(t, q), q.Grid.Step().InexactFloat64(), q.Grid.Value(0).InexactFloat64()
	scale, bits := q.Scale(m), rand.NewChaCha8([32]byte{1})
	if q.Statistic == mechanisms.Sum {
		from = 0
	}
	errors := make([]float64, 0, len(w.samples))
	for i, s := range w.samples {
		draw, err := m.Draw(s, mechanisms.Public{}, bits)
		if err != nil {
			t.Fatal(err)
		}
		errors = append(errors, math.Abs(scale.Float(draw.Values[0].Number)-from-statistic(q, w.values[i])*step))
	}
	return errors
}

// statistic computes a statistic of sorted values.
func statistic(q mechanisms.Query, values []int64) float64 {
	n := len(values)
	switch q.Statistic {
	case mechanisms.Median:
		return float64(values[(n-1)/2]+values[n/2]) / 2
	case mechanisms.Quantile:
		below := q.P[0].InexactFloat64() * float64(n)
		return float64(values[int(math.Ceil(below-1e-9))-1]+values[int(math.Floor(below+1e-9))]) / 2
	}
	if q.Statistic == mechanisms.Sum {
		sum := int64(0)
		for _, v := range values {
			sum += v
		}
		lower := q.Grid.Lower().InexactFloat64() / q.Grid.Step().InexactFloat64()
		return float64(sum) + lower*float64(n)
	}
	cut := int(q.Trim.InexactFloat64()*float64(n) + 1e-9)
	sum := int64(0)
	for _, v := range values[cut : n-cut] {
		sum += v
	}
	return float64(sum) / float64(n-2*cut)
}

// contradicts tells how errors contradict a figure that they should stay below with probability p, give or take slack:
// too many are less than the figure, or too few are at most the figure. It is wrong with probability at most alarm. By
// Chernoff's bound a share of n trials of probability p is beyond s with probability e^{−n·KL(s, p)} at most.
func contradicts(errors []float64, figure, p, slack, alarm float64) string {
	below, upTo := 0., 0.
	for _, e := range errors {
		if e < figure {
			below++
		}
		if e <= figure {
			upTo++
		}
	}
	n := float64(len(errors))
	far := func(s, p float64) bool {
		term := func(a, b float64) float64 {
			if a == 0 {
				return 0
			}
			return a * math.Log(a/b)
		}
		return n*(term(s, p)+term(1-s, 1-p)) > -math.Log(alarm)
	}
	if s, p := below/n, min(p+slack, 1-1e-9); s > p && far(s, p) {
		return fmt.Sprintf("%.3f of the errors are less than %.4g, want %.2f", s, figure, p)
	}
	if s, p := upTo/n, p-slack; s < p && far(s, p) {
		return fmt.Sprintf("%.3f of the errors are up to %.4g, want %.2f", s, figure, p)
	}
	return ""
}

type simulation struct {
	users
	statistic mechanisms.Statistic
	p         string
	epsilon   string
}

func (c simulation) query(t testing.TB) mechanisms.Query {
	q := mechanisms.Query{Statistic: c.statistic, Epsilon: dec(c.epsilon),
		Grid: grid(t, c.bounds[0], c.bounds[1], c.bounds[2])}
	switch c.statistic {
	case mechanisms.Quantile:
		q.P = []decimal.Decimal{dec(c.p)}
	case mechanisms.TrimmedMean:
		q.Trim = dec(c.p)
	}
	return q
}

func (c simulation) String() string {
	return fmt.Sprintf("%s %s of %s, %d users, ε %s", c.statistic, c.p, c.shape, c.n, c.epsilon)
}

func normal(r *rand.Rand) float64   { return 60 + 17*r.NormFloat64() }
func latency(r *rand.Rand) float64  { return 120 * math.Exp(0.6*r.NormFloat64()) }
func anything(r *rand.Rand) float64 { return 1000 * r.Float64() }

// simulations returns settings, those of the same users together.
func simulations() (all [][]simulation) {
	narrow, wide, round := [3]string{"0", "200", "0.01"}, [3]string{"0", "60000", "1"}, [3]string{"0", "1000", "0.1"}
	type figure struct {
		statistic mechanisms.Statistic
		p         string
	}
	for _, n := range []int{10, 50, 310, 2000} {
		for _, x := range []struct {
			users
			figures []figure
		}{
			{users{"normal:60,17", normal, narrow, n}, []figure{{mechanisms.Median, ""}, {mechanisms.TrimmedMean, "0.1"}}},
			{users{"lognormal:120,0.6", latency, wide, n}, []figure{{mechanisms.Quantile, "0.9"},
				{mechanisms.Quantile, "0.99"}, {mechanisms.Mean, ""}, {mechanisms.Sum, ""}}},
			{users{"uniform:0,1000", anything, round, n}, []figure{{mechanisms.Quantile, "0.25"}}},
		} {
			var of []simulation
			for _, f := range x.figures {
				for _, epsilon := range []string{"0.1", "1", "4"} {
					of = append(of, simulation{x.users, f.statistic, f.p, epsilon})
				}
			}
			all = append(all, of)
		}
	}
	return all
}

// Compares the forecast with simulation, over shapes, users and ε. The forecast is off by up to 2 % in probability,
// since it tries 512 samples. The total chance of a false alarm is 10⁻⁶, divided among the settings, two levels and two
// sides.
func TestForecastAgainstSimulation(t *testing.T) {
	const slack, times = 0.02, 800
	all := simulations()
	settings := 0
	for _, of := range all {
		settings += len(of)
	}
	alarm := 1e-6 / float64(4*settings)
	for _, of := range all {
		w := of[0].windows(t, times)
		for _, c := range of {
			c.compare(t, w, slack, alarm)
		}
	}
}

func (c simulation) compare(t *testing.T, w windows, slack, alarm float64) {
	t.Helper()
	q := c.query(t)
	errors := w.simulated(t, q)
	f := of(t, q, Public{Users: int64(c.n), Shape: shape(t, c.shape, q.Grid)})
	slices.Sort(errors)
	t.Logf("%s: forecast %.4g and %.4g, simulated %.4g and %.4g", c, *f.TypicalError,
		*f.Error95, law(errors).at(0.5), law(errors).at(0.95))
	for p, figure := range map[float64]float64{0.5: *f.TypicalError, 0.95: *f.Error95} {
		if why := contradicts(errors, figure, p, slack, alarm); why != "" {
			t.Errorf("%s: %s", c, why)
		}
	}
}

// The same comparison catches a forecast for an ε that is 30 % off either way. It also catches the forecast of an
// earlier model, in which values were evenly spaced and everything between the two middle ones counted as the median.
func TestSimulationCatchesWrongForecasts(t *testing.T) {
	const slack, times, alarm = 0.02, 6000, 1e-8
	c := simulation{users{"normal:60,17", normal, [3]string{"0", "200", "0.01"}, 310}, mechanisms.Median, "", "1"}
	q := c.query(t)
	errors := c.windows(t, times).simulated(t, q)
	for _, epsilon := range []string{"0.7", "1.3"} {
		wrong := q
		wrong.Epsilon = dec(epsilon)
		f := of(t, wrong, Public{Users: int64(c.n), Shape: shape(t, c.shape, q.Grid)})
		if contradicts(errors, *f.TypicalError, 0.5, slack, alarm) == "" {
			t.Errorf("a typical error of %v, forecast for ε %s, passes", *f.TypicalError, epsilon)
		}
	}
	for p, figure := range map[float64]float64{0.5: 0.01, 0.95: 0.34} {
		if contradicts(errors, figure, p, slack, alarm) == "" {
			t.Errorf("the old forecast of %v at %v passes", figure, p)
		}
	}
}
