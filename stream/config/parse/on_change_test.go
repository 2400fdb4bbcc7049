package parse

import (
	"github.com/louver/louver/stream/config"
	"os"
	"strings"
	"testing"
	"time"
)

// steady is a release on change without mistakes.
const steady = "{name: steady, statistic: median, epsilon: 0.05, publish: on_change, tolerance: 0.03, watch_epsilon: " +
	"0.1, at_most: 4}"

// tail is another one.
const tail = "{name: tail, statistic: quantile, p: 0.9, epsilon: 0.05, publish: on_change, tolerance: 0.02, " +
	"watch_epsilon: 0.2, at_most: 2}"

// withOnChange is right with some releases on change in place of the median, and without min_users.
func withOnChange(releases ...string) string {
	return strings.NewReplacer(p50, strings.Join(releases, "\n      - "),
		"    min_users: {count: 50, release: users}\n", "", "max_groups: 1", "max_groups: 2").Replace(right)
}

func TestOnChange(t *testing.T) {
	f := parse(t, strings.Replace(withOnChange(steady, tail), "epsilon: 24,", "epsilon: 30,", 1))
	s := f.Streams[0]
	if len(config.All[*config.Release](s)) != 3 || len(config.All[*config.Watch](s)) != 0 ||
		len(config.All[*config.Change](s)) != 2 {
		t.Fatalf("%d releases, %d alarms and %d releases on change, want 3, 0 and 2", len(config.All[*config.Release](s)), len(config.All[*config.Watch](s)),
			len(config.All[*config.Change](s)))
	}
	// 0.05 + 0.02 + 0.01, in two groups
	if lost := f.Payer(f.Budgets[0], time.Now()).Lost(s.Cost(time.Now()), 1); lost.Epsilon.String() != "0.16" {
		t.Errorf("a window costs ε %s, want 0.16", lost.Epsilon)
	}
	w := config.All[*config.Change](s)[0]
	// Each instance costs 0.15. The first one also draws all groups, of which a user may be in two.
	cost, first, most := f.Budgets[0].Compose(w.Cost().Items), f.Budgets[0].Compose(w.Cost().First),
		f.Budgets[0].Compose(w.Cost().Most())
	if cost.Epsilon.String() != "0.15" || first.Epsilon.String() != "0.1" || most.Epsilon.String() != "0.7" {
		t.Errorf("an instance costs ε %s, the first one %s more, and all %s; want 0.15, 0.1 and 0.7", cost.Epsilon,
			first.Epsilon, most.Epsilon)
	}
	// 96 · 0.16 + 0.7 + 2 · 0.25 + 0.1
	if day := f.Payer(f.Budgets[0], time.Now()).InAnyDay(); day.Epsilon.String() != "16.66" {
		t.Errorf("ε %s in any day, want 16.66", day.Epsilon)
	}
	again, err := Definition(s.Definition)
	if err != nil || len(config.All[*config.Change](again)) != 2 ||
		config.All[*config.Change](again)[0].Definition != w.Definition {
		t.Errorf("%+v, %v, want the same from the stream's definition", again, err)
	}
}

// A stream may have nothing but releases on change. Its windows then cost nothing.
func TestOnlyOnChange(t *testing.T) {
	text := strings.NewReplacer("      - {name: p90, statistic: quantile, p: 0.9, epsilon: 0.05}\n", "",
		"      - {name: users, statistic: count, epsilon: 0.02}\n", "",
		"      - {name: slow, statistic: count, above: 800, epsilon: 0.01}\n", "", "epsilon: 24,",
		"epsilon: 0.7,").Replace(withOnChange(steady))
	f := parse(t, text)
	s := f.Streams[0]
	if len(config.All[*config.Release](s)) != 0 || len(s.Price()) != 0 || len(config.All[*config.Change](s)) != 1 {
		t.Fatalf("%+v", s)
	}
	if runway := f.Payer(f.Budgets[0], time.Now()).Runway(); !runway.Pays {
		t.Errorf("%+v, want a budget that pays", runway)
	}
	_, err := File("s.yaml", []byte(strings.Replace(text, "epsilon: 0.7,", "epsilon: 0.69,", 1)), noVariables)
	if err == nil || !strings.Contains(err.Error(), "at least 0.7") {
		t.Errorf("%v, want an error that asks for 0.7", err)
	}
}

