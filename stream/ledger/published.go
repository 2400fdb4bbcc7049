package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/record"
)

// Published is [NewReport] for readers of output topics, who do not see the ledger. books holds the windows that they
// know, and newest the newest figures of each stream, which repeat sums from the ledger. If the books fall short of
// these sums, because older windows are no longer known, the figures are Partial.
func Published(books *Books, newest []record.Figure, at time.Time) Report {
	r := NewReport(books, at)
	last, left := map[string]record.Figure{}, map[string]record.Figure{} // of each budget
	for _, f := range newest {
		if old, ok := last[f.Budget]; !ok || f.Later(old) {
			last[f.Budget] = f
		}
		if old, ok := left[f.Budget]; !ok || f.BetterWindowsLeft(old) {
			left[f.Budget] = f
		}
	}
	for name, f := range last {
		i := slices.IndexFunc(r.Budgets, func(b Figures) bool { return b.Budget == name })
		if i < 0 {
			i = len(r.Budgets)
			r.Budgets = append(r.Budgets, Figures{Budget: name, Returns: []ReturnFigure{}})
		} else if !record.Less(epsilon(books.accounts[name].Spent(f.WindowEnd.UnixNano())),
			record.Read(f.BudgetSpent)) {
			continue // more is fine: an older window of another stream was decided after this one
		}
		r.Budgets[i].fallShort(f)
		r.Budgets[i].WindowsLeft = left[name].BudgetLeft
		if of := left[name].LossFields; of != nil {
			r.Budgets[i].WindowsUsed = of.WindowsUsed
		}
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
			// a stream's own ε in the period is not published
			r.Streams[i].EpsilonSpent, r.Streams[i].EpsilonLost = nil, nil
		}
		// What the budget was charged in all is not known either if older windows of a stream are not.
		a := books.accounts[f.Budget]
		if a == nil || record.Less(epsilon(a.StreamTotal(f.Stream)), record.Read(f.StreamSpent)) {
			r.Budgets[of].EpsilonTotal, r.Budgets[of].EpsilonTotalLost = nil, nil
		}
		r.Streams[i].EpsilonTotal = optional(record.Read(f.StreamSpent))
		r.Streams[i].EpsilonTotalLost = r.Streams[i].EpsilonTotal
		if f.LossFields != nil {
			r.Streams[i].EpsilonTotalLost = optional(record.Read(f.StreamLost))
		}
	}
	slices.SortFunc(r.Streams, func(a, b StreamFigures) int { return cmp.Compare(a.Stream, b.Stream) })
	slices.SortFunc(r.Budgets, func(a, b Figures) int { return cmp.Compare(a.Budget, b.Budget) })
	return r
}

// fallShort keeps only what a published figure says.
func (b *Figures) fallShort(f record.Figure) {
	b.Partial = true
	spent, limit := record.Read(f.BudgetSpent), decimal.Decimal{}
	if d := record.Read(&f.BudgetLimit); d != nil {
		limit = *d
	}
	b.EpsilonSpent, b.EpsilonLimit, b.EpsilonLeft = optional(spent), number{limit}, number{}
	if spent != nil {
		b.EpsilonLeft = number{decimal.Max(decimal.Decimal{}, limit.Sub(*spent))}
	}
	b.EpsilonLost, b.WindowsUsed = b.EpsilonSpent, 0 // records of earlier releases do not say more
	if f.LossFields != nil {
		b.EpsilonLost, b.WindowsUsed = optional(record.Read(f.BudgetLost)), f.WindowsUsed
	}
	b.EpsilonTotal, b.EpsilonTotalLost, b.EpsilonDay, b.EpsilonDayLost = nil, nil, nil, nil
	b.WindowsLeft, b.ExhaustedAt, b.Returns = f.BudgetLeft, nil, []ReturnFigure{}
}
