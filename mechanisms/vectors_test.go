package mechanisms

import (
	"math"
	"math/big"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// vectors are figures from a program that shares no code with this package, computed with 25 or more digits.
type vectors struct {
	Measure []struct {
		Last, Anchor int64
		Cells        int
		Total, Fold  uint64 `json:",string"`
	}
	Laws []struct {
		P, Epsilon   string
		Sample       []int64
		Last, Anchor int64
		Weights      []uint64 // absent: the tapered measure
		N0           int64
		ByRule       int64 `json:"n0_by_rule"` // 0: not given
		Level        []int64
		Divisor      int64
		EM, PF       []float64
	}
	Small []struct {
		P, Epsilon  string
		N, Limit    int64
		Probability float64
	}
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	v = dptest.Vectors[vectors](t, "quantile_vectors.json")
	if len(v.Measure) != 7 || len(v.Laws) != 24 || len(v.Small) != 7 {
		t.Fatalf("%d measures, %d laws, %d bits", len(v.Measure), len(v.Laws), len(v.Small))
	}
	return v
}

func rat(t testing.TB, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatal(text)
	}
	return r
}

// anchored returns a grid with 0 at a given index.
func anchored(t testing.TB, last, anchor int64) *Grid {
	g := grid(t, "0", big.NewInt(last).String(), "1")
	g.anchor = anchor
	return g
}

func TestTaperedVectors(t *testing.T) {
	for _, c := range readVectors(t).Measure {
		m := Tapered(anchored(t, c.Last, c.Anchor))
		fold := uint64(0)
		for _, w := range m.weight {
			fold = fold*1000003 + w
		}
		if len(m.weight) != c.Cells || m.total() != c.Total || fold != c.Fold {
			t.Errorf("0 to %d, 0 at %d: %d cells, total %d, fold %d, want %d, %d, %d", c.Last, c.Anchor, len(m.weight),
				m.total(), fold, c.Cells, c.Total, c.Fold)
		}
	}
}

// Compares levels and both laws, point by point.
func TestLawVectors(t *testing.T) {
	for _, c := range readVectors(t).Laws {
		pq, epsilon := rat(t, c.P), rat(t, c.Epsilon)
		p, q := pq.Num().Int64(), pq.Denom().Int64()
		g := anchored(t, c.Last, c.Anchor)
		measure := Tapered(g)
		if c.Weights != nil {
			bounds := make([]int64, len(c.Weights)+1)
			for j := range bounds {
				bounds[j] = int64(j)
			}
			measure = newMeasure(bounds, c.Weights)
		}
		utility, divisor := symmetric(p, q)
		if isTail(p, q) {
			u := newTail(p, q, epsilon)
			if c.ByRule != 0 && u.few != c.ByRule {
				t.Errorf("p %s, ε %s: few is %d, want %d", c.P, c.Epsilon, u.few, c.ByRule)
			}
			u.few = c.N0
			utility, divisor = u, u.divisor()
		}
		if divisor != c.Divisor {
			t.Errorf("p %s: R is %d, want %d", c.P, divisor, c.Divisor)
		}
		var points []Point
		for _, x := range c.Sample {
			points = append(points, Point{x, 1})
		}
		w := &tour{grid: g, sample: NewSample(g, points), utility: utility}
		for x, want := range c.Level {
			if got := w.level(int64(x)); got != want {
				t.Errorf("p %s, %v: level of %d is %d, want %d", c.P, c.Sample, x, got, want)
			}
		}
		kappa, _ := new(big.Rat).Quo(epsilon, big.NewRat(divisor, 1)).Float64()
		for name, law := range map[string][2][]float64{"exponential": {lawOf(c.Last+1, w, kappa, measure), c.EM},
			"flip": {flipLaw(g, w, kappa, measure), c.PF}} {
			for x, want := range law[1] {
				if math.Abs(law[0][x]/want-1) > 1e-12 {
					t.Errorf("%s p %s, %v: P(%d) = %v, want %v", name, c.P, c.Sample, x, law[0][x], want)
				}
			}
		}
	}
}

// smallProbability is P(n + Z ≤ limit) from the law of Z: 1 − b/2 at b = e^{−rate·(limit−n)}·2e^{−rate}/(1+e^{−rate}).
func (t fewUsers) probability(n int64, factor float64) float64 {
	a := math.Exp(-factor * float64(t.num) / float64(t.den) / float64(t.share))
	if n <= t.limit {
		return 1 - math.Pow(a, float64(t.limit-n+1))/(1+a)
	}
	return math.Pow(a, float64(n-t.limit)) / (1 + a)
}

func TestFewUsersVectors(t *testing.T) {
	for _, c := range readVectors(t).Small {
		pq := rat(t, c.P)
		test := newFewUsers(pq.Num().Int64(), pq.Denom().Int64(), rat(t, c.Epsilon))
		if got := test.probability(c.N, 1); test.limit != c.Limit || math.Abs(got/c.Probability-1) > 1e-12 {
			t.Errorf("p %s, ε %s, %d users: limit %d, probability %v, want %d, %v", c.P,
				c.Epsilon, c.N, test.limit, got, c.Limit, c.Probability)
		}
	}
}
