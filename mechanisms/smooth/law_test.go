package smooth

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// law returns the exact probabilities of a mechanism's outcomes: those of the intervals of T + (g/α)Z that round to
// each grid point; the two ends include everything past them. T, g and α are the mechanism's own.
func law(m *Mechanism, d density) dptest.Law {
	return func(h []int64) []float64 {
		r := m.prepare(ranksOf(h))
		num, den := m.statistic.value(ranksOf(h))
		centre := num.Float() / float64(den)
		scale := r.scale.near().hi / m.nearAlpha.hi
		above := func(x float64) float64 { // P(T + (g/α)Z > x) for x > T
			return d.survival((x - centre) / scale)
		}
		p := make([]float64, len(h))
		for i := range p {
			lo, hi := float64(i)-0.5, float64(i)+0.5
			if i == 0 {
				lo = math.Inf(-1)
			}
			if i == len(p)-1 {
				hi = math.Inf(1)
			}
			upper := func(x float64) float64 { // P(> x), and of the mirror image below T, to keep all digits
				if math.IsInf(x, 0) {
					return 0
				}
				if x >= centre {
					return above(x)
				}
				return d.survival((centre - x) / scale)
			}
			switch {
			case lo >= centre:
				p[i] = upper(lo) - upper(hi)
			case hi <= centre:
				p[i] = upper(hi) - upper(lo)
			default:
				p[i] = 1 - upper(lo) - upper(hi)
			}
		}
		return p
	}
}

