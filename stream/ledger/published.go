package ledger

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

// Published is [NewReport] for readers of output topics, who do not see the ledger. books holds the windows that they
// know, and newest the newest figures of each stream, which repeat sums from the ledger. If the books fall short of
// these sums, because older windows are no longer known, the figures are Partial.
func Published(books *Books, newest []Figure, at time.Time) Report {
	r := NewReport(books, at)
	last, left := map[string]Figure{}, map[string]Figure{} // of each budget
	for _, f := range newest {
		if old, ok := last[f.Budget]; !ok || f.later(old) {
			last[f.Budget] = f
		}
		if old, ok := left[f.Budget]; !ok || f.TellsLeft(old) {
			left[f.Budget] = f
		}
	}
	for name, f := range last {
		i := slices.IndexFunc(r.Budgets, func(b Figures) bool { return b.Budget == name })
		if i < 0 {
			i = len(r.Budgets)
			r.Budgets = append(r.Budgets, Figures{Budget: name, Returns: []ReturnFigure{}})
		} else if spent := epsilon(books.accounts[name].Spent(f.WindowEnd.UnixNano())); !less(spent, read(f.BudgetSpent)) {
			continue // more is fine: an older window of another stream was decided after this one
		}
		r.Budgets[i].fallShort(f)
		r.Budgets[i].WindowsLeft = left[name].BudgetLeft
	}
	for _, f := range newest {
		of := slices.IndexFunc(r.Budgets, func(b Figures) bool { return b.Budget == f.Budget })
		b := r.Budgets[of]
		i := slices.IndexFunc(r.Streams, func(s StreamFigures) bool { return s.Stream == f.Stream })
		if i < 0 {
			i = len(r.Streams)
			r.Streams = append(r.Streams, StreamFigures{f.Stream, b})
		}
		if b.Partial {
			r.Streams[i].fallShort(f)
			r.Streams[i].EpsilonSpent = nil // a stream's own ε in the period is not published
		}
		// What the budget was charged in all is not known either if older windows of a stream are not.
		if a := books.accounts[f.Budget]; a == nil || less(epsilon(a.StreamTotal(f.Stream)), read(f.StreamSpent)) {
			r.Budgets[of].EpsilonTotal = nil
		}
		r.Streams[i].EpsilonTotal = optional(read(f.StreamSpent))
	}
	slices.SortFunc(r.Streams, func(a, b StreamFigures) int { return cmp.Compare(a.Stream, b.Stream) })
	slices.SortFunc(r.Budgets, func(a, b Figures) int { return cmp.Compare(a.Budget, b.Budget) })
	return r
}

// later reports whether one figure of a budget was published after another. If both windows end at once, the later one
// left less.
func (f Figure) later(o Figure) bool {
	if !f.WindowEnd.Equal(o.WindowEnd) {
		return f.WindowEnd.After(o.WindowEnd)
	}
	return less(read(o.BudgetSpent), read(f.BudgetSpent))
}

// TellsLeft reports whether one figure says better than another of its budget how many windows it could pay for. That there is
// no end of them is true of a stream's own windows, under a cap or if they cost nothing. Others of the budget may come to an end,
// so their number is better. Otherwise the later one is, and the lesser of two whose windows end at once.
func (f Figure) TellsLeft(o Figure) bool {
	if endless, other := f.BudgetLeft >= budget.MostWindows, o.BudgetLeft >= budget.MostWindows; endless != other {
		return other
	}
	if !f.WindowEnd.Equal(o.WindowEnd) {
		return f.WindowEnd.After(o.WindowEnd)
	}
	return f.BudgetLeft < o.BudgetLeft
}

// fallShort keeps only what a published figure says.
func (b *Figures) fallShort(f Figure) {
	b.Partial = true
	spent, limit := read(f.BudgetSpent), decimal.Decimal{}
	if d := read(&f.BudgetLimit); d != nil {
		limit = *d
	}
	b.EpsilonSpent, b.EpsilonLimit, b.EpsilonLeft = optional(spent), number{limit}, number{}
	if spent != nil {
		b.EpsilonLeft = number{decimal.Max(decimal.Decimal{}, limit.Sub(*spent))}
	}
	b.EpsilonTotal, b.WindowsLeft, b.ExhaustedAt, b.Returns = nil, f.BudgetLeft, nil, []ReturnFigure{}
}

// read returns a published number, or nil if there is none.
func read(n *json.Number) *decimal.Decimal {
	if n == nil {
		return nil
	}
	d, err := decimal.NewFromString(n.String())
	if err != nil {
		return nil
	}
	return &d
}

// less compares two amounts spent. nil means that no ε bounds it, and is the greatest.
func less(a, b *decimal.Decimal) bool {
	return a != nil && (b == nil || a.LessThan(*b))
}
