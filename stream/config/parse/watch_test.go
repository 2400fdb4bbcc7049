package parse

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
)

// fire is a watch without mistakes.
const fire = "{name: fire, above: 2000, more_than: 0.01, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: " +
	"15m, at_most: 3}"

// gone is another one.
const gone = "{name: gone, users_below: 500, epsilon: 0.5, false_alarms: {at_most: 0.01, per: 30d}, hold: 15m, " +
	"at_most: 2}"

// calm and many have the keys that are left.
const (
	calm = "{name: calm, below: 100, less_than: 0.5, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 0s, " +
		"at_most: 1}"
	many = "{name: many, above: 50000, users: 40, epsilon: 0.5, false_alarms: {at_most: 0.05, per: 7d}, hold: 1h, " +
		"at_most: 1}"
)

// withWatches is right with some watches.
func withWatches(watches ...string) string {
	return strings.NewReplacer("budgets:\n  - {name: shoppers, epsilon: 24,",
		"budgets:\n  - {name: shoppers, epsilon: 30,",
		"    min_users:", "    watches: ["+strings.Join(watches, ", ")+"]\n    min_users:").Replace(right)
}

func TestWatches(t *testing.T) {
	s := parse(t, withWatches(fire, gone)).Streams[0]
	if len(config.All[*config.Watch](s)) != 2 {
		t.Fatalf("%d watches, want 2", len(config.All[*config.Watch](s)))
	}
	w := config.All[*config.Watch](s)[0]
	if w.Name != "fire" || w.Query.Conditions[0].String() != "above: 2000, more_than: 0.01" ||
		w.Hold != 15*time.Minute ||
		w.AtMost != 3 ||
		w.Query.Windows != 2880 || w.Query.Groups != 3 || w.Mechanism.Promise().Epsilon.String() != "1" ||
		len(w.Definition) != 16 {
		t.Errorf("%+v", w)
	}
	if price := s.BesidePrice(); len(price) != 2 || price[0].Times != 3 || price[1].Times != 2 ||
		price[1].Epsilon.String() != "0.5" {
		t.Errorf("a period costs %+v, want 3 × 1 and 2 × 0.5", price)
	}
	again, err := Definition(s.Definition)
	if err != nil || len(config.All[*config.Watch](again)) != 2 ||
		config.All[*config.Watch](again)[0].Definition != w.Definition {
		t.Errorf("%+v, %v, want the same watches from the stream's definition", again, err)
	}
}

// An instance goes on while its definition is the same. Anything that it depends on changes the definition.
func TestDefinitionsOfWatches(t *testing.T) {
	checkDefinitions[*config.Watch](t, withWatches(fire), []edit{
		{"above: 2000", "above: 2001", false},
		{"above: 2000", "below: 2000", false},
		{"more_than: 0.01", "more_than: 0.02", false},
		{"epsilon: 1, false", "epsilon: 0.9, false", false},
		{"at_most: 0.05", "at_most: 0.04", false},
		{"per: 30d", "per: 31d", false},
		{"groups: [eu, us, ap]", "groups: [eu, ap, us]", false},
		{"upper: 60000", "upper: 70000", false},
		{"size: 15m, every: 15m", "size: 30m, every: 30m", false},
		{"hold: 15m", "hold: 30m", true},
		{"at_most: 3", "at_most: 2", true},
		{"epsilon: 0.05}", "epsilon: 0.04}", true},
		{"contribution: last", "contribution: max", true},
	})
}

// Where groups are found, a watch looks at each list, whose longest length its margin is for, and one for few users at
// the groups that are always listed. Its instances go on if the list may be of other names.
func TestWatchesOfFoundGroups(t *testing.T) {
	with := func(groups string) []*config.Watch {
		return config.All[*config.Watch](parse(t, strings.Replace(withFound(groups), "    min_users:",
			"    watches: ["+strings.Join([]string{fire, gone, calm, many}, ", ")+"]\n    min_users:", 1)).Streams[0])
	}
	before := with(found)
	for i, want := range []struct {
		always bool
		groups int64
	}{{false, 903}, {true, 2}, {true, 2}, {false, 903}} {
		if w := before[i]; w.Always != want.always || w.Query.Groups != want.groups {
			t.Errorf("%s: always %v, %d groups; want %+v", w.Name, w.Always, w.Query.Groups, want)
		}
	}
	for _, c := range []struct {
		old, new  string
		fire, few bool // they are the same
	}{
		{"max: 900", "max: 901", false, true},
		{"      other: (other)\n", "", false, true},
		{"[/login, /]", "[/login, /home]", true, false},
		{"[/login, /]", "[/login]", false, false},
		{"      except: [/admin]", "      except: [/admin, /internal]", true, true},
		{"keep: 7d", "keep: 6d", true, true},
	} {
		after := with(strings.Replace(found, c.old, c.new, 1))
		if fire, few := after[0].Definition == before[0].Definition,
			after[1].Definition == before[1].Definition; fire != c.fire ||
			few != c.few {
			t.Errorf("%q → %q: the same %v and %v, want %v and %v", c.old, c.new, fire, few, c.fire, c.few)
		}
	}
	without := strings.Replace(withFound(strings.Replace(found, "      always: [/login, /]\n", "", 1)),
		"    min_users:", "    watches: ["+gone+", "+calm+"]\n    min_users:", 1)
	_, err := File("s.yaml", []byte(without), noVariables)
	for _, want := range []string{"watches[gone].users_below: groups are found, and come and go, " +
		"so this watch looks at those of groups.always alone, and there are none; " +
		"want groups.always, or above or below with more_than or users",
		"watches[calm].less_than: groups are found"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What one person loses in a day counts the watches at their most: windows for 12.48 and watches for 3.
func TestADayWithWatches(t *testing.T) {
	f := parse(t, withWatches(fire))
	if day := f.Payer(f.Budgets[0], time.Now()).InAnyDay(); day.Epsilon.String() != "15.48" {
		t.Errorf("ε %s in any day, want 15.48", day.Epsilon)
	}
	f = parse(t, strings.Replace(withWatches(fire), "epsilon: 30, per: 24h", "epsilon: 30, per: 23h", 1))
	if day := f.Payer(f.Budgets[0], time.Now()).InAnyDay(); day.Epsilon.String() != "18.48" { // two periods cover a day
		t.Errorf("ε %s in any day, want 18.48", day.Epsilon)
	}
}

// What a budget with a δ cannot pay costs more than its limit, as its books add it up.
func TestWhatCannotBePaidCostsMoreThanTheLimit(t *testing.T) {
	text := strings.Replace(withWatches(fire), "epsilon: 30,", "epsilon: 1.3, delta: 0.000000001,", 1)
	_, err := File("s.yaml", []byte(text), noVariables)
	if err == nil {
		t.Fatal("a budget below the price of a watch is accepted")
	}
	var costs float64
	_, after, _ := strings.Cut(err.Error(), "with its watches, which costs ε ")
	if _, err := fmt.Sscan(strings.TrimRight(strings.Fields(after + " ?")[0], ","), &costs); err != nil ||
		costs <= 1.3 {
		t.Errorf("%q says ε %v, %v; want more than 1.3", after, costs, err)
	}
}
