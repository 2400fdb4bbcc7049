package parse

import (
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/config/form"
)

// affordable checks that each budget can pay for at least one window of its streams.
func affordable(streams []*streamNode, f *config.File, now time.Time) {
	for _, s := range streams {
		b, items, what := s.Budget, s.Price(), "one window"
		if besides := config.Besides(&s.Stream); besides != "" {
			what = "one window with its " + besides
		}
		for _, f := range s.Figures {
			if c := f.Cost(); c.Per != config.PerWindow {
				items = append(append(items, c.Items...), c.First...)
			}
		}
		if budget.NewAccount(b.Limit).Fits(budget.Charge{Stream: s.Name, Items: items}) {
			continue
		}
		lost := cost.Needed(b.Limit, items)
		costs, want := "costs "+lost.String(), "a larger budget, or fewer or cheaper releases"
		if lost.Unbounded || lost.Delta.Cmp(b.Delta) > 0 {
			costs = "needs a larger delta"
			want = "a budget with a delta, for example 0.000001, or mechanisms that need none"
		} else if b.Delta.IsPositive() {
			want = withoutDelta(f.PayerWithoutDelta(b, now), s.Name, lost) + want
		}
		s.Values["budget"].Refuse("budget %q (%s) cannot pay for even %s, which %s; want %s",
			b.Name, cost.Whole(b.Limit), what, costs, want)
	}
}

// withoutDelta says that a window costs less without a δ, as a handful of windows do: counts are then not drawn by a
// Gaussian, and nothing is added up in ρ. It returns "" if that is not so.
func withoutDelta(pays cost.Payer, stream string, with cost.Loss) string {
	for _, s := range pays.Streams {
		one := cost.Counted(pays.Limit, s.Items)
		cheaper := !one.Unbounded && one.Delta.IsZero() && one.Epsilon.LessThan(with.Epsilon)
		if s.Stream == stream && len(s.Watches) == 0 && cheaper {
			return fmt.Sprintf("a budget without delta, where it costs %s: a delta pays for many windows, and not for "+
				"a few; or ", one)
		}
	}
	return ""
}

// payable checks that each budget can pay for all windows of its streams, unless they may be withheld.
func payable(streams []*streamNode, f *config.File, now time.Time) {
	for _, b := range f.Budgets {
		first := slices.IndexFunc(streams, func(s *streamNode) bool { return s.Budget == b && !s.Withhold })
		if first < 0 {
			continue
		}
		if runway := f.Payer(b, now).Runway(); !runway.Pays {
			streams[first].Values["budget"].Refuse("%s", unpaid(f, b, now, runway))
		}
	}
}

// unpaid says how long a budget lasts, and what would be enough.
func unpaid(f *config.File, b *config.Budget, now time.Time, runway budget.Runway) string {
	streams, pays := f.StreamsOf(b), f.Payer(b, now)
	per := "per " + config.Period(b.Per)
	if b.Per == 0 {
		per = "forever"
	}
	budgetOf := fmt.Sprintf("budget %q (%s %s)", b.Name, cost.Whole(b.Limit), per)
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
	if with := f.PayerWithDelta(b, now); !b.Delta.IsPositive() && with.Runway().Pays {
		want += ", a delta of " + cost.Suggested.String()
	} else if suited, worth := with.Suited(); b.Delta.IsPositive() && (worth || suited.Runway().Pays) {
		want += fmt.Sprintf(", an order of %s, with which the schedule needs %s", suited.Order, suited.Needs())
	} else if worth && suited.Runway().Pays {
		want += fmt.Sprintf(", a delta of %s with an order of %s", suited.Delta, suited.Order)
	}
	if without := f.PayerWithoutDelta(b, now); b.Delta.IsPositive() {
		if less := without.Needs(); !less.Unbounded && less.Epsilon.LessThan(needs.Epsilon) {
			want += fmt.Sprintf(", no delta, without which the schedule needs %s", less)
		}
	}
	if besides := config.Besides(streams...); besides != "" {
		if slices.ContainsFunc(streams, func(s *config.Stream) bool { return len(config.All[*config.Watch](s)) > 0 }) {
			cheaper += " or watches"
		}
		if slices.ContainsFunc(streams, func(s *config.Stream) bool {
			return len(config.All[*config.Watch](s))+len(config.All[*config.Change](s)) > 0
		}) {
			cheaper += ", a smaller at_most"
		}
		watches := pays.Watching()
		most := fmt.Sprintf("%s, which cost %s in a period at most", besides, watches)
		lasts += " beside the " + most
		if watches.Epsilon.GreaterThan(b.Epsilon) {
			lasts = budgetOf + " cannot pay for the " + most
		}
	}
	return fmt.Sprintf("%s; want %s, %s, or on_exhausted: withhold", lasts, want, cheaper)
}
