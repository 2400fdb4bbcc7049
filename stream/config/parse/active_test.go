package parse

import (
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
)

// now counts the users of the last hour, every quarter of an hour.
const now = "{name: now, statistic: count, active: 1h, update: 30m, epsilon: 1}"

func activeOf(t *testing.T, text string) *config.Active {
	t.Helper()
	all := config.All[*config.Active](parse(t, text).Streams[0])
	if len(all) != 1 {
		t.Fatalf("%d numbers of active users", len(all))
	}
	return all[0]
}

func TestActive(t *testing.T) {
	f := parse(t, withTotals(now))
	a := activeOf(t, withTotals(now))
	if a.Query.Leaves != 48 || a.Query.Groups != 3 || a.Windows() != 4 || a.Mechanism.Name() != "centred" ||
		a.Kind() != config.Present {
		t.Errorf("%+v by %s, %d windows", a.Query, a.Mechanism.Name(), a.Windows())
	}
	if r := a.Presence(); r.Keep != 96 || r.MaxGroups != 2 || r.Groups != 3 || r.Windows != 4 {
		t.Errorf("%+v", r)
	}
	if c := a.Cost(); c.AtMost != 1 || f.Budgets[0].Compose(c.Items).Epsilon.String() != "2" || c.Stretch != nil {
		t.Errorf("at most %d for %v, and a stretch for %v", c.AtMost, c.Items, c.Stretch)
	}
	// 96 windows of 2 · 0.08, and one day of 2
	if lost := f.Payer(f.Budgets[0], time.Now()).InAnyDay(); lost.Epsilon.String() != "17.36" {
		t.Errorf("ε %s in any day, want 17.36", lost.Epsilon)
	}
	if a := activeOf(t, strings.Replace(withTotals(now), "per: 24h", "per: 25h", 1)); a.AtMost != 2 {
		t.Errorf("25 hours hold %d days; want 2", a.AtMost)
	}
	delta := strings.Replace(withTotals(now), "per: 24h", "per: 24h, delta: 0.000001", 1)
	if a := activeOf(t, delta); a.Mechanism.Name() != "centred_gaussian" {
		t.Errorf("with a δ: %s", a.Mechanism.Name())
	}
	again, err := Definition(f.Streams[0].Definition)
	if err != nil || config.All[*config.Active](again)[0].Definition != a.Definition {
		t.Errorf("read again: %v", err)
	}
}

// Without groups, what a stretch of time costs that is taken back is little more than what a day costs.
func TestStretchOfActive(t *testing.T) {
	alone := strings.NewReplacer("    groups: [eu, us, ap]\n", "", "      group: region\n", "", "max_groups: 2",
		"max_groups: 1").Replace(withTotals(now))
	for _, c := range []struct {
		old, new   string
		from, most float64
	}{
		{"active: 1h", "active: 1h", 1.2, 1.3},
		{"active: 1h", "active: 1h, above: 800", 2.4, 2.6}, // what remains of a window may count although the whole did not
		{"active: 1h", "active: 24h", 2.1, 2.2},
	} {
		a := activeOf(t, strings.Replace(alone, c.old, c.new, 1))
		if got := a.Budget.Compose(a.Cost().Stretch).Epsilon.InexactFloat64(); got < c.from || got > c.most {
			t.Errorf("%s: ε %v, want from %v to %v", c.new, got, c.from, c.most)
		}
	}
}

// An instance goes on while what it depends on is the same.
func TestDefinitionsOfActive(t *testing.T) {
	checkDefinitions[*config.Active](t, withTotals(now), []edit{
		{"active: 1h", "active: 2h", false},
		{"active: 1h", "active: 60m", true},
		{"update: 30m", "update: 15m", false},
		{"update: 30m", "update: 30m, above: 800", false},
		{"update: 30m, epsilon: 1}", "update: 30m, epsilon: 0.9}", false},
		{"max_groups: 2", "max_groups: 1", false},
		{"groups: [eu, us, ap]", "groups: [eu, ap, us]", false},
		{"upper: 60000", "upper: 70000", false},
		{"contribution: last", "contribution: max", false},
		{"grace: 30s", "grace: 40s", false},
		{"per: 24h", "per: 24h, delta: 0.000001", false},
		{"size: 15m, every: 15m", "size: 30m, every: 15m", false},
		{"user: user_id", "user: account_id", false}, // who was seen under one name may be seen again under the other
		{"topic: checkout.events", "topic: orders.events", false},
		{"group: region", "group: country", false},
		{"group: region", "group: region\n      where: {tenant: shop}", false},
		{"epsilon: 0.02", "epsilon: 0.03", true},
		{"description: time", "description: the time", true},
	})
}
