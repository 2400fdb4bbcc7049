package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/mechanisms/internal/parameter"
	"github.com/louver/louver/mechanisms/running"
)

// TotalQuery asks for a running total, such as the users so far today.
type TotalQuery struct {
	// Statistic is [Count], [Sum] or [Histogram]. Above and Below restrict a count to values strictly above and below
	// them. Buckets, Levels and Cuts are those of a histogram, as in [Query].
	Statistic    Statistic
	Above, Below *decimal.Decimal
	Buckets      *Bucketing
	Levels       int
	Cuts         []int64
	// MaxTotal limits what one user adds to one group in a period. For a count or a histogram it is a number of
	// windows, and nil means one. For a sum it is an amount in the unit of the values.
	MaxTotal *decimal.Decimal
	// Epsilon > 0 is the ε of a period, for one user in one group.
	Epsilon decimal.Decimal
	// Mechanism is one of [TotalMechanisms]; "" is square_root with ZCDP, if the period is not too long and Groups are
	// not too many for it, and tree otherwise. ZCDP says that the budget sums up ρ.
	Mechanism string
	ZCDP      bool
	Grid      *Grid
	// Groups is how many groups have totals. 0 means one.
	Groups int64
	running.Period
}

// mostDraws is the most draws of a period that square_root keeps, over all groups.
const mostDraws = 500_000

// MostWindows is the most windows of a period in which one user may count. Beyond it, noise would hide everything.
const MostWindows = 1000

// The mechanisms of totals.
const (
	treeTotal       = "tree"
	squareRootTotal = "square_root"
)

// TotalMechanisms lists the mechanisms of totals. The one for budgets without a δ is first.
func TotalMechanisms() []string { return []string{treeTotal, squareRootTotal} }

// TotalStatistics lists the statistics that have totals.
func TotalStatistics() []Statistic { return []Statistic{Count, Sum, Histogram} }

// Unit returns the unit of the total, for the unit of the values. A number of users who may count in several windows is
// in visits.
func (q TotalQuery) Unit(of string) string {
	if q.Statistic != Sum && q.MaxTotal != nil && q.MaxTotal.GreaterThan(decimal.NewFromInt(1)) {
		return "visits"
	}
	return q.Statistic.Unit(of)
}

// tooMany reports whether square_root would keep too many draws of so many numbers in each group.
func (q TotalQuery) tooMany(numbers int64) bool {
	return q.Groups > mostDraws/max(1, q.Longest*numbers)
}

// Total is a running total: what one value of a user adds, and the strategy by which the sums are published. It is
// immutable and safe for concurrent use.
//
// Privacy: [running.Strategy] promises its ε or ρ for persons whose amounts, without their signs, add up to Most or
// less. The caller must see to it that nobody adds more in a group: see windows.Allowance.
//
// A total of a histogram is a total of each of its numbers. See [Total.Enter].
type Total struct {
	running.Strategy
	// Buckets are those of a histogram, and nil otherwise.
	Buckets *histogram.Buckets
	// Most is c, what one user adds at most, in steps of Scale.
	Most int64
	// Scale is that of totals and of their errors.
	Scale Scale
	grid  *Grid
	sums  *sums // nil for a count
	power int64 // how many units of sums make a step of Scale
	first int64 // a count is of the points from first …
	end   int64 // … and below end
}

// NewTotal checks a query and returns its total. The error is an [Error] that says what is wrong with the query.
func NewTotal(q TotalQuery) (*Total, error) {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return nil, err
	}
	if q.Grid == nil {
		return nil, parameter.Wrong("bounds", "missing", "lower, upper and step")
	}
	t := &Total{Most: 1, grid: q.Grid, Scale: Scale{step: decimal.NewFromInt(1)}}
	var err error
	switch {
	case !slices.Contains(TotalStatistics(), q.Statistic):
		return nil, parameter.Wrong("since", "given",
			"it with statistic %s only: other statistics have no running total", oneOf(TotalStatistics()))
	case q.Statistic != Count && (q.Above != nil || q.Below != nil):
		return nil, parameter.Wrong("above", "given", "it with statistic count")
	case q.Statistic != Sum:
		err = t.ofUsers(&q)
	case q.MaxTotal == nil:
		return nil, parameter.Wrong("max_total", "missing", "the amount that one user adds at most, for example %s",
			q.Grid.upper)
	default:
		err = t.ofSums(*q.MaxTotal)
	}
	if err != nil {
		return nil, err
	}
	name := q.Mechanism
	if name == "" {
		name = treeTotal
		if q.ZCDP && q.Longest <= running.MostLeaves && !q.tooMany(int64(t.Numbers())) {
			name = squareRootTotal
		}
	}
	if name == squareRootTotal && q.tooMany(int64(t.Numbers())) {
		of := ""
		if t.Buckets != nil {
			of = fmt.Sprintf(" of %d numbers each", t.Numbers())
		}
		return nil, parameter.Wrong("mechanism", parameter.Quoted(name),
			"tree: with %d groups%s and up to %d values in a period there are more than %d draws to keep",
			q.Groups, of, q.Longest, mostDraws)
	}
	if t.Strategy, err = NewStrategy(name, q.Period, q.Epsilon, t.Most); err != nil {
		var of *Error
		if errors.As(err, &of) {
			return nil, err
		}
		return nil, parameter.Wrong("since", "given", "another period, update, epsilon or mechanism: %s", err)
	}
	return t, nil
}

