package parse

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
)

// A user who may be in two of three groups pays for two; how many groups there are does not matter.
func TestPrice(t *testing.T) {
	text := strings.NewReplacer("user: $key, value: $value", "user: u, value: v, group: g", "releases: [",
		"groups: [a, b, c]\n    max_groups: 2\n    releases: [{name: n, statistic: count, epsilon: 0.03}, ",
		"epsilon: 1, per", "epsilon: 9, per").Replace(least)
	s := parse(t, text).Streams[0]
	want := []budget.Item{
		{Promise: privacy.NewPure(decimal.RequireFromString("0.03")), Times: 2},
		{Promise: privacy.NewBoundedRange(decimal.RequireFromString("0.1")), Times: 2},
	}
	if d := cmp.Diff(want, s.Price()); d != "" {
		t.Error(d)
	}
	if lost := (budget.Limit{}).Compose(s.Price()); lost.Epsilon.String() != "0.26" {
		t.Errorf("a window costs ε %s, want 0.26", lost.Epsilon)
	}
}

// What a budget must hold for its streams, just enough and a little less.
func TestPayable(t *testing.T) {
	two := strings.Replace(least, "version: 1", "version: 1\nbudgets: [{name: both, BUDGET}]", 1)
	two = strings.Replace(two, "budget: {epsilon: 1, per: 7d}", "budget: both", 1)
	_, second, _ := strings.Cut(two, "streams:\n")
	two += strings.Replace(second, "name: s\n", "name: s2\n", 1)
	ends := strings.NewReplacer("grace: 0s", "grace: 0s, start: 2026-11-20T00:00:00Z, end: 2026-11-25T00:00:00Z")
	const small = `budget "both" (ε 0.09) cannot pay for even one window, which costs ε 0.1; want a larger budget, or ` +
		`fewer or cheaper releases`
	for _, c := range []struct {
		name, text, budget, want string
	}{
		{"7 windows a week of 2 streams at 0.1", two, "epsilon: 1.4, per: 7d", ""},
		{"a little less", two, "epsilon: 1.39, per: 7d",
			`s.yaml:10: streams[s].budget: budget "both" (ε 1.39 per 7d) pays ` +
				`for only 13 windows of the schedule; want an epsilon of at least 1.4, a delta of 0.000000001, fewer or cheaper ` +
				`releases, or on_exhausted: withhold`},
		{"forever, but with an end", ends.Replace(two), "epsilon: 1, per: forever", ""},
		{"forever, with an end too late", ends.Replace(two), "epsilon: 0.9, per: forever",
			`s.yaml:10: streams[s].budget: budget "both" (ε 0.9 forever) pays for only 9 windows of the schedule; want an ` +
				`epsilon of at least 1, fewer or cheaper releases, or on_exhausted: withhold`},
		{"forever without an end", two, "epsilon: 1, per: forever",
			`s.yaml:10: streams[s].budget: budget "both" (ε 1 forever) pays for only 10 windows of the schedule, which has no ` +
				`end; want window.end, a budget for a rolling period, or on_exhausted: withhold`},
		{"one of them would rather withhold",
			strings.Replace(two, "budget: both", "budget: both\n    on_exhausted: withhold",
				1), "epsilon: 0.1, per: 7d",
			`s.yaml:18: streams[s2].budget: budget "both" (ε 0.1 per 7d) pays for only 1 window ` +
				`of the schedule; want an epsilon of at least 1.4, fewer or cheaper releases, or on_exhausted: withhold`},
		{"nothing can be paid", strings.ReplaceAll(two, "budget: both", "budget: both\n    on_exhausted: withhold"),
			"epsilon: 0.09, per: 7d", "s.yaml:10: streams[s].budget: " + small + "\ns.yaml:18: streams[s2].budget: " +
				small},
		{"all of them would", strings.ReplaceAll(two, "budget: both", "budget: both\n    on_exhausted: withhold"),
			"epsilon: 0.1, per: 7d", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := File("s.yaml", []byte(strings.Replace(c.text, "BUDGET", c.budget, 1)), noVariables)
			if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

// What is promised in ρ, or with a δ, needs a budget with a δ.
func TestPayableDelta(t *testing.T) {
	for _, release := range []string{
		"{name: mid, statistic: trimmed_mean, trim: 0.05, epsilon: 0.1, mechanism: smooth_lln}",
		"{name: mid, statistic: mean, epsilon: 0.1, delta: 0.0000001, mechanism: smooth_laplace}",
		"{name: mid, statistic: count, epsilon: 0.1, mechanism: gaussian}",
		"{name: mid, statistic: outside, epsilon: 0.1, mechanism: gaussian}",
	} {
		text := strings.NewReplacer("{name: mid, statistic: median, epsilon: 0.1}", release, "epsilon: 1, per",
			"epsilon: 20, per").Replace(least)
		_, err := File("s.yaml", []byte(text), noVariables)
		if want := `s.yaml:9: streams[s].budget: budget "s" (ε 20) cannot pay for even one window, which needs a larger ` +
			`delta; want a budget with a delta, for example 0.000001, or mechanisms that need none`; err == nil ||
			err.Error() != want {
			t.Errorf("\n got %v\nwant %s", err, want)
		}
		// a tenth of it is for the δ of the seven windows
		parse(t, strings.Replace(text, "per: 7d", "per: 7d, delta: 0.00001", 1))
	}
}

// A δ makes a few windows several times dearer, because counts are then Gaussian. Who is refused for that is told what
// they cost without it, and what a budget with it needs.
func TestRefusedForADelta(t *testing.T) {
	file := func(size, budget string) string {
		return `version: 1
streams:
  - name: s
    input: {topic: in, user: u, value: v}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: ` + size + `, grace: 0s}
    releases: [{name: users, statistic: count, epsilon: 1}, {name: p50, statistic: median, epsilon: 0.5}]
    output: {topic: out}
    budget: {` + budget + `, per: 24h}
`
	}
	for _, c := range []struct{ size, budget, want string }{
		{"24h", "epsilon: 5.85, delta: 0.000000001", `budget "s" (ε 5.85, δ 0.000000001) cannot pay for even one window, ` +
			`which costs ε 6.710842, δ 0.000000001; want a budget without delta, where it costs ε 1.5: a delta pays for many ` +
			`windows, and not for a few; or a larger budget, or fewer or cheaper releases`},
		{"24h", "epsilon: 6.710842, delta: 0.000000001", ""},
		{"24h", "epsilon: 1.5", ""},
		{"6h", "epsilon: 12, delta: 0.000000001", `want an epsilon of at least 14.690932, no delta, without which the ` +
			`schedule needs ε 6, fewer or cheaper releases, or on_exhausted: withhold`},
		{"6h", "epsilon: 6", ""},
	} {
		f, err := File("s.yaml", []byte(file(c.size, c.budget)), noVariables)
		if (err == nil) != (c.want == "") || err != nil && (f != nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s: %v\nwant %s", c.size, c.budget, err, c.want)
		}
	}
}

// A stream that starts now pays for the windows from now to its end.
func TestPayableFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at 2000-01-01T00:00:00Z
		text := strings.NewReplacer("grace: 0s", "grace: 0s, end: 2000-01-06T00:00:00Z", "epsilon: 1, per: 7d",
			"epsilon: 0.5, per: forever").Replace(least)
		parse(t, text)
		if _, err := File("s.yaml", []byte(strings.Replace(text, "epsilon: 0.5,", "epsilon: 0.4,", 1)),
			noVariables); err == nil {
			t.Error("ε 0.4 pays for five windows of 0.1")
		}
		time.Sleep(time.Nanosecond) // of the test's own clock: the first window is lost
		parse(t, strings.Replace(text, "epsilon: 0.5,", "epsilon: 0.4,", 1))
	})
}