// A budget that sums up ρ has mechanisms of its own, also for what is drawn on change.
func TestOnChangeUnderRho(t *testing.T) {
	f := parse(t, strings.Replace(withOnChange(steady), "epsilon: 24, per: 24h",
		"epsilon: 24, per: 24h, delta: 0.000001", 1))
	for _, w := range config.All[*config.Change](f.Streams[0]) {
		if !w.Release.Query.ZCDP {
			t.Error("the release is drawn as under a budget that sums up ε")
		}
	}
}

// Values go on while what they and the test depend on is the same.
func TestDefinitionsOnChange(t *testing.T) {
	checkDefinitions[*config.Change](t, withOnChange(steady), []edit{
		{"tolerance: 0.03", "tolerance: 0.04", false},
		{"watch_epsilon: 0.1", "watch_epsilon: 0.2", false},
		{"statistic: median, epsilon: 0.05, publish", "statistic: median, epsilon: 0.06, publish", false},
		{"statistic: median, epsilon: 0.05, publish", "statistic: quantile, p: 0.4, epsilon: 0.05, publish", false},
		{"max_groups: 2", "max_groups: 1", false},
		{"groups: [eu, us, ap]", "groups: [eu, ap, us]", false},
		{"upper: 60000", "upper: 70000", false},
		{"at_most: 4", "at_most: 2", true},
		{"description: time", "description: the time", true},
	})
}

// What a budget cannot pay for beside the windows has its own name.
func TestUnpaidOnChange(t *testing.T) {
	const calm = "{name: calm, statistic: median, epsilon: 0.05, publish: on_change, tolerance: 0.03, watch_epsilon: " +
		"0.1, at_most: 24}"
	const users, slow = ", {name: users, statistic: count, epsilon: 0.01}",
		"\n    watches: [{name: slow, above: 2000, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: " +
			"30d}, hold: 15m, at_most: 2}]"
	const mostly = ", a smaller at_most, or on_exhausted: withhold"
	for _, c := range []struct{ more, limit, want string }{
		{"", "epsilon: 2, per: 24h",
			"(ε 2 per 24h) cannot pay for the releases on change, which cost ε 3.65 in a period at most; want an " +
				"epsilon of at least 3.65, fewer or cheaper releases" + mostly},
		{"", "epsilon: 2, per: forever",
			"(ε 2 forever) cannot pay for the releases on change, which cost ε 3.65 in a period at most; want an " +
				"epsilon of at least 3.65, fewer or cheaper releases" + mostly},
		{"", "epsilon: 0.1, per: 24h",
			"(ε 0.1) cannot pay for even one window with its releases on change, which costs ε 0.2; want a larger " +
				"budget, or fewer or cheaper releases"},
		{users, "epsilon: 10, per: 24h",
			"(ε 10 per 24h) pays for only 635 windows of the schedule beside the releases on change, which cost ε " +
				"3.65 in a period at most; want an epsilon of at least 18.05, a delta of 0.000000001, fewer or " +
				"cheaper releases" + mostly},
		{users, "epsilon: 10, per: forever",
			"(ε 10 forever) pays for only 635 windows of the schedule, which has no end; want window.end, a budget " +
				"for a rolling period, or on_exhausted: withhold"},
		{slow, "epsilon: 5, per: 24h", "(ε 5 per 24h) cannot pay for the watches and releases on change, which cost ε " +
			"5.65 in a period at most; want an epsilon of at least 5.65, a delta of 0.000000001 with an order of 21.8, " +
			"fewer or cheaper releases or watches" +
			mostly},
		{"", "epsilon: 3.65, per: forever", ""},
	} {
		releases, watches := calm, c.more
		if c.more == users {
			releases, watches = calm+users, ""
		}
		_, err := File("s.yaml", []byte(`version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: ms}
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 10000
    window: {size: 1m, grace: 10s}
    releases: [`+releases+`]`+watches+`
    output: {topic: out}
    budget: {`+c.limit+`}
`), os.LookupEnv)
		if err == nil && c.want != "" || err != nil && (c.want == "" ||
			!strings.HasSuffix(err.Error(), `streams[s].budget: budget "s" `+c.want)) {
			t.Errorf("%s%s: %v, want %q", c.limit, c.more, err, c.want)
		}
	}
}
