package budget

import (
	"time"

	"github.com/shopspring/decimal"
)

// Most bounds what the windows that end in any half-open stretch of time of length d cost one person, by the schedules and by
// the limit, which withholds what it cannot pay. held is what a period of the limit counts at most of charges that lie on a
// stretch of time.
func (l Limit) Most(d time.Duration, schedules []Schedule, held ...Item) Spending {
	stretch := NewAccount(Limit{Epsilon: l.Epsilon, Delta: l.Delta, Per: d})
	s, _ := stretch.fullest(schedules)
	periods := l.Periods(d)
	s.add(stretch.filter.sumOf(held), periods)
	planned := stretch.filter.bound(s)
	n := decimal.NewFromInt(periods)
	paid := Spending{Epsilon: l.Epsilon.Mul(n), Delta: l.Delta.Mul(n)}
	if planned.Unbounded || paid.Epsilon.LessThan(planned.Epsilon) {
		return paid
	}
	return planned
}

// Periods is how many periods of the limit cover a half-open stretch of time of length d, which is positive. Each of them
// costs at most the limit.
func (l Limit) Periods(d time.Duration) int64 {
	if l.Per == 0 {
		return 1
	}
	return int64((d-1)/l.Per) + 1
}
