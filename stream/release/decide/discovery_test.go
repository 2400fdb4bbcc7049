package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// TestNamesAreFoundAndListed: names that many share have figures from the end of the period that found them until
// nobody has sent them for a long time. Other names are never published.
func TestNamesAreFoundAndListed(t *testing.T) {
	p := programOf(t, finding)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	var got []string
	for n := range 20 {
		records := sentBy(100*uint64(n), 1, "rare/"+string(rune('a'+n))) // a name of one user in each window
		if n < 8 {
			records = append(records, sentBy(1, 5, "shoes")...)
			records = append(records, sentBy(1, 2, "home")...)
		}
		if n >= 4 && n < 8 {
			records = append(records, sentBy(40, 4, "a/b")...)
			records = append(records, sentBy(60, 9, "NO")...) // does not match
		}
		d.giveNames(p, quarter(n), records)
		for _, e := range d.turns() {
			got = append(got, toldNames(e))
		}
	}
	want := []string{
		"15m0s of none [home:2 rest:4]", // of the five who sent shoes, two count for home
		"30m0s of none [home:2 rest:4]", "45m0s of none [home:2 rest:4]",
		"1h0m0s hourly [shoes:5] +1 -0 =2",
		"1h0m0s of 1h0m0s [home:1 shoes:4 rest:1]",
	}
	if len(got) < 6 {
		t.Fatalf("%q", got)
	}
	for i, w := range want[:4] {
		if got[i] != w {
			t.Errorf("%d: %q, want %q", i, got[i], w)
		}
	}
	all := strings.Join(got, "\n")
	for _, line := range []string{
		"2h0m0s hourly [a/b:4 shoes:5] +1 -0 =3", // the hour's names, of which shoes comes last but is the only one
		"2h0m0s twice [a/b:4 shoes:5] +0 -0 =3",
		"4h0m0s hourly [] +0 -0 =3", "4h0m0s twice [] +0 -0 =3",
		"5h0m0s hourly [] +0 -2 =1", // found last at two o'clock
		"5h0m0s of 5h0m0s [home:0 rest:1]",
		"4h45m0s of 4h0m0s [a/b:0 home:0 shoes:0 rest:1]",
	} {
		if !strings.Contains(all, line) {
			t.Errorf("there is no %q in\n%s", line, all)
		}
	}
	if strings.Contains(all, "rare") || strings.Contains(all, "NO") {
		t.Errorf("a name that few have sent is told:\n%s", all)
	}
	if ends := slices.IndexFunc(got,
		func(s string) bool { return strings.HasPrefix(s, "2h0m0s hourly") }); !strings.HasPrefix(
		got[ends+1], "2h0m0s twice") || !strings.HasPrefix(got[ends+2], "2h0m0s of 2h0m0s") {
		t.Errorf("at two o'clock %q, want the discoveries in the order of the file, and then the window",
			got[ends:ends+3])
	}
}

// TestAnEmptyListCostsNothing: without names there is nothing to draw.
func TestAnEmptyListCostsNothing(t *testing.T) {
	p := programOf(t, strings.NewReplacer("      other: rest\n", "", "      always: [home]\n", "").Replace(finding))
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	for n := range 4 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
	}
	all := d.turns()
	if len(all) != 5 || toldNames(all[0]) != "15m0s of none []" || all[2].Standing.BudgetSpent.String() != "0" {
		t.Fatalf("%+v", all[2])
	}
	// One charge of 24, and then a window of 30.
	if spent := all[4].Standing.BudgetSpent; toldNames(all[4]) != "1h0m0s of 1h0m0s [shoes:5]" ||
		spent.String() != "54" {
		t.Errorf("%s, spent %s", toldNames(all[4]), spent)
	}
	if records, err := all[0].Records(); err != nil || len(records) != 0 {
		t.Errorf("%d records (%v) of a window without groups", len(records), err)
	}
}

// TestADiscoveryKnowsWhatOtherBudgetsPaid: so its records say what the stream has spent in all.
func TestADiscoveryKnowsWhatOtherBudgetsPaid(t *testing.T) {
	p := programOf(t, finding)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	for n := range 4 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
	}
	d.turnsUpTo(3)
	next, ok := firstDue(d.turnsOf("s"))
	if !ok || next.lane.Of == nil {
		t.Fatalf("next is %+v, want a discovery", next)
	}
	paid := ledger.PaidElsewhere{"old": new(decimal.NewFromInt(100))}
	e, err := d.entry(next, paid)
	if err != nil {
		t.Fatal(err)
	}
	if spent := e.Standing.StreamSpent.IntPart(); spent != 100+3*30+24 || e.Standing.BudgetSpent.IntPart() != spent-100 {
		t.Errorf("the stream has spent %d, and its budget %s; want 214 and 114", spent, e.Standing.BudgetSpent)
	}
}

