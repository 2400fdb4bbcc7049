package budget

import (
	"math"
	"testing"

	"github.com/shopspring/decimal"
)

// The best guesser against (ε, δ) sees the worst mechanism that the promise allows. With probability δ that mechanism
// reveals who was there; otherwise it answers the question by randomised response with ε.
func TestGuess(t *testing.T) {
	for _, c := range []struct{ epsilon, delta, want float64 }{
		{0, 0, 0.5}, {math.Log(3), 0, 0.75}, {0.5, 0, 0.6225}, {0, 0.2, 0.6}, {math.Log(3), 0.1, 0.1 + 0.9*0.75},
		{1000, 0, 1},
	} {
		s := Spending{Epsilon: decimal.NewFromFloat(c.epsilon), Delta: decimal.NewFromFloat(c.delta)}
		if got := s.Guess(); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("ε %g, δ %g: %g; want %g", c.epsilon, c.delta, got, c.want)
		}
	}
	if got := (Spending{Unbounded: true}).Guess(); got != 1 {
		t.Errorf("without a bound: %g; want 1", got)
	}
}
