package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
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

// TestFoundNamesComeLast: all users who have a name that was found within half of keep count for another name that they
// have. Names that can never be found take nobody's place.
func TestFoundNamesComeLast(t *testing.T) {
	d := newDecider(t, programOf(t, findingHourly("keep: 3h", "keep: 4h")), zap.NewNop())
	d.messages = d.remembering()
	for hour, c := range []struct {
		records []sent
		want    string
	}{
		{sentBy(1, 40, "shoes", "home", "NO", "no matter 7"), "1h0m0s hourly [shoes:40] +1 -0 =2"},
		{sentBy(1, 40, "shoes", "hats"), "2h0m0s hourly [hats:40] +1 -0 =3"},
		{sentBy(1, 40, "shoes", "hats", "bags"), "3h0m0s hourly [bags:40] +1 -0 =4"},
		{sentBy(1, 40, "shoes", "hats"), "4h0m0s hourly [shoes:40] +0 -0 =4"}, // shoes were found three hours ago
	} {
		all := d.discoveries(hour, c.records...)
		if len(all) != 1 || toldNames(all[0]) != c.want {
			t.Errorf("%q, want %q", toldNames(all[0]), c.want)
		}
	}
}

// TestALostPartOfAPeriodIsTold: if nothing was noted of a part that is lost, the discovery is drawn from the rest, and
// says so.
func TestALostPartOfAPeriodIsTold(t *testing.T) {
	d := newDecider(t, programOf(t, findingHourly()), zap.NewNop())
	d.messages = d.remembering()
	again := d.again
	d.again = func(parts []*windows.Held, take func(*windows.Held, []byte, error)) []*windows.Held {
		lost := slices.IndexFunc(parts, func(h *windows.Held) bool { return h.Slice == quarter(0) })
		if lost < 0 {
			return again(parts, take)
		}
		rest := slices.Concat(parts[:lost], parts[lost+1:])
		return append(again(rest, take), parts[lost])
	}
	for n := range 4 {
		d.giveNames(d.programs[0], quarter(n), sentBy(uint64(10*n), 5, "shoes"))
		clear(d.notes.of) // as after a restart
		for _, e := range d.turns() {
			switch {
			case e.Discovery == nil && e.Incomplete:
				t.Errorf("%s: incomplete", toldNames(e))
			case e.Discovery != nil && (!e.Incomplete || toldNames(e) != "1h0m0s hourly [shoes:15] +1 -0 =2"):
				t.Errorf("%s, incomplete: %v; want what is left of 20 users, and that it is", toldNames(e),
					e.Incomplete)
			}
		}
	}
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

// TestWhatADiscoveryCosts: max_groups times what it costs for one name, with a δ.
func TestWhatADiscoveryCosts(t *testing.T) {
	d := newDecider(t, programOf(t, strings.Replace(finding, "every: 2h", "every: 1h", 1)), zap.NewNop())
	d.messages = d.remembering()
	var got []string
	for _, e := range d.discoveries(0, sentBy(1, 9, "shoes")...) {
		c, err := e.Charge()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s: ε %s, δ %s", e.Lane, c.Epsilon, c.Delta))
	}
	if want := []string{"hourly: ε 24, δ 0.00001", "twice: ε 48, δ 0.00002"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
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

// TestAShortPeriodIsTold: the first period of a definition may be shorter than others. Whoever reads the log learns why
// little is found. A whole period has no such line.
func TestAShortPeriodIsTold(t *testing.T) {
	for start, want := range map[int]int{0: 0, 1: 1} {
		core, logs := observer.New(zap.InfoLevel)
		p := programOf(t, findingHourly())
		p.schedule.Start = quarter(start).Start
		d := newDecider(t, p, zap.New(core))
		d.messages = d.remembering()
		for n := start; n < 8; n++ {
			d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
			for _, e := range d.turns() {
				d.tellFound(e)
				d.told()
			}
		}
		if got := logs.FilterMessageSnippet("less than a whole period").Len(); got != want {
			t.Errorf("a stream that begins %d quarters after an hour says %d times that a period is short, want %d",
				start, got, want)
		}
	}
}