// ofUsers makes t the total of users, or of the users in each bucket.
func (t *Total) ofUsers(q *TotalQuery) (err error) {
	if t.first, t.end, err = q.Grid.Between(q.Above, q.Below); err != nil {
		return err
	}
	if q.Statistic == Histogram {
		of := Query{Grid: q.Grid, Buckets: q.Buckets, Levels: q.Levels, Cuts: q.Cuts}
		if t.Buckets, err = of.buckets(); err != nil {
			return err
		}
		q.Parts = int64(t.Buckets.Levels())
	}
	if q.MaxTotal == nil {
		return nil
	}
	if t.Most = q.MaxTotal.IntPart(); !q.MaxTotal.IsInteger() || t.Most < 1 || t.Most > MostWindows {
		return parameter.Wrong("max_total", *q.MaxTotal, "a whole number of windows from 1 to %d", MostWindows)
	}
	return nil
}

// ofSums makes t the total of amounts of which one user adds so much at most. Strategies count up to
// [running.MostTotal] for each user. If max_total is more than that in units of sums, totals are counted in the least
// power of ten of units in which it is not, and the amount of each value is rounded to the nearest of these. Each is
// off by less than max_total/(2·10^8). A hundred million values together are off by less than half of max_total, which
// is within the noise of an ε of 2 or less, so error_95 leaves it out.
func (t *Total) ofSums(maxTotal decimal.Decimal) error {
	all := newSums(t.grid, 0, t.grid.last)
	unit := all.clipScale()
	largest := unit.Length(math.MaxInt64)
	if maxTotal.Sign() <= 0 || maxTotal.GreaterThan(largest) || !maxTotal.Mod(unit.step).IsZero() {
		return parameter.Wrong("max_total", maxTotal, "a multiple of %s, the unit of sums, from that to %s", unit.step,
			largest)
	}
	amount := maxTotal.Div(unit.step).IntPart()
	t.power = coarsening(amount)
	if amount%t.power != 0 {
		return parameter.Wrong("max_total", maxTotal, "a multiple of %s: the units of a total so large are no finer",
			unit.Length(t.power))
	}
	t.sums, t.Most, t.Scale = &all, amount/t.power, Scale{step: unit.Length(t.power)}
	return nil
}

// NewStrategy returns the strategy of a mechanism of totals.
func NewStrategy(mechanism string, p running.Period, epsilon decimal.Decimal, most int64) (running.Strategy, error) {
	switch mechanism {
	case treeTotal:
		return running.NewTree(p, epsilon, most)
	case squareRootTotal:
		return running.NewSquareRoot(p, epsilon, most)
	}
	return nil, parameter.Wrong("mechanism", parameter.Quoted(mechanism), "one of those of totals: %s",
		oneOf(TotalMechanisms()))
}

// Adds returns what a value of a window adds while nothing of Most is used up. index is that of the value on the grid,
// −1 below it and N+1 above. The result depends on the value and on public figures only.
func (t *Total) Adds(index int64) int64 {
	index = min(max(index, 0), t.grid.last)
	if t.sums != nil {
		return floorDiv(t.sums.value(index)+t.power/2, t.power) // the nearest one
	}
	if t.first <= index && index < t.end {
		return 1
	}
	return 0
}

// JudgeTotal returns the quality of a total. It compares the error with the total.
func JudgeTotal(value, error95 float64) Quality { return compare(error95, math.Abs(value)) }

