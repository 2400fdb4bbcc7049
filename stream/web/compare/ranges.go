package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
)

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

// AverageOf takes at least one record, all of one release and in order.
func AverageOf(records []outputs.Record) Average {
	first, last := records[0], records[len(records)-1]
	m := Average{Stream: first.Stream, Group: first.Group, Release: first.Release, From: first.WindowStart,
		To: last.WindowEnd, Average: "mean"}
	var values []decimal.Decimal
	finest := int32(0)
	for _, r := range records {
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
	ids := map[string]bool{}
	for _, f := range a.figures {
		ids[f.ID] = true
	}
	return slices.ContainsFunc(b.figures, func(f outputs.Record) bool { return ids[f.ID] })
}

// Ranges compares two ranges of one release: their means, or the medians of medians and quantiles.
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
	c.judge(find(a.figures, b.figures, math.Abs(d.InexactFloat64())))
	c.Sentence = change + c.Sentence + left
	return c
}
