package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
)

// comparison says whether two figures, or the means of two ranges, differ by more than their noise. Its JSON names are
// public.
type comparison struct {
	// A and B are records, or averages.
	A json.RawMessage `json:"a"`
	B json.RawMessage `json:"b"`
	// Difference is the difference of the values; null if one is withheld.
	Difference *json.Number `json:"difference"`
	// Probability is how often noise alone makes a difference of at least this size, if nothing has changed; null if no
	// public figure tells.
	Probability *float64 `json:"probability"`
	// Basis names the source of the probability: the record's error_95, interval or smoothed; null if there is none.
	Basis *string `json:"basis"`
	// Verdict is noise, change (a probability below 5 %) or unknown.
	Verdict  string `json:"verdict"`
	Sentence string `json:"sentence"`
}

// rare is the probability below which noise is no longer the likely reason.
const rare = 0.05

// compare answers whether two figures, or the means of two ranges, differ by more than their noise.
func (h *handler) compare(w http.ResponseWriter, r *http.Request) error {
	p := parameters{values: r.URL.Query()}
	p.allowed("a", "b")
	a, b := p.id("a"), p.id("b")
	if p.err != nil {
		return invalid(p.err)
	}
	if a.release != b.release || (a.end == 0) != (b.end == 0) {
		return invalid(fmt.Errorf("%s and %s; want two figures of one release, or two ranges of windows", a, b))
	}
	if a.end != 0 {
		return h.compareRanges(w, r, a, b)
	}
	var found [2]*figure
	var records [2]outputs.Record
	for i, id := range []identity{a, b} {
		f := h.Store.record(id.stream, id.group, id.release, id.start)
		if f == nil {
			return &problem{http.StatusNotFound, fmt.Sprintf("%s is not in memory; api/v1/streams says how far back each stream goes", id)}
		}
		found[i] = f
		var err error
		if records[i], err = f.decode(); err != nil {
			return err
		}
	}
	x, y := records[0], records[1]
	if x.Unit != y.Unit || x.Statistic != y.Statistic {
		return invalid(fmt.Errorf("%s is a %s in %q and %s a %s in %q; want two figures of one release", a, x.Statistic, x.Unit, b, y.Statistic, y.Unit))
	}
	c := compared(x, y)
	c.A, c.B = found[0].value, found[1].value
	return answerJSON(w, r, c)
}

// identity is a record's id, stream/group/window start/release, or names all windows in a range of time:
// stream/group/from..to/release.
type identity struct {
	stream, group, release string
	start, end             int64 // end is 0 for one record
}

func (i identity) String() string {
	at := clock(time.Unix(i.start, 0))
	if i.end != 0 {
		at += ".." + clock(time.Unix(i.end, 0))
	}
	return fmt.Sprintf("%s/%s/%s/%s", i.stream, i.group, at, i.release)
}

func (p *parameters) id(name string) (id identity) {
	parts := strings.Split(p.values.Get(name), "/")
	if len(parts) == 4 {
		from, to, isRange := strings.Cut(parts[2], "..")
		start, err := time.Parse(time.RFC3339, from)
		id = identity{stream: parts[0], group: parts[1], release: parts[3], start: start.Unix()}
		if err == nil && !isRange {
			return id
		}
		if end, err2 := time.Parse(time.RFC3339, to); err == nil && err2 == nil && end.After(start) {
			id.end = end.Unix()
			return id
		}
	}
	p.refuse("%s=%q; want the id of a record, such as checkout-latency/eu/2026-11-20T08:00:00Z/p50, or a range of windows, such as "+
		"checkout-latency/eu/2026-11-20T08:00:00Z..2026-11-20T12:00:00Z/p50", name, p.values.Get(name))
	return id
}

