package check

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/windows"
)

const foundFile = `version: 1
streams:
  - name: page-load
    input: {topic: in, user: u, value: ms, group: path}
    unit: ms
    groups: [eu]
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 2000
    window: {size: 15m, grace: 10s}
    releases:
      - {name: p50, statistic: median, epsilon: 0.02}
      - {name: p90, statistic: quantile, p: 0.9, epsilon: 0.02}
      - {name: users, statistic: count, epsilon: 0.02}
    output: {topic: out}
    budget: {epsilon: 24, delta: 0.000001, per: 24h}
`

// discovering is a file with a stream whose groups are found.
func discovering(t *testing.T, most int64, rows ...*config.Discovery) *config.File {
	t.Helper()
	file, err := parse.File("s.yaml", []byte(foundFile), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	file.Streams[0].Groups = nil
	file.Streams[0].Found = &config.Found{Keep: 7 * 24 * time.Hour, Max: most, Other: "(other)",
		Always: []string{"/", "/login"}}
	for _, d := range rows {
		file.Streams[0].Add(d)
	}
	return file
}

func row(t *testing.T, name string, every time.Duration, epsilon, delta string, most, atLeast int64) *config.Discovery {
	t.Helper()
	m, err := mechanisms.NewTruncatedGeometric(decimal.RequireFromString(epsilon), decimal.RequireFromString(delta),
		atLeast)
	if err != nil {
		t.Fatal(err)
	}
	return &config.Discovery{Head: config.Head{Name: name, Where: "s.yaml:6", Groups: most}, Every: every, Mechanism: m,
		AtMost: int64(24 * time.Hour / every)}
}

func described(t *testing.T, file *config.File) (findings, string) {
	t.Helper()
	found, err := find(file, &forecastFlags{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := found.Streams[0].print(&b, 120); err != nil {
		t.Fatal(err)
	}
	return found, b.String()
}

// The figures are those of the design.
func TestCheckOfDiscoveries(t *testing.T) {
	_, said := described(t, discovering(t, 1000, row(t, "daily", 24*time.Hour, "0.5", "0.00000001", 1, 10),
		row(t, "hourly", time.Hour, "0.02", "0.0000000001", 4, 1)))
	for _, want := range []string{
		"one user counts in 1 of 1,003 groups",
		"groups are discovered\n    daily: ε 0.5, δ 0.00000001 in each 24h: a group is found with a probability of " +
			"50 % if 45 users count for it, of 95 % if 50 do; fewer than 10 never suffice\n" +
			"      of a million names with 10 users each, 0.00615 are published\n" +
			"      a user counts for 1 name in each 24h. With 8 names that are not listed yet, they count for each " +
			"with a probability of 1/8\n",
		"    hourly: ε 0.02, δ 0.0000000001 in each 1h: a group is found with a probability of 50 % if 923 users " +
			"count for it, of 95 % if 1,038 do\n",
		"counts for 4 names in each 1h. With 8 names that are not listed yet, they count for each with a probability " +
			"of 1/2\n",
		"figures for at most 1,003 groups: 3,009 series. Parts, which are personal, are kept for 24h\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
}

// turns has a user count in some of a discovery's periods.
func turns(t *testing.T, d *config.Discovery, c windows.CapSpec) *config.Discovery {
	t.Helper()
	rule, err := c.Rule(windows.Schedule{Size: d.Every, Every: d.Every})
	if err != nil {
		t.Fatal(err)
	}
	d.MaxWindows = &config.MaxWindows{CapSpec: c, By: rule}
	d.AtMost = d.Cap(0).Most(d.AtMost, d.Every)
	return d
}

// A discovery with max_windows says in how many periods a user counts, costs so many of them, and may be frequent.
func TestCheckOfTurns(t *testing.T) {
	often := turns(t, row(t, "often", 15*time.Minute, "0.25", "0.0000000001", 1, 1),
		windows.CapSpec{Count: 2, Per: 24 * time.Hour, Parts: 1})
	file := discovering(t, 1000, often)
	found, said := described(t, file)
	for _, want := range []string{
		"its discoveries cost one user at most ε 0.5, δ 0.0000000002 in a period of the budget, besides the windows\n",
		"they count for each with a probability of 1/8\n      one user counts in at most 2 periods of any 24h: in " +
			"each stretch of 24h15m, the first one in which they appear\n      of the users who are there in every " +
			"period, one in 97 counts in each; those who come rarely all count\n" +
			"      what one user sends in one period changes up to 2, because without it they may count in a later " +
			"one\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	for _, m := range warnings(file, found, time.Now()) {
		if strings.Contains(m.Error(), "groups.") {
			t.Errorf("a warning of a sound discovery: %s", m)
		}
	}
	idle := discovering(t, 1000, turns(t, row(t, "idle", 12*time.Hour, "0.25", "0.0000000001", 1, 1),
		windows.CapSpec{Count: 6, Per: 24 * time.Hour, Parts: 1}))
	found, _ = described(t, idle)
	const want = "groups.discover[idle].max_windows: has no effect, because a user counts in every period of a part " +
		"of 36h"
	if !slices.ContainsFunc(warnings(idle, found, time.Now()), func(m *form.Mistake) bool {
		return strings.Contains(m.Error(), want)
	}) {
		t.Errorf("no warning %q", want)
	}
}

func TestWarningsOfDiscoveries(t *testing.T) {
	file := discovering(t, 4000, row(t, "daily", 24*time.Hour, "0.5", "0.001", 1, 1),
		row(t, "often", 15*time.Minute, "0.001", "0.0000000001", 1, 1))
	found, _ := described(t, file)
	var b strings.Builder
	for _, m := range warnings(file, found, time.Now()) {
		b.WriteString(m.Error() + "\n")
	}
	for _, want := range []string{
		"groups.discover[daily].delta: a name that only one user sent is found with a probability of up to 0.001; " +
			"want at most 0.00001",
		"groups.discover[often].epsilon: to be found with a probability of 50 %, a group needs 15,426 users; by " +
			"expected_users there are at most 2,000 in 15m",
		"groups.discover[often].every: with 15m, one user who is always there loses 96 times ε 0.001 a day; want 1h " +
			"or more, or max_windows",
		"groups.max: up to 12,009 series: 4,003 groups with 3 figures each; want at most 10,000",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	sound := discovering(t, 1000, row(t, "daily", 24*time.Hour, "0.5", "0.00000001", 1, 1))
	found, _ = described(t, sound)
	for _, m := range warnings(sound, found, time.Now()) {
		if strings.Contains(m.Error(), "groups.") {
			t.Errorf("%s", m.Error())
		}
	}
}

// Overlapping windows do not have other users each: a period has at most as many as the windows that fill it.
func TestWarningsOfDiscoveriesUnderOverlappingWindows(t *testing.T) {
	for size, want := range map[time.Duration]string{
		15 * time.Minute: "",
		2 * time.Hour:    "there are at most 2,000 in 1h",
	} {
		// wants some 5,400 users
		file := discovering(t, 1000, row(t, "hourly", time.Hour, "0.003", "0.0000000001", 1, 1))
		file.Streams[0].Window.Size = size
		found, _ := described(t, file)
		var b strings.Builder
		for _, m := range warnings(file, found, time.Now()) {
			b.WriteString(m.Error() + "\n")
		}
		if got := strings.Contains(b.String(), "to be found with"); got != (want != "") ||
			!strings.Contains(b.String(), want) {
			t.Errorf("windows of %s: want a warning %q in\n%s", size, want, b.String())
		}
	}
}

// A stream that follows a list says whose it is, and is warned if that stream ends before it does.
func TestCheckOfFollowers(t *testing.T) {
	file := discovering(t, 5000, row(t, "daily", 24*time.Hour, "0.5", "0.00000001", 1, 10))
	follower := *file.Streams[0]
	list := *follower.Found
	list.From = "page-load"
	follower.Name, follower.Found = "carts", &list
	follower.Figures = slices.DeleteFunc(slices.Clone(follower.Figures), func(f config.Figure) bool {
		return f.Kind() == config.Searched
	})
	file.Streams = append(file.Streams, &follower)
	said := func() string {
		found, err := find(file, &forecastFlags{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := found.Streams[1].print(&b, 120); err != nil {
			t.Fatal(err)
		}
		for _, m := range warnings(file, found, time.Now()) {
			b.WriteString(m.Error() + "\n")
		}
		return b.String()
	}
	const ends = "streams[carts].groups.from: stream page-load ends at 2027-01-01T00:00:00Z; its list stays as it is " +
		"from then on: no name joins it, and none leaves it"
	if got := said(); !strings.Contains(got, "  groups are those that stream page-load discovers, at no further "+
		"cost\n    figures for at most 5,003 groups: 15,009 series\n") || !strings.Contains(got,
		"streams[carts].groups.from: up to 15,009 series") || strings.Contains(got, "page-load ends") ||
		strings.Contains(got, "discoveries cost") {
		t.Error(got)
	}
	source := *file.Streams[0]
	source.Window.End = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	file.Streams[0] = &source
	if got := said(); !strings.Contains(got, ends) {
		t.Errorf("%s\nwant %s", got, ends)
	}
	follower.Window.End = source.Window.End
	if got := said(); strings.Contains(got, "page-load ends") {
		t.Error(got)
	}
}
