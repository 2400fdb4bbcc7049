package chaostest

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
)

// foundStory is a run of eight windows and four periods. Two users send 7 in the first period, three send 8 in the
// second one, and one sends 9 in each. So the list is 7, then 7 and 8, and 8 alone from the last period on.
func foundStory() *checker {
	v := definition{size: shortest, every: shortest, finds: true}
	k := &checker{evidence: evidence{from: storyStart, to: storyStart.Add(4 * foundEvery),
		streams: []promised{{name: "s", input: "in", policy: "last", definitions: []definition{v}}},
		steps:   map[string][]control.Step{"in": {{Partitions: 1}}}}, entries: map[string]ledger.Entry{}}
	send := func(period int, value int, users ...string) {
		for _, u := range users {
			at := storyStart.Add(time.Duration(period)*foundEvery + time.Second)
			k.deeds = append(k.deeds, deed{topic: "in", user: u, value: value, at: at, acked: at})
		}
	}
	send(0, 7, "a", "b")
	send(1, 8, "a", "b", "c")
	found := [][]ledger.Finding{{{Name: "7", Value: 2}}, {{Name: "8", Value: 3}}, {}, {}}
	for i := range 4 {
		send(i, 9, "a")
		start := storyStart.Add(time.Duration(i) * foundEvery)
		k.entries[windowKey("s", start)+foundRow] = ledger.Entry{Stream: "s", Lane: foundRow, WindowStart: start,
			WindowEnd: start.Add(foundEvery), Discovery: &ledger.Discovery{Threshold: 2, Found: found[i]},
			Price: []budget.Item{{Promise: privacy.NewPure(decimal.NewFromInt(foundEpsilon)), Times: namesOfAUser}}}
	}
	for i, list := range [][]string{nil, {"7"}, {"7"}, {"7", "8"}, {"7", "8"}, {"7", "8"}, {"7", "8"}, {"8"}} {
		start := storyStart.Add(time.Duration(i) * shortest)
		e := ledger.Entry{Stream: "s", WindowStart: start, WindowEnd: start.Add(shortest)}
		for _, name := range list {
			e.Groups = append(e.Groups, ledger.Group{Name: name})
		}
		k.entries[windowKey("s", start)] = e
	}
	return k
}

func TestCheckerSeesWrongDiscoveries(t *testing.T) {
	at := func(seconds int) time.Time { return storyStart.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		// change changes something of the story, the second period or the sixth window.
		change                                    func(k *checker, period, window *ledger.Entry)
		missing, different, overspent, incomplete int
	}{
		"right": {change: func(*checker, *ledger.Entry, *ledger.Entry) {}},
		"a late event may count": {change: func(k *checker, _, _ *ledger.Entry) {
			k.deeds = append(k.deeds, deed{topic: "in", user: "d", value: 8, at: at(8), acked: at(60)})
		}},
		"an event that was there in time does not count": {change: func(k *checker, _, _ *ledger.Entry) {
			k.deeds = append(k.deeds, deed{topic: "in", user: "d", value: 8, at: at(8), acked: at(8)})
		}, different: 1},
		"one user too many": {change: func(_ *checker, p, _ *ledger.Entry) { p.Discovery.Found[0].Value++ },
			different: 1},
		"a name of one user": {change: func(_ *checker, p, _ *ledger.Entry) {
			p.Discovery.Found = append(p.Discovery.Found, ledger.Finding{Name: "9", Value: 2})
		}, different: 1 + 5}, // and the lists from then on
		"a name that nobody sent": {change: func(_ *checker, p, _ *ledger.Entry) {
			p.Discovery.Found = append(p.Discovery.Found, ledger.Finding{Name: "90", Value: 2})
		}, different: 1 + 5},
		"a name is not found": {change: func(_ *checker, p, _ *ledger.Entry) { p.Discovery.Found = nil },
			missing: 1, different: 5},
		"incomplete, and so a name may not be found": {change: func(k *checker, p, _ *ledger.Entry) {
			p.Discovery.Found, p.Incomplete = slices.Clone(p.Discovery.Found), true
			p.Discovery.Found[0].Value--
			k.harms = []harm{{at: storyStart.Add(-time.Hour), until: at(60), streams: []string{"s"}}}
		}, incomplete: 1},
		"a wrong price": {change: func(_ *checker, p, _ *ledger.Entry) { p.Price[0].Times = 1 }, overspent: 1},
		"a group too many": {change: func(_ *checker, _, w *ledger.Entry) {
			w.Groups = append(w.Groups, ledger.Group{Name: "9"})
		}, different: 1},
		"a group is missing": {change: func(_ *checker, _, w *ledger.Entry) { w.Groups = w.Groups[:1] }, different: 1},
		"the former list":    {change: func(k *checker, _, _ *ledger.Entry) { former(k, 7) }, different: 1},
		"a period is missing": {change: func(k *checker, _, _ *ledger.Entry) {
			delete(k.entries, windowKey("s", at(12))+foundRow)
		}, missing: 1},
		"the last period is missing": {change: func(k *checker, _, _ *ledger.Entry) {
			delete(k.entries, windowKey("s", at(18))+foundRow)
			former(k, 7) // it follows the list of the period before
		}, missing: 1},
	} {
		k := foundStory()
		period, window := k.entries[windowKey("s", at(6))+foundRow], k.entries[windowKey("s", at(15))]
		c.change(k, &period, &window)
		k.entries[windowKey("s", at(6))+foundRow], k.entries[windowKey("s", at(15))] = period, window
		k.checkFound()
		if k.missing != c.missing || k.different != c.different || k.overspent != c.overspent ||
			k.incomplete != c.incomplete {
			t.Errorf("%s: missing %d, different %d, overspent %d, incomplete %d; want %d, %d, %d, %d: %q", name,
				k.missing, k.different, k.overspent, k.incomplete, c.missing, c.different, c.overspent, c.incomplete,
				k.complaints)
		}
	}
}

// former gives a window the groups of the window before.
func former(k *checker, window int) {
	key := func(i int) string { return windowKey("s", storyStart.Add(time.Duration(i)*shortest)) }
	e := k.entries[key(window)]
	e.Groups = k.entries[key(window-1)].Groups
	k.entries[key(window)] = e
}