func mechanismOf(t testing.TB, s Spec, points int, epsilon float64) *Mechanism {
	s.Last = int64(points - 1)
	if epsilon > 0 {
		s.Epsilon = decimal.NewFromFloat(epsilon)
	}
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pureNoises returns the pure noises with their densities, which may depend on ε.
func pureNoises() map[string]struct {
	Spec
	density func(m *Mechanism, epsilon float64) density
} {
	type entry = struct {
		Spec
		density func(m *Mechanism, epsilon float64) density
	}
	fixed := func(d density) func(*Mechanism, float64) density {
		return func(*Mechanism, float64) density { return d }
	}
	return map[string]entry{
		"power": {Spec{Noise: "power"},
			func(m *Mechanism, epsilon float64) density { return powerDensity(epsilon, m.nearBeta) }},
		"power, β = ε/2": {Spec{Noise: "power", Beta: dec("0.5")}, func(m *Mechanism, epsilon float64) density {
			return powerDensity(epsilon, m.nearBeta)
		}},
		"cauchy":            {Spec{Noise: "cauchy"}, fixed(cauchyDensity(2))},
		"cauchy, γ = 4":     {Spec{Noise: "cauchy", Gamma: dec("4")}, fixed(cauchyDensity(4))},
		"cauchy, published": {Spec{Noise: "cauchy", Published: true}, fixed(cauchyDensity(2))},
		"student_t":         {Spec{Noise: "student_t"}, fixed(studentDensity())},
	}
}

// The exact output probabilities of neighbours differ by at most ε for every statistic. The default noise uses nearly
// all of ε.
func TestOutcomesArePure(t *testing.T) {
	for name, n := range pureNoises() {
		for _, s := range []Spec{
			{Statistic: "mean"},
			{Statistic: "trimmed_mean", Trim: dec("0.2")},
			{Statistic: "median"},
			{Statistic: "quantile", P: dec("0.9")},
		} {
			s.Noise, s.Beta, s.Gamma, s.Published = n.Noise, n.Beta, n.Gamma, n.Published
			tight := 0.15
			if s.Noise == "power" {
				tight = 0.6
			}
			if s.Published { // it uses a fifth of ε, so even twice the ε stays within the limit
				if got := dptest.MaxLogRatio(5, 5, law(mechanismOf(t, s, 5, 1), n.density(nil, 1))); got > 1 {
					t.Errorf("%s/%s: ε = 1 is promised, %v is lost", name, s.Statistic, got)
				}
				continue
			}
			dptest.CheckPrivacy(t, name+"/"+s.Statistic, 5, 5, 1, tight, func(epsilon float64) dptest.Law {
				m := mechanismOf(t, s, 5, epsilon)
				return law(m, n.density(m, epsilon))
			})
		}
	}
}

// The exact output probabilities of neighbours are (ε, δ)-close for Laplace noise, and ½ε²-concentrated for log-normal
// noise, at orders from 1.01 to 60.
func TestOutcomesKeepTheOtherPromises(t *testing.T) {
	for _, s := range []Spec{
		{Statistic: "mean"},
		{Statistic: "trimmed_mean", Trim: dec("0.2")},
		{Statistic: "median"},
		{Statistic: "quantile", P: dec("0.9")},
	} {
		s.Noise, s.Delta = "laplace", dec("0.01")
		delta := func(epsilon float64) float64 {
			worst := 0.0
			dptest.Neighbours(5, 5, law(mechanismOf(t, s, 5, epsilon), laplaceDensity()), func(p, q []float64) {
				forth, back := 0.0, 0.0
				for x := range p {
					forth += max(0, p[x]-math.E*q[x])
					back += max(0, q[x]-math.E*p[x])
				}
				worst = max(worst, forth, back)
			})
			return worst
		}
		t.Logf("laplace/%s: δ = %.2g", s.Statistic, delta(1))
		if got := delta(1); got > 0.01 {
			t.Errorf("laplace/%s: δ = %v, want at most 0.01", s.Statistic, got)
		}
		if got := delta(4); got <= 0.01 {
			t.Errorf("laplace/%s: the check does not notice a fourfold ε: δ = %v", s.Statistic, got)
		}

		s.Noise, s.Delta = "lln", dec("0")
		rho := func(epsilon float64) float64 {
			worst := 0.0
			m := mechanismOf(t, s, 5, epsilon)
			sigma, _ := m.noise.(*lln).sigma.exact.Float64()
			dptest.Neighbours(5, 5, law(m, llnDensity(sigma)), func(p, q []float64) {
				for a := 1.01; a < 60; a *= 1.7 {
					forth, back := 0.0, 0.0
					for x := range p {
						forth += math.Exp(a*math.Log(p[x]) + (1-a)*math.Log(q[x]))
						back += math.Exp(a*math.Log(q[x]) + (1-a)*math.Log(p[x]))
					}
					worst = max(worst, math.Log(max(forth, back))/(a-1)/a)
				}
			})
			return worst
		}
		t.Logf("lln/%s: ρ = %.3f of ½ε²", s.Statistic, 2*rho(1))
		if got := rho(1); got > 0.5 {
			t.Errorf("lln/%s: ρ = %v, want at most ½", s.Statistic, got)
		}
		if got := rho(4); got <= 0.5 {
			t.Errorf("lln/%s: the check does not notice a fourfold ε: ρ = %v", s.Statistic, got)
		}
	}
}

// The release is also ε-private if one value is replaced and the number of values is public.
func TestOutcomesArePureUnderReplacement(t *testing.T) {
	for _, s := range []Spec{{Statistic: "trimmed_mean", Trim: dec("0.2")}, {Statistic: "mean"},
		{Statistic: "median"}} {
		s.Noise, s.ReplaceOne = "power", true
		worst := func(epsilon float64) float64 {
			m := mechanismOf(t, s, 5, epsilon)
			of, ratio := law(m, powerDensity(epsilon, m.nearBeta)), 0.0
			dptest.Samples(5, 5, func(h []int64) {
				if users(h) == 0 {
					return
				}
				p := of(h)
				for i := range h {
					for j := range h {
						if h[i] == 0 {
							continue
						}
						h[i]--
						h[j]++
						for x, q := range of(h) {
							ratio = max(ratio, math.Abs(math.Log(p[x]/q)))
						}
						h[j]--
						h[i]++
					}
				}
			})
			return ratio
		}
		t.Logf("%s: largest log ratio %v", s.Statistic, worst(1))
		if got := worst(1); got > 1+1e-9 || got < 0.6 {
			t.Errorf("%s: ε = 1 is promised, %v is lost", s.Statistic, got)
		}
		if got := worst(2); got <= 1 {
			t.Errorf("%s: the check does not notice a doubled ε", s.Statistic)
		}
	}
}

// Draws follow the law, and the test notices a wrong ε. What does not depend on the noise is prepared once for all
// draws: the first ones show that this changes nothing.
func TestDrawsFollowTheLaw(t *testing.T) {
	sample := make([]int64, 41)
	for _, v := range []int{3, 9, 9, 14, 18, 19, 20, 20, 21, 22, 25, 30, 38} {
		sample[v] += 2
	}
	random := rand.NewChaCha8([32]byte{1})
	check := func(name string, s Spec, density func(m *Mechanism, epsilon float64) density) {
		t.Helper()
		epsilon := s.Epsilon.InexactFloat64()
		m := mechanismOf(t, s, len(sample), 0)
		x := ranksOf(sample)
		prepared, draws := m.prepare(x), 0
		counts := dptest.Counts(15000, len(sample), func() int {
			same, d := *random, *prepared
			index, _, err := d.draw(random)
			if err != nil {
				t.Fatal(err)
			}
			if draws++; draws <= 100 {
				if whole, err := m.Draw(x.Values, &same); err != nil || whole != index {
					t.Fatalf("%s: %d, %v; want %d", name, whole, err, index)
				}
			}
			return int(index)
		})
		dptest.CheckSampler(t, name, counts, func(factor float64) []float64 {
			m := mechanismOf(t, s, len(sample), factor*epsilon)
			return law(m, density(m, factor*epsilon))(sample)
		})
	}
	fixed := func(d density) func(*Mechanism, float64) density {
		return func(*Mechanism, float64) density { return d }
	}
	for name, n := range pureNoises() {
		s := n.Spec
		s.Statistic, s.Trim, s.Epsilon = "trimmed_mean", dec("0.1"), dec("1")
		if s.Published {
			s.Epsilon = dec("5")
		}
		check(name, s, n.density)
	}
	check("median", Spec{Statistic: "median", Noise: "power", Epsilon: dec("1")}, pureNoises()["power"].density)
	check("quantile", Spec{Statistic: "quantile", P: dec("0.4"), Noise: "power", Epsilon: dec("1")},
		pureNoises()["power"].density)
	check("mean", Spec{Statistic: "mean", Noise: "power", Epsilon: dec("1")}, pureNoises()["power"].density)
	check("replace one", Spec{Statistic: "trimmed_mean", Trim: dec("0.1"), ReplaceOne: true, Noise: "power",
		Epsilon: dec("1")},
		pureNoises()["power"].density)
	check("student_t, published", Spec{Statistic: "mean", Noise: "student_t", Published: true, Epsilon: dec("1")},
		fixed(studentDensity()))
	check("laplace", Spec{Statistic: "mean", Noise: "laplace", Epsilon: dec("1"), Delta: dec("0.001")},
		fixed(laplaceDensity()))
	check("gaussian", Spec{Statistic: "mean", Noise: "gaussian", Epsilon: dec("5"), Delta: dec("0.001")},
		fixed(gaussianDensity()))
	check("lln", Spec{Statistic: "mean", Noise: "lln", Epsilon: dec("1")}, func(m *Mechanism, _ float64) density {
		sigma, _ := m.noise.(*lln).sigma.exact.Float64()
		return llnDensity(sigma)
	})
	check("uln", Spec{Statistic: "mean", Noise: "uln", Epsilon: dec("5")}, fixed(ulnDensity(math.Sqrt2)))
	check("arsinh", Spec{Statistic: "mean", Noise: "arsinh", Epsilon: dec("1")}, func(m *Mechanism, _ float64) density {
		sigma, _ := m.noise.(*arsinh).sigma.exact.Float64()
		return arsinhDensity(sigma)
	})
}
