package ledger

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// Report says what was spent, what is left, and until when. Its JSON names are public.
type Report struct {
	Streams []StreamReport `json:"streams"`
	Budgets []BudgetReport `json:"budgets"`
	Watches []WatchReport  `json:"watches,omitempty"`
}

// StreamReport is the report of one stream. What it has spent is its own. The limit, what is left and the rest belong
// to its budget.
type StreamReport struct {
	Stream string `json:"stream"`
	BudgetReport
}

// BudgetReport is the report of one budget.
type BudgetReport struct {
	Budget string `json:"budget"`
	// EpsilonLost is what one person can have lost in the period that ends now, by the least bound that holds: see
	// [budget.Account.Lost]. It is null if no ε bounds it. WindowsUsed is how many of a stream's windows with its
	// present price are paid in that period; for a budget it is that of the stream whose WindowsLeft it has.
	EpsilonLost *number `json:"epsilon_lost"`
	WindowsUsed int64   `json:"windows_used"`
	// WindowsOf is that stream, of a budget that pays for several.
	WindowsOf string `json:"windows_of,omitempty"`
	// EpsilonSpent is what counts against the limit in the period that ends now; null if no ε bounds it.
	EpsilonSpent *number `json:"epsilon_spent"`
	EpsilonLimit number  `json:"epsilon_limit"`
	EpsilonLeft  number  `json:"epsilon_left"`
	DeltaSpent   number  `json:"delta_spent"`
	DeltaLimit   number  `json:"delta_limit"`
	// Per is the rolling period as in a streams file, such as 24h or 7d, or forever.
	Per string `json:"per"`
	// EpsilonTotal is everything ever charged; null if no ε bounds it, or if not all windows are known.
	EpsilonTotal *number `json:"epsilon_total"`
	// EpsilonTotalLost is what one person can have lost by all that was ever charged.
	EpsilonTotalLost *number `json:"epsilon_total_lost"`
	// EpsilonDay is what the windows that ended in the last 24 hours were charged to the budget, whatever its period
	// is. It is nil if no ε bounds that, and for a stream.
	EpsilonDay *number `json:"epsilon_last_day,omitempty"`
	// EpsilonDayLost is what one person can have lost by these windows.
	EpsilonDayLost *number `json:"epsilon_lost_last_day,omitempty"`
	// ChargedDay is what they were charged, and nil if that is not known.
	ChargedDay []budget.Item `json:"-"`
	// MixedDay says that these windows have several caps in one stream: see [budget.Account.Mixed].
	MixedDay bool `json:"-"`
	// WindowsLeft is how many windows of the stream the rest of the budget would pay. For a budget it is the least of
	// its streams' numbers.
	WindowsLeft int64 `json:"windows_left"`
	// ExhaustedAt is the end of the first window that cannot be paid if all of the budget's streams go on unchanged;
	// null if every window can.
	ExhaustedAt *record.Second `json:"exhausted_at"`
	// ExhaustedSince is the end of the first window in the current run of unpaid ones. For a budget it is the earliest
	// of its streams' times. It is null if the budget paid the last window, or could pay another one now.
	ExhaustedSince *record.Second `json:"exhausted_since"`
	// Returns are the parts of EpsilonSpent that a rolling budget gets back, by time.
	Returns []Return `json:"returns"`
	// Partial says that not all windows of the period are known. Then spent, limit, left and windows_left are as of the
	// end of the newest window, and numbers that depend on more are missing. Only a report of [Published] is Partial.
	Partial bool `json:"partial,omitempty"`
}

// Return is an ε that returns at a time.
type Return struct {
	At      record.Second `json:"at"`
	Epsilon number        `json:"epsilon"`
}

// NewReport reports on the state of books at a time.
func NewReport(b *Books, at time.Time) Report {
	r := Report{Streams: []StreamReport{}, Budgets: []BudgetReport{}, Watches: b.watchReports()}
	runways := map[string]budget.Runway{}
	least, paidFor, since := map[string]StreamReport{}, map[string]int{}, map[string]*record.Second{}
	for _, name := range b.Budgets() {
		runways[name] = b.runway(name)
	}
	for _, name := range b.Streams() {
		latest, _ := b.Latest(name)
		a := b.accounts[latest.Budget]
		f := budgetReport(a, latest.Budget, name, at, runways[latest.Budget])
		f.EpsilonTotal = optional(latest.withPaidElsewhere(epsilon(a.StreamTotal(name))))
		f.EpsilonTotalLost = optional(latest.withPaidElsewhere(epsilon(a.LostIn(name, math.MinInt64, math.MaxInt64))))
		f.WindowsUsed = a.Used(name, latest.Cap.Lane, latest.Price, at.UnixNano())
		f.WindowsLeft = a.WindowsLeft(name, latest.Cap, latest.Price, at.UnixNano())
		if unpaid := b.streams[name].unpaid; !unpaid.IsZero() && f.WindowsLeft == 0 {
			f.ExhaustedSince = new(record.Whole(unpaid))
			if first := since[latest.Budget]; first == nil || unpaid.Before(first.Time) {
				since[latest.Budget] = f.ExhaustedSince
			}
		}
		one := StreamReport{Stream: name, BudgetReport: f}
		if of, found := least[latest.Budget]; !found || f.WindowsLeft < of.WindowsLeft {
			least[latest.Budget] = one
		}
		paidFor[latest.Budget]++
		r.Streams = append(r.Streams, one)
	}
	for _, name := range b.Budgets() {
		f := budgetReport(b.accounts[name], name, "", at, runways[name])
		f.WindowsLeft, f.WindowsUsed, f.ExhaustedSince = least[name].WindowsLeft, least[name].WindowsUsed, since[name]
		if paidFor[name] > 1 {
			f.WindowsOf = least[name].Stream
		}
		r.Budgets = append(r.Budgets, f)
	}
	return r
}

