package check

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// budgetReport says how long a budget pays for its streams, and what all of them cost one person.
type budgetReport struct {
	Budget         string       `json:"budget"`
	Where          string       `json:"where"`
	Epsilon        cli.Digits   `json:"epsilon_limit"`
	Delta          cli.Digits   `json:"delta_limit"`
	Order          *cli.Digits  `json:"order,omitempty"` // nil if it follows from ε and δ
	Per            string       `json:"per"`
	Streams        []string     `json:"streams"`
	Pays           bool         `json:"pays"`
	Windows        int64        `json:"windows"`
	Lasts          string       `json:"lasts"`
	ExhaustedAt    *time.Time   `json:"exhausted_at"`
	Wanted         *cli.Digits  `json:"epsilon_wanted"` // nil if the schedules are endless
	WantedSum      *cli.Digits  `json:"epsilon_wanted_sum,omitempty"`
	WithDelta      *deltaReport `json:"with_delta,omitempty"` // nil if there is a δ, or if one saves nothing
	WithOrder      *deltaReport `json:"with_order,omitempty"` // nil if no other order saves a twentieth
	Period         *lossReport  `json:"period,omitempty"`     // nil if no stream uses the budget
	Day            *lossReport  `json:"day,omitempty"`        // the same
	DayEpsilon     cli.Digits   `json:"epsilon_per_day"`
	DayDelta       cli.Digits   `json:"delta_per_day"`
	DaySum         *cli.Digits  `json:"epsilon_per_day_sum,omitempty"`
	Touched        *int64       `json:"windows_per_stretch"` // nil if there is no period
	StretchEpsilon *cli.Digits  `json:"epsilon_per_stretch"`
	StretchDelta   *cli.Digits  `json:"delta_per_stretch"`
	Unpaid         []stepReport `json:"unpaid,omitempty"` // not empty: the budget cannot pay for all of them

	besides               string // names the watches and the releases on change
	windowed              bool   // windows cost something too
	refused               bool   // if it does not pay, because a stream withholds no windows
	later, partly         bool   // of a stretch: see [cost.Stretch]
	limit, needs, stretch cost.Loss
}

// stepReport says for how many instances of a watch, or periods of a total, a budget pays if nothing else is charged.
type stepReport struct {
	Stream  string `json:"stream"`
	Release string `json:"release"`
	Paid    int64  `json:"paid"`
	AtMost  int64  `json:"at_most"`

	what string // an instance, or a period
}

// deltaReport is what the schedules of a budget would want with a δ, or with another order.
type deltaReport struct {
	Epsilon cli.Digits  `json:"epsilon_wanted"`
	Delta   cli.Digits  `json:"delta"`
	Order   *cli.Digits `json:"order,omitempty"` // nil if it follows from ε and δ

	needs cost.Loss
}

func newDeltaReport(needs cost.Loss, order decimal.Decimal) *deltaReport {
	return &deltaReport{cli.NewDigits(needs.Epsilon), cli.NewDigits(needs.Delta), orderFigure(order), needs}
}

func orderFigure(order decimal.Decimal) *cli.Digits {
	if order.IsZero() {
		return nil
	}
	return new(cli.NewDigits(order))
}

// keys writes the δ, and the order if there is one, as in a file.
func (d *deltaReport) keys() string {
	if d.Order == nil {
		return "delta: " + d.Delta.String()
	}
	return fmt.Sprintf("delta: %s and order: %s", d.Delta, d.Order)
}

