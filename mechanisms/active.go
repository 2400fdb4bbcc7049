package mechanisms

import (
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/parameter"
	"github.com/louver/louver/mechanisms/running"
)

// ActiveQuery asks for the number of users seen lately.
type ActiveQuery struct {
	// Above and Below restrict it to users with values strictly above and below them.
	Above, Below *decimal.Decimal
	// Epsilon > 0 is the ε of any day, for one user in one group.
	Epsilon decimal.Decimal
	// Mechanism is one of [ActiveMechanisms]; "" is centred_gaussian with ZCDP, and centred otherwise. ZCDP says that
	// the budget sums up ρ.
	Mechanism string
	ZCDP      bool
	Grid      *Grid
	// Leaves is how many values a day has, from 1 to [running.MostCentred].
	Leaves int64
	// Groups is how many groups there are, or 0 if there is one number only.
	Groups int64
}

// The mechanisms of active users.
const (
	centred         = "centred"
	centredGaussian = "centred_gaussian"
)

// ActiveMechanisms lists the mechanisms of active users. The one for budgets without a δ is first.
func ActiveMechanisms() []string { return []string{centred, centredGaussian} }

// Active is the number of users seen lately: which values make a user active, and the strategy by which the number is
// published. It is immutable and safe for concurrent use.
//
// Privacy: [running.NewCentred] promises its ε or ρ for users who are 0 or 1 of the number at the end of each leaf, and
// in one group at a time. The caller must see to it that nobody is more: see windows.Presence.
type Active struct {
	running.Active
	grid       *Grid
	first, end int64 // the points from first and below end count
	single     int64 // the 95 % error of a count with the share of one value
}

// NewActive checks a query and returns the number that it asks for. The error is an [Error] that says what is wrong
// with the query.
func NewActive(q ActiveQuery) (*Active, error) {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return nil, err
	}
	if q.Grid == nil {
		return nil, parameter.Wrong("bounds", "missing", "lower, upper and step")
	}
	a := &Active{grid: q.Grid}
	var err error
	if a.first, a.end, err = q.Grid.Between(q.Above, q.Below); err != nil {
		return nil, err
	}
	name := q.Mechanism
	switch {
	case name == "" && q.ZCDP:
		name = centredGaussian
	case name == "":
		name = centred
	}
	if a.Active, err = NewActiveStrategy(name, q.Leaves, q.Groups, q.Epsilon); err != nil {
		return nil, err
	}
	epsilon, values := q.Epsilon.InexactFloat64(), float64(q.Leaves)
	if name == centredGaussian {
		a.single = int64(math.Ceil(1.96 * math.Sqrt(values) / epsilon))
	} else { // P(|Z| > d) ≤ e^(−d·ε/T)
		a.single = int64(math.Ceil(math.Log(20) * values / epsilon))
	}
	return a, nil
}

// NewActiveStrategy returns the strategy of a mechanism of active users. The error is an [Error].
func NewActiveStrategy(mechanism string, leaves, groups int64, epsilon decimal.Decimal) (running.Active, error) {
	if !slices.Contains(ActiveMechanisms(), mechanism) {
		return nil, parameter.Wrong("mechanism", parameter.Quoted(mechanism), "one of those of active users: %s",
			oneOf(ActiveMechanisms()))
	}
	strategy := running.NewCentred
	if mechanism == centredGaussian {
		strategy = running.NewCentredGaussian
	}
	s, err := strategy(leaves, groups, epsilon)
	if err != nil {
		return nil, parameter.Wrong("active", "given", "another update or epsilon, or fewer groups: %s", err)
	}
	return s, nil
}

// Counts reports whether a value makes a user active. index is that of the value on the grid; values beyond the bounds
// count as the nearer bound.
func (a *Active) Counts(index int64) bool {
	index = min(max(index, 0), a.grid.last)
	return a.first <= index && index < a.end
}

// OneByOne is the 95 % error of each value if all values of a day were counts of their own that cost as much together:
// with a pure ε each has ε/T, and with ρ each has ρ/T.
func (a *Active) OneByOne() int64 { return a.single }
