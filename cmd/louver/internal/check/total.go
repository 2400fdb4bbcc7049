package check

import (
	"bytes"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/windows/period"
)

// totalReport describes a running total before it is drawn, from public figures only.
type totalReport struct {
	Release   string       `json:"release"`
	Statistic string       `json:"statistic"`
	Mechanism string       `json:"mechanism"`
	Since     string       `json:"since"`
	Zone      string       `json:"zone"`
	Update    string       `json:"update"`
	Leaves    int64        `json:"values_in_a_period"`
	MaxTotal  *cli.Digits  `json:"max_total"`
	Epsilon   cli.Digits   `json:"epsilon"`
	AtMost    int64        `json:"at_most"`
	Worst     cli.Digits   `json:"epsilon_at_most"`
	Errors    totalErrors  `json:"error_95"`
	Memory    *totalMemory `json:"memory"`
	// Quantiles are those that are computed from a distribution so far.
	Quantiles []quantileNeeds `json:"quantiles,omitempty"`

	of          *config.Total
	each, worst cost.Loss // of a period, and of all that a period of the budget touches
	per         string    // of the budget
	nominal     int64     // how many periods that touches if none is shorter than usual
	what, unit  string    // what is counted, and in what unit
}

// totalErrors are the 95 % errors of a total over its period, in the value's unit.
type totalErrors struct {
	Quarter cli.Digits `json:"after_a_quarter"`
	Half    cli.Digits `json:"after_half"`
	End     cli.Digits `json:"at_the_end"`
	Most    cli.Digits `json:"most"`
}

// totalMemory is what it takes, in bytes, to remember who has counted: if the same users come again and again, and if
// each window has others.
type totalMemory struct {
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
}

// quantileNeeds says about how many users a quantile of a distribution so far needs at the end of its period.
type quantileNeeds struct {
	Release string `json:"release"`
	Rough   int64  `json:"rough_from"`
	Useful  int64  `json:"useful_from"`
}

// needsAtTheEnd is about how many users a quantile needs after the last leaf.
func needsAtTheEnd(name string, p decimal.Decimal, leaves int64, m *mechanisms.Total) quantileNeeds {
	rough, useful := m.Needs(p, leaves)
	return quantileNeeds{name, about(rough), about(useful)}
}

// bytesOfUser is what an allowance takes for a user and group.
const bytesOfUser = 50

func describeTotal(s *config.Stream, f config.Adder, expected int64) totalReport {
	t := f.Adds()
	limit, m := s.Budget.Limit, t.Mechanism
	x := totalReport{of: t, Release: t.Name, Statistic: string(t.Query.Statistic), Mechanism: m.Name(),
		Since: string(t.Calendar.Unit), Zone: t.Zone, Update: config.Duration(t.Update), Leaves: t.Query.Leaves,
		AtMost: t.AtMost, Errors: errorsOf(t.Query.Leaves, m), each: cost.Of(limit, t.Cost().Items),
		worst: cost.Of(limit, t.Cost().Most()), per: config.Period(limit.Per), what: totalText(t, s.Unit),
		unit: t.Query.Unit(s.Unit)}
	if t.Query.MaxTotal != nil {
		x.MaxTotal = new(cli.NewDigits(*t.Query.MaxTotal))
	}
	if limit.Per > 0 {
		x.nominal = int64((limit.Per-1)/t.Calendar.Unit.Nominal()) + 2
	}
	if of, ok := f.(interface{ Quantiles() []*config.Computed }); ok {
		for _, q := range of.Quantiles() {
			x.Quantiles = append(x.Quantiles, needsAtTheEnd(q.Name, q.Query.Probabilities()[0], t.Query.Leaves, m))
		}
	}
	x.Epsilon, x.Worst = cli.NewDigits(x.each.Epsilon), cli.NewDigits(x.worst.Epsilon)
	if expected > 0 {
		least := uint64(expected) * uint64(len(s.Groups)) * bytesOfUser
		x.Memory = &totalMemory{least, least * max(1, uint64(t.Calendar.Unit.Nominal()/s.Window.Every))}
	}
	return x
}

// errorsOf forecasts the errors of a total whose period has that many leaves.
func errorsOf(leaves int64, m *mechanisms.Total) totalErrors {
	after := func(leaf int64) int64 { return m.Error95(max(1, leaf)) }
	figure := func(n int64) cli.Digits { return cli.NewDigits(m.Scale.Length(n)) }
	return totalErrors{figure(after(leaves / 4)), figure(after(leaves / 2)), figure(after(leaves)),
		figure(worstError(leaves, m))}
}