// describeBudget describes a budget. One without an ε is not chosen yet.
func describeBudget(file *config.File, b *config.Budget, now time.Time) budgetReport {
	x := budgetReport{Budget: b.Name, Where: b.Where, Epsilon: cli.NewDigits(b.Epsilon), Delta: cli.NewDigits(b.Delta),
		Order: orderFigure(b.Order), Per: config.Period(b.Per), Streams: []string{}, limit: cost.Whole(b.Limit)}
	streams, pays := file.StreamsOf(b), file.Payer(b, now)
	if len(streams) == 0 {
		x.Pays, x.Lasts = true, "unused"
		return x
	}
	var inPeriod, inDay int64
	for i, s := range streams {
		x.Streams = append(x.Streams, s.Name)
		if n, bounded := pays.Streams[i].Most(b.Per); bounded {
			inPeriod += n
		}
		inDay += pays.Streams[i].Counts(day)
		x.refused = x.refused || !s.Withhold
		x.windowed = x.windowed || len(pays.Streams[i].Items) > 0
	}
	x.besides = config.Besides(streams...)
	x.Period, x.Day = new(newLossReport(pays.InAnyPeriod(), inPeriod)), new(newLossReport(pays.InAnyDay(), inDay))
	x.DayEpsilon, x.DayDelta, x.DaySum = x.Day.Epsilon, x.Day.Delta, x.Day.Sum
	x.needs = pays.Needs()
	x.Wanted, x.WantedSum = inspect.EpsilonOf(x.needs), inspect.SumOf(x.needs)
	with := file.PayerWithDelta(b, now)
	suited, worth := with.Suited()
	if worth = worth && (b.Epsilon.IsZero() || suited.Needs().Epsilon.LessThanOrEqual(b.Epsilon)); worth {
		with = suited
	}
	if less, ok := pays.Saved(with); ok {
		x.WithDelta = newDeltaReport(less, with.Order)
	} else if worth && pays.Delta.IsPositive() {
		x.WithOrder = newDeltaReport(suited.Needs(), suited.Order)
	}
	if b.Epsilon.IsZero() {
		return x
	}
	if b.Per != 0 {
		in := pays.InAnyStretch()
		x.Touched, x.stretch, x.later, x.partly = &in.Windows, in.Lost, in.Later, in.Partly
		x.StretchEpsilon, x.StretchDelta = new(cli.NewDigits(in.Lost.Epsilon)), new(cli.NewDigits(in.Lost.Delta))
	}
	if !pays.PaysWatches() {
		x.Unpaid = unpaid(b, streams)
	} else {
		x.lasts(pays.Runway(), streams, now)
	}
	return x
}

// unpaid says how far a budget pays for what its streams have beside their windows, where it cannot pay for all of it.
func unpaid(b *config.Budget, streams []*config.Stream) (all []stepReport) {
	for _, s := range streams {
		for _, f := range s.Lasting() {
			c, what := f.Cost(), "instance"
			if c.Per == config.PerPeriod {
				what = "period"
			}
			all = append(all, stepReport{s.Name, f.Heading().Name, c.Paid(b.Limit), c.AtMost, what})
		}
	}
	return all
}

// lasts says how long the budget pays.
func (b *budgetReport) lasts(runway budget.Runway, streams []*config.Stream, now time.Time) {
	begin, ends := int64(math.MaxInt64), true
	for _, s := range streams {
		begin, ends = min(begin, s.Window.FirstStart(now)), ends && s.Window.End != 0
	}
	b.Pays, b.Windows = runway.Pays, runway.Windows
	switch {
	case runway.Pays && ends:
		b.Lasts = "to the last window"
	case runway.Pays:
		b.Lasts = "for ever"
	case runway.ExhaustedAt == 0:
		b.Lasts = "beyond the year 2262"
	default:
		b.ExhaustedAt = new(time.Unix(0, runway.ExhaustedAt).UTC())
		b.Lasts = config.Duration(time.Duration(runway.ExhaustedAt - begin))
	}
}

