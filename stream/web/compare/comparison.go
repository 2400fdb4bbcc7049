package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// Comparison says whether two figures, or the middles of two ranges, differ by more than their noise explains. Its JSON
// names are public.
type Comparison struct {
	// A and B are records, or averages.
	A json.RawMessage `json:"a"`
	B json.RawMessage `json:"b"`
	// Difference is the difference of the values; null if one is withheld.
	Difference *json.Number `json:"difference"`
	// Probability is how often a difference of at least this size arises if nothing has changed: through noise, and for
	// medians and quantiles also because other users came. It is null if no public figure tells.
	Probability *float64 `json:"probability"`
	// Basis names the source of the probability: the record's usual_95, error_95 or interval, or figures, which are
	// those of the ranges themselves; null if there is none.
	Basis *string `json:"basis"`
	// Verdict is noise, change (a probability below 5 %) or unknown.
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
}

// rare is the probability below which noise is no longer the likely reason.
const rare = 0.05

// judge fills in what follows from a finding. The sentence is the end of one.
func (c *Comparison) judge(f finding) {
	switch {
	case f.cut:
		c.Sentence = ": noise alone does not explain this. But values were cut to different intervals, which may."
		return
	case f.basis == "":
		c.Sentence = ": nothing public says how often noise and usual variation make such a difference."
		return
	}
	c.Basis, c.Probability, c.Verdict = &f.basis, new(math.Round(f.p*1e6)/1e6), "noise"
	if f.p < rare {
		c.Verdict = "change"
	}
	switch f.basis {
	case byUsual, byFigures:
		c.Sentence = ": noise and the usual variation do this " + often(f.p) + "."
	case byInterval:
		c.Sentence = ": the intervals do not meet. If nothing has changed, that happens " + often(f.p) + " at most."
		if c.Verdict == "noise" {
			c.Verdict = "unknown"
		}
	default:
		c.Sentence = ": noise alone does this " + often(f.p) + "."
	}
}

// often puts a probability into words.
func often(p float64) string {
	switch {
	case p >= 0.995:
		return "nearly always"
	case p >= 0.01:
		return fmt.Sprintf("in %.0f of 100 cases", 100*p)
	case p >= 0.001:
		return fmt.Sprintf("in %.0f of 1,000 cases", 1000*p)
	}
	return "in fewer than 1 of 1,000 cases"
}

// Figures compares two figures of one release.
func Figures(a, b outputs.Record) Comparison {
	c := Comparison{Verdict: "unknown"}
	for _, r := range []outputs.Record{a, b} {
		if r.Value == nil {
			c.Sentence = fmt.Sprintf("Nothing can be compared: the figure of the window that ends at %s is "+
				"withheld (%s).", clock(r.WindowEnd), *cmp.Or(r.Reason, new("")))
			return c
		}
	}
	if isWatch(a) {
		return comparedWatch(a, b)
	}
	x, y := numberOf(*a.Value), numberOf(*b.Value)
	d := y.Sub(x)
	c.Difference = new(exactly(d))
	change := changed(a, x, y, min(off(a), off(b)))
	if s, t := a.Since, b.Since; a.Changed != nil && b.Changed != nil && s != nil && t != nil && s.Equal(*t) {
		c.Probability, c.Verdict = new(1.0), "noise"
		c.Sentence = fmt.Sprintf("%s: both are the one value that was drawn in the window that ends at %s, and held "+
			"in between.", change, clock(*s))
		return c
	}
	if d.IsZero() {
		c.Probability, c.Verdict = new(1.0), "noise"
		c.Sentence = change + ": the two figures are the same. The noise may still hide a difference."
		return c
	}
	c.judge(find([]outputs.Record{a}, []outputs.Record{b}, math.Abs(d.InexactFloat64())))
	c.Sentence = change + c.Sentence
	return c
}

// Average is the mean of a release's figures in a range of time, or the median of medians and quantiles. Its JSON names
// are public.
type Average struct {
	Stream  string `json:"stream"`
	Group   string `json:"group"`
	Release string `json:"release"`
	// From is the start of the first window, To the end of the last.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Windows is how many figures the value is of, and Withheld how many more windows have none.
	Windows  int          `json:"windows"`
	Withheld int          `json:"withheld"`
	Value    *json.Number `json:"value"`
	// Average says what the value is of the figures: mean or median.
	Average string `json:"average"`

	figures []outputs.Record // those with values
	middle  decimal.Decimal
}

// AverageOf takes at least one record, all of one release and in order. Of figures over the newest time, those that
// share windows share their noise too. So each that overlaps the one before it is left out.
func AverageOf(records []outputs.Record) Average {
	first, last := records[0], records[len(records)-1]
	m := Average{Stream: first.Stream, Group: first.Group, Release: first.Release, From: first.WindowStart,
		To: last.WindowEnd, Average: "mean"}
	var values []decimal.Decimal
	finest := int32(0)
	for _, r := range records {
		if n := len(m.figures); r.Last() && n > 0 && r.WindowStart.Before(m.figures[n-1].WindowEnd) {
			continue
		}
		if r.Value == nil {
			m.Withheld++
			continue
		}
		v := numberOf(*r.Value)
		values, finest = append(values, v), min(finest, v.Exponent())
		m.figures = append(m.figures, r)
	}
	if isQuantile(first) {
		m.Average = "median"
		slices.SortFunc(values, decimal.Decimal.Cmp)
		if n := len(values); n > 0 {
			values = values[(n-1)/2 : n/2+1] // one value, or two
		}
	}
	if m.Windows = len(m.figures); m.Windows > 0 {
		sum := decimal.Sum(values[0], values[1:]...)
		m.middle = sum.DivRound(decimal.NewFromInt(int64(len(values))), 6-finest)
		m.Value = new(exactly(m.middle.Round(1 - finest))) // one digit more than the figures have
	}
	return m
}

