package cli

import (
	"encoding/json"
	"testing"

	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record/recordtest"
)

// Values and errors have the digits that they have on the page; its test has the same numbers.
func TestRounded(t *testing.T) {
	for _, c := range []struct {
		value, off float64
		want, up   string
	}{{23.73795, 1.298, "23.7", "1.3"}, {23.73795, 0.5, "23.7", "0.5"}, {0.004321, 0.0004, "0.0043", "0.0004"},
		{0.4321, 0.0412, "0.43", "0.05"}, {1234567, 4200, "1,235,000", "5,000"}, {0.5, 1298, "0", "1,300"},
		{143.634, 0, "143.6", "0"}, {-0.004, 3, "0", "3"}, {-12.5, 1, "-12.5", "1.0"}, {0, 0, "0", "0"},
		{12345.6, 0, "12,346", "0"}, {0.676, 0, "0.676", "0"}} {
		if got, up := Rounded(c.value, c.off), roundedUp(c.off); got != c.want || up != c.up {
			t.Errorf("%v ± %v is %s ± %s, want %s ± %s", c.value, c.off, got, up, c.want, c.up)
		}
	}
}

// The command line shows the band of a record, and else percentiles. The page shows the same: its test has the same
// figures.
func TestOneBandInWords(t *testing.T) {
	for _, c := range recordtest.AllBanded(t) {
		r := recordOf(t, c.Record)
		if got := [2]string{Value(r), BoundInWords(r)}; got != [2]string{c.Value, c.Bound} {
			t.Errorf("%s: %q, want %q, %q", c.Name, got, c.Value, c.Bound)
		}
	}
}

// Elsewhere there is less room, or a band needs no words.
func TestBound(t *testing.T) {
	for text, want := range map[string]string{
		`{"value":120,"low":100.4,"high":130.2,"level":0.9,"basis":"interval"}`:                                            "100–131",
		`{"value":120,"low":1234.1,"high":9876,"level":0.95,"basis":"shape"}`:                                              "1,000–10,000",
		`{"value":30,"statistic":"count","low":15,"high":45,"level":0.95,"basis":"noise"}`:                                 "± 15",
		`{"value":0,"statistic":"outside","low":0,"high":7,"level":0.95,"basis":"noise"}`:                                  "at most 7",
		`{"value":173,"low":163,"high":183,"level":0.95,"basis":"clipped","clip":[0,1023],"outside_95":18}`:                "± 10",
		`{"value":812,"p_low":0.421,"p_high":0.55,"low":null,"high":null,"basis":"ranks"}`:                                 "p42.1–p55",
		`{"value":812,"rank_error_95":39}`:                                                                                 "39 users above or below",
		`{"value":null,"reason":"too_few_users","p_low":0.4,"p_high":0.6,"rank_error_95":554}`:                             "",
		`{"value":120,"interval":{"level":0.9,"low":100,"high":130},"smoothed":{"value":1,"low":1,"high":2},"error_95":3}`: "",
	} {
		if got := Bound(recordOf(t, text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Beside the most users who are outside stands the released number of all users. Noise may have made that too large, so
// nothing is said in percent.
func TestUsersOutsideInWords(t *testing.T) {
	for more, want := range map[string]string{
		`"outside_95":18,"users":1000`: "at most 18 of about 1,000 users are outside 0–1,023",
		`"outside_95":1,"users":null`:  "at most 1 user is outside 0–1,023",
		`"outside_95":18`:              "at most 18 users are outside 0–1,023",
		`"outside_95":180,"users":90`:  "at most 180 users are outside 0–1,023",
		`"outside_95":0,"users":90`:    "at most 0 of about 90 users are outside 0–1,023",
	} {
		r := recordOf(t, `{"value":173,"low":163,"high":183,"level":0.95,"basis":"clipped","clip":[0,1023],`+more+`}`)
		if got := BoundInWords(r); got != "± 10; "+want {
			t.Errorf("%s: %q, want %q", more, got, want)
		}
	}
}

// A value that is only noise does not stand there. How many users there are at most does: that is news.
func TestNoiseText(t *testing.T) {
	for text, want := range map[string]string{
		`{"value":120,"unit":"ms","low":10,"high":400,"level":0.95,"basis":"shape","quality":"noise"}`:                   "too noisy to read",
		`{"value":0,"unit":"users","statistic":"count","low":0,"high":7,"level":0.95,"basis":"noise","quality":"noise"}`: "at most 7 users",
	} {
		if got := NoiseText(recordOf(t, text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func recordOf(t *testing.T, text string) (r outputs.Record) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}
