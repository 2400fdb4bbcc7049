package mechanisms

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"math"
	seeded "math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// everyQuery returns one query for each mechanism of each statistic.
func everyQuery(g *Grid) []Query {
	var all []Query
	for _, s := range Statistics() {
		for _, name := range Available(s) {
			q := Query{Statistic: s, Mechanism: name, Epsilon: dec("0.5"), Grid: g}
			switch s {
			case Quantile:
				q.P = ps("0.9")
			case Quantiles:
				q.P = ps("0.5", "0.9")
			case TrimmedMean:
				q.Trim = dec("0.1")
			case Histogram:
				q.Buckets = &Bucketing{Native: true, Scale: 2}
			}
			if name == "smooth_laplace" || name == "smooth_gaussian" {
				q.Delta = dec("0.000001")
			}
			all = append(all, q)
		}
	}
	return all
}

// possible reports whether a drawn value is valid for its statistic.
func possible(q Query, m Mechanism, x int64) bool {
	switch {
	case m.Counts():
		return x >= 0
	case q.Statistic == Sum:
		return x >= 0 || q.Grid.lower.IsNegative()
	case q.Statistic == Variance, q.Statistic == StdDev:
		return x >= 0
	}
	value := q.Scale(m).Decimal(x)
	return !value.LessThan(q.Grid.lower) && !value.GreaterThan(q.Grid.upper)
}

// gridPoint returns the grid point nearest to a drawn value. It returns sums and numbers of users unchanged, and the
// whole number nearest to a variance or its root.
func gridPoint(t *testing.T, q Query, m Mechanism, x int64) int64 {
	t.Helper()
	switch {
	case m.Counts(), q.Statistic == Sum:
		return x
	case q.Statistic == Variance, q.Statistic == StdDev:
		return q.Scale(m).Decimal(x).Round(0).IntPart()
	}
	i, err := q.Grid.Parse([]byte(q.Scale(m).Text(x)))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Every mechanism keeps the shape of a draw, is safe for concurrent use, and reports a failed random source.
func TestEveryMechanism(t *testing.T) {
	g := smallGrid(t, 1000)
	s := latencies(g, 200)
	broken := errors.New("broken")
	public := Public{Users: &NoisyCount{Value: 200, Epsilon: 1}}
	for _, q := range everyQuery(g) {
		m := build(t, q)
		name := string(q.Statistic) + " by " + m.Name()
		if q.Mechanism != m.Name() {
			t.Errorf("%s: its name is %s", name, m.Name())
		}
		if m.Counts() != (q.Statistic.Family() == OfUsers) {
			t.Errorf("%s: counts %v", name, m.Counts())
		}
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for range 3 {
					d, err := m.Draw(s, public, rand.Reader)
					if err != nil || len(d.Values) != max(1, len(q.P)) || len(m.Errors(Public{})) != len(d.Values) {
						t.Errorf("%s: %+v, %v", name, d, err)
						return
					}
					for j, x := range d.Values {
						if !possible(q, m, x.Number) {
							t.Errorf("%s: %v", name, d.Values)
						}
						if !foretold(m.Errors(public)[j], x.Bound) {
							t.Errorf("%s: %+v is drawn, but %+v foretold", name, x, m.Errors(public)[j])
						}
						bounded := finite(x.RankError95)
						if bounded != finite(x.PLow) || bounded && !(x.PLow >= 0 && x.PLow <= x.PHigh && x.PHigh <= 1) {
							t.Errorf("%s: rank error %v, percentiles %v to %v", name, x.RankError95, x.PLow, x.PHigh)
						}
					}
				}
			})
		}
		wait.Wait()
		if _, err := m.Draw(s, Public{}, io.MultiReader(bytes.NewReader(make([]byte, 3)),
			iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%s with a broken source: %v", name, err)
		}
		if q.Statistic != Count && q.Statistic != Outside {
			if _, err := m.Draw(NewSample(g, []Point{{1, 1 << 29}}), Public{}, rand.Reader); err == nil {
				t.Errorf("%s takes 2^29 users", name)
			}
		}
	}
	if _, err := New(Query{Statistic: Median, Mechanism: "margin", Calibration: "loose", Epsilon: decimal.NewFromInt(1),
		Grid: g}); err == nil {
		t.Error("a calibration of margin is accepted")
	}
}

// foretold reports whether a drawn bound equals the one from public figures, or is its own if they left it open.
func foretold(before, drawn Bound) bool {
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	return same(before.RankError95, drawn.RankError95) && same(before.PLow, drawn.PLow) &&
		same(before.PHigh, drawn.PHigh) &&
		(same(before.Error95, drawn.Error95) || math.IsInf(before.Error95, 1) && finite(drawn.Error95)) &&
		(before.outside == nil || drawn.outside != nil)
}

