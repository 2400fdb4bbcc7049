package config

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

// continues checks that no budget continues itself.
func (p *parser) continues() {
	for _, s := range p.streams {
		if s.Continues == "" {
			continue
		}
		if s.Continues == s.Budget.Name {
			s.values["continues"].refuse("%q is the stream's own budget; want the name of a former one", s.Continues)
		}
	}
}

// topics checks that events, copies of events and releases are in different topics.
func (p *parser) topics() {
	const output = "the output"
	use := map[string]string{} // by topic
	for _, s := range p.streams {
		use[s.Input.Topic] = "the input"
	}
	for _, s := range p.streams {
		if use[s.Output] == "" {
			use[s.Output] = output
		} else if use[s.Output] != output {
			s.topicOf("output").refuse("%q is %s of a stream; want another topic: releases must not mix with personal events", s.Output, use[s.Output])
		}
	}
	formats := map[string]*streamNode{} // the first stream of each output topic
	for _, s := range p.streams {
		if first := formats[s.Output]; first == nil {
			formats[s.Output] = s
		} else if first.OutputFormat != s.OutputFormat {
			s.values["output"].refuse("format %s, but stream %s writes %s into topic %s; want one format in a topic", s.OutputFormat, first.Name, first.OutputFormat, s.Output)
		}
	}
	for _, s := range p.streams {
		for _, copied := range []struct{ key, topic string }{{"rejects", s.Rejects}, {"late", s.Late}} {
			if other := use[copied.topic]; copied.topic != "" && other != "" {
				s.topicOf(copied.key).refuse("%q is %s of a stream; want another topic, because copies of events are personal", copied.topic, other)
			}
		}
	}
}

// topicOf returns the place where a topic of the stream is named.
func (s *streamNode) topicOf(key string) node {
	at := s.values[key]
	at.path = at.under("topic")
	return at
}

// periods checks that no rolling budget forgets a window before it is over.
func (p *parser) periods() {
	for _, s := range p.streams {
		if b := s.Budget; b.Per > 0 && b.Per < s.Window.Size {
			s.values["budget"].refuse("budget %q has a period of %s, but a window lasts %s; want per: %s or longer", b.Name, Period(b.Per), Duration(s.Window.Size), Duration(s.Window.Size))
		}
	}
}

// affordable checks that each budget can pay for at least one window of its streams.
func (p *parser) affordable() {
	for _, s := range p.streams {
		b, items, what := s.Budget, s.Price(), "one window"
		if besides := Besides(&s.Stream); besides != "" {
			what = "one window with its " + besides
		}
		for _, w := range s.Watches {
			items = append(items, w.Price()...)
			items = append(items, w.First()...)
		}
		if budget.NewAccount(b.Limit).Fits(budget.Charge{Stream: s.Name, Items: items}) {
			continue
		}
		cost := b.Compose(items)
		costs, want := "costs "+figures(cost.Epsilon, cost.Delta), "a larger budget, or fewer or cheaper releases"
		if cost.Unbounded || cost.Delta.Cmp(b.Delta) > 0 {
			costs, want = "needs a larger delta", "a budget with a delta, for example 0.000001, or mechanisms that need none"
		}
		s.values["budget"].refuse("budget %q (%s) cannot pay for even %s, which %s; want %s", b.Name, figures(b.Epsilon, b.Delta), what, costs, want)
	}
}

// payable checks that each budget can pay for all windows of its streams, unless they may be withheld.
func (p *parser) payable(f *File, now time.Time) {
	for _, b := range f.Budgets {
		first := slices.IndexFunc(p.streams, func(s *streamNode) bool { return s.Budget == b && !s.Withhold })
		if first < 0 {
			continue
		}
		if runway := f.Runway(b, now); !runway.Pays {
			p.streams[first].values["budget"].refuse("%s", unpaid(b, f.StreamsOf(b), f.watches(b), runway))
		}
	}
}

// Runway reports how long a budget pays for the schedules of its streams if nothing is charged to it but their watches,
// and these at their most in every period. now is the start of streams with start: now.
func (f *File) Runway(b *Budget, now time.Time) budget.Runway {
	return f.account(b).Runway(f.schedules(b, now))
}

// account holds the budget's watches at their most.
func (f *File) account(b *Budget) *budget.Account {
	a := budget.NewAccount(b.Limit)
	for _, s := range f.StreamsOf(b) {
		// The items are costs, and names of streams are unique.
		_ = a.Hold(budget.Held{ID: s.Name, Stream: s.Name, From: math.MinInt64, To: budget.Open, Items: s.WatchPrice()})
	}
	return a
}

// InAnyDay bounds what a budget's windows that end in any 24 hours cost one person, with their watches at their most.
//
// The budget counts max_windows in whole periods. Where these do not divide the day, counting by blocks is closer.
func (f *File) InAnyDay(b *Budget, now time.Time) budget.Spending {
	const day = 24 * time.Hour
	most := b.Most(day, f.schedules(b, now), f.watches(b)...)
	items := budget.Times(f.watches(b), b.Periods(day))
	for _, s := range f.StreamsOf(b) {
		items = append(items, budget.Times(s.Price(), s.Counts(day))...)
	}
	if blocks := b.Compose(items); !blocks.Unbounded && blocks.Epsilon.LessThan(most.Epsilon) && blocks.Delta.LessThanOrEqual(most.Delta) {
		return blocks
	}
	return most
}

