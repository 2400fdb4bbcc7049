package mechanisms

import (
	"math"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// worstReplacement is the largest log-ratio over all samples of exactly n users, all changes of one user's value, and
// all outcomes.
func worstReplacement(points, n int, law dptest.Law) float64 {
	worst := 0.0
	dptest.Samples(points, n, func(h []int64) {
		users := int64(0)
		for _, c := range h {
			users += c
		}
		if users != int64(n) {
			return
		}
		p := law(h)
		for from := range h {
			for to := range h {
				if from == to || h[from] == 0 {
					continue
				}
				h[from]--
				h[to]++
				for x, q := range law(h) {
					worst = max(worst, math.Abs(math.Log(p[x]/q)))
				}
				h[from]++
				h[to]--
			}
		}
	})
	return worst
}

func TestRankOfPublicPrivacy(t *testing.T) {
	const points = 4
	g := smallGrid(t, points)
	for _, c := range []struct{ p, epsilon string }{{"0.5", "1"}, {"0.5", "0.1"}, {"0.9", "1"}, {"0.25", "3"}} {
		m := build(t, Query{Statistic: Quantile, P: ps(c.p), Mechanism: "rank", Epsilon: dec(c.epsilon), Grid: g,
			ReplaceOne: true}).(*ranks)
		epsilon := dec(c.epsilon).InexactFloat64()
		law := func(f float64) dptest.Law {
			return func(h []int64) []float64 { return m.law(sampleOf(g, h), f, m.measure) }
		}
		worst, doubled := 0.0, 0.0
		for n := 1; n <= 7; n++ {
			worst = max(worst, worstReplacement(points, n, law(1)))
			doubled = max(doubled, worstReplacement(points, n, law(2)))
		}
		t.Logf("p = %s, ε = %s: %.4f ε", c.p, c.epsilon, worst/epsilon)
		if worst > epsilon*(1+1e-9) || worst < 0.5*epsilon {
			t.Errorf("p = %s, ε = %s: %v is lost, want up to ε", c.p, c.epsilon, worst)
		}
		if doubled <= epsilon {
			t.Errorf("p = %s, ε = %s: doubled ε goes unnoticed", c.p, c.epsilon)
		}
	}
}

// Replaced is never less than what a replaced value reveals, and no more than some value does: the noise is of the rate
// ε/c, so that a sum or a count that moves by d loses ε·d/c. Of all others it is twice the promise.
func TestReplaced(t *testing.T) {
	for _, c := range []struct {
		lower, upper string
		q            Query
		want         string // in ε, which is 0.3
	}{
		{"0", "3", Query{Statistic: Sum, Mechanism: "laplace"}, "1"},
		{"1", "3", Query{Statistic: Sum, Mechanism: "laplace"}, "0.667"},
		{"-3", "-2", Query{Statistic: Sum, Mechanism: "laplace"}, "0.333"},
		{"-1", "2", Query{Statistic: Sum, Mechanism: "laplace"}, "1.5"},
		{"-1", "3", Query{Statistic: Sum, Mechanism: "laplace"}, "1.333"},
		{"-2", "2", Query{Statistic: Sum, Mechanism: "laplace"}, "2"},
		{"0", "3", Query{Statistic: Count}, "0"}, // nobody leaves
		{"0", "3", Query{Statistic: Count, Above: new(dec("1"))}, "1"},
	} {
		g := grid(t, c.lower, c.upper, "1")
		c.q.Grid, c.q.Epsilon = g, dec("0.3")
		m := build(t, c.q)
		of, scale := func(s *Sample) int64 { return m.(*counting).of(s) }, int64(1)
		if sum, ok := m.(*wholeSum); ok {
			of, scale = func(s *Sample) int64 { return sum.total(s, sum.largest()).Int64() }, sum.largest()
		}
		moved := int64(0)
		dptest.Samples(int(g.last+1), 3, func(h []int64) {
			before := of(sampleOf(g, h))
			for from := range h {
				for to := range h {
					if h[from] > 0 && from != to {
						h[from], h[to] = h[from]-1, h[to]+1
						moved = max(moved, of(sampleOf(g, h))-before)
						h[from], h[to] = h[from]+1, h[to]-1
					}
				}
			}
		})
		worst := decimal.NewFromInt(moved).Div(decimal.NewFromInt(scale))
		promise, draws := Replaced(m)
		said := promise.Epsilon.Div(c.q.Epsilon)
		if draws != 1 || !worst.Round(3).Equal(dec(c.want)) || worst.GreaterThan(said) ||
			said.GreaterThan(decimal.Max(worst.RoundUp(8), decimal.NewFromInt(1))) {
			t.Errorf("%s of %s to %s: %s ε is said, and %s ε is lost; want %s", c.q.Statistic, c.lower, c.upper, said,
				worst, c.want)
		}
	}
	m := build(t, Query{Statistic: Median, Epsilon: dec("0.3"), Grid: smallGrid(t, 4)})
	got, draws := Replaced(m)
	if want := m.Promise().Twice(); draws != 1 || !got.Epsilon.Equal(want.Epsilon) || !got.Rho.Equal(want.Rho) {
		t.Errorf("another value for a median: %d draws of %v; want one of twice its promise, %v", draws, got, want)
	}
}

func TestReplaceOneIsForFew(t *testing.T) {
	g := smallGrid(t, 10)
	if _, err := New(Query{Statistic: Median, Epsilon: dec("1"), Grid: g, ReplaceOne: true}); err == nil ||
		!strings.Contains(err.Error(), "replace_one") {
		t.Errorf("margin takes the change-one relation: %v", err)
	}
	for _, noise := range []string{"smooth_power", "smooth_cauchy"} {
		build(t, Query{Statistic: TrimmedMean, Trim: dec("0.1"), Mechanism: noise, Epsilon: dec("1"), Grid: g,
			ReplaceOne: true})
	}
}
