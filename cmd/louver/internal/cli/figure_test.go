package cli

import (
	"encoding/json"
	"testing"

	"github.com/louver/louver/stream/outputs"
)

// Values and errors have the digits that they have on the page; its test has the same numbers.
func TestRounded(t *testing.T) {
	for _, c := range []struct {
		value, off float64
		want, up   string
	}{{23.73795, 1.298, "23.7", "1.3"}, {23.73795, 0.5, "23.7", "0.5"}, {0.004321, 0.0004, "0.0043", "0.0004"},
		{0.4321, 0.0412, "0.43", "0.05"}, {1234567, 4200, "1235000", "5000"}, {0.5, 1298, "0", "1300"},
		{143.634, 0, "143.6", "0"}, {-0.004, 3, "0", "3"}, {-12.5, 1, "-12.5", "1.0"}, {0, 0, "0", "0"},
		{12345.6, 0, "12346", "0"}, {0.676, 0, "0.676", "0"}} {
		if got, up := Rounded(c.value, c.off), roundedUp(c.off); got != c.want || up != c.up {
			t.Errorf("%v ± %v is %s ± %s, want %s ± %s", c.value, c.off, got, up, c.want, c.up)
		}
	}
}

// The error of a figure is in its unit where anything public gives that; else it is told by percentiles.
func TestFigureInWords(t *testing.T) {
	for text, want := range map[string][3]string{
		`{"value":120,"unit":"ms","interval":{"level":0.9,"low":100.4,"high":130.2}}`:                      {"120 ms", "100–130", "(100–130)"},
		`{"value":109.7,"unit":"ms","smoothed":{"value":118,"low":110.12,"high":128}}`:                     {"110 ms", "110–128", "(110–128)"},
		`{"value":120,"unit":"ms","smoothed":{"value":120,"low":119,"high":121}}`:                          {"120 ms", "119–121", "(119–121)"},
		`{"value":120.5,"unit":"ms","smoothed":{"value":120,"low":119,"high":121}}`:                        {"120.5 ms", "119.0–121.0", "(119.0–121.0)"},
		`{"value":23.73795,"unit":"EUR","error_95":1.298}`:                                                 {"23.7 EUR", "± 1.3", "± 1.3"},
		`{"value":23.73795,"unit":"EUR","error_95":1.298,"clip":[0,100]}`:                                  {"23.7 EUR", "± 1.3", "noise ± 1.3"},
		`{"value":3,"unit":"users","statistic":"count","error_95":15}`:                                     {"3 users", "± 15", "± 15"},
		`{"value":1,"unit":"users","statistic":"count","error_95":15}`:                                     {"1 user", "± 15", "± 15"},
		`{"value":812,"unit":"ms","p_low":0.421,"p_high":0.55}`:                                            {"812 ms", "p42.1–p55", "42nd–55th percentile"},
		`{"value":812.123,"unit":"ms","p_low":0.906,"p_high":1}`:                                           {"812.1 ms", "p90.6–p100", "90.6th–100th percentile"},
		`{"value":812,"unit":"ms","rank_error_95":39}`:                                                     {"812 ms", "39 users above or below", "39 users above or below"},
		`{"value":812,"unit":"ms"}`:                                                                        {"812 ms", "", ""},
		`{"value":null,"reason":"too_few_users","unit":"ms","p_low":0.4,"p_high":0.6,"rank_error_95":554}`: {"", "", ""},
	} {
		var r outputs.Record
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if got := [3]string{Value(r), Bound(r), BoundInWords(r)}; got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
