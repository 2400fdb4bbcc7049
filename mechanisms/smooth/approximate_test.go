package smooth

import (
	"math"
	"slices"
	"testing"
)

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