// compared compares two figures of one release.
func compared(a, b outputs.Record) comparison {
	c := comparison{Verdict: "unknown"}
	for _, r := range []outputs.Record{a, b} {
		if r.Value == nil {
			c.Sentence = fmt.Sprintf("Nothing can be compared: the figure of the window that ends at %s is withheld (%s).", clock(r.WindowEnd), cell(r.Reason))
			return c
		}
	}
	if isWatch(a) {
		return comparedWatch(a, b)
	}
	x, y := numberOf(*a.Value), numberOf(*b.Value)
	d := y.Sub(x)
	c.Difference = new(exactly(d))
	change := strings.TrimSpace(fmt.Sprintf("%s → %s %s", a.Value, b.Value, a.Unit))
	if s, t := a.Since, b.Since; a.Changed != nil && b.Changed != nil && s != nil && t != nil && s.Equal(*t) {
		c.Probability, c.Verdict = new(1.0), "noise"
		c.Sentence = fmt.Sprintf("%s: both are the one value that was drawn in the window that ends at %s, and held in between.", change, clock(*s))
		return c
	}
	if d.IsZero() {
		c.Probability, c.Verdict = new(1.0), "noise"
		c.Sentence = change + ": the two figures are the same. The noise may still hide a difference."
		return c
	}
	basis, p, ok := byNoise(a, b, math.Abs(d.InexactFloat64()))
	if !ok {
		c.Sentence = change + ": nothing public says how often noise alone makes such a difference."
		return c
	}
	c.judge(basis, p)
	c.Sentence = change + ": noise alone does this " + often(p) + "."
	return c
}

// judge fills in what follows from the probability.
func (c *comparison) judge(basis string, p float64) {
	c.Basis, c.Probability, c.Verdict = &basis, new(math.Round(p*1e6)/1e6), "noise"
	if p < rare {
		c.Verdict = "change"
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

// byNoise returns the chance of a difference of d. It uses the first of these that both records have:
//
//   - interval, which was paid for: an interval of that level around the value;
//   - error_95: the law of a count's noise is known from its mechanism and its ε. That of means and sums is Laplace, or normal for
//     clipped_gaussian, and error_95 bounds it. It does not cover what was cut away, which may differ between windows;
//   - smoothed: the free 90 % band of a quantile, from this and earlier releases.
//
// The two sides of an interval or band may differ in length. If both values have the same truth, only the sides that
// face each other matter. Their tails are exponential or lighter, like those of the exponential mechanism.
func byNoise(a, b outputs.Record, d float64) (basis string, p float64, ok bool) {
	up := numberOf(*b.Value).GreaterThan(numberOf(*a.Value))
	if a.Interval != nil && b.Interval != nil {
		x := facing(a, a.Interval.Low, a.Interval.High, up, numberOf(a.Interval.Level).InexactFloat64())
		y := facing(b, b.Interval.Low, b.Interval.High, !up, numberOf(b.Interval.Level).InexactFloat64())
		p, ok = chance(x, y, d)
		return "interval", p, ok
	}
	if a.Error95 != nil && b.Error95 != nil {
		p, ok = chance(errorOf(a), errorOf(b), d)
		return "error_95", p, ok
	}
	if s, t := a.Smoothed, b.Smoothed; s != nil && t != nil && s.Low != nil && s.High != nil && t.Low != nil && t.High != nil {
		p, ok = chance(facing(a, *s.Low, *s.High, up, 0.9), facing(b, *t.Low, *t.High, !up, 0.9), d)
		return "smoothed", p, ok
	}
	return "", 0, false
}

// errorOf returns the law of a value's noise.
func errorOf(r outputs.Record) noise {
	reach := numberOf(*r.Error95).InexactFloat64()
	switch r.Mechanism {
	case "geometric":
		return noise{geometric, 1 / numberOf(r.Epsilon).InexactFloat64()}
	case "gaussian":
		return noise{gaussian, 1 / numberOf(r.Epsilon).InexactFloat64()}
	case "clipped_gaussian":
		return ofReach(normal, atLeast(reach, r), 0.95)
	}
	return ofReach(laplace, atLeast(reach, r), 0.95)
}

// facing returns the law of the error on one side of a value.
func facing(r outputs.Record, low, high json.Number, up bool, level float64) noise {
	reach := numberOf(*r.Value).Sub(numberOf(low))
	if up {
		reach = numberOf(high).Sub(numberOf(*r.Value))
	}
	return ofReach(laplace, atLeast(reach.InexactFloat64(), r), level)
}

// atLeast makes a reach positive: a value at the very end of its band may still be off by its last digit.
func atLeast(reach float64, r outputs.Record) float64 {
	return max(reach, math.Pow(10, float64(numberOf(*r.Value).Exponent())))
}

// numberOf reads a number of a record. Decoding has checked that it is one.
func numberOf(n json.Number) decimal.Decimal {
	d, err := decimal.NewFromString(n.String())
	if err != nil {
		return decimal.Decimal{}
	}
	return d
}
