package decide

import (
	"math"
	"strings"
	"testing"
)

// Means and sums of a window: finer than the step, near those of 2000 users from 0 to 499, with the noise's error and
// the interval that values were cut to, which stand in the record too. At ε 5 and beside an exact count noise and
// cutting are less than a hundredth, except with a chance of about e^−30.
func TestDrawsMeansAndSums(t *testing.T) {
	entry := firstWindow(t, twoGroups("lower: 0, upper: 1000, step: 0.5", `
      - {name: users, statistic: count, epsilon: 30}
      - {name: mean, statistic: mean, epsilon: 5}
      - {name: all, statistic: mean, clip: none, epsilon: 5}
      - {name: total, statistic: sum, epsilon: 5}
      - {name: everything, statistic: sum, clip: none, epsilon: 5}
`))
	const mean, users = 249.5 / 2, 2000 // in steps of one half
	records, err := entry.Records()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range entry.Releases[1:] {
		want := mean
		if r.Statistic == "sum" {
			want *= users
		}
		v, empty := entry.Groups[0].Values[i+1], entry.Groups[1].Values[i+1]
		if got := v.Value.InexactFloat64(); math.Abs(got-want) > want/100 {
			t.Errorf("%s: %v, want about %v", r.Name, got, want)
		}
		cut := r.Mechanism == "clipped"
		// In one of 20 draws the count of users outside is so large that there seem to be some.
		some := cut && v.Outside != nil && v.Outside.Value > 0 && v.Quality == "rough"
		if v.Error95 == nil || v.Error95.InexactFloat64() > want/100 || v.Quality != "useful" && !some ||
			empty.Quality != "noise" {
			t.Errorf("%s: error %v, quality %q; of nobody %q", r.Name, v.Error95, v.Quality, empty.Quality)
		}
		if (v.Clip != nil) != cut || cut &&
			(v.Clip[0].IsNegative() || v.Clip[0].GreaterThan(v.Clip[1]) || v.Clip[1].InexactFloat64() > 1000) {
			t.Errorf("%s: cut to %v", r.Name, v.Clip)
		}
		if o := v.Outside; (o != nil) != cut || cut && (o.Most < 0 || o.Most > 40 || o.Error95 > 6 || o.Cut95 == nil) {
			t.Errorf("%s: outside %+v", r.Name, o)
		}
		if text := string(records[i+1].Value); strings.Contains(text, `"clip":[`) != cut ||
			strings.Contains(text, `"outside_95":`) != cut || strings.Contains(text, `"cut_95":`) != cut ||
			!strings.Contains(text, `"value":`+v.Value.String()+",") {
			t.Errorf("%s: record %s", r.Name, text)
		}
	}
	if v := entry.Groups[0].Values[1].Value; -v.Exponent() > 4 {
		t.Errorf("a mean of %s has more digits than a thousandth of a step", v)
	}
}
