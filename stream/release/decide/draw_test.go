package decide

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// Every value says how far it may be off and whether it can be relied on, group by group: group a has 2000 users, b has
// nobody. At ε 30 a count is exact, except with a chance of 10⁻¹². Quantiles without a band are rough at best.
func TestDrawJudgesEveryValue(t *testing.T) {
	entry := firstWindow(t, twoGroups("lower: 0, upper: 1000, step: 1", `
      - {name: p50, statistic: median, epsilon: 1}
      - {name: tails, statistic: quantiles, p: [0.5, 0.9], epsilon: 1}
      - {name: typical, statistic: trimmed_mean, trim: 0.1, epsilon: 1}
      - {name: slow, statistic: count, above: 500, epsilon: 30}
      - {name: users, statistic: count, epsilon: 30}
`))
	for g, want := range []map[string]string{
		{"p50": "rough", "tails.p50": "rough", "tails.p90": "rough", "typical": "", "slow": "useful",
			"users": "useful"},
		{"p50": "noise", "tails.p50": "noise", "tails.p90": "noise", "typical": "noise", "slow": "noise",
			"users": "noise"},
	} {
		for i, r := range entry.Releases {
			v := entry.Groups[g].Values[i]
			if v.Quality != want[r.Name] {
				t.Errorf("group %s, %s = %s: quality %q, want %q", entry.Groups[g].Name, r.Name, v.Value, v.Quality,
					want[r.Name])
			}
			if counts := r.Statistic == "count"; counts != (v.Error95 != nil) || counts && !v.Error95.IsZero() {
				t.Errorf("group %s, %s: error_95 %v", entry.Groups[g].Name, r.Name, v.Error95)
			}
		}
	}
}

// Two counts in either order give the same: the one with the least error serves the other figures and is the record's
// users, and each is judged by itself alone. At ε 0.00001 a count has an error of 300,000: beside that one alone, all
// else would be noise in 95 of 100 windows.
func TestOrderOfCountsDecidesNothing(t *testing.T) {
	counts := []string{`
      - {name: fine, statistic: count, epsilon: 30}`, `
      - {name: rough, statistic: count, epsilon: 0.00001}`}
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		e := firstWindow(t, twoGroups("lower: 0, upper: 1000, step: 1, prior: tapered", `
      - {name: p50, statistic: median, epsilon: 1}`+counts[order[0]]+counts[order[1]]+"\n"))
		a, of := e.Groups[0], map[string]ledger.Value{}
		if a.Users == nil || *a.Users != 2000 {
			t.Fatalf("%v: users %v, want those of fine: 2000", order, a.Users)
		}
		for i, r := range e.Releases {
			of[r.Name] = a.Values[i]
		}
		if of["p50"].Quality != "rough" || of["fine"].Quality != "useful" || of["p50"].PLow == nil {
			t.Errorf("%v: p50 is %+v, fine is %+v", order, of["p50"], of["fine"])
		}
	}
}

// What is drawn beside a count knows the law of the count's noise: the percentiles of a median are the same beside a
// count by the same mechanism, and differ beside one by the other.
func TestDrawKnowsTheLawOfTheCount(t *testing.T) {
	for _, name := range []string{"geometric", "gaussian"} {
		text := twoGroups("lower: 0, upper: 1000, step: 1, prior: tapered", `
      - {name: p50, statistic: median, epsilon: 1}
      - {name: users, statistic: count, mechanism: `+name+`, epsilon: 0.02}
`)
		text = strings.Replace(text, "epsilon: 2000000", "epsilon: 2000000, delta: 0.000001", 1)
		entry, median := firstWindow(t, text), programOf(t, text).draws[0].mechanism
		v, users := entry.Groups[0].Values[0], *entry.Groups[0].Users
		for _, other := range []string{"geometric", "gaussian"} {
			b := median.Errors(mechanisms.Public{Users: &mechanisms.NoisyCount{Value: users, Epsilon: 0.02,
				Mechanism: other}})[0]
			if same := cmp.Equal(v.PLow, ledger.PercentileLow(b.PLow)) &&
				cmp.Equal(v.PHigh, ledger.PercentileHigh(b.PHigh)); same != (name == other) {
				t.Errorf("beside a %s count of %d users: from %v to %v; a %s one makes them %v and %v", name, users,
					v.PLow, v.PHigh, other, b.PLow, b.PHigh)
			}
		}
	}
}

// twoGroups is a definition of a stream that has the groups a and b and windows of a minute.
func twoGroups(bounds, releases string) string {
	return `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b]
    bounds: {` + bounds + `}
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z}
    contribution: last
    output: {topic: out}
    budget: {epsilon: 2000000, per: 24h}
    releases:` + releases
}

