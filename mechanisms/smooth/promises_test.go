package smooth

import (
	"math"
	"slices"
	"testing"
)

// |d ln f/dz|(1+|z|) is p.
func TestPowerIsPureAndTight(t *testing.T) {
	for _, c := range []struct{ epsilon, beta string }{{"0.1", "0"}, {"1", "0"}, {"4", "0"},
		{"1", "0.5"}, {"2", "1.9"}} {
		s := Spec{Noise: "power", Epsilon: dec(c.epsilon), Beta: dec(c.beta)}
		_, _, beta := noiseOf(t, s)
		epsilon := s.Epsilon.InexactFloat64()
		checkPure(t, s, powerDensity(epsilon, beta), 1+epsilon/beta, 0.9999, 2)
	}
}

// |d ln f/dz|(1+|z|) = γ|z|^{γ−1}(1+|z|)/(1+|z|^γ) ≤ 2γ: for |z| < 1 since |z|^{γ−1}(1+|z|) ≤ 2, otherwise since it is
// at most 2|z|^γ.
func TestCauchyIsPureAndTight(t *testing.T) {
	for _, gamma := range []string{"1.3", "2", "3", "4.5", "10"} {
		for _, epsilon := range []string{"0.2", "1", "5"} {
			s := Spec{Noise: "cauchy", Gamma: dec(gamma), Epsilon: dec(epsilon)}
			g := s.Gamma.InexactFloat64()
			checkPure(t, s, cauchyDensity(g), 2*g, 0.99, 2)
			s.Published = true
			checkPure(t, s, cauchyDensity(g), 2*g, 0.15, 200)
		}
	}
}

// |d ln f/dz|(1+|z|) = (d+1)|z|(1+|z|)/(d+z²) ≤ (d+1)(1/(2√d) + 1) ≤ 5.2 for d = 3.
func TestStudentIsPure(t *testing.T) {
	for _, epsilon := range []string{"0.1", "1", "4"} {
		for _, beta := range []string{"0", "0.02"} {
			s := Spec{Noise: "student_t", Epsilon: dec(epsilon), Beta: dec(beta)}
			checkPure(t, s, studentDensity(), 5.2, 0.4, 4)
			s.Published = true
			checkPure(t, s, studentDensity(), 5.2, 0.2, 8)
		}
	}
}

func checkApproximate(t *testing.T, s Spec, d density, control float64, monotone func(t, c float64) []float64) {
	t.Helper()
	_, alpha, beta := noiseOf(t, s)
	epsilon, delta := s.Epsilon.InexactFloat64(), s.Delta.InexactFloat64()
	got, seen := d.mostDelta(epsilon, alpha, beta, delta, monotone)
	t.Logf("ε = %v, δ = %v, α = %.5f, β = %.5f: largest δ is between %.2g and %.2g δ", epsilon, delta, alpha, beta,
		seen/delta, got/delta)
	if got > delta {
		t.Errorf("ε = %v: δ = %v, want at most %v", epsilon, got, delta)
	}
	if _, seen := d.mostDelta(epsilon, control*alpha, control*beta, delta, monotone); seen <= delta {
		t.Errorf("ε = %v: the check does not notice %v times the α and β: δ = %v", epsilon, control, seen)
	}
}

func TestLaplaceIsApproximate(t *testing.T) {
	// The loss |e^t y + c| − |y| − t is linear between its kinks at 0 and −c·e^−t.
	monotone := func(t, c float64) []float64 {
		points := []float64{-300, 0, -c * math.Exp(-t), 300}
		slices.Sort(points)
		return points
	}
	for _, epsilon := range []string{"0.2", "1", "4"} {
		for _, delta := range []string{"0.05", "0.01"} {
			s := Spec{Noise: "laplace", Epsilon: dec(epsilon), Delta: dec(delta)}
			checkApproximate(t, s, laplaceDensity(), 4, monotone)
			s.Published = true
			checkApproximate(t, s, laplaceDensity(), 4, monotone)
		}
	}
}

func TestGaussianIsApproximate(t *testing.T) {
	// The loss ½((e^t y + c)² − y²) − t is a parabola with its vertex at −c·e^t/(e^{2t}−1).
	monotone := func(t, c float64) []float64 {
		points := []float64{-40, 40}
		if vertex := -c * math.Exp(t) / math.Expm1(2*t); math.Abs(vertex) < 40 {
			points = []float64{-40, vertex, 40}
		}
		return points
	}
	for _, epsilon := range []string{"0.2", "1"} {
		for _, delta := range []string{"0.05", "0.01"} {
			checkApproximate(t, Spec{Noise: "gaussian", Epsilon: dec(epsilon),
				Delta: dec(delta)}, gaussianDensity(), 20, monotone)
		}
	}
}

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
