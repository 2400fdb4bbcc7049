package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

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
	listed, err := d.own.State.Lists().Show("s", "s", d.programs[0].rules)
	if n := len(all[0].Discovery.Found); n+1 != len(listed) {
		t.Errorf("%d names are found, and %d listed with the one that always is", n, len(listed))
	}
	if err != nil || len(listed) < 500 || len(listed) > 850 || !slices.ContainsFunc(listed,
		func(l ledger.Listed) bool { return l.Name == "shoes" && l.Value == 9 }) {
		t.Errorf("%d names are listed (%v), want as many as have room, and shoes with the most users", len(listed), err)
	}
}

// TestOnePeriodHasOneDefinition: windows of the former definition may end after the first ones of the next. A period
// that ends in between is drawn by the next definition alone.
func TestOnePeriodHasOneDefinition(t *testing.T) {
	text := findingHourly()
	old := programOf(t, strings.Replace(text, "size: 15m, every", "size: 1h, every", 1))
	next := programOf(t, text)
	old.schedule.End = quarter(8).End // two hours and a quarter
	next.epoch, next.schedule.Start = 2, quarter(6).Start
	d := newDecider(t, old, zap.NewNop())
	d.Editions = []config.Edition{{Stream: old.stream, Number: 1, Schedule: old.schedule},
		{Stream: next.stream, Number: 2, Schedule: next.schedule}}
	d.goesOn(nil, nil, old, next)
	var ends []string
	for range 9 {
		turn, ok := firstDue(d.turnsOf("s"))
		if !ok {
			t.Fatal("nothing is decided next")
		}
		p := d.programs[turn.lane.Place]
		e := p.entry("app", turn.window)
		if turn.lane.Of != nil {
			e = p.blank("app", turn.window)
			of := turn.lane.Of
			e.Lane, e.Every, e.Price, e.Releases = of.Name, of.Every, of.Cost().Items, of.Series()
			e.Discovery = &ledger.Discovery{MaxGroups: 1, Threshold: 1, Rules: p.rules}
			ends = append(ends, fmt.Sprintf("%d: %s", e.Epoch, e.WindowEnd.Sub(newYear)))
		}
		e.Reason = record.BudgetExhausted
		if err := d.Core.learn(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"1: 1h0m0s", "2: 2h0m0s"}; !slices.Equal(ends, want) {
		t.Errorf("%q, want %q", ends, want)
	}
}
