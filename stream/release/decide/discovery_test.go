package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

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
