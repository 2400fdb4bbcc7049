package mechanisms

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

func intervalOf(t testing.TB, g *Grid, p, epsilon, level string) *interval {
	t.Helper()
	l := dec(level)
	return build(t, Query{Statistic: Quantile, P: ps(p), Epsilon: dec(epsilon), Interval: &l, Grid: g}).(*interval)
}

// The three draws together cost ε.
func TestIntervalPrivacy(t *testing.T) {
	const points = 3
	g := smallGrid(t, points)
	for _, p := range []string{"0.5", "0.9"} {
		for _, shift := range []float64{-1.3, 0.4, 2} {
			law := func(epsilon float64) dptest.Law {
				m := intervalOf(t, g, p, decimal.NewFromFloat(epsilon).String(), "0.95")
				low, high := m.side.shifted(-shift), m.side.shifted(shift)
				return func(h []int64) []float64 {
					s := sampleOf(g, h)
					var law []float64
					for _, a := range m.estimate.law(s, 1, lopsided(points)) {
						for _, b := range low.law(s.padded(g), 1, lopsided(points)) {
							for _, c := range high.law(s.padded(g), 1, lopsided(points)) {
								law = append(law, a*b*c)
							}
						}
					}
					return law
				}
			}
			dptest.CheckPrivacy(t, fmt.Sprint("interval ", p, " shift ", shift), points, 6, 2, 0.5, law)
		}
	}
}

// With a shifted target, the walk still begins at the best level.
func TestShiftedTour(t *testing.T) {
	g := smallGrid(t, 5)
	for _, p := range []string{"0.5", "0.9"} {
		m := intervalOf(t, g, p, "1", "0.95")
		for _, shift := range []float64{-100, -2.5, -1, 0.3, 1, 100} {
			r := m.side.shifted(shift)
			dptest.Samples(5, 6, func(h []int64) {
				checkWalk(t, fmt.Sprint("shift ", shift, h), g, newTour(r, sampleOf(g, h).padded(g)))
			})
		}
	}
}

func TestIntervalCovers(t *testing.T) {
	random := rand.NewChaCha8([32]byte{17})
	for _, n := range []int{0, 1, 100, 10000} {
		g := smallGrid(t, 60001)
		s := latencies(g, n)
		for _, p := range []string{"0.5", "0.99"} {
			m := intervalOf(t, g, p, "1", "0.9")
			missed := 0
			const draws = 500
			for range draws {
				d, err := m.Draw(s, Public{}, random)
				if err != nil || d.Low > d.Values[0].Number || d.High < d.Values[0].Number {
					t.Fatalf("%+v, %v", d, err)
				}
				if n > 0 {
					if x := s.values[s.at(ceilDiv(m.estimate.p*s.n, m.estimate.q))]; x < d.Low || x > d.High {
						missed++
					}
				}
			}
			if missed > 90 { // Binomial(500, 0.1): more than 90 has probability below 10⁻⁷
				t.Errorf("n %d, p %s: the quantile is outside in %d of %d draws", n, p, missed, draws)
			}
		}
	}
	tiny := intervalOf(t, smallGrid(t, 5), "0.99999999", "0.000000000001", "0.999999999")
	if d, err := tiny.Draw(sampleOf(smallGrid(t, 5), []int64{1, 2, 3, 4, 5}), Public{}, random); err != nil {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestIntervalPromise(t *testing.T) {
	m := intervalOf(t, smallGrid(t, 10), "0.5", "1", "0.95")
	want := privacy.RhoOfRange(0.5) + 2*privacy.RhoOfRange(0.25)
	if p := m.Promise(); !p.Epsilon.Equal(dec("1")) || p.Kind != privacy.Pure || p.Rho.InexactFloat64() < want ||
		p.Rho.InexactFloat64() > want*1.000001 {
		t.Errorf("%+v, want ρ %v", p, want)
	}
	whole := build(t, Query{Statistic: Median, Epsilon: dec("1"), Grid: smallGrid(t, 10)}).(*ranks)
	if m.estimate.rate.Float()*2 != whole.rate.Float() || m.side.rate.Float()*4 != whole.rate.Float() {
		t.Errorf("rates %v, %v of %v", m.estimate.rate.Float(), m.side.rate.Float(), whole.rate.Float())
	}
	f := filter(t, Query{Statistic: Median, Epsilon: dec("1"), Interval: &[]decimal.Decimal{dec("0.95")}[0],
		Grid: smallGrid(t, 10)})
	if e, _ := f.epsilon.Float64(); e != 0.5 {
		t.Errorf("the filter takes the quantile's ε for %v", e)
	}
	for _, level := range []string{"0", "1", "-1"} {
		l := dec(level)
		if _, err := New(Query{Statistic: Median, Epsilon: dec("1"), Interval: &l,
			Grid: smallGrid(t, 10)}); err == nil {
			t.Errorf("an interval of level %s is accepted", level)
		}
	}
}
