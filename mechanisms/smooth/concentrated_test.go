package smooth

import (
	"math"
	"testing"
)

// tabulated interpolates a log density linearly over a fine table in ln(1+z): the error is at most 4·10^−6 in the
// logarithm.
func tabulated(log func(z float64) float64) func(z float64) float64 {
	const step, end = 1. / 512, reachConcentrated + 10
	table := make([]float64, int(end/step)+2)
	for i := range table {
		table[i] = log(math.Expm1(float64(i) * step))
	}
	return func(z float64) float64 {
		v := math.Log1p(z) / step
		i := int(v)
		if i+1 >= len(table) {
			return table[len(table)-1]
		}
		return table[i] + (v-float64(i))*(table[i+1]-table[i])
	}
}

// concentratedOrders lists values of ε and the Rényi orders at which the loss is checked. A budget of (ε, δ) is best
// counted at an order of about 2·ln(1/δ)/ε, so small budgets use large orders: 600 for ε = 0.05 and δ = 10^−7. For a
// small ε, the loss at small orders is less than the table resolves.
var concentratedOrders = []struct {
	epsilon     string
	least, most float64
}{{"0.01", 5, 1500}, {"0.3", 1.01, 60}, {"1", 1.01, 60}, {"3", 1.01, 60}}

func TestLLNIsConcentrated(t *testing.T) {
	for _, c := range concentratedOrders {
		s := Spec{Noise: "lln", Epsilon: dec(c.epsilon)}
		m, _, _ := noiseOf(t, s)
		sigma, _ := m.noise.(*lln).sigma.exact.Float64()
		checkConcentrated(t, s, llnDensity(sigma), c.least, c.most)
	}
}

func TestULNIsConcentrated(t *testing.T) {
	for _, c := range concentratedOrders {
		checkConcentrated(t, Spec{Noise: "uln", Epsilon: dec(c.epsilon)}, ulnDensity(math.Sqrt2), c.least, c.most)
	}
}

func TestArsinhIsConcentrated(t *testing.T) {
	for _, c := range concentratedOrders {
		for _, published := range []bool{false, true} {
			s := Spec{Noise: "arsinh", Epsilon: dec(c.epsilon), Published: published}
			m, _, _ := noiseOf(t, s)
			sigma, _ := m.noise.(*arsinh).sigma.exact.Float64()
			checkConcentrated(t, s, arsinhDensity(sigma), c.least, c.most)
		}
	}
}
