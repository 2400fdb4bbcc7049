package smooth

import (
	"math"
	"testing"
)

// tabulated interpolates a logarithm of a density linearly over a fine table in ln(1+z): good to 4·10^−6 in the logarithm.
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

func TestLLNIsConcentrated(t *testing.T) {
	for _, epsilon := range []string{"0.3", "1", "3"} {
		s := Spec{Noise: "lln", Epsilon: dec(epsilon)}
		m, _, _ := noiseOf(t, s)
		sigma, _ := m.noise.(*lln).sigma.exact.Float64()
		checkConcentrated(t, s, llnDensity(sigma))
	}
}

func TestULNIsConcentrated(t *testing.T) {
	for _, epsilon := range []string{"0.3", "1", "3"} {
		checkConcentrated(t, Spec{Noise: "uln", Epsilon: dec(epsilon)}, ulnDensity(math.Sqrt2))
	}
}

func TestArsinhIsConcentrated(t *testing.T) {
	for _, epsilon := range []string{"0.3", "1", "3"} {
		for _, published := range []bool{false, true} {
			s := Spec{Noise: "arsinh", Epsilon: dec(epsilon), Published: published}
			m, _, _ := noiseOf(t, s)
			sigma, _ := m.noise.(*arsinh).sigma.exact.Float64()
			checkConcentrated(t, s, arsinhDensity(sigma))
		}
	}
}
