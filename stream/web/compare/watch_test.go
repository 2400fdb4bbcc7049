package compare

import (
	"testing"

	"github.com/louver/louver/stream/outputs"
)

// Two silent windows of a watch are not two figures that agree: the watch may have missed a difference in either.
func TestCompareWatch(t *testing.T) {
	record := func(end, rest string) outputs.Record {
		r, ok, err := outputs.Decode([]byte(`{"schema":"louver.release.v1","id":"` + end +
			`","statistic":"watch","mechanism":"sparse_vector","unit":"","window_end":"` + end + `",` + rest + `}`))
		if err != nil || !ok {
			t.Fatal(err)
		}
		return r
	}
	silent := func(end string) outputs.Record { return record(end, `"value":0,"excess_95":26`) }
	firing := func(end, since string) outputs.Record {
		return record(end, `"value":1,"excess_95":26,"since":"`+since+`"`)
	}
	const eight, nine, ten = "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z", "2026-11-20T10:00:00Z"
	const unknown = "That says little. They may differ, and either may be beyond the limit by less than the " +
		"watch can see"
	const little = unknown + ": 26 users beyond its limit are seen with 95 %."
	for _, c := range []struct {
		name       string
		a, b       outputs.Record
		difference string
		sentence   string
	}{
		{"silent", silent(eight), silent(nine), "0", "The watch is silent in both windows. " + little},
		{"silent, without a margin", record(eight, `"value":0`), record(nine, `"value":0`), "0",
			"The watch is silent in both windows. " + unknown + "."},
		{"begins", silent(eight), firing(nine, nine), "1", "The watch fires in the window that ends at " + nine +
			", and is silent in the one that ends at " + eight + "."},
		{"is over", firing(eight, eight), silent(nine), "-1", "The watch fires in the window that ends at " + eight +
			", and is silent in the one that ends at " + nine + "."},
		{"one alarm", firing(nine, eight), firing(ten, eight), "0",
			"Both are the same alarm: the watch fires since the window that ends at " + eight + "."},
		{"two alarms", firing(eight, eight), firing(ten, ten), "0",
			"The watch fires in both windows, and was armed again in between."},
	} {
		got := Figures(c.a, c.b)
		if got.Verdict != "unknown" || got.Probability != nil || got.Difference.String() != c.difference ||
			got.Sentence != c.sentence {
			t.Errorf("%s: %+v; want a difference of %s, %s", c.name, got, c.difference, c.sentence)
		}
	}
	for _, c := range []struct {
		a, b     []outputs.Record
		sentence string
	}{
		{[]outputs.Record{silent(eight)}, []outputs.Record{silent(nine), silent(ten)},
			"The watch is silent in both ranges. " + little},
		{[]outputs.Record{silent(eight)}, []outputs.Record{firing(nine, nine), firing(ten, nine)},
			"The watch fires in 0 of 1 window, then in 2 of 2."},
	} {
		if got := Ranges(AverageOf(c.a), AverageOf(c.b)); got.Verdict != "unknown" || got.Probability != nil ||
			got.Sentence != c.sentence {
			t.Errorf("%+v; want %s", got, c.sentence)
		}
	}
}
