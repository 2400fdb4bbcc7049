package parse

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/config"
)

// follower follows the list of stream checkout of withFound. It stands before it in the file.
const follower = `  - name: carts
    input: {topic: checkout.events, user: user_id, value: latency_ms, time: ts, group: region}
    groups: {from: checkout}
    max_groups: 2
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 5m, grace: 2m}
    releases: [{name: carts, statistic: quantiles, p: [0.5, 0.9, 0.99], epsilon: 0.01}]
    output: {topic: carts.private, tombstones: true}
    budget: shoppers
    on_exhausted: withhold
`

// withFollower is withFound with the follower before it.
func withFollower(groups string) string {
	return strings.NewReplacer("streams:\n", "streams:\n"+follower, "refuse\n", "withhold\n").Replace(withFound(groups))
}

func TestGroupsOfAnotherStream(t *testing.T) {
	f := parse(t, withFollower(found))
	s, source := f.Streams[0], f.Streams[1]
	of := s.Found
	if of == nil || of.From != "checkout" || s.Groups != nil || s.MaxGroups != 2 || s.Prior != "tapered" ||
		!s.Tombstones ||
		source.Tombstones ||
		len(config.All[*config.Discovery](s)) > 0 || len(config.All[*config.Discovery](source)) != 2 {
		t.Fatalf("%+v", of)
	}
	expressions := cmp.Comparer(func(x, y *regexp.Regexp) bool { return x.String() == y.String() })
	want := *source.Found
	want.From = "checkout"
	if d := cmp.Diff(want, *of, expressions); d != "" {
		t.Errorf("the list differs from that of its stream:\n%s", d)
	}
	if paid := s.Cost(time.Now()).Watches; len(paid) > 0 {
		t.Errorf("a stream that follows a list pays for %+v beside its windows", paid)
	}
	again, err := Definition(s.Definition)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Definition)
	}
	if d := cmp.Diff(want, *again.Found, expressions); d != "" {
		t.Errorf("the list differs in the definition:\n%s", d)
	}
	// Defaults are in the definition too: they depend on the other stream.
	f = parse(t, withFollower("groups: {discover: [{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001}]}"))
	if again, err = Definition(f.Streams[0].Definition); err != nil || again.Found.Keep != 7*24*time.Hour ||
		again.Found.Max != 1000 {
		t.Errorf("%+v (%v) in the definition, want what is kept and listed by default\n%s", again, err,
			f.Streams[0].Definition)
	}
}

// The definition of a stream that follows a list is another one when the list is, and not when anything else is of the
// stream whose list it is.
func TestDefinitionsOfFollowers(t *testing.T) {
	before := parse(t, withFollower(found)).Streams[0].Definition
	for _, c := range []struct {
		old, new string
		change   string
	}{
		{"keep: 7d", "keep: 8d", "groups.keep: 7d → 8d"},
		{"keep: 7d", "keep: 168h", ""},
		{"[/admin]", "[/admin, /root]", "groups.except: [/admin] → [/admin, /root]"},
		{"      match: '^/[a-z0-9/-]*$'\n", "", "groups.match: ^/[a-z0-9/-]*$ → absent"},
		{"epsilon: 0.5,", "epsilon: 0.6,", ""},
		{"{name: p50, statistic: median, epsilon: 0.05}", "{name: p50, statistic: median, epsilon: 0.06}", ""},
	} {
		text := withFollower(found)
		if !strings.Contains(text, c.old) {
			t.Fatal(c.old)
		}
		changes, err := config.Changes(before, parse(t, strings.Replace(text, c.old, c.new, 1)).Streams[0].Definition)
		var told []string
		for _, c := range changes {
			told = append(told, c.String())
		}
		if err != nil || strings.Join(told, "\n") != c.change {
			t.Errorf("%s: %q (%v), want %q", c.new, told, err, c.change)
		}
	}
}

// What is published for a group, with roll-ups and discoveries: these series end when it leaves a list.
func TestNamesOfSeries(t *testing.T) {
	s := parse(t, withHistogram(shape, ofShape...)).Streams[0]
	finds := parse(t, withFound(found)).Streams[0]
	s.Found = finds.Found
	for _, d := range config.All[*config.Discovery](finds) {
		s.Add(d)
	}
	want := "shape shape.1h shape.1d p90 users slow tail tail.1h tail.1d slower slower.1h slower.1d peak peak.1h " +
		"peak.1d quick quick.1h quick.1d mid mid.1h mid.1d daily hourly"
	if got := strings.Join(s.SeriesNames(), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Watches, roll-ups and prices of a follower are those of a stream that finds the same groups itself. That one pays for
// the discoveries as well.
func TestFiguresOfAFollower(t *testing.T) {
	list := strings.Replace(found, "max: 900", "max: 500", 1) // an entry has room for histograms of so many
	text := strings.NewReplacer("max_groups: 2\n", "max_groups: 2\n    watches: ["+strings.Join([]string{fire, gone, calm, many},
		", ")+"]\n", "upper: 100,", "upper: 60000, prior: adaptive,", "[{name: carts, statistic: quantiles, p: [0.5, 0.9, 0.99], "+
		"epsilon: 0.01}]", "[{name: p50, statistic: median, epsilon: 0.01}, {name: shape, statistic: histogram, buckets: "+
		"[100], epsilon: 0.05, rollup: [1h, 1d]}]").Replace(withFollower(list))
	follows := parse(t, text).Streams[0]
	itself := parse(t, strings.Replace(text, "groups: {from: checkout}", list, 1)).Streams[0]
	if follows.Found.From != "checkout" || itself.Found.From != "" || len(config.All[*config.Watch](follows)) != 4 || follows.Prior != "adaptive" ||
		len(config.All[*config.Release](follows)) != 2 || len(config.All[*config.Release](follows)[1].Rollups) != 2 {
		t.Fatalf("%+v\n%+v", follows, itself)
	}
	for i, w := range config.All[*config.Watch](follows) {
		of := config.All[*config.Watch](itself)[i]
		if w.Definition != of.Definition || w.Always != of.Always || w.Query.Groups != of.Query.Groups ||
			w.Mechanism.Excess95() != of.Mechanism.Excess95() {
			t.Errorf("watch %s is %+v, want %+v", w.Name, w, of)
		}
	}
	if d := cmp.Diff(itself.Price(), follows.Price()); d != "" || follows.Price()[0].Times != 2 {
		t.Errorf("a window costs something else: %s", d)
	}
	steps := itself.BesidePrice()
	if d := cmp.Diff(steps[:len(steps)-2], follows.BesidePrice()); d != "" {
		t.Errorf("a period costs something else beside discoveries: %s", d)
	}
}

// The budget needs room for the δ of the discoveries of all its streams together.
func TestDiscoveriesOfOneBudget(t *testing.T) {
	text := strings.Replace(withFollower(found), "groups: {from: checkout}", found, 1)
	for delta, want := range map[string]string{"0.0000003": "want at least 0.000000404, ten times that of the discoveries of " +
		"its period", "0.00000041": ""} {
		_, err := File("s.yaml", []byte(strings.Replace(text, "delta: 0.000001,", "delta: "+delta+",", 1)), noVariables)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with delta %s: %v, want %q", delta, err, want)
		}
	}
}