// runway says how far a budget pays for its streams, with what is expected beside their windows.
func (b *Books) runway(name string) budget.Runway {
	expected := b.ahead[name]
	slices.SortStableFunc(expected.held, func(x, y budget.Held) int { return cmp.Compare(x.From, y.From) })
	return b.accounts[name].Runway(append(b.schedules(name), expected.schedules...), expected.held...)
}

// schedules returns the schedules of the budget's streams from their last decided window on.
func (b *Books) schedules(name string) []budget.Schedule {
	var out []budget.Schedule
	for _, stream := range b.Streams() {
		e := b.streams[stream].latest
		if e.Budget != name {
			continue
		}
		s := budget.Schedule{
			Stream: stream, Start: e.WindowStart.Add(e.Every).UnixNano(),
			Size: e.WindowEnd.Sub(e.WindowStart), Every: e.Every, Cap: e.Cap, Items: e.Price,
		}
		if !e.Until.IsZero() {
			s.End = e.Until.UnixNano()
		}
		out = append(out, s)
		out = append(out, b.lasting.schedules(continualName{name, stream, ""}, s.End)...)
	}
	return out
}

// schedules are those of the leaves to come of a stream's open instances, until its end.
func (in instances) schedules(of continualName, end int64) (all []budget.Schedule) {
	for _, open := range in.going[of.budget] {
		name := continualName{of.budget, open.Stream, open.Name}
		a := in.get(name, open.Number)
		if open.Stream != of.stream || a == nil || !a.Leafwise || a.book() == nil {
			continue
		}
		since, _, seconds := a.book().leaves()
		update := time.Duration(seconds) * time.Second
		all = append(all, budget.Schedule{Stream: open.Stream, Start: a.Looked / int64(update) * int64(update),
			Size: update, Every: update, End: end, Items: a.Cost,
			Cap: leafCap(open.Name, open.Number, time.Unix(0, since))})
	}
	return all
}

// budgetReport reports on a budget, or on one stream in it.
func budgetReport(a *budget.Account, name, stream string, at time.Time, runway budget.Runway) BudgetReport {
	limit, now := a.Limit(), at.UnixNano()
	spent, total := a.Spent(now), a.Total()
	f := BudgetReport{
		Budget: name, EpsilonLimit: number{limit.Epsilon}, EpsilonLeft: number{limit.Left(spent)},
		DeltaLimit: number{limit.Delta}, Per: perOf(limit), Returns: []Return{},
	}
	if stream != "" {
		spent, total = a.StreamSpent(stream, now), a.StreamTotal(stream)
	}
	f.EpsilonSpent, f.DeltaSpent, f.EpsilonTotal = optional(epsilon(spent)), number{spent.Delta},
		optional(epsilon(total))
	f.EpsilonLost = optional(epsilon(a.Lost(stream, now)))
	f.EpsilonTotalLost = optional(epsilon(a.LostIn(stream, math.MinInt64, math.MaxInt64)))
	if stream == "" {
		day := now - int64(24*time.Hour)
		f.EpsilonDay, f.MixedDay = optional(epsilon(a.SpentIn(day, now))), a.Mixed(day, now)
		f.EpsilonDayLost, f.ChargedDay = optional(epsilon(a.LostIn("", day, now))), a.Charged(day, now)
	}
	if runway.ExhaustedAt != 0 {
		exhausted := record.Whole(time.Unix(0, runway.ExhaustedAt))
		f.ExhaustedAt = &exhausted
	}
	for _, back := range a.Returns(now, stream) {
		f.Returns = append(f.Returns, Return{record.Whole(time.Unix(0, back.At)), number{back.Epsilon}})
	}
	return f
}

// perOf writes a limit's period as people do.
func perOf(limit budget.Limit) string {
	if limit.Per == 0 {
		return budget.FormatPer(0)
	}
	return period.Text(limit.Per)
}

func optional(d *decimal.Decimal) *number {
	if d == nil {
		return nil
	}
	return &number{*d}
}

