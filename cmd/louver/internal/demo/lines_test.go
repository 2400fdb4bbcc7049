package demo

import (
	"encoding/json"
	"testing"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record/recordtest"
)

// Each field of a line is one word, so that awk and cut find it.
func TestFieldsAreWords(t *testing.T) {
	for text, want := range map[string]string{"": "-", "ms": "ms", "± 60": "±60", "noise ± 1.5": "noise-±1.5",
		"199.1 users above or below": "199.1-users-above-or-below"} {
		if got := filled(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
}

// A line has the band as the record has it, without rounding. The level stands there if it is not 95 %.
func TestLinesHaveTheBand(t *testing.T) {
	for _, c := range recordtest.AllBanded(t) {
		var r outputs.Record
		if err := json.Unmarshal([]byte(c.Record), &r); err != nil {
			t.Fatal(err)
		}
		want := c.Low + "–" + c.High
		switch c.Name {
		case "interval":
			want += "(90%)"
		case "ranks":
			want = "p90.6–p100"
		case "mode", "trimmed", "variation", "old":
			want = "-"
		}
		if got := filled(bandOf(r)); got != want {
			t.Errorf("%s: %q, want %q", c.Name, got, want)
		}
	}
}
