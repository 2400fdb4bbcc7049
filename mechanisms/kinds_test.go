package mechanisms

import (
	"testing"

	"github.com/louver/louver/budget/privacy"
)

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
	for _, q := range everyQuery(smallGrid(t, 1000)) {
		want := others[q.Mechanism] // default: pure
		if ranged[q.Mechanism] {
			want = privacy.BoundedRange
		}
		p := build(t, q).Promise()
		if p.Kind != want || !p.Epsilon.Equal(q.Epsilon) || !p.Delta.Equal(q.Delta) {
			t.Errorf("%s by %s promises %+v; want %s of %s and %s", q.Statistic, q.Mechanism, p,
				want, q.Epsilon, q.Delta)
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