func (b *budgetReport) print(w *bytes.Buffer) {
	if b.Epsilon.IsZero() {
		b.printUnchosen(w)
		return
	}
	which := "windows that end in any " + b.Per
	if b.Per == config.Period(0) {
		which = "all windows together"
	}
	cli.Fprintf(w, "budget %s (%s)\n  %s cost one user at most %s", b.Budget, b.Where, which, b.limit)
	if b.Wanted != nil {
		cli.Fprintf(w, "; the schedule needs %s", b.needs)
	}
	fmt.Fprintln(w)
	if b.Day == nil {
		fmt.Fprint(w, "  no stream uses it\n\n")
		return
	}
	if b.WithDelta != nil {
		cli.Fprintf(w, "  with %s in the budget, the schedule would need ε %s\n", b.WithDelta.keys(),
			b.WithDelta.Epsilon)
	}
	if b.WithOrder != nil {
		cli.Fprintf(w, "  with order: %s in the budget, the schedule would need ε %s\n", b.WithOrder.Order,
			b.WithOrder.Epsilon)
	}
	switch b.Per {
	case config.Period(day): // the next line says it
	case config.Period(0):
		printOdds(w, "  ", b.Period, "one person loses at most %s in all windows together")
	default:
		printOdds(w, "  ", b.Period, "one person loses at most %s in any "+
			b.Per+", counting the windows that end in it")
	}
	printOdds(w, "  ", b.Day, inspect.InAnyDay)
	b.printStretch(w)
	beside, rest := "", ", and withholds what it cannot pay for"
	if b.refused {
		rest = "; louver run refuses it"
	}
	if b.besides != "" {
		beside = " besides the " + b.besides + " at their most"
	}
	switch {
	case b.Unpaid != nil:
		b.printUnpaid(w, rest)
	case b.ExhaustedAt != nil && b.Windows == 0:
		cli.Fprintf(w, "  pays for no window%s%s", beside, rest)
	case b.ExhaustedAt != nil:
		if !b.refused {
			rest = " and withholds those that it cannot pay for"
		}
		cli.Fprintf(w, "  lasts %s: it pays for %s%s%s", b.Lasts, cli.Plural(b.Windows, "window"), beside, rest)
	case !b.Pays && b.refused:
		cli.Fprintf(w, "  lasts %s%s", b.Lasts, rest)
	case !b.Pays:
		cli.Fprintf(w, "  lasts %s, and then withholds the windows that it cannot pay for", b.Lasts)
	default:
		cli.Fprintf(w, "  lasts %s", b.Lasts)
	}
	fmt.Fprint(w, "\n\n")
}

// printUnpaid says for how many periods of totals, and instances of other things, the budget pays.
func (b *budgetReport) printUnpaid(w *bytes.Buffer, rest string) {
	var paid []string
	for _, x := range b.Unpaid {
		of, n := "", x.Paid
		if b.Per != config.Period(0) { // else there may be any number of them
			of, n = cli.Sprintf("%d of ", x.Paid), x.AtMost
		}
		paid = append(paid, fmt.Sprintf("%s%s of %s", of, cli.Plural(n, x.what), x.Release))
	}
	when, alone := " in any "+b.Per, ""
	if b.Per == config.Period(0) {
		when = " in all"
	}
	if len(paid) > 1 || b.windowed {
		alone = ", if nothing else is charged"
	}
	cli.Fprintf(w, "  pays for %s%s%s%s", english.WordSeries(paid, "and"), when, alone, rest)
}

// printUnchosen says what the windows cost where nobody has chosen a budget yet.
func (b *budgetReport) printUnchosen(w *bytes.Buffer) {
	printOdds(w, "", b.Day, inspect.InAnyDay)
	if b.WithDelta != nil {
		cli.Fprintf(w, "with %s in a budget that would be ε %s\n  %s\n",
			b.WithDelta.keys(), b.WithDelta.Epsilon, b.WithDelta.needs.Odds("you were there"))
	}
}

// printOdds writes a sentence with a place for a loss, and the odds below it.
func printOdds(w *bytes.Buffer, indent string, l *lossReport, sentence string) {
	cli.Fprintf(w, "%s"+sentence+"\n%[1]s  %[3]s\n", indent, l.lost, l.lost.Odds("you were there"))
}

// printStretch says what a person's actions in a stretch of time as long as the period cost them.
func (b *budgetReport) printStretch(w *bytes.Buffer) {
	if b.Touched == nil {
		return
	}
	later, with := "", ""
	if b.later {
		later = " together with later ones in which that user counts instead,"
	}
	if b.besides != "" {
		with = ", with the " + b.besides + " that it touches"
	}
	cli.Fprintf(w, "  what one user does in any %s falls into up to %s,%s costing at most %s%s\n",
		b.Per, cli.Plural(*b.Touched, "window"), later, b.stretch, with)
	if b.partly {
		fmt.Fprintln(w, "    a window or period that also holds other things of that user counts up to twice")
	}
	if b.Pays && b.Wanted != nil && b.Wanted.GreaterThan(b.StretchEpsilon.Decimal) {
		fmt.Fprintln(w, "  the schedule needs more than that because the budget counts max_windows in whole "+
			"periods, and rounds up")
	}
}