// firstWindow draws the first window of a stream with two groups: a has 2000 users with the values 0 to 499, b has
// nobody.
func firstWindow(t *testing.T, text string) ledger.Entry {
	t.Helper()
	p := programOf(t, text)
	w := p.Schedule.First()
	spec := windows.BagSpec{Groups: p.Stream.Groups, MaxGroups: 1, Policy: windows.Last, Window: w,
		Hasher: windows.NewHasher([16]byte{})}
	bag, merger := windows.NewBag(spec), windows.NewMerger(spec, 1<<20)
	for i := range uint64(2000) {
		bag.Add(spread(i), 0, w.Start, int64(i%500))
	}
	for merger.Pass() {
		if err := merger.Add(bag.Seal(), spec.Window); err != nil {
			t.Fatal(err)
		}
	}
	entry, prior := p.entry("app", w), newPrior(p)
	if _, err := prior.upTo(w, p.Stream.Groups, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.draw(&entry, merger, prior, untimed); err != nil {
		t.Fatal(err)
	}
	if err := entry.Compute(); err != nil {
		t.Fatal(err)
	}
	return entry
}

// The mechanism that a draw has chosen is written down with the value. It stays what it is, and the record names it. At
// ε 1000 the bit that is asked for is wrong with a probability below 10⁻⁶.
func TestDrawSaysWhatItChose(t *testing.T) {
	const asked = `
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 1000}
      - {name: p50, statistic: median, epsilon: 1}
`
	for _, count := range []string{"", "      - {name: users, statistic: count, epsilon: 30}\n"} {
		entry := firstWindow(t, twoGroups("lower: 0, upper: 1000, step: 1, prior: tapered", asked+count))
		entry.ReleasedAt = entry.DueAt
		stored, err := entry.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ledger.Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		records, err := again.Records()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			var value struct{ Group, Release, Mechanism string }
			if err := json.Unmarshal(r.Value, &value); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"p99 a": "permute_and_flip", "p99 b": "above_threshold",
				"p50 a": "permute_and_flip", "p50 b": "permute_and_flip"}
			if value.Release != "users" && value.Mechanism != want[value.Release+" "+value.Group] {
				t.Errorf("count %q: %s of group %s is by %s", count, value.Release, value.Group, value.Mechanism)
			}
		}
		first, err := entry.Records()
		if err != nil || !slices.EqualFunc(first, records,
			func(a, b record.Record) bool { return string(a.Value) == string(b.Value) }) {
			t.Errorf("the records differ once the entry is read again: %v", err)
		}
		entry.WithholdBelow("p50", 1<<40) // everything but p50
		if v := entry.Groups[0].Values[0]; v.Mechanism != "" {
			t.Errorf("a withheld value says that it was drawn by %s", v.Mechanism)
		}
	}
}

// TestSumsThatStop: noise beyond the largest number is told in one line of the log, whatever the number of groups, and
// the value has no error. With an ε of 10^−17 all but one of 10^7 draws are beyond it.
func TestSumsThatStop(t *testing.T) {
	d := playing(t, editionsOf(t, twoGroups("lower: -1000000000, upper: 1000000000, step: 1", `
      - {name: all, statistic: sum, clip: none, epsilon: 0.00000000000000001}
      - {name: more, statistic: sum, clip: none, epsilon: 0.00000000000000001}
      - {name: users, statistic: count, epsilon: 1}
`)))
	e := d.next(nil)
	if lines := slices.DeleteFunc(d.notices, func(n Notice) bool { _, ok := n.(Line); return !ok }); len(lines) != 1 ||
		fmt.Sprint(lines[0].(Line).Fields) != fmt.Sprintf("[{stream s} {window_end %v} {releases [all more]}]", e.WindowEnd) {
		t.Fatalf("%v, want one line", lines)
	}
	for _, g := range e.Groups {
		if v := g.Values[0]; v.Error95 != nil || v.Quality != "noise" || v.Value == nil {
			t.Errorf("group %s: %+v", g.Name, v)
		}
	}
}

// TestDrawsSayWhatWasCut: counts and sums of one sign say what was drawn before impossible values were cut off, and
// nothing else does. In the group without users about half of the draws are below 0.
func TestDrawsSayWhatWasCut(t *testing.T) {
	below := 0
	for range 40 { // none of 40 draws is below 0 with a probability of 2^−40, and a little more as some are 0
		e := firstWindow(t, twoGroups("lower: 0, upper: 1000, step: 1", `
      - {name: p50, statistic: median, epsilon: 1}
      - {name: typical, statistic: mean, clip: none, epsilon: 1}
      - {name: users, statistic: count, epsilon: 0.1}
      - {name: all, statistic: sum, clip: none, epsilon: 0.1}
`))
		for _, g := range e.Groups {
			for i, v := range g.Values {
				if i < 2 {
					if v.Raw != nil {
						t.Fatalf("%s: %+v", e.Releases[i].Name, v)
					}
					continue
				}
				if v.Raw == nil || !v.Value.Equal(decimal.Max(*v.Raw, decimal.Zero)) {
					t.Fatalf("%s: %s, raw %s", e.Releases[i].Name, v.Value, v.Raw)
				}
				if g.Name == "b" && v.Raw.IsNegative() {
					below++
				}
			}
		}
	}
	if below == 0 {
		t.Error("nothing was cut off")
	}
}

// Two processes draw one window of the same people, and their noise differs. Group a has 2000 users, all below 500. Two
// of its counts at ε = 0.01 are equal with a probability below 0.006, so all five are with one below 10⁻¹¹.
func TestNoiseIsNeverRepeated(t *testing.T) {
	var counts string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		counts += "\n      - {name: " + name + ", statistic: count, below: 500, epsilon: 0.01}"
	}
	text := twoGroups("lower: 0, upper: 1000, step: 1", counts)
	seen := map[string]string{}
	for _, what := range []string{"one process", "another process"} {
		entry := firstWindow(t, text)
		var drawn string
		for _, g := range entry.Groups {
			for _, v := range g.Values {
				drawn += v.Value.String() + " "
			}
		}
		if before, repeated := seen[drawn]; repeated {
			t.Errorf("%s draws the same as %s: %s", what, before, drawn)
		}
		seen[drawn] = what
	}
}

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
