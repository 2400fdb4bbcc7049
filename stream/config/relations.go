package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

// relations checks what streams mean to each other. Each is right by itself.
func (p *parser) relations() {
	p.topics()
	took := map[*Budget]*streamNode{}
	for _, s := range p.streams {
		if s.Continues == "" {
			continue
		}
		at := s.keys["continues"]
		if s.Continues == s.Budget.Name {
			p.refuse(fmt.Errorf("%s: %s: %q is the stream's own budget; want the name of a former one", at.where(), at.path, s.Continues))
		}
		if other := took[s.Budget]; other != nil && other.Continues != s.Continues {
			p.refuse(fmt.Errorf("%s: %s: %q, but stream %s says that budget %q continues %q; want one and the same",
				at.where(), at.path, s.Continues, other.Name, s.Budget.Name, other.Continues))
		}
		took[s.Budget] = s
	}
}

// topics checks that what people sent, what is copied of it and what is released keep apart.
func (p *parser) topics() {
	const output = "the output"
	use := map[string]string{} // of a topic
	for _, s := range p.streams {
		use[s.Input.Topic] = "the input"
	}
	for _, s := range p.streams {
		if at := s.keys["output"]; use[s.Output] == "" {
			use[s.Output] = output
		} else if use[s.Output] != output {
			p.refuse(fmt.Errorf("%s: %s.topic: %q is %s of a stream; want a topic of its own: releases must not mix with what people sent",
				at.where(), at.path, s.Output, use[s.Output]))
		}
	}
	for _, s := range p.streams {
		for _, copied := range []struct{ key, topic string }{{"rejects", s.Rejects}, {"late", s.Late}} {
			if other := use[copied.topic]; copied.topic != "" && other != "" {
				at := s.keys[copied.key]
				p.refuse(fmt.Errorf("%s: %s.topic: %q is %s of a stream; want a topic of its own: it holds what people sent",
					at.where(), at.path, copied.topic, other))
			}
		}
	}
}

// payable checks that each budget can pay a window of its streams at all, and all of them where none is to be withheld.
func (p *parser) payable(f *File, now time.Time) {
	for _, s := range p.streams {
		if b := s.Budget; !budget.NewAccount(b.Limit).Fits(budget.Charge{Stream: s.Name, Items: s.Price()}) {
			at, cost := s.keys["budget"], b.Compose(s.Price())
			costs, want := "costs "+figures(cost.Epsilon, cost.Delta), "a larger budget, or fewer or cheaper releases"
			if cost.Unbounded || cost.Delta.Cmp(b.Delta) > 0 {
				costs, want = "needs a larger delta", "delta in the budget, such as 0.000001, or mechanisms without"
			}
			p.refuse(fmt.Errorf("%s: %s: budget %q (%s) cannot pay a single window, which %s; want %s",
				at.where(), at.path, b.Name, figures(b.Epsilon, b.Delta), costs, want))
		}
	}
	if len(p.errs) > 0 {
		return
	}
	for _, b := range f.Budgets {
		streams := f.StreamsOf(b)
		if !slices.ContainsFunc(streams, func(s *Stream) bool { return !s.Withhold }) {
			continue
		}
		forecast := f.Forecast(b, now)
		if forecast.Pays {
			continue
		}
		first := streams[slices.IndexFunc(streams, func(s *Stream) bool { return !s.Withhold })]
		node := p.streams[slices.Index(f.Streams, first)]
		at := node.keys["budget"]
		p.refuse(fmt.Errorf("%s: %s: %s", at.where(), at.path, unpaid(b, streams, forecast)))
	}
}

// Forecast says whether a budget that nothing has been charged to yet pays the schedules of its streams. now is when
// streams start that start now.
func (f *File) Forecast(b *Budget, now time.Time) budget.Forecast {
	var schedules []budget.Schedule
	for _, s := range f.StreamsOf(b) {
		w := s.Window
		schedules = append(schedules, budget.Schedule{Stream: s.Name, Start: w.FirstStart(now), Size: w.Size, Every: w.Every, End: w.End, Items: s.Price()})
	}
	return budget.NewAccount(b.Limit).Forecast(schedules)
}

// unpaid says for how long a budget lasts and what would do.
func unpaid(b *Budget, streams []*Stream, forecast budget.Forecast) string {
	per := "per " + Period(b.Per)
	if b.Per == 0 {
		per = "forever"
	}
	pays := fmt.Sprintf("budget %q (%s %s) pays for %s of the schedule", b.Name, figures(b.Epsilon, b.Delta), per, plural(int(forecast.Windows), "window"))
	if b.Per == 0 && slices.ContainsFunc(streams, func(s *Stream) bool { return s.Window.End == 0 }) {
		return pays + ", which is endless; want window.end, a budget per rolling period, or on_exhausted: withhold"
	}
	want := "a larger budget"
	if worst := forecast.Worst; !worst.Unbounded && worst.Epsilon.Cmp(b.Epsilon) > 0 {
		want = "epsilon of at least " + ceil(worst.Epsilon)
	} else if !b.Delta.IsPositive() || worst.Delta.Cmp(b.Delta) > 0 {
		want = "a larger delta"
	}
	return fmt.Sprintf("%s; want %s, fewer or cheaper releases, or on_exhausted: withhold", pays, want)
}

func figures(epsilon, delta decimal.Decimal) string {
	if delta.IsZero() {
		return "ε " + epsilon.String()
	}
	return fmt.Sprintf("ε %s, δ %s", epsilon, delta)
}

// Period writes a budget's period.
func Period(per time.Duration) string {
	if per == 0 {
		return "forever"
	}
	return Duration(per)
}

// ceil shortens a figure without making it less.
func ceil(d decimal.Decimal) string { return d.RoundUp(6).String() }
