package mechanisms

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"testing/iotest"

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
		p := m.Promise()
		if !p.Epsilon.Equal(q.Epsilon) || !p.Delta.Equal(q.Delta) || p.Check() != nil {
			t.Errorf("%s: promise %+v", name, p)
		}
		if p.Kind == privacy.BoundedRange && p.Rho.Cmp(dec("0.03125")) > 0 {
			t.Errorf("%s: ρ = %v", name, p.Rho)
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
