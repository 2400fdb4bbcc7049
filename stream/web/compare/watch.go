package compare

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

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