// A budget can take over several former ones.
func TestContinues(t *testing.T) {
	two := strings.NewReplacer("version: 1", "version: 1\nbudgets: [{name: both, epsilon: 9, per: 1d}]",
		"budget: {epsilon: 1, per: 7d}", "continues: old\n    budget: both").Replace(least)
	_, second, _ := strings.Cut(two, "streams:\n")
	file := parse(t, two+strings.NewReplacer("name: s\n", "name: s2\n", "continues: old",
		"continues: other").Replace(second))
	if a, b := file.Streams[0].Continues, file.Streams[1].Continues; a != "old" || b != "other" {
		t.Errorf("the streams continue %s and %s", a, b)
	}
}

// A mean of an interval and two sums is charged piece by piece in ρ: for ε = 0.1 the interval costs (0.1/3)²/8 and the
// sums (0.2/3)²/2, which is less than half of ½ε². Its ε is not less.
func TestPriceOfPieces(t *testing.T) {
	text := strings.NewReplacer("releases: [", "releases: [{name: m, statistic: mean, epsilon: 0.1}, {name: all, "+
		"statistic: mean, clip: none, epsilon: 0.1}, ", "epsilon: 1, per", "epsilon: 9, per").Replace(least)
	price := parse(t, text).Streams[0].Price()
	rho := 0.01/9/8 + 0.04/9/2
	if got := price[0]; got.Kind != privacy.Pure || got.Epsilon.String() != "0.1" ||
		got.Rho.InexactFloat64() < rho*(1-1e-6) || got.Rho.InexactFloat64() > rho*(1+1e-6) {
		t.Errorf("%+v, want ρ %v", got, rho)
	}
	if got := price[1]; got.Kind != privacy.Pure || got.Rho.String() != "0.005" {
		t.Errorf("two sums: %+v, want ½ε²", got)
	}
	day := func(item budget.Item) float64 {
		item.Times = 1440
		return budget.Limit{Delta: decimal.New(1, -6)}.Compose([]budget.Item{item}).Epsilon.InexactFloat64()
	}
	if pieces, whole := day(price[0]), day(price[1]); pieces < 16 || pieces > 17 || whole < 25.5 || whole > 26.5 {
		t.Errorf("a day of minutes costs ε %v by pieces and %v as a whole", pieces, whole)
	}
	if plain := (budget.Limit{}).Compose(price[:1]); plain.Epsilon.String() != "0.1" {
		t.Errorf("without δ a window costs %s", plain.Epsilon)
	}
}
