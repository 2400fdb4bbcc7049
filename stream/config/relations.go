package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/config/form"
)

// continues checks that no budget continues itself.
func (p *parser) continues() {
	for _, s := range p.streams {
		if s.Continues == "" {
			continue
		}
		if s.Continues == s.Budget.Name {
			s.Values["continues"].Refuse("%q is the stream's own budget; want the name of a former one", s.Continues)
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
			s.topicOf("output").Refuse("%q is %s of a stream; want another topic: releases must not mix with personal events", s.Output, use[s.Output])
		}
	}
	formats := map[string]*streamNode{} // the first stream of each output topic
	for _, s := range p.streams {
		if first := formats[s.Output]; first == nil {
			formats[s.Output] = s
		} else if first.OutputFormat != s.OutputFormat {
			s.Values["output"].Refuse("format %s, but stream %s writes %s into topic %s; want one format in a topic", s.OutputFormat, first.Name, first.OutputFormat, s.Output)
		}
	}
	for _, s := range p.streams {
		for _, copied := range []struct{ key, topic string }{{"rejects", s.Rejects}, {"late", s.Late}} {
			if other := use[copied.topic]; copied.topic != "" && other != "" {
				s.topicOf(copied.key).Refuse("%q is %s of a stream; want another topic, because copies of events are personal", copied.topic, other)
			}
		}
	}
}

// topicOf returns the place where a topic of the stream is named.
func (s *streamNode) topicOf(key string) form.Node {
	return s.Values[key].Under("topic")
}

// periods checks that no rolling budget forgets a window before it is over.
func (p *parser) periods() {
	for _, s := range p.streams {
		if b := s.Budget; b.Per > 0 && b.Per < s.Window.Size {
			s.Values["budget"].Refuse("budget %q has a period of %s, but a window lasts %s; want per: %s or longer", b.Name, Period(b.Per), Duration(s.Window.Size), Duration(s.Window.Size))
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
		lost := cost.Of(b.Limit, items)
		costs, want := "costs "+lost.String(), "a larger budget, or fewer or cheaper releases"
		if lost.Unbounded || lost.Delta.Cmp(b.Delta) > 0 {
			costs, want = "needs a larger delta", "a budget with a delta, for example 0.000001, or mechanisms that need none"
		}
		s.Values["budget"].Refuse("budget %q (%s) cannot pay for even %s, which %s; want %s", b.Name, figures(b.Epsilon, b.Delta), what, costs, want)
	}
}

// payable checks that each budget can pay for all windows of its streams, unless they may be withheld.
func (p *parser) payable(f *File, now time.Time) {
	for _, b := range f.Budgets {
		first := slices.IndexFunc(p.streams, func(s *streamNode) bool { return s.Budget == b && !s.Withhold })
		if first < 0 {
			continue
		}
		if runway := f.Payer(b, now).Runway(); !runway.Pays {
			p.streams[first].Values["budget"].Refuse("%s", unpaid(f, b, now, runway))
		}
	}
}

// unpaid says how long a budget lasts and how much would be enough.
func unpaid(f *File, b *Budget, now time.Time, runway budget.Runway) string {
	streams, pays := f.StreamsOf(b), f.Payer(b, now)
	per := "per " + Period(b.Per)
	if b.Per == 0 {
		per = "forever"
	}
	budgetOf := fmt.Sprintf("budget %q (%s %s)", b.Name, figures(b.Epsilon, b.Delta), per)
	lasts := fmt.Sprintf("%s pays for only %s of the schedule", budgetOf, form.Plural(int(runway.Windows), "window"))
	needs := pays.Needs()
	if needs.Unbounded {
		return lasts + ", which has no end; want window.end, a budget for a rolling period, or on_exhausted: withhold"
	}
	want, cheaper := "a larger budget", "fewer or cheaper releases"
	if needs.Epsilon.Cmp(b.Epsilon) > 0 {
		want = "an epsilon of at least " + ceil(needs.Epsilon)
	} else if needs.Delta.Cmp(b.Delta) > 0 {
		want = "a larger delta"
	}
	if !b.Delta.IsPositive() && f.PayerWithDelta(b, now).Runway().Pays {
		want += ", a delta of " + cost.Suggested.String()
	}
	if besides := Besides(streams...); besides != "" {
		if besides != onlyOnChange {
			cheaper += " or watches"
		}
		cheaper += ", a smaller at_most"
		watches := pays.Watching()
		most := fmt.Sprintf("%s, which cost %s in a period at most", besides, watches)
		lasts += " beside the " + most
		if watches.Epsilon.GreaterThan(b.Epsilon) {
			lasts = budgetOf + " cannot pay for the " + most
		}
	}
	return fmt.Sprintf("%s; want %s, %s, or on_exhausted: withhold", lasts, want, cheaper)
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
