package cost

import (
	"fmt"
	"math"
)

// MostThatHides is ln 99, rounded down: the largest ε, without a δ, at which one of 100 guesses must be wrong. See
// [Loss.Hides].
const MostThatHides = "4.59"

// Right is how many of 100 guesses whether one person is in the data can be right at most: 50 to 100, rounded up. See
// [budget.Spending.Guess].
func (l Loss) Right() int64 { return int64(math.Ceil(100*l.Guess() - 1e-9)) }

// Hides reports whether a loss leaves a person any doubt to hide in: at least one of 100 guesses must be wrong,
// whatever is known about everybody else. Without a δ that is so up to ln 99. Beyond it all 100 may be right.
func (l Loss) Hides() bool { return l.Right() < 100 }

// Odds says how many guesses can be right, as a clause: of 100 guesses whether you were there, at most 54 are right.
func (l Loss) Odds(whether string) string {
	if !l.Hides() {
		return fmt.Sprintf("of 100 guesses whether %s, all may be right", whether)
	}
	return fmt.Sprintf("of 100 guesses whether %s, at most %d are right", whether, l.Right())
}
