package mechanisms

import (
	"math"
	"math/big"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// gaussianSide returns P(Z > t) for t = 0, 1, 2 …, from a sum of all probabilities, the smallest first.
func gaussianSide(sigma float64) []float64 {
	tails := make([]float64, int(12*sigma)+3)
	weight := func(z int) float64 { return math.Exp(-float64(z) * float64(z) / (2 * sigma * sigma)) }
	for t := len(tails) - 2; t >= 0; t-- {
		tails[t] = tails[t+1] + weight(t+1)
	}
	all := 1 + 2*tails[0]
	for t := range tails {
		tails[t] /= all
	}
	return tails
}

// The published error, and the reach of every other risk, is the least that the probabilities allow. Only where they
// are not added up may it be one more, and then the tail is a bound within 0.01 % of the sum.
func TestGaussianCountError(t *testing.T) {
	for epsilon, want := range map[float64]int64{0.02: 98, 0.1: 20, 0.05: 39, 0.5: 4, 1: 2, 2: 1, 5: 0, 1000: 0,
		1e-4: 19600} {
		if got := (NoisyCount{Epsilon: epsilon, Mechanism: "gaussian"}).Error95(); got != want {
			t.Errorf("ε %v: ± %d users, want ± %d", epsilon, got, want)
		}
	}
	exact := 0
	for _, epsilon := range []float64{1e-3, 0.0021, 0.0097, 0.0125, 0.02, 0.0303, 0.03125, 0.0313, 0.04, 0.1, 0.23, 0.5,
		0.7, 1, 1.3, 2, 3, 7, 40} {
		law, tails := NoisyCount{Epsilon: epsilon, Mechanism: "gaussian"}, gaussianSide(1/epsilon)
		for at, tail := range tails[:int(5/epsilon)+1] {
			got := law.Tail(int64(at))
			if 1/epsilon <= summedSigma && math.Abs(got-tail) > 1e-12*tail {
				t.Errorf("ε %v: P(Z > %d) = %v, want %v", epsilon, at, got, tail)
			}
			if past := float64(at)+0.5 >= 1/epsilon; past && got < tail*(1-1e-12) || math.Abs(got-tail) > 1e-3*tail {
				t.Errorf("ε %v: P(Z > %d) ≤ %v is stated, but it is %v", epsilon, at, got, tail)
			}
		}
		for _, eta := range []float64{0.025, 0.0125, countRisk, countRisk / 2} {
			want := 0.0
			for tails[int(want)] > eta {
				want++
			}
			switch got := law.reach(eta); {
			case got == want:
				exact++
			case 1/epsilon <= summedSigma || got != want+1:
				t.Errorf("ε %v: %v is exceeded with probability %v, not %v", epsilon, got, eta, want)
			}
		}
	}
	if exact < 70 {
		t.Errorf("%d of 76 reaches are the least possible", exact)
	}
	count := NoisyCount{Value: 1000, Epsilon: 0.02, Mechanism: "gaussian"}
	wider := NoisyCount{Value: 1000, Epsilon: 0.02}
	if !(count.fewest() > wider.fewest() && count.off() < wider.off()) {
		t.Errorf("a Gaussian count is at least %v and off by %v, a geometric one %v and %v",
			count.fewest(), count.off(), wider.fewest(), wider.off())
	}
}

// gaussianLaw is the law of sum + Z for all values that matter, with factor times the ε.
func gaussianLaw(sum int64, variance *big.Rat, factor float64) []float64 {
	v, _ := variance.Float64()
	v /= factor * factor
	var law []float64
	for x := int64(-60); x <= 60; x++ {
		law = append(law, math.Exp(-float64((x-sum)*(x-sum))/(2*v)))
	}
	return dptest.Normalise(law)
}

// One user more or less: D_α ≤ α·ρ of the published counts of all small samples, at every order, and no less than that
// by more than a thousandth. A tenth more ε is noticed. Counts that are cut at 0 show no more.
func TestGaussianCountPrivacy(t *testing.T) {
	for _, epsilon := range []float64{0.3, 0.5, 1} {
		m := build(t, Query{Statistic: Count, Mechanism: "gaussian", Epsilon: decimal.NewFromFloat(epsilon),
			Grid: smallGrid(t, 3)}).(*counting)
		rho := m.Promise().Rho.InexactFloat64()
		lost := func(factor float64, lowest int) float64 {
			return worstDivergence(3, plain(func(h []int64) []float64 {
				// from −60 on
				law := gaussianLaw(m.of(sampleOf(smallGrid(t, 3), h)), m.noise.(gaussian).variance(1), factor)
				for i := range 60 + lowest {
					law[60+lowest] += law[i]
					law[i] = 0
				}
				return law
			}))
		}
		if got := lost(1, -60); got > rho*(1+1e-9) || got < rho*0.999 || math.Abs(rho-epsilon*epsilon/2) > 1e-12 {
			t.Errorf("ε = %v: ρ = %v is lost of %v", epsilon, got, rho)
		}
		if got := lost(1, 0); got > rho*(1+1e-9) {
			t.Errorf("ε = %v: ρ = %v is lost of %v by counts of at least 0", epsilon, got, rho)
		}
		if got := lost(1.1, -60); got <= rho {
			t.Errorf("ε = %v: a tenth more ε goes unnoticed: ρ = %v", epsilon, got)
		}
	}
}

// The default depends on how the budget adds up. A mechanism that is named comes first.
func TestDefaultOfCounts(t *testing.T) {
	for _, statistic := range []Statistic{Count, Outside} {
		for _, c := range []struct {
			rho         bool
			named, want string
		}{{false, "", "geometric"}, {true, "", "gaussian"}, {true, "geometric", "geometric"},
			{false, "gaussian", "gaussian"}} {
			m := build(t, Query{Statistic: statistic, Mechanism: c.named, ZCDP: c.rho, Epsilon: dec("0.5"),
				Grid: smallGrid(t, 5)})
			if m.Name() != c.want {
				t.Errorf("%s, %+v: %s", statistic, c, m.Name())
			}
		}
	}
}

// Compares the least t with P(|Z| ≤ t) ≥ 95 % with the sum of the probabilities (1−a)/(1+a)·a^|z|.
func TestCountError(t *testing.T) {
	for _, epsilon := range []float64{1e-4, 0.0005, 0.01, 0.02, 0.1, 0.25, 0.5, 1, 2, 3, 3.5, 4, 10, 50} {
		a := math.Exp(-epsilon)
		within := (1 - a) / (1 + a)
		want := int64(0)
		for within < 0.95 {
			want++
			within += 2 * (1 - a) / (1 + a) * math.Pow(a, float64(want))
		}
		if got := (NoisyCount{Epsilon: epsilon}).Error95(); got != want {
			t.Errorf("ε %v: %d, want %d", epsilon, got, want)
		}
	}
}
