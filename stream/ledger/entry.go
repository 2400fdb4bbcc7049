package ledger

import (
	"math"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

// The reasons for which a value is withheld.
const (
	// BudgetExhausted: the window did not fit its budget. Nothing was drawn and nothing is charged.
	BudgetExhausted = "budget_exhausted"
	// TooFewUsers: the released count of the group was below the stream's min_users. Charged in full.
	TooFewUsers = "too_few_users"
)

// Entry is one record of the ledger: one window of one stream, with its charge and everything that was drawn.
// Times have whole seconds and are UTC.
type Entry struct {
	// Format is that of the output records that the entry gives: [Format] for a new one. Older entries keep theirs, so
	// that their records stay the same bytes for ever.
	Format int
	App    string
	Stream string
	Budget string
	// Input and Output are the topics of the stream when the window was decided.
	Input, Output string
	// Epoch counts the stream's definitions, from 0: which one the window followed.
	Epoch uint32
	// WindowStart and WindowEnd bound the window: [start, end).
	WindowStart, WindowEnd time.Time
	// DueAt is when the window closed by the public schedule, ReleasedAt when it was drawn.
	DueAt, ReleasedAt time.Time
	// Every is the step from one window of the stream to the next.
	Every time.Duration
	// Until is the end of the stream's last window; zero: the schedule is endless.
	Until time.Time
	// Limit is the budget's limit when the window was decided.
	Limit budget.Limit
	// Continues names the budgets whose charges this one took over, and those that these took over, nearest first. Books
	// must have seen their entries before they decide a window of this one.
	Continues []string
	// Price is what the window costs one user if it is paid.
	Price []budget.Item
	// Reason is BudgetExhausted if the whole window is withheld; "" if it is paid, and then Price is its charge.
	Reason string
	// Incomplete says that part of the window's input was lost before it was released.
	Incomplete bool
	// IncompleteIn are the partitions of the input of which something was lost, as far as they are known.
	IncompleteIn []int
	// Releases describe the values, in the order in which they stand in each group.
	Releases []Release
	// Groups are the public groups, in their order; one group "" if the stream has none.
	Groups []Group
	// Standing are the books after this entry.
	Standing Standing
	// Prior says which earlier releases the adaptive base measure had read; nil: none was used.
	Prior *Prior
}

// Release describes one series of values, the same in every group and window.
type Release struct {
	Name      string `json:"name"`
	Statistic string `json:"statistic"`
	// P is the probability of a quantile; nil for statistics that have none.
	P         *decimal.Decimal `json:"p,omitempty"`
	Mechanism string           `json:"mechanism"`
	Unit      string           `json:"unit,omitempty"`
	// Epsilon and Delta of one draw, for one user in one group. Values that are drawn jointly all carry those of the draw.
	Epsilon decimal.Decimal `json:"epsilon"`
	Delta   decimal.Decimal `json:"delta,omitzero"`
}

// Group holds what was released of one group of the window.
type Group struct {
	Name string `json:"name"`
	// Users is the window's released count; nil if none was drawn.
	Users *int64 `json:"users,omitempty"`
	// Reason is TooFewUsers where values were withheld for that.
	Reason string `json:"reason,omitempty"`
	// Values holds one value for each release of the entry; empty if the window is withheld.
	Values []Value `json:"values,omitempty"`
}

// Value is one released figure. The zero Value is a withheld one.
type Value struct {
	// Mechanism is the one that was drawn, where the draw chose it; "": that of the release. Which one it was is released:
	// see mechanisms.Draw.
	Mechanism string `json:"mechanism,omitempty"`
	// Value is an exact decimal, as mechanisms.Scale says, or a whole number of users; nil: withheld.
	Value *decimal.Decimal `json:"value,omitempty"`
	// RankError95, PLow and PHigh: make them with [RankError], [PercentileLow] and [PercentileHigh]; nil: none.
	RankError95 *decimal.Decimal `json:"rank_error_95,omitempty"`
	PLow        *decimal.Decimal `json:"p_low,omitempty"`
	PHigh       *decimal.Decimal `json:"p_high,omitempty"`
	// Error95 is the 95 % error of the value's noise, in the value's unit; nil: no public figure bounds it.
	Error95 *decimal.Decimal `json:"error_95,omitempty"`
	// Quality is "useful", "rough" or "noise", as mechanisms.Query.Judge says; "": nothing public bounds the error. It is
	// decided when the value is drawn, so that it stays the same when the rule is changed.
	Quality string `json:"quality,omitempty"`
	// Clip is the interval that values were cut to before they were added up, both ends included; nil: none was found.
	Clip *[2]decimal.Decimal `json:"clip,omitempty"`
	// Interval is the paid value interval, Smoothed the free estimate from this and earlier releases; nil: none.
	Interval *Interval `json:"interval,omitempty"`
	Smoothed *Smoothed `json:"smoothed,omitempty"`
}

// Interval is a paid interval that holds the true statistic with probability Level.
type Interval struct {
	Level decimal.Decimal `json:"level"`
	Low   decimal.Decimal `json:"low"`
	High  decimal.Decimal `json:"high"`
}

// Smoothed is an estimate from this and earlier releases; Low and High are its 90 % band, nil where none is allowed.
type Smoothed struct {
	Value decimal.Decimal  `json:"value"`
	Low   *decimal.Decimal `json:"low,omitempty"`
	High  *decimal.Decimal `json:"high,omitempty"`
}

// Standing are the books after an entry, its own charge included. See [Books.Standing].
type Standing struct {
	// StreamSpent is the ε that the stream has been charged in its whole life; nil: no ε bounds it.
	StreamSpent *decimal.Decimal `json:"stream_epsilon_spent"`
	// BudgetSpent is the ε that counts in the budget's period at the window's end; nil: no ε bounds it.
	BudgetSpent *decimal.Decimal `json:"budget_epsilon_spent"`
	// WindowsLeft is how many more windows at this price what is left would pay.
	WindowsLeft int64 `json:"budget_windows_left"`
}

// Prior is the public past that the adaptive base measure was computed from.
type Prior struct {
	// Upto is how many entries of the stream were read: the last so many before this one, in the ledger's order.
	Upto int64 `json:"upto"`
	// Hash is the hash of the measures that were used, in hexadecimal.
	Hash string `json:"hash"`
}

// Charge is what the window was charged: its price, or nothing if it is withheld for its budget.
// It fails where the price or the window is malformed; entries from [Decode] never do.
func (e Entry) Charge() (budget.Charge, error) {
	items := e.Price
	if e.Reason != "" {
		items = nil
	}
	return budget.NewCharge(e.Stream, e.Budget, e.WindowStart.UnixNano(), e.WindowEnd.UnixNano(), items)
}

// WithholdBelow withholds, in every group whose value of the release `count` is below minimum, all values but that one.
// What was drawn is forgotten; it stays charged.
func (e *Entry) WithholdBelow(count string, minimum int64) {
	for c, r := range e.Releases {
		if r.Name != count {
			continue
		}
		for g := range e.Groups {
			group := &e.Groups[g]
			if v := group.Values; len(v) == 0 || v[c].Value == nil || v[c].Value.Cmp(decimal.NewFromInt(minimum)) >= 0 {
				continue
			}
			group.Reason = TooFewUsers
			for i := range group.Values {
				if i != c {
					group.Values[i] = Value{}
				}
			}
		}
	}
}

// Error turns an error into a figure of four significant digits at least, rounded up. Whole numbers stay exact. nil for
// NaN and infinities.
func Error(size float64) *decimal.Decimal {
	return figure(size, func(d decimal.Decimal) decimal.Decimal {
		return d.RoundCeil(max(0, 4-int32(d.NumDigits())-d.Exponent()))
	})
}

// RankError turns an error in ranks into a figure, rounded up to one decimal. It is nil for NaN and infinities.
func RankError(ranks float64) *decimal.Decimal {
	return figure(ranks, func(d decimal.Decimal) decimal.Decimal { return d.RoundCeil(1) })
}

// percentilePlaces is how many decimals p_low and p_high have: enough for p = 0.9999.
const percentilePlaces = 6

// PercentileLow turns a lower bound in [0, 1] into a figure, rounded down; nil for NaN and infinities.
func PercentileLow(p float64) *decimal.Decimal {
	return figure(p, func(d decimal.Decimal) decimal.Decimal { return d.RoundFloor(percentilePlaces) })
}

// PercentileHigh turns an upper bound in [0, 1] into a figure, rounded up; nil for NaN and infinities.
func PercentileHigh(p float64) *decimal.Decimal {
	return figure(p, func(d decimal.Decimal) decimal.Decimal { return d.RoundCeil(percentilePlaces) })
}

func figure(f float64, round func(decimal.Decimal) decimal.Decimal) *decimal.Decimal {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	d := round(decimal.NewFromFloat(f))
	return &d
}
