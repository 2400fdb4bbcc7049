package cost

import (
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

// Loss bounds what some releases cost one person.
type Loss struct {
	// Spending is the bound at the δ of the budget that pays. It is Unbounded if there is none.
	budget.Spending
	// Sum is the plain sum of ε. Whatever is drawn, nobody loses more, and it needs no δ. It is nil if one of the
	// mechanisms has no bound without a δ.
	Sum *decimal.Decimal
}

// Suggested is the δ that is recommended where a budget has none: far below one over the number of people on earth's
// largest topics, and large enough that sums of hundreds of windows are short.
var Suggested = decimal.New(1, -9)

// Counted returns what items cost together as the books of a limit add them up.
func Counted(limit budget.Limit, items []budget.Item) Loss {
	return Loss{limit.Compose(items), sum(items)}
}

// Of returns what items cost together that are public before anything is drawn: the least bound at the limit's δ. See
// [budget.Limit.Least].
func Of(limit budget.Limit, items []budget.Item) Loss { return Loss{limit.Least(items), sum(items)} }

// Alone returns what items cost if nothing else is drawn and no budget says otherwise: with the suggested δ if one of
// the mechanisms has no bound without a δ.
func Alone(items ...budget.Item) Loss {
	limit := budget.Limit{}
	if limit.Compose(items).Unbounded {
		limit.Delta = Suggested
	}
	return Of(limit, items)
}

// Whole returns everything that a limit pays in a period.
func Whole(limit budget.Limit) Loss {
	return Loss{Spending: budget.Spending{Epsilon: limit.Epsilon, Delta: limit.Delta}}
}

func sum(items []budget.Item) *decimal.Decimal {
	plain := budget.Limit{}.Compose(items)
	if plain.Unbounded || plain.Delta.IsPositive() {
		return nil
	}
	return &plain.Epsilon
}

// plus adds the losses of two sets of releases.
func (l Loss) plus(m Loss) Loss {
	both := Loss{Spending: budget.Spending{Epsilon: l.Epsilon.Add(m.Epsilon), Delta: l.Delta.Add(m.Delta),
		Unbounded: l.Unbounded || m.Unbounded}}
	if l.Sum != nil && m.Sum != nil {
		both.Sum = new(l.Sum.Add(*m.Sum))
	}
	return both
}

// ForReaders returns the loss in four digits, as people read it: rounded up, because it is a bound.
func (l Loss) ForReaders() Loss {
	l.Epsilon = upInFourDigits(l.Epsilon)
	if l.Sum != nil {
		l.Sum = new(upInFourDigits(*l.Sum))
	}
	return l
}

// upInFourDigits rounds a number that is not negative up. Digits before the point stay.
func upInFourDigits(x decimal.Decimal) decimal.Decimal {
	before := int32(x.NumDigits()) + x.Exponent() //nolint:gosec // an ε has few digits
	return x.RoundCeil(max(0, 4-before))
}

// String writes the loss as in "ε 0.2", "ε 3.93, δ 0.000000001 (ε 21.12 without δ)" or "no amount that can be stated".
func (l Loss) String() string {
	switch {
	case l.Unbounded:
		return "no amount that can be stated"
	case l.Delta.IsZero():
		return "ε " + l.Epsilon.String()
	case l.Sum == nil:
		return fmt.Sprintf("ε %s, δ %s", l.Epsilon, l.Delta)
	}
	return fmt.Sprintf("ε %s, δ %s (ε %s without δ)", l.Epsilon, l.Delta, l.Sum)
}

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