// worstError is the largest 95 % error of a total in a period of that many leaves, in steps of its scale.
func worstError(leaves int64, m *mechanisms.Total) (most int64) {
	for leaf := range leaves {
		most = max(most, m.Error95(leaf+1))
	}
	return most
}

// boundText writes an error of a total.
func boundText(d cli.Digits, unit string) string {
	return cli.WithUnit(cli.ShortUp(d.InexactFloat64()), unit)
}

// text writes the errors.
func (e totalErrors) text(unit string) string {
	return fmt.Sprintf("± %s after a quarter of the time, ± %s after half, ± %s at the end; never more than ± %s",
		boundText(e.Quarter, unit), boundText(e.Half, unit), boundText(e.End, unit), boundText(e.Most, unit))
}

// totalText says what a total counts: users, or visits if a user may count in several windows.
func totalText(t *config.Total, unit string) string {
	q := t.Query
	what, most := q.Unit(unit), "each once"
	if m := q.MaxTotal; m != nil && what == "visits" {
		most = fmt.Sprintf("of each user in at most %s", cli.Plural(m.IntPart(), "window"))
	}
	switch {
	case q.Statistic == mechanisms.Histogram:
		first := ""
		if q.MaxTotal == nil {
			first = " by their first value"
		}
		buckets := "the buckets " + q.Buckets.String()
		if t.Mechanism != nil {
			buckets = cli.Plural(int64(t.Mechanism.Buckets.Len()), "bucket")
		}
		return fmt.Sprintf("counts %s in %s%s, %s", what, buckets, first, most)
	case q.Statistic == mechanisms.Sum:
		return fmt.Sprintf("adds up values, of one user at most %s", cli.WithUnit(q.MaxTotal.String(), unit))
	case q.Above == nil && q.Below == nil:
		return fmt.Sprintf("counts %s, %s", what, most)
	case q.Below == nil:
		return fmt.Sprintf("counts %s with a value above %s, %s", what, q.Above, most)
	case q.Above == nil:
		return fmt.Sprintf("counts %s with a value below %s, %s", what, q.Below, most)
	}
	return fmt.Sprintf("counts %s with a value between %s and %s, %s", what, q.Above, q.Below, most)
}

// sinceText says since when a total counts.
func sinceText(u period.Unit, zone string) string {
	since := map[period.Unit]string{period.Hour: "in each hour", period.Midnight: "since midnight",
		period.Monday: "since Monday", period.Month: "in each month"}[u]
	if zone == "" {
		return since
	}
	return fmt.Sprintf("%s (%s)", since, zone)
}

// print writes what the total costs and how exact it is.
func (x totalReport) print(w *bytes.Buffer, expected int64) {
	cli.Fprintf(w, "  total %s %s, %s\n", x.Release, x.what, sinceText(period.Unit(x.Since), x.Zone))
	cli.Fprintf(w, "    a value every %s, usually %d each %s, drawn by %s\n", x.Update, x.Leaves,
		period.Unit(x.Since).Noun(), x.Mechanism)
	of := ""
	if x.of.Mechanism.Buckets != nil {
		of = " of the number of all " + x.unit
	}
	cli.Fprintf(w, "    error%s, 95 %%: %s\n", of, x.Errors.text(x.unit))
	for _, q := range x.Quantiles {
		if q.Useful == 1 {
			cli.Fprintf(w, "    %s is useful from the first of the %s on\n", q.Release, x.unit)
			continue
		}
		cli.Fprintf(w, "    %s is noise below about %d %s so far, and useful from about %d %[3]s on; at the end of "+
			"the %[5]s\n", q.Release, q.Rough, x.unit, q.Useful, period.Unit(x.Since).Noun())
	}
	noun := period.Unit(x.Since).Noun()
	cli.Fprintf(w, "    costs one user %s in each %s, however many values it has", x.each, noun)
	switch {
	case x.nominal == 0:
		cli.Fprintf(w, "; the budget never gets it back\n")
	case x.AtMost > x.nominal:
		cli.Fprintf(w, "; any %s touches up to %s, or %d where one is shorter because clocks go forward: at most %s\n",
			x.per, cli.Plural(x.nominal, noun), x.AtMost, x.worst)
	default:
		cli.Fprintf(w, "; any %s touches up to %s: at most %s\n", x.per, cli.Plural(x.AtMost, noun), x.worst)
	}
	if m := x.Memory; m != nil {
		cli.Fprintf(w, "    remembering who has counted takes %s if the same %s of a window and group come all the "+
			"time, up to %s if each window has others\n", humanize.IBytes(m.Least), users(expected), humanize.IBytes(m.Most))
	}
}

// about is a number with two digits: more are not known.
func about(n int64) int64 { return twoDigits(float64(n)).IntPart() }