// watches returns what a period counts for the watches of a budget's streams at most.
func (f *File) watches(b *Budget) (items []budget.Item) {
	for _, s := range f.StreamsOf(b) {
		items = append(items, s.WatchPrice()...)
	}
	return items
}

func (f *File) schedules(b *Budget, now time.Time) (all []budget.Schedule) {
	for _, s := range f.StreamsOf(b) {
		w := s.Window
		all = append(all, budget.Schedule{Stream: s.Name, Start: w.FirstStart(now), Size: w.Size, Every: w.Every, End: w.End, Cap: s.Cap(0), Items: s.Price()})
	}
	return all
}

// Backlog describes the windows of a stream that are due before it first runs, because its start is in the past.
type Backlog struct {
	Windows int64
	// Paid is how many of them the budget pays for if nothing has been charged to it yet. It is nil if there are too
	// many to count.
	Paid *int64
}

// Backlogs returns the backlogs of the streams that a budget pays for, in their order.
func (f *File) Backlogs(b *Budget, now time.Time) []Backlog {
	streams, schedules := f.StreamsOf(b), f.schedules(b, now)
	backlogs := make([]Backlog, len(streams))
	for i, s := range streams {
		w, p := s.Window, &schedules[i]
		last := now.Add(-w.Grace).UnixNano()
		if w.End != 0 {
			last = min(last, w.End)
		}
		p.End = max(last, 1) // 0 would mean no end
		if first := p.Start + int64(p.Size); last >= first {
			backlogs[i].Windows = (last-first)/int64(p.Every) + 1
		}
		backlogs[i].Paid = &backlogs[i].Windows
	}
	if f.Runway(b, now).Pays {
		return backlogs
	}
	paid, exact := f.account(b).Paid(schedules)
	for i := range backlogs {
		if backlogs[i].Paid = &paid[i]; !exact {
			backlogs[i].Paid = nil
		}
	}
	return backlogs
}

// unpaid says how long a budget lasts and how much would be enough.
func unpaid(b *Budget, streams []*Stream, held []budget.Item, runway budget.Runway) string {
	per := "per " + Period(b.Per)
	if b.Per == 0 {
		per = "forever"
	}
	budgetOf := fmt.Sprintf("budget %q (%s %s)", b.Name, figures(b.Epsilon, b.Delta), per)
	pays := fmt.Sprintf("%s pays for only %s of the schedule", budgetOf, plural(int(runway.Windows), "window"))
	if b.Per == 0 && slices.ContainsFunc(streams, func(s *Stream) bool { return s.Window.End == 0 && len(s.Releases) > 0 }) {
		return pays + ", which has no end; want window.end, a budget for a rolling period, or on_exhausted: withhold"
	}
	want, cheaper := "a larger budget", "fewer or cheaper releases"
	worst := runway.Worst
	watches := budget.Limit{}.Compose(held)
	worst.Epsilon = worst.Epsilon.Add(watches.Epsilon)
	if !worst.Unbounded && worst.Epsilon.Cmp(b.Epsilon) > 0 {
		want = "an epsilon of at least " + ceil(worst.Epsilon)
	} else if !b.Delta.IsPositive() || worst.Delta.Cmp(b.Delta) > 0 {
		want = "a larger delta"
	}
	if besides := Besides(streams...); besides != "" {
		if besides != onlyOnChange {
			cheaper += " or watches"
		}
		cheaper += ", a smaller at_most"
		most := fmt.Sprintf("%s, which cost ε %s in a period at most", besides, watches.Epsilon)
		pays += " beside the " + most
		if watches.Epsilon.GreaterThan(b.Epsilon) {
			pays = budgetOf + " cannot pay for the " + most
		}
	}
	return fmt.Sprintf("%s; want %s, %s, or on_exhausted: withhold", pays, want, cheaper)
}

const onlyOnChange = "releases on change"

// Besides names what streams pay for beside their windows; "" for nothing.
func Besides(streams ...*Stream) string {
	alarms := slices.ContainsFunc(streams, func(s *Stream) bool { return len(s.Alarms()) > 0 })
	onChange := slices.ContainsFunc(streams, func(s *Stream) bool { return len(s.OnChange()) > 0 })
	switch {
	case alarms && onChange:
		return "watches and " + onlyOnChange
	case alarms:
		return "watches"
	case onChange:
		return onlyOnChange
	}
	return ""
}

func figures(epsilon, delta decimal.Decimal) string {
	if delta.IsZero() {
		return "ε " + epsilon.String()
	}
	return fmt.Sprintf("ε %s, δ %s", epsilon, delta)
}

// Period formats a budget's period.
func Period(per time.Duration) string {
	if per == 0 {
		return "forever"
	}
	return Duration(per)
}

// ceil rounds a figure up.
func ceil(d decimal.Decimal) string { return d.RoundUp(6).String() }