// TestAWithheldDiscoveryFindsNothing: it costs nothing, and names age meanwhile.
func TestAWithheldDiscoveryFindsNothing(t *testing.T) {
	p := programOf(t, strings.NewReplacer("epsilon: 10000, delta: 0.09, per: 24h",
		"epsilon: 120, delta: 0.09, per: 24h", "keep: 3h", "keep: 2h", "epsilon: 30", "epsilon: 0.1").Replace(finding))
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	var got []string
	for n := range 12 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
		for _, e := range d.turns() {
			if e.Discovery != nil {
				got = append(got, toldNames(e))
			}
		}
		for _, l := range p.lanes.Periods { // the notes of a withheld period are no use in the next one
			if period, _ := l.Next(); d.notes.now(l).period != period {
				t.Errorf("after quarter %d the notes of %s are of another period than the next one", n, l.Of.Name)
			}
		}
	}
	want := []string{"1h0m0s hourly [shoes:5] +1 -0 =2", "2h0m0s hourly [shoes:5] +0 -0 =2",
		"2h0m0s twice [shoes:5] +0 -0 =2", "3h0m0s hourly [] +0 -0 =2 budget_exhausted"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRecordsOfADiscovery: there is one record about all names, and one for each that is found.
func TestRecordsOfADiscovery(t *testing.T) {
	p := programOf(t, finding)
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	for n := range 4 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "a/b"))
	}
	all := d.turns()
	var keys []string
	for _, e := range all[len(all)-2:] {
		records, err := e.Records()
		if err != nil || len(records) != e.Size() {
			t.Fatalf("%d records, want %d (%v)", len(records), e.Size(), err)
		}
		for _, r := range records {
			keys = append(keys, string(r.Key)+" "+r.ID())
		}
	}
	want := []string{"s//hourly s//2026-01-01T00:00:00Z/hourly", "s/a%2Fb/hourly s/a%2Fb/2026-01-01T00:00:00Z/hourly",
		"s/a%2Fb/users s/a%2Fb/2026-01-01T00:45:00Z/users", "s/home/users s/home/2026-01-01T00:45:00Z/users",
		"s/rest/users s/rest/2026-01-01T00:45:00Z/users"}
	if !slices.Equal(keys, want) {
		t.Errorf("%q, want %q", keys, want)
	}
	if e := all[len(all)-2]; e.Discovery == nil || e.Releases[0].Statistic != record.StatisticGroups {
		t.Errorf("%+v", e)
	}
}

// TestTurnsOfFoundGroups: under max_windows, who counts in a window does not depend on the list. A user takes a turn in
// any window in which they have a record, so as many count in all groups together if nothing is ever found.
func TestTurnsOfFoundGroups(t *testing.T) {
	sums := map[bool][]int64{}
	for _, finds := range []bool{true, false} {
		edit := []string{"    bounds:", "    max_windows: {count: 2, per: 2h, parts: 1}\n    bounds:"}
		if !finds {
			edit = append(edit, "delta: 0.00001", "delta: 0.00001, at_least: 1000")
		}
		d := newDecider(t, programOf(t, strings.NewReplacer(edit...).Replace(finding)), zap.NewNop())
		d.messages = d.remembering()
		for n := range 16 {
			records := sentBy(1, 9, "shoes")
			if n >= 3 {
				records = append(records, sentBy(40, 5, "home", "hats")...)
			}
			d.giveNames(d.programs[0], quarter(n), records)
			for _, e := range d.turns() {
				if e.Discovery != nil {
					if found := len(e.Discovery.Found) > 0; found != finds {
						t.Fatalf("%s, want a list: %v", toldNames(e), finds)
					}
					continue
				}
				sum := int64(0)
				for _, g := range e.Groups {
					sum += g.Values[0].Value.IntPart()
				}
				sums[finds] = append(sums[finds], sum)
			}
		}
	}
	if !slices.Equal(sums[true], sums[false]) || slices.Max(sums[true]) == slices.Min(sums[true]) {
		t.Errorf("%d count with a list, and %d without one", sums[true], sums[false])
	}
}

// TestNothingGetsPastDiscoveries: nothing about names that are not found is in the ledger, in the records or in the
// log, not even how many there are. What is found is the same here, because noise is nearly always 0.
func TestNothingGetsPastDiscoveries(t *testing.T) {
	var first string
	for i, rare := range [][]sent{nil, sentBy(100, 1, "rare"),
		sentBy(100, 1, strings.Split("bcdefghijklmnopqrstuvw", "")...),
		sentBy(100, 9, "NO", "no matter 7"), slices.Concat(sentBy(100, 1, "x"), sentBy(200, 1, "y"),
			sentBy(300, 1, "z"))} {
		core, logs := observer.New(zap.DebugLevel)
		d := newDecider(t, programOf(t, strings.Replace(finding, "      other: rest\n", "", 1)), zap.New(core))
		d.messages = d.remembering()
		for n := range 8 {
			d.giveNames(d.programs[0], quarter(n), append(sentBy(1, 5, "shoes"), rare...))
		}
		var said strings.Builder
		for _, e := range d.turns() {
			d.tellFound(e)
			d.told()
			e.ReleasedAt = e.DueAt
			value, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			records, err := e.Records()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&said, "%s\n%s\n", value, records)
		}
		for _, l := range logs.All() {
			fmt.Fprintln(&said, l.Level, l.Message, l.ContextMap())
		}
		if !strings.Contains(said.String(), "shoes") || !strings.Contains(said.String(), "a discovery is decided") {
			t.Fatal("shoes are not found, or nothing is logged")
		}
		if first == "" {
			first = said.String()
		} else if said.String() != first {
			t.Errorf("data %d: other names change what is written:\n%s", i, cmp.Diff(first, said.String()))
		}
	}
}
