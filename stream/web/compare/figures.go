package compare

import (
	"cmp"
	"fmt"
	"math"

	"github.com/louver/louver/stream/outputs"
)

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
