package budget

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/windows/period"
)

// Limit says how much a budget may spend on one user.
type Limit struct {
	// Epsilon > 0 is the ε of a period.
	Epsilon decimal.Decimal
	// Delta in [0, 1) is the δ of a period. Above 0 it admits approximate and zCDP charges and sharper sums.
	Delta decimal.Decimal
	// Per is the length of the rolling period; 0 is forever.
	Per time.Duration
}

// Check returns an error for an invalid limit.
func (l Limit) Check() error {
	switch {
	case l.Epsilon.Sign() <= 0:
		return fmt.Errorf("budget epsilon %s; want more than 0", l.Epsilon)
	case l.Delta.Sign() < 0 || l.Delta.Cmp(decimal.NewFromInt(1)) >= 0:
		return fmt.Errorf("budget delta %s; want at least 0 and less than 1", l.Delta)
	case l.Per < 0:
		return fmt.Errorf("budget period %s; want a positive duration or forever", l.Per)
	}
	if err := privacy.CheckDigits("epsilon", l.Epsilon); err != nil {
		return err
	}
	return privacy.CheckDigits("delta", l.Delta)
}

// Equal reports whether two limits are the same.
func (l Limit) Equal(m Limit) bool {
	return l.Per == m.Per && l.Epsilon.Equal(m.Epsilon) && l.Delta.Equal(m.Delta)
}

const forever = "forever"

// FormatPer writes a period as in a configuration: "24h", or "forever" for 0.
func FormatPer(per time.Duration) string {
	if per == 0 {
		return forever
	}
	return period.Hours(per)
}

// ParsePer reads a period that FormatPer wrote: a positive duration, or "forever", which is 0.
func ParsePer(s string) (time.Duration, error) {
	if s == forever {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("period %q; want a positive duration such as 24h, or forever", s)
	}
	return d, nil
}

// Spending is a bound on what a set of charges costs a user: together they are (Epsilon, Delta)-DP.
type Spending struct {
	Epsilon, Delta decimal.Decimal
	// Unbounded says that there are zCDP charges and the limit's δ leaves nothing to convert them with. Epsilon then
	// covers only the other charges.
	Unbounded bool
}

// within reports whether the limit admits s. It admits an exact match.
func (l Limit) within(s Spending) bool {
	return !s.Unbounded && s.Epsilon.Cmp(l.Epsilon) <= 0 && s.Delta.Cmp(l.Delta) <= 0
}

// Left returns the rest of the limit's ε, never below 0.
func (l Limit) Left(s Spending) decimal.Decimal {
	if left := l.Epsilon.Sub(s.Epsilon); !s.Unbounded && left.Sign() > 0 {
		return left
	}
	return decimal.Decimal{}
}

// Compose returns the least bound on the total cost of items that is valid at the limit's δ.
func (l Limit) Compose(items []Item) Spending {
	return l.bound(sumOf(items))
}

// sum holds all that a bound needs to know about a set of costs. Sums are exact; each ρ in them was rounded up.
type sum struct {
	pure        decimal.Decimal // Σ ε of Pure and BoundedRange costs …
	pureRho     decimal.Decimal // … and Σ ρ of the same
	rho         decimal.Decimal // Σ ρ of ZCDP costs
	approximate decimal.Decimal // Σ ε of Approximate costs …
	delta       decimal.Decimal // … and Σ δ of the same
}

func sumOf(items []Item) sum {
	var s sum
	for _, i := range items {
		one := sum{}
		switch i.Kind {
		case privacy.Pure, privacy.BoundedRange:
			one.pure, one.pureRho = i.Epsilon, i.Rho
		case privacy.ZCDP:
			one.rho = i.Rho
		case privacy.Approximate:
			one.approximate, one.delta = i.Epsilon, i.Delta
		}
		s.add(one, i.Times)
	}
	return s
}

// add adds times copies of t.
func (s *sum) add(t sum, times int64) {
	if times == 0 {
		return
	}
	n := decimal.NewFromInt(times)
	add := func(to *decimal.Decimal, d decimal.Decimal) {
		switch {
		case d.IsZero():
		case times == 1:
			*to = to.Add(d)
		default:
			*to = to.Add(d.Mul(n))
		}
	}
	add(&s.pure, t.pure)
	add(&s.pureRho, t.pureRho)
	add(&s.rho, t.rho)
	add(&s.approximate, t.approximate)
	add(&s.delta, t.delta)
}

// tally collects sums before they are added, so that those of many charges with the same price take one addition.
type tally []struct {
	unit  *sum
	times int64
}

// newest is how many of the last prices add looks through. An account that has more only takes more additions.
const newest = 16

func (t *tally) add(unit *sum, times int64) {
	all := *t
	for i := len(all) - 1; i >= max(0, len(all)-newest); i-- {
		if all[i].unit == unit {
			all[i].times += times
			return
		}
	}
	*t = append(*t, struct {
		unit  *sum
		times int64
	}{unit, times})
}

func (t tally) addTo(s *sum) {
	for _, x := range t {
		s.add(*x.unit, x.times)
	}
}

// bound returns the least of the bounds that hold for s:
//
//   - basic: the ε and δ add up; this holds only without ZCDP costs;
//   - all by ρ: the ρ of all costs except approximate ones add up, and are converted with the δ that these leave;
//   - mixed: only ZCDP costs are converted like this, while the pure ε add up.
//
// Converted and plain parts may be interleaved adaptively: outside the events of the δ, a part that is ε-DP adds at
// most ε to every Rényi divergence, which moves the converted ε by as much.
func (l Limit) bound(s sum) Spending {
	plain := s.pure.Add(s.approximate)
	if l.Delta.IsZero() || l.Delta.Cmp(s.delta) <= 0 {
		return Spending{Epsilon: plain, Delta: s.delta, Unbounded: !s.rho.IsZero()}
	}
	spare := l.Delta.Sub(s.delta)
	best := Spending{Epsilon: s.approximate.Add(convert(s.rho.Add(s.pureRho), spare)), Delta: l.Delta}
	other := Spending{Epsilon: plain, Delta: s.delta}
	if !s.rho.IsZero() {
		other = Spending{Epsilon: plain.Add(convert(s.rho, spare)), Delta: l.Delta}
	}
	if other.Epsilon.Cmp(best.Epsilon) <= 0 {
		return other
	}
	return best
}