// Checks what each mechanism promises. A promise of the wrong kind could be charged four times too little if ρ are
// added up, and no figure would look wrong. The tests of bounded-range mechanisms enumerate the range of their losses;
// permute-and-flip and the mechanisms that add noise have a wider one.
func TestKindOfEveryPromise(t *testing.T) {
	ranged := map[string]bool{"margin": true, "duff": true, "exponential": true, "rank": true, "mid_rank": true,
		"piecewise_laplace": true, "joint": true}
	others := map[string]privacy.Kind{
		"smooth_laplace": privacy.Approximate, "smooth_gaussian": privacy.Approximate,
		"smooth_lln": privacy.ZCDP, "smooth_uln": privacy.ZCDP, "smooth_arsinh": privacy.ZCDP,
		"clipped_gaussian": privacy.ZCDP, "gaussian": privacy.ZCDP, "gaussian_histogram": privacy.ZCDP,
	}
	for _, epsilon := range []string{"0.0001", "0.5", "1", "1000000"} {
		for _, q := range everyQuery(smallGrid(t, 1000)) {
			if q.Epsilon = dec(epsilon); refused(t, q) {
				continue
			}
			want := others[q.Mechanism] // default: pure
			if ranged[q.Mechanism] {
				want = privacy.BoundedRange
			}
			p, e := build(t, q).Promise(), q.Epsilon.InexactFloat64()
			if p.Kind != want || !p.Epsilon.Equal(q.Epsilon) || !p.Delta.Equal(q.Delta) || p.Check() != nil ||
				p.Kind == privacy.BoundedRange && !p.Rho.Equal(privacy.NewBoundedRange(q.Epsilon).Rho) ||
				p.Kind == privacy.ZCDP && p.Rho.InexactFloat64() < e*e/2*(1-1e-15) {
				t.Errorf("%s by %s promises %+v; want %s of %s and %s: %v", q.Statistic, q.Mechanism, p,
					want, q.Epsilon, q.Delta, p.Check())
			}
		}
	}
	g, level := smallGrid(t, 1000), dec("0.95")
	for _, c := range []struct {
		name string
		q    Query
		want privacy.Kind
	}{
		{"the default of a median", Query{Statistic: Median}, privacy.Pure},
		{"the default of a tail", Query{Statistic: Quantile, P: ps("0.99")}, privacy.Pure},
		{"a tail with an adaptive prior", Query{Statistic: Quantile, P: ps("0.99"), Prior: "adaptive"},
			privacy.BoundedRange},
		{"a median in a budget with δ", Query{Statistic: Median, ZCDP: true}, privacy.BoundedRange},
		{"a count", Query{Statistic: Count}, privacy.Pure},
		{"a count in a budget with δ", Query{Statistic: Count, ZCDP: true}, privacy.ZCDP},
		{"a median with a paid interval", Query{Statistic: Median, Interval: &level}, privacy.Pure},
		{"several quantiles one by one", Query{Statistic: Quantiles, P: ps("0.5", "0.9"),
			Mechanism: "split"}, privacy.Pure},
	} {
		c.q.Grid, c.q.Epsilon = g, dec("0.5")
		if p := build(t, c.q).Promise(); p.Kind != c.want {
			t.Errorf("%s promises %+v; want %s", c.name, p, c.want)
		}
	}
}

// Sharing memory between draws has no effect: after any draws from other samples, the same random bits give the same
// draw as a new mechanism.
func TestDrawsForget(t *testing.T) {
	g := smallGrid(t, 1000)
	samples := []*Sample{
		latencies(g, 300),
		NewSample[Point](g, nil),
		latencies(g, 5000),
		NewSample(g, []Point{{7, 3000}}),
		NewSample(g, []Point{{-1, 1}, {1001, 1}}),
		latencies(g, 30),
	}
	queries := append(everyQuery(g), Query{Statistic: Median, Interval: new(dec("0.9")), Epsilon: dec("0.5"), Grid: g})
	for _, q := range queries {
		used := build(t, q)
		for i := range 24 {
			s := samples[i*5%len(samples)]
			public := Public{}
			if i%2 == 1 {
				public.Users = &NoisyCount{Value: s.n + int64(i%5) - 2, Epsilon: 1}
			}
			if i%3 == 2 {
				public.Measure = Uniform(g)
			}
			seed := [32]byte{byte(i)}
			got, err := used.Draw(s, public, seeded.NewChaCha8(seed))
			want, err2 := build(t, q).Draw(s, public, seeded.NewChaCha8(seed))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmp.AllowUnexported(Bound{}, Outsiders{})); diff != "" {
				t.Fatalf("%s by %s, draw %d is not that of a new mechanism: %s", q.Statistic, q.Mechanism, i, diff)
			}
		}
	}
}
