package decide

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"go.uber.org/zap"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// shaped has the groups of finding and a histogram with roll-ups of two and six hours. Its counts are exact, except
// with a probability of less than 10⁻⁹ for all tests. Windows at which the budget has too little are withheld.
var shaped = strings.NewReplacer("      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}\n",
	"      - {name: shape, statistic: histogram, mechanism: histogram, buckets: [100, 500], epsilon: 40, rollup: [2h, "+
		"6h]}\n      - {name: slow, statistic: share, above: 100, from: shape}\n").Replace(finding)

// rolled says in short which windows the roll-ups of a window's groups have.
func rolled(e ledger.Entry) (all []string) {
	for _, up := range e.Rollups {
		text := fmt.Sprintf("%s %s %d/%d:", e.WindowEnd.Sub(newYear), up.Period, up.Windows.Released, up.Windows.Of)
		for g, of := range up.Groups {
			sum := int64(0)
			if len(of.Values) > 0 {
				for _, n := range of.Values[0].Numbers.Raw {
					sum += n
				}
			}
			text += fmt.Sprintf(" %s %d of %d windows", e.Groups[g].Name, sum, of.Windows.Released)
		}
		all = append(all, text)
	}
	return all
}

// TestRollupsOfFoundGroups: a roll-up has the windows since the group joined the list, and says how many. That of a
// group that has left is not published, and one that comes back begins anew. A worker that begins with a checkpoint has
// the same sums.
func TestRollupsOfFoundGroups(t *testing.T) {
	p := programOf(t, shaped)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	var got []string
	var all []ledger.Entry
	fold := ledger.NewState("app", 0)
	for n := range 24 {
		records := sentBy(50, 3, "home")
		if n < 4 || n >= 21 {
			records = append(records, sentBy(1, 5, "shoes")...)
		}
		if n >= 4 && n < 8 {
			records = append(records, sentBy(20, 4, "hats")...)
		}
		d.giveNames(p, quarter(n), records)
		for _, e := range d.turns() {
			all = append(all, e)
			if e.Discovery == nil {
				got = append(got, rolled(e)...)
			}
			if len(all) > 1 {
				text, err := fold.Checkpoint()
				if err != nil {
					t.Fatal(err)
				}
				restored, err := ledger.Restore(text, "app", 0)
				if err != nil {
					t.Fatal(err)
				}
				again, err := restored.Derive(ledger.Facts(e))
				if diff := cmp.Diff(ledgertest.JSON(t, e), ledgertest.JSON(t, again)); err != nil || diff != "" {
					t.Fatalf("%s: from a checkpoint %s (%v)", e.Name(), diff, err)
				}
			}
			value, err := e.Encode()
			if err == nil {
				err = fold.Add(e, value, int64(len(all)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{
		// shoes are found after an hour, and are in five of the eight windows: those that end with it and later
		"2h0m0s 2h 8/8: hats 4 of 1 windows home 24 of 8 windows shoes 5 of 5 windows rest 27 of 8 windows",
		"4h0m0s 2h 8/8: hats 0 of 8 windows home 24 of 8 windows shoes 0 of 8 windows rest 0 of 8 windows",
		// both have left at five o'clock, and shoes come back at the end
		"6h0m0s 2h 8/8: home 24 of 8 windows shoes 5 of 1 windows rest 10 of 8 windows",
		"6h0m0s 6h 24/24: home 72 of 24 windows shoes 5 of 1 windows rest 37 of 24 windows",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	last := all[len(all)-1]
	records, err := last.Records()
	if err != nil || len(records) != last.Size() {
		t.Fatalf("%d records, want %d (%v)", len(records), last.Size(), err)
	}
	released := map[string]int64{}
	for _, r := range records {
		var f struct {
			Group, Release string
			Windows        *struct{ Of, Released int64 }
		}
		if err := json.Unmarshal(r.Value, &f); err != nil {
			t.Fatal(err)
		}
		if f.Windows != nil {
			released[f.Group+" "+f.Release] = f.Windows.Released
		}
	}
	if released["shoes shape.6h"] != 1 || released["shoes slow.6h"] != 1 || released["home slow.2h"] != 8 ||
		len(released) != 12 {
		t.Errorf("records say %v", released)
	}
	audited := func() audit.Findings {
		a := audit.New()
		for i, e := range all {
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, e.Key(), value)
		}
		return a.Findings()
	}
	if f := audited(); !f.OK {
		t.Errorf("%+v", f.Faults)
	}
	for what, forge := range map[string]func(up *ledger.Rollup){
		"more windows than it has been listed in": func(up *ledger.Rollup) { up.Groups[1].Windows.Released = 3 },
		"users of before": func(
			up *ledger.Rollup) {
			up.Groups[1].Values[0].Numbers.Raw[0] += 5
		},
	} {
		value, err := last.Encode()
		if err != nil {
			t.Fatal(err)
		}
		forged, err := ledger.Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		forge(&forged.Rollups[1])
		all[len(all)-1] = forged
		if f := audited(); !slices.ContainsFunc(f.Faults,
			func(f audit.Fault) bool { return f.Kind == audit.RollupDiffers }) {
			t.Errorf("%s: %+v, want a fault", what, f.Faults)
		}
	}
}

// TestRollupsOfWithheldWindows: a group that joined with a withheld window has no value, and says so.
func TestRollupsOfWithheldWindows(t *testing.T) {
	p := programOf(t, strings.NewReplacer("rollup: [2h, 6h]", "rollup: [1h]", "epsilon: 40,", "epsilon: 100,").
		Replace(shaped))
	p.stream.Budget.Epsilon = decimal.NewFromInt(600)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	var got []string
	var last ledger.Entry
	for n := range 8 {
		records := append(sentBy(50, 3, "home"), sentBy(1, 5, "shoes")...)
		if n > 3 {
			records = append(records, sentBy(20, 4, "hats")...)
		}
		d.giveNames(p, quarter(n), records)
		for _, e := range d.turns() {
			if e.Discovery == nil {
				got, last = append(got, rolled(e)...), e
			}
		}
	}
	// Four windows at 100, a discovery at 24, one more window, and what is left pays for discoveries alone.
	want := []string{"1h0m0s 1h 4/4: home 12 of 4 windows shoes 5 of 1 windows rest 15 of 4 windows",
		"2h0m0s 1h 1/4: hats 0 of 0 windows home 3 of 1 windows shoes 5 of 1 windows rest 4 of 1 windows"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	records, err := last.Records()
	if err != nil {
		t.Fatal(err)
	}
	withheld := 0
	for _, r := range records {
		text := string(r.Value)
		if strings.Contains(text, `"release":"shape.1h"`) && strings.Contains(text, `"group":"hats"`) {
			if withheld++; !strings.Contains(text, `"reason":"budget_exhausted"`) ||
				!strings.Contains(text, `"released":0`) {
				t.Errorf("%s, want a roll-up that is withheld", text)
			}
		}
	}
	if withheld != 1 {
		t.Errorf("%d roll-ups of hats, want one", withheld)
	}
}
