package smooth

import "testing"

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