// off is how far the value may be from the truth, by the errors of its first figure.
func (a Average) off() float64 {
	if isQuantile(a.figures[0]) {
		return off(a.figures[0])
	}
	return off(a.figures[0]) / math.Sqrt(float64(a.Windows))
}

// Shares reports whether a figure is in both ranges. Its noise then is, too, and the errors of the means are not
// independent.
func (a Average) Shares(b Average) bool {
	if len(a.figures) > 0 && a.figures[0].Last() && a.From.Before(b.To) && b.From.Before(a.To) {
		return true // as far as windows of both are added up in them
	}
	ids := map[string]bool{}
	for _, f := range a.figures {
		ids[f.ID] = true
	}
	return slices.ContainsFunc(b.figures, func(f outputs.Record) bool { return ids[f.ID] })
}

// Ranges compares two ranges of one release: their means, or the medians of medians and quantiles. The chance of a
// difference is that of independent noises. So nothing is said of figures whose values share noise: running totals,
// numbers of active users, and releases on change, which repeat one draw.
func Ranges(a, b Average) Comparison {
	c := Comparison{Verdict: "unknown"}
	if a.Windows == 0 || b.Windows == 0 {
		c.Sentence = "Nothing can be compared: all figures of a range are withheld."
		return c
	}
	x, y := a.figures[0], b.figures[0]
	if isWatch(x) && isWatch(y) {
		return comparedWatches(a.figures, b.figures, b.middle.Sub(a.middle))
	}
	d := b.middle.Sub(a.middle)
	c.Difference = new(exactly(d.Round(6)))
	change := changed(y, numberOf(*a.Value), numberOf(*b.Value), min(a.off(), b.off())) +
		fmt.Sprintf(", %ss of %d and %s", a.Average, a.Windows, several(b.Windows, "window"))
	left := ""
	if n := a.Withheld + b.Withheld; n > 0 {
		left = fmt.Sprintf(" Without %s.", several(n, "withheld window"))
	}
	for _, r := range append(slices.Clone(a.figures), b.figures...) {
		if r.Statistic != x.Statistic || r.Unit != x.Unit {
			c.Sentence = change + ": the definition of the release has changed between them." + left
			return c
		}
	}
	if x.Held() && a.Windows+b.Windows > 2 {
		c.Sentence = change + ": neighbouring values share noise, so a mean of many is hardly more exact than one of " +
			"them. Compare two single values." + left
		return c
	}
	c.judge(find(a.figures, b.figures, math.Abs(d.InexactFloat64())))
	c.Sentence = change + c.Sentence + left
	return c
}

// comparedWatch compares two windows of a watch, whose records have values. A watch answers yes or no. How sure an
// answer is follows from its false_alarms and its margin, and not from the two records, so the verdict is always
// unknown.
func comparedWatch(a, b outputs.Record) Comparison {
	c := Comparison{Verdict: "unknown", Difference: new(exactly(numberOf(*b.Value).Sub(numberOf(*a.Value))))}
	s, t := a.Since, b.Since
	switch {
	case fires(a) && fires(b) && s != nil && t != nil && s.Equal(*t):
		c.Sentence = fmt.Sprintf("Both are the same alarm: the watch fires since the window that ends at %s.",
			clock(*s))
	case fires(a) && fires(b):
		c.Sentence = "The watch fires in both windows, and was armed again in between."
	case fires(a):
		c.Sentence = firesAt(a, b)
	case fires(b):
		c.Sentence = firesAt(b, a)
	default:
		c.Sentence = "The watch is silent in both windows. " + silence(b)
	}
	return c
}

// comparedWatches compares two ranges of a watch whose means differ by difference. All records have values.
func comparedWatches(a, b []outputs.Record, difference decimal.Decimal) Comparison {
	c := Comparison{Verdict: "unknown", Difference: new(exactly(difference.Round(6)))}
	m, n := 0, 0
	for _, r := range a {
		if fires(r) {
			m++
		}
	}
	for _, r := range b {
		if fires(r) {
			n++
		}
	}
	c.Sentence = fmt.Sprintf("The watch fires in %d of %s, then in %d of %d.", m, several(len(a), "window"), n, len(b))
	if m == 0 && n == 0 {
		c.Sentence = "The watch is silent in both ranges. " + silence(b[0])
	}
	return c
}

func isWatch(r outputs.Record) bool { return r.Statistic == record.StatisticWatch }

func fires(r outputs.Record) bool { return numberOf(*r.Value).IsPositive() }

func firesAt(firing, silent outputs.Record) string {
	return fmt.Sprintf("The watch fires in the window that ends at %s, and is silent in the one that ends at %s.",
		clock(firing.WindowEnd), clock(silent.WindowEnd))
}

// silence says how little follows from two answers that agree.
func silence(r outputs.Record) string {
	seen := ""
	if r.Excess95 != nil {
		seen = fmt.Sprintf(": %s users beyond its limit are seen with 95 %%", *r.Excess95)
	}
	return "That says little. They may differ, and either may be beyond the limit by less than the watch can see" +
		seen +
		"."
}
