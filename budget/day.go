package budget

import (
	"time"

	"github.com/shopspring/decimal"
)

// Most bounds what the windows that end in any half-open stretch of time of length d cost one person, by the schedules and by
// the limit, which withholds what it cannot pay. held is what a period of the limit counts at most of charges that lie on a
// stretch of time.
func (l Limit) Most(d time.Duration, schedules []Schedule, held ...Item) Spending {
	stretch := Limit{Epsilon: l.Epsilon, Delta: l.Delta, Per: d}
	s, _ := NewAccount(stretch).fullest(schedules)
	// A stretch is covered by so many periods, each of which costs at most the limit.
	periods := int64(1)
	if l.Per != 0 {
		periods = int64((d-1)/l.Per) + 1
	}
	s.add(sumOf(held), periods)
	planned := stretch.bound(s)
	n := decimal.NewFromInt(periods)
	paid := Spending{Epsilon: l.Epsilon.Mul(n), Delta: l.Delta.Mul(n)}
	if planned.Unbounded || paid.Epsilon.LessThan(planned.Epsilon) {
		return paid
	}
	return planned
}