// WatchReport is the report of one figure that has instances, such as a watch. Its JSON names are public.
type WatchReport struct {
	Stream string `json:"stream"`
	Watch  string `json:"watch"`
	Budget string `json:"budget"`
	// Instances is how many have been armed, each of which was charged once.
	Instances int64 `json:"instances"`
	// State is what became of the last one: `armed`, `fired`, or `ended` without firing. It is `withheld` if that is
	// over and no other may be armed yet, because of `at_most` or the budget: then the watch looks at nothing.
	State string `json:"state"`
	// From and To are the ends of the first and the last window that it looked at. Epsilon is what it cost.
	From    record.Second `json:"from"`
	To      record.Second `json:"to"`
	Epsilon number        `json:"epsilon"`
	// EpsilonTotal is what all instances cost together: what one person in all of them can have lost.
	EpsilonTotal number `json:"epsilon_total"`
}

// watchReports reports on all watches in the books.
func (b *Books) watchReports() (reports []WatchReport) {
	for _, name := range b.lasting.names() {
		instances := b.lasting.of[name]
		last := instances[len(instances)-1]
		moment := func(at int64) record.Second { return record.Whole(time.Unix(0, at)) }
		limit := b.accounts[name.budget].Limit()
		f := WatchReport{
			Stream: name.stream, Watch: name.figure, Budget: name.budget,
			Instances: int64(len(instances)), State: "armed",
			From: moment(last.From), To: moment(last.Looked), Epsilon: number{limit.Least(last.Cost).Epsilon},
		}
		switch {
		case last.Over && b.lasting.withheld[name]:
			f.State = "withheld"
		case last.Fired != nil:
			f.State = "fired"
		case last.Over:
			f.State = "ended"
		}
		var all []budget.Item
		together := limit.Least
		for _, a := range instances {
			days := int64(1)
			if a.Leafwise {
				days += (a.Looked - a.From) / int64(leafDay)
			} else if a.Until == 0 { // what was drawn decides how many there are
				together = limit.Compose
			}
			all = append(all, budget.Times(a.Cost, days)...)
		}
		f.EpsilonTotal = number{together(all).Epsilon}
		reports = append(reports, f)
	}
	return reports
}

// number is a decimal written as a JSON number, exact.
type number struct{ decimal.Decimal }

// MarshalJSON writes every digit.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

// Published is [NewReport] for readers of output topics, who do not see the ledger. books holds the windows that they
// know, and newest the newest records of each stream, which repeat sums from the ledger. If the books fall short of
// these sums, because older windows are no longer known, the report is Partial.
func Published(books *Books, newest []record.Value, at time.Time) Report {
	r := NewReport(books, at)
	last, left := map[string]record.Value{}, map[string]record.Value{} // of each budget
	for _, f := range newest {
		if old, ok := last[f.Budget]; !ok || f.Later(old) {
			last[f.Budget] = f
		}
		if old, ok := left[f.Budget]; !ok || f.BetterWindowsLeft(old) {
			left[f.Budget] = f
		}
	}
	for name, f := range last {
		i := slices.IndexFunc(r.Budgets, func(b BudgetReport) bool { return b.Budget == name })
		if i < 0 {
			i = len(r.Budgets)
			r.Budgets = append(r.Budgets, BudgetReport{Budget: name, Returns: []Return{}})
		} else if !record.Less(epsilon(books.accounts[name].Spent(f.WindowEnd.UnixNano())),
			record.Read(f.BudgetSpent)) {
			continue // more is fine: an older window of another stream was decided after this one
		}
		r.Budgets[i].fallShort(f)
		r.Budgets[i].WindowsLeft = left[name].BudgetLeft
		if of := left[name].LossFields; of != nil {
			r.Budgets[i].WindowsUsed = of.WindowsUsed
		}
		if of := left[name].Stream; slices.ContainsFunc(newest, func(v record.Value) bool {
			return v.Budget == name && v.Stream != of
		}) {
			r.Budgets[i].WindowsOf = of
		}
	}
	for _, f := range newest {
		of := slices.IndexFunc(r.Budgets, func(b BudgetReport) bool { return b.Budget == f.Budget })
		b := r.Budgets[of]
		i := slices.IndexFunc(r.Streams, func(s StreamReport) bool { return s.Stream == f.Stream })
		if i < 0 {
			i = len(r.Streams)
			r.Streams = append(r.Streams, StreamReport{f.Stream, b})
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
	slices.SortFunc(r.Streams, func(a, b StreamReport) int { return cmp.Compare(a.Stream, b.Stream) })
	slices.SortFunc(r.Budgets, func(a, b BudgetReport) int { return cmp.Compare(a.Budget, b.Budget) })
	return r
}

// fallShort keeps only what a published figure says.
func (b *BudgetReport) fallShort(f record.Value) {
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
	b.EpsilonTotal, b.EpsilonTotalLost, b.EpsilonDay, b.EpsilonDayLost, b.ChargedDay = nil, nil, nil, nil, nil
	b.WindowsLeft, b.ExhaustedAt, b.Returns = f.BudgetLeft, nil, []Return{}
}
