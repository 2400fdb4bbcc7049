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

// simulated returns errors of a mechanism, found without this package. Every sample is drawn anew from the shape. The
// error is the distance of one release from the sample's own statistic; for even n that is the midpoint of the two
// middle values.
func simulated(t testing.TB, q mechanisms.Query, value func(*rand.Rand) float64, n, times int) []float64 {
	t.Helper()
	m, step, from := build(t, q), q.Grid.Step().InexactFloat64(), q.Grid.Value(0).InexactFloat64()
	scale, lower := q.Scale(m), from
	if q.Statistic == mechanisms.Sum {
		from = 0
	}
	seed := [32]byte{byte(n), byte(n >> 8), byte(len(q.P))}
	random, bits := rand.New(rand.NewChaCha8(seed)), rand.NewChaCha8([32]byte{1})
	errors := make([]float64, 0, times)
	values, points := make([]int64, n), make([]mechanisms.Point, n)
	for range times {
		for i := range values {
			index := math.Round((value(random) - lower) / step)
			values[i] = int64(min(max(index, 0), float64(q.Grid.Last())))
		}
		slices.Sort(values)
		for i, v := range values {
			points[i] = mechanisms.Point{Index: v, Count: 1}
		}
		draw, err := m.Draw(mechanisms.NewSample(q.Grid, points), mechanisms.Public{}, bits)
		if err != nil {
			t.Fatal(err)
		}
		errors = append(errors, math.Abs(scale.Float(draw.Values[0].Number)-from-statistic(q, values)*step))
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
		sum := 0.
		for _, v := range values {
			sum += q.Grid.Value(v).InexactFloat64() / q.Grid.Step().InexactFloat64()
		}
		return sum
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
	statistic mechanisms.Statistic
	p         string
	shape     string
	value     func(*rand.Rand) float64
	bounds    [3]string
	n         int
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
func simulations() (all []simulation) {
	narrow, wide, round := [3]string{"0", "200", "0.01"}, [3]string{"0", "60000", "1"}, [3]string{"0", "1000", "0.1"}
	for _, n := range []int{10, 50, 310, 2000} {
		for _, epsilon := range []string{"0.1", "1", "4"} {
			all = append(all,
				simulation{mechanisms.Median, "", "normal:60,17", normal, narrow, n, epsilon},
				simulation{mechanisms.Quantile, "0.9", "lognormal:120,0.6", latency, wide, n, epsilon},
				simulation{mechanisms.Quantile, "0.99", "lognormal:120,0.6", latency, wide, n, epsilon},
				simulation{mechanisms.Quantile, "0.25", "uniform:0,1000", anything, round, n, epsilon},
				simulation{mechanisms.TrimmedMean, "0.1", "normal:60,17", normal, narrow, n, epsilon},
				simulation{mechanisms.Mean, "", "lognormal:120,0.6", latency, wide, n, epsilon},
				simulation{mechanisms.Sum, "", "lognormal:120,0.6", latency, wide, n, epsilon})
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
	alarm := 1e-6 / float64(4*len(all))
	for _, c := range all {
		q := c.query(t)
		errors := simulated(t, q, c.value, c.n, times)
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
}

// The same comparison catches a forecast for an ε that is 30 % off either way. It also catches the forecast of an
// earlier model, in which values were evenly spaced and everything between the two middle ones counted as the median.
func TestSimulationCatchesWrongForecasts(t *testing.T) {
	const slack, times, alarm = 0.02, 6000, 1e-8
	c := simulation{mechanisms.Median, "", "normal:60,17", normal, [3]string{"0", "200", "0.01"}, 310, "1"}
	q := c.query(t)
	errors := simulated(t, q, c.value, c.n, times)
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