// The distribution so far is a running total of each number of a histogram: of the users in each bucket, and on two
// levels also of those in each group of neighbouring buckets. A user adds 1 to the numbers of their bucket in each
// window in which they count, at most Most times in a period.
//
// Privacy: ε-DP or ρ-zCDP for a period, as the strategy promises for [running.Period.Parts] sums side by side. In each
// level of buckets, one user changes the numbers by Σ|v| ≤ Most in all, over all leaves and whichever buckets they are
// in: [Total.Enter] adds each of their windows to one number of the level. Of two levels each has half of ε or of ρ.
//
// Figures: all noisy sums are of a stretch of time and a set of buckets, and those of a level of buckets have the same
// noise. So the best linear estimate may be made in two steps: first the total of each number, and then the estimate of
// package histogram with the variance of a total ([TotalNoise]). Totals are rounded in between. That adds at most a
// twelfth to a variance, which the ½ in all errors covers.

// Numbers is how many numbers a group has: one, or those of all buckets and then those of the groups of buckets.
func (t *Total) Numbers() int {
	if t.Buckets == nil {
		return 1
	}
	return t.Buckets.Len() + t.Buckets.Groups()
}

// Places is how many amounts of a window are kept apart in a group, and Place is that of a value: its bucket. index is
// as in [Total.Adds].
func (t *Total) Places() int {
	if t.Buckets == nil {
		return 1
	}
	return t.Buckets.Len()
}

// Place is the place of a value: see [Total.Places].
func (t *Total) Place(index int64) int {
	if t.Buckets == nil {
		return 0
	}
	return t.Buckets.Of(index) // values below the grid are in the first bucket, and those above it in the last one
}

// Enter adds what a window adds in each place of a group to the group's numbers, in a leaf that is not finished. open
// has a stretch for each number, and Enter changes it. Each amount goes to one number of each level.
func (t *Total) Enter(open []running.Open, leaf int64, amounts []int64) {
	for place, amount := range amounts {
		if amount == 0 {
			continue
		}
		open[place] = t.Add(open[place], leaf, amount)
		if t.Buckets != nil && t.Buckets.Groups() > 0 {
			group := t.Buckets.Len() + t.Buckets.Group(place)
			open[group] = t.Add(open[group], leaf, amount)
		}
	}
}

// Error95 is the distance from the truth that a total up to a leaf keeps to with a probability of at least 95 %. Of a
// histogram it is that of the number of all users.
func (t *Total) Error95(leaf int64) int64 {
	if t.Buckets == nil {
		return t.Strategy.Error95(leaf)
	}
	_, off := t.Buckets.Estimate(make([]int64, t.Buckets.Len()), make([]int64, t.Buckets.Groups()),
		TotalNoise(t, leaf), 1).Users()
	return int64(off)
}

// Needs returns about how many users a histogram has to hold after a leaf for a quantile that is more than noise, and
// for a useful one. Both are proportional to the noise of a number: the quality goes by the band, and that reaches as
// far as the noise of the users up to the quantile does. The factors are those of simulated days of 1,000 to 50,000
// users with lognormal latencies in 113 buckets, rounded to the safe side. Fewer buckets need fewer users. Both are at
// least 1: without users there is no quantile, however little noise there is.
func (t *Total) Needs(p decimal.Decimal, leaf int64) (rough, useful int64) {
	variance, _ := t.Noise(leaf)
	side := decimal.Min(p, decimal.NewFromInt(1).Sub(p)).InexactFloat64()
	users := func(factor float64) int64 { return max(1, int64(math.Ceil(factor*math.Sqrt(variance/8)/side))) }
	if side > 0.25 {
		return users(24), users(110)
	}
	return users(16), users(80)
}

// NoiseSoFar is at least the noise of each number of a histogram so far, by the published error of the number of all
// users. The mechanism is one of [TotalMechanisms].
func NoiseSoFar(mechanism string, b *histogram.Buckets, error95 float64) (histogram.Noise, error) {
	s, err := NewStrategy(mechanism, running.Period{Leaves: 1, Longest: 1}, decimal.NewFromInt(1), 1)
	if err != nil {
		return histogram.Noise{}, err
	}
	_, reach := s.Noise(1) // the same after each leaf
	return b.NoiseOf(error95, reach), nil
}

// TotalNoise is the noise of each number of a histogram so far, after a leaf.
func TotalNoise(s running.Strategy, leaf int64) histogram.Noise {
	variance, reach := s.Noise(leaf)
	return histogram.Noise{Variance: variance, Reach: reach}
}

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
