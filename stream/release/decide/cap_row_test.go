package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/windows"
)

// cappedRowText has windows of half an hour. The discovery of an hour has max_windows, the windows have another
// max_windows, and the discovery of two hours has none. The noise of discoveries is nearly always 0: see finding. So a
// name that two users send is found if both count, and never if none does.
const cappedRowText = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups:
      discover:
        - {name: hourly, every: 1h, epsilon: 24, delta: 0.00001, max_windows: {count: COUNT, per: PER, parts: PARTS}}
        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001}
      max: 10
      except: [hidden]
    max_windows: {count: 2, per: 2h, parts: 1}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 30m, every: 30m, grace: 10s, start: 2026-01-01T00:30:00Z}
    contribution: last
    releases: [{name: users, statistic: count, mechanism: geometric, epsilon: 30}]
    output: {topic: out}
    budget: {epsilon: LIMIT, delta: 0.09, per: 24h}
    on_exhausted: withhold
`

func cappedRow(t testing.TB, limit string, c windows.CapSpec) config.Edition {
	t.Helper()
	return editionsOf(t, strings.NewReplacer("LIMIT", limit, "COUNT", fmt.Sprint(c.Count), "PARTS", fmt.Sprint(c.Parts),
		"PER", c.Per.String()).Replace(cappedRowText))[0]
}

// capName is the name that only a user and their twin send. hiddenName is one that many send, and that is never found.
func capName(u int) string { return string(rune('a' + u)) }

const hiddenName = "hidden"

// checkRow compares who counts in the first discovery of the ledger with a cap that is never disturbed and begins with
// each era. It checks that everybody counts in the second discovery. It returns how many eras there are.
func (c *capWorld) checkRow(t rapid.TB) (eras int) {
	var whole *windows.Cap
	era := int64(-1)
	counted := [capUsers][]time.Time{} // the ends of the periods in which each user has counted
	row := config.All[*config.Discovery](c.of.Stream)[0]
	for _, e := range c.entries {
		w := windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()}
		switch e.Lane {
		case "":
			continue
		case row.Name:
			if e.Cap.Era != era {
				if e.Cap.Era != e.WindowStart.Unix() || e.Cap != row.Cap(e.Cap.Era) {
					t.Fatalf("a period that starts at %d has the cap %+v", e.WindowStart.Unix(), e.Cap)
				}
				whole, era = windows.NewCap(row.MaxWindows.By), e.Cap.Era
				eras++
			}
			if err := whole.Begin(w); err != nil {
				t.Fatal(err)
			}
		default:
			if e.Cap != (budget.Cap{}) {
				t.Fatalf("discovery %s has the cap %+v, and is to have none", e.Lane, e.Cap)
			}
		}
		var got, want []string
		for u := range capUsers {
			came, named := false, false
			for start := w.Start; start < w.End; start += int64(c.of.Schedule.Every) {
				came = came || c.came[start][u]
				named = named || c.came[start][u] && !c.hides[start][u]
			}
			// who comes takes a turn, with whatever names
			if came && (e.Lane != row.Name || whole.Counts(spread(uint64(u+1)))) && named {
				want = append(want, capName(u)+" 2")
				if e.Lane == row.Name && e.Reason == "" {
					counted[u] = append(counted[u], e.WindowEnd)
				}
			}
		}
		if e.Reason != "" {
			continue // who came has used a turn
		}
		for _, f := range e.Discovery.Found {
			got = append(got, fmt.Sprintf("%s %d", f.Name, f.Value))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s, era %d: found %q, want %q", e.Name(), era, got, want)
		}
		for u, ends := range counted { // by whatever eras
			n := int64(0)
			for _, end := range ends {
				if end.After(e.WindowEnd.Add(-e.Limit.Per)) {
					n++
				}
			}
			if lost := cost.Of(c.of.Stream.Budget.Limit, budget.Times(row.Cost().Items, n)).Epsilon; n > 0 &&
				lost.GreaterThan(*e.Standing.BudgetSpent) {
				t.Fatalf("%s: user %d has lost ε %s in the period, and ε %s is charged", e.Name(), u, lost,
					e.Standing.BudgetSpent)
			}
		}
	}
	return eras
}

// TestTheSameUsersSpeakWhateverHappens is TestTheSameUsersCountWhateverHappens for a discovery with max_windows. Its
// stream has max_windows too, and another discovery without.
func TestTheSameUsersSpeakWhateverHappens(t *testing.T) {
	var done happened
	withheld, periods := 0, 0
	history := func(r *rapid.T) {
		spec := windows.CapSpec{Parts: rapid.Int64Range(1, 3).Draw(r, "parts"),
			Per: time.Duration(rapid.Int64Range(1, 12).Draw(r, "period")) * time.Hour}
		spec.Count = spec.Parts + 1 + rapid.Int64Range(0, 3).Draw(r, "more")
		c := newCapWorld(t, cappedRow(t, rapid.SampledFrom([]string{"1000000", "150"}).Draw(r, "limit"), spec))
		c.row = 1
		losses := c.befall(r, capSteps, c.spoilCap)
		done.eras(r, c, losses, c.checkRow(r))
		for _, e := range c.entries {
			if e.Lane == "hourly" {
				if periods++; e.Reason != "" {
					withheld++
				}
			}
		}
	}
	const series = 3 // of a hundred histories each: one alone misses some faults one time in four
	for range series {
		rapid.Check(t, history)
	}
	done.enough(t)
	if withheld == 0 || withheld == periods {
		t.Errorf("%d of %d periods were withheld: the test tests nothing", withheld, periods)
	}
}
