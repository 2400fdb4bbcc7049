package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
)

// average is the mean of a release's figures in a range of time. Its JSON names are public.
type average struct {
	Stream  string `json:"stream"`
	Group   string `json:"group"`
	Release string `json:"release"`
	// From is the start of the first window, To the end of the last.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Windows is how many figures the mean is of, and Withheld how many more windows have none.
	Windows  int          `json:"windows"`
	Withheld int          `json:"withheld"`
	Value    *json.Number `json:"value"`

	figures []outputs.Record // those with values
	mean    decimal.Decimal
}

// compareRanges answers whether the means of two ranges differ by more than their noise.
func (h *handler) compareRanges(w http.ResponseWriter, r *http.Request, a, b identity) error {
	var means [2]average
	for i, id := range []identity{a, b} {
		var err error
		if means[i], err = h.average(id); err != nil {
			return err
		}
	}
	if means[0].shares(means[1]) {
		return invalid(fmt.Errorf("%s and %s have windows in common; want ranges without any", a, b))
	}
	c := comparedMeans(means[0], means[1])
	for i, to := range []*json.RawMessage{&c.A, &c.B} {
		text, err := json.Marshal(means[i])
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		*to = text
	}
	return answerJSON(w, r, c)
}

func (h *handler) average(id identity) (average, error) {
	found, _, _ := h.Store.find(selection{streams: []string{id.stream}, groups: []string{id.group}, releases: []string{id.release}, from: id.start, to: id.end}, nil, mostWindows)
	if len(found) == 0 {
		return average{}, &problem{http.StatusNotFound, fmt.Sprintf("no window of %s is in memory; api/v1/streams says how far back each stream goes", id)}
	}
	records := make([]outputs.Record, len(found))
	for i, f := range found {
		var err error
		if records[i], err = f.decode(); err != nil {
			return average{}, err
		}
	}
	return averageOf(records), nil
}

// averageOf takes records of one release, in order.
func averageOf(records []outputs.Record) average {
	first, last := records[0], records[len(records)-1]
	m := average{Stream: first.Stream, Group: first.Group, Release: first.Release, From: first.WindowStart, To: last.WindowEnd}
	sum, finest := decimal.Decimal{}, int32(0)
	for _, r := range records {
		if r.Value == nil {
			m.Withheld++
			continue
		}
		v := numberOf(*r.Value)
		sum, finest = sum.Add(v), min(finest, v.Exponent())
		m.figures = append(m.figures, r)
	}
	if m.Windows = len(m.figures); m.Windows > 0 {
		m.mean = sum.DivRound(decimal.NewFromInt(int64(m.Windows)), 6-finest)
		m.Value = new(exactly(m.mean.Round(1 - finest))) // one digit more than the figures have
	}
	return m
}

// shares reports whether a figure is in both ranges. Its noise then is, too, and the errors of the means are not independent.
func (a average) shares(b average) bool {
	ids := map[string]bool{}
	for _, f := range a.figures {
		ids[f.ID] = true
	}
	return slices.ContainsFunc(b.figures, func(f outputs.Record) bool { return ids[f.ID] })
}

// comparedMeans compares the means of two ranges of one release.
func comparedMeans(a, b average) comparison {
	c := comparison{Verdict: "unknown"}
	if a.Windows == 0 || b.Windows == 0 {
		c.Sentence = "Nothing can be compared: all figures of a range are withheld."
		return c
	}
	x, y := a.figures[0], b.figures[0]
	if isWatch(x) && isWatch(y) {
		return comparedWatches(a, b)
	}
	d := b.mean.Sub(a.mean)
	c.Difference = new(exactly(d.Round(6)))
	change := strings.TrimSpace(fmt.Sprintf("%s → %s %s", *a.Value, *b.Value, y.Unit)) + fmt.Sprintf(", means of %d and %s", a.Windows, several(b.Windows, "window"))
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
	basis, p, ok := byNoiseOfMeans(a.figures, b.figures, math.Abs(d.InexactFloat64()))
	if !ok {
		c.Sentence = change + ": nothing public says how often noise alone makes such a difference." + left
		return c
	}
	c.judge(basis, p)
	c.Sentence = change + ": noise alone does this " + often(p) + "." + left
	return c
}

func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// byNoiseOfMeans returns the chance that the means of two ranges differ by d if the means of the truth are the same, from
// the first basis of [byNoise] that all records have. Each window has a draw of its own, so the errors are independent, even
// where windows overlap. An interval or band counts with the longer of its sides. Counts are cut at 0: if many of them are
// there, a range of smaller counts seems a little larger than it is.
func byNoiseOfMeans(a, b []outputs.Record, d float64) (basis string, p float64, ok bool) {
	for _, by := range []struct {
		basis string
		noise func(outputs.Record) (noise, bool)
	}{
		{"interval", func(r outputs.Record) (noise, bool) {
			if r.Interval == nil {
				return noise{}, false
			}
			return wider(r, r.Interval.Low, r.Interval.High, numberOf(r.Interval.Level).InexactFloat64()), true
		}},
		{"error_95", func(r outputs.Record) (noise, bool) {
			if r.Error95 == nil {
				return noise{}, false
			}
			return errorOf(r), true
		}},
		{"smoothed", func(r outputs.Record) (noise, bool) {
			if s := r.Smoothed; s != nil && s.Low != nil && s.High != nil {
				return wider(r, *s.Low, *s.High, 0.9), true
			}
			return noise{}, false
		}},
	} {
		x, inA := all(a, by.noise)
		y, inB := all(b, by.noise)
		if inA && inB {
			return by.basis, chanceOfMeans(x, y, d), true
		}
	}
	return "", 0, false
}

func all(records []outputs.Record, of func(outputs.Record) (noise, bool)) (laws []noise, ok bool) {
	for _, r := range records {
		law, ok := of(r)
		if !ok {
			return nil, false
		}
		laws = append(laws, law)
	}
	return laws, true
}

// wider returns the law of the error on the longer side of a value.
func wider(r outputs.Record, low, high json.Number, level float64) noise {
	x, y := facing(r, low, high, false, level), facing(r, low, high, true, level)
	if x.scale > y.scale {
		return x
	}
	return y
}
