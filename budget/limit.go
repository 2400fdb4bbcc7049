package budget

import (
	"encoding/json"
	"errors"
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
	// Delta in [0, 1) is the δ of a period. Above 0 it admits zCDP charges and sharper sums, and approximate charges
	// whose δ add up to at most a tenth of it.
	Delta decimal.Decimal
	// Per is the length of the rolling period. 0 means for ever.
	Per time.Duration
	// Order is the order of the Rényi divergences that add up under a limit with a δ, from 1 (exclusive) to
	// [MostOrder]. 0 means that it follows from ε and δ. The comment on filter says why.
	Order decimal.Decimal
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
	return errors.Join(privacy.CheckDigits("delta", l.Delta), l.checkOrder())
}

// Equal reports whether two limits are the same.
func (l Limit) Equal(m Limit) bool {
	return l.Per == m.Per && l.sameFilter(m)
}

// sameFilter reports whether two limits add up costs in the same way.
func (l Limit) sameFilter(m Limit) bool {
	return l.Epsilon.Equal(m.Epsilon) && l.Delta.Equal(m.Delta) && l.Order.Equal(m.Order)
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
	Epsilon decimal.Decimal
	// Delta is the δ of a limit that admits the charges. If approximate charges use more than a tenth of the limit's δ,
	// it is ten times what they use.
	Delta decimal.Decimal
	// Unbounded says that there are zCDP charges and the limit has no δ to convert them with. Epsilon then covers only
	// the other charges.
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

// Periods is how many periods of the limit cover a half-open stretch of time of length d, which is positive. Each of
// them costs at most the limit.
func (l Limit) Periods(d time.Duration) int64 {
	if l.Per == 0 {
		return 1
	}
	return int64((d-1)/l.Per) + 1
}

// sum holds all that a bound needs to know about a set of costs. Sums are exact. Each price in them was rounded up.
type sum struct {
	plain decimal.Decimal // Σ ε of all but ZCDP costs
	order decimal.Decimal // Σ τ of all costs at the order of a filter; 0 without δ
	rho   decimal.Decimal // Σ ρ of ZCDP costs
	delta decimal.Decimal // Σ δ of Approximate costs
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
	add(&s.plain, t.plain)
	add(&s.order, t.order)
	add(&s.rho, t.rho)
	add(&s.delta, t.delta)
}

// tally collects sums before they are added, so that those of many charges with the same price take one addition.
type tally []struct {
	unit  *sum
	times int64
}

// newest is how many of the last prices add looks through. With more prices, an account only needs more additions.
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

// The ledger holds limits and caps in these forms: periods as [FormatPer] writes them.

type limitText struct {
	Epsilon decimal.Decimal `json:"epsilon"`
	Delta   decimal.Decimal `json:"delta"`
	Per     per             `json:"per"`
	Order   decimal.Decimal `json:"order,omitzero"`
}

type capText struct {
	Count int64  `json:"count"`
	Per   per    `json:"per"`
	Era   int64  `json:"era"`
	Lane  string `json:"row,omitempty"`
}

type per time.Duration

// MarshalText writes a period.
func (p per) MarshalText() ([]byte, error) { return []byte(FormatPer(time.Duration(p))), nil }

// UnmarshalText reads a period.
func (p *per) UnmarshalText(text []byte) error {
	d, err := ParsePer(string(text))
	*p = per(d)
	return err
}

// MarshalJSON writes the limit as in the ledger.
func (l Limit) MarshalJSON() ([]byte, error) {
	return json.Marshal(limitText{l.Epsilon, l.Delta, per(l.Per), l.Order})
}

// UnmarshalJSON reads a valid limit.
func (l *Limit) UnmarshalJSON(text []byte) error {
	var t limitText
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("limit: %w", err)
	}
	*l = Limit{t.Epsilon, t.Delta, time.Duration(t.Per), t.Order}
	return l.Check()
}

// MarshalJSON writes the cap as in the ledger.
func (c Cap) MarshalJSON() ([]byte, error) {
	return json.Marshal(capText{c.Count, per(c.Per), c.Era, c.Lane})
}

// UnmarshalJSON reads a valid cap.
func (c *Cap) UnmarshalJSON(text []byte) error {
	var t capText
	if err := json.Unmarshal(text, &t); err != nil {
		return fmt.Errorf("cap: %w", err)
	}
	*c = Cap{t.Count, time.Duration(t.Per), t.Era, t.Lane}
	return c.Check()
}
