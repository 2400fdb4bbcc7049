package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/louver/louver/stream/ledger"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

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

// discoveries gives the names of four windows and returns the discoveries at their end.
func (d *decider) discoveries(hour int, records ...sent) (all []ledger.Entry) {
	d.t.Helper()
	for n := range 4 {
		d.giveNames(d.programs[0], quarter(4*hour+n), records)
	}
	for _, e := range d.turns() {
		if e.Discovery != nil {
			all = append(all, e)
		}
	}
	return all
}

// findingHourly has one discovery.
func findingHourly(edit ...string) string {
	return strings.NewReplacer(append(edit,
		"        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001, max_groups: 2}\n", "")...).Replace(finding)
}

// TestFoundNamesFitIntoAnEntry: of many long names, those with the most users are published.
func TestFoundNamesFitIntoAnEntry(t *testing.T) {
	d := newDecider(t, programOf(t, findingHourly("max: 3", "max: 1000")), zap.NewNop())
	d.messages = d.remembering()
	var records []sent
	for i := range uint64(900) {
		name := fmt.Sprintf("%c%c%c%s", 'a'+rune(i%26), 'a'+rune(i/26%26), 'a'+rune(i/676), strings.Repeat("x", 197))
		records = append(records, sentBy(1000*(i+1), 3, name)...)
	}
	all := d.discoveries(0, append(records, sentBy(1, 9, "shoes")...)...)
	listed, err := d.own.Lists().Show("s", "s", d.programs[0].rules)
	if n := len(all[0].Discovery.Found); n+1 != len(listed) {
		t.Errorf("%d names are found, and %d listed with the one that always is", n, len(listed))
	}
	if err != nil || len(listed) < 500 || len(listed) > 850 || !slices.ContainsFunc(listed,
		func(l ledger.Listed) bool { return l.Name == "shoes" && l.Value == 9 }) {
		t.Errorf("%d names are listed (%v), want as many as have room, and shoes with the most users", len(listed), err)
	}
}
