package mechanisms

import (
	"math"
	"strings"
	"testing"

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
