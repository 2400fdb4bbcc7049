package smooth

import (
	"math"
	"testing"
)

// The calibrations match the papers digit for digit. The numbers were computed independently of this code, with 50
// decimal digits, from the printed formulas:
//
//	lln       (ε − β/σ)·e^(−1.5σ²), σ the root of 5(ε/β)σ³ − 5σ² − 1 = 0 to 4 digits
//	uln       (ε − β/√2)·√π·e^−3, which is σ = √2
//	arsinh    (ε − √(β(β/σ² + 1/σ + 2)))/(2/(3σ) + σ/2)
//	gaussian  α = ε/(5√(2 ln(2/δ))), β = ε/(4(1 + ln(2/δ)))
//	laplace   α = ε/2, β = ε/(2 ln(2/δ)); tight: the least of three bounds
//	student_t (ε − 4β)·√3/2 as published, (ε − 3β)·√3/2 tight
//	cauchy    α = β = ε/(2(γ+1))
//
// The promises of lln, uln and arsinh rest on these numbers. The theorems behind them leave so much room that a test of
// the loss does not notice an α a third too large: see [checkConcentrated].
func TestPublishedCalibrations(t *testing.T) {
	sigmaOf := func(n noise) float64 {
		switch n := n.(type) {
		case *lln:
			s, _ := n.sigma.exact.Float64()
			return s
		case *arsinh:
			s, _ := n.sigma.exact.Float64()
			return s
		}
		return 0
	}
	for _, c := range []struct {
		noise                  string
		epsilon, beta, delta   string
		published              bool
		sigma, alpha, wantBeta float64 // 0: not checked
	}{
		{"lln", "0.01", "0", "0", false, 0.3406, 0.0053190175954945, 0.00125},
		{"lln", "0.3", "0", "0", false, 0.3406, 0.159570527864835, 0.0375},
		{"lln", "1", "0", "0", false, 0.3406, 0.53190175954945, 0.125},
		{"lln", "3", "0", "0", true, 0.3406, 1.59570527864835, 0.375},
		{"lln", "1", "0.5", "0", false, 0.7026, 0.137514723443759, 0.5},
		{"uln", "0.01", "0", "0", false, 0, 0.000804454264737995, 0.00125},
		{"uln", "0.3", "0", "0", false, 0, 0.0241336279421399, 0.0375},
		{"uln", "1", "0", "0", true, 0, 0.0804454264737995, 0.125},
		{"uln", "1", "0.5", "0", false, 0, 0.057045862733448, 0.5},
		{"arsinh", "0.01", "0", "0", false, 0.89, 0.00314169919144115, 0.0000125},
		{"arsinh", "0.3", "0", "0", false, 0.89, 0.0938948628539113, 0.01125},
		{"arsinh", "1", "0", "0", false, 0.92, 0.307377049180328, 0.125},
		{"arsinh", "3", "0", "0", false, 0.84, 1.49844674232796, 0.375},
		{"arsinh", "1", "0.1", "0", false, 0.88, 0.357851954990028, 0.1},
		{"arsinh", "0.01", "0", "0", true, 1.1547, 0.00347671472221545, 0.0000125},
		{"arsinh", "1", "0", "0", true, 1.1547, 0.339262658181214, 0.125},
		{"arsinh", "3", "0.2", "0", true, 1.1547, 1.92546644922009, 0.2},
		{"gaussian", "0.1", "0", "0.01", false, 0, 0.00614392652654237, 0.003969314111223},
		{"gaussian", "1", "0", "0.000001", true, 0, 0.0371279850003088, 0.016120028194251},
		{"laplace", "1", "0", "0.01", true, 0, 0.5, 0.0943695829088774},
		{"laplace", "0.1", "0", "0.000001", true, 0, 0.05, 0.00344621817545789},
		{"laplace", "1", "0", "0.01", false, 0, 0.580420608721731, 0.108573620475813},
		{"laplace", "0.1", "0", "0.000001", false, 0, 0.0535285334163478, 0.0036191206825271},
		{"student_t", "1", "0", "0", true, 0, 0.433012701892219, 0.125},
		{"student_t", "1", "0", "0", false, 0, 0.541265877365274, 0.125},
		{"cauchy", "1", "0", "0", true, 0, 1. / 6, 1. / 6},
	} {
		s := Spec{Noise: c.noise, Epsilon: dec(c.epsilon), Beta: dec(c.beta), Delta: dec(c.delta),
			Published: c.published}
		m, alpha, beta := noiseOf(t, s)
		// A computed β is rounded down to 12 digits, and the α of tight Laplace noise depends on it.
		if math.Abs(alpha-c.alpha) > 1e-10*c.alpha || math.Abs(beta-c.wantBeta) > 1e-11*c.wantBeta ||
			sigmaOf(m.noise) != c.sigma {
			t.Errorf("%s, ε = %s, published %v: α = %.15g, β = %.15g, σ = %v; want %.15g, %.15g, %v",
				c.noise, c.epsilon, c.published, alpha, beta, sigmaOf(m.noise), c.alpha, c.wantBeta, c.sigma)
		}
	}
}
