package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
)

// Who reads the outputs alone finds the same budget as who reads the ledger.
func TestBudgetIsThatOfTheLedger(t *testing.T) {
	streams := parsed(t, streamsFile)
	for _, minutes := range []int{3, 30} {
		w := newWorld(t, 1<<20)
		books := w.ledgerOf(streams, minutes, 0)
		now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
		asTheLedger(t, fmt.Sprint("after minutes: ", minutes), w, streams, books, now)
	}
}

// The same with a watch that fires, holds, is armed again, and then is not allowed to be. The window of the firing is
// withheld in the second stream.
func TestBudgetWithAWatch(t *testing.T) {
	streams := parsed(t, strings.Replace(streamsFile, "    releases: [{name: p50, statistic: median, epsilon: 0.01}]\n",
		"    releases: [{name: p50, statistic: median, epsilon: 0.01}]\n    watches: [{name: slow, above: 5, users: "+
			"3, epsilon: 0.5, false_alarms: {at_most: 0.1, per: 1d}, hold: 2m, at_most: 2}]\n", 1))
	s := streams[slices.IndexFunc(streams, func(s *config.Stream) bool { return len(s.Lasting()) > 0 })]
	for _, minutes := range []int{5, 12, 30} {
		w := newWorld(t, 1<<20)
		books := ledger.NewBooks()
		for m := 1; m <= minutes; m++ {
			end := epoch.Add(time.Duration(m) * time.Minute)
			start := end.Add(-s.Window.Size)
			w.watched(books, s, start, end, func(*ledger.Entry) bool { return m == 7 || m == 10 })
		}
		now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
		want(t, "watches", len(ledger.NewReport(books, now).Watches), 1)
		asTheLedger(t, fmt.Sprint("after minutes: ", minutes), w, streams, books, now)
	}
}

// A quantile of the distribution so far costs nothing and has no instances: those are of the distribution.
func TestBudgetLeavesOutWhatIsComputed(t *testing.T) {
	a := minutely(t, `      - {name: today, statistic: histogram, since: hour, buckets: {scale: 1}, epsilon: 0.5}
      - {name: p50, statistic: median, from: today}
`, 2)
	for _, name := range []string{"today", "p50"} {
		a.instance("checkout-latency", "eu", name, 0, func(r map[string]any) {
			r["instance"], r["since"], r["final"] = 1, a.end(-1), false
			if name == "p50" {
				r["epsilon"], r["from"] = 0, "today"
			}
		})
	}
	all, err := a.store.instances(a.streams[0])
	if err != nil || len(all) != 1 || len(all["today"]) != 1 {
		t.Errorf("%v: instances of %v; want one of today", err, all)
	}
}

// The same with releases on change, with others and without. Their instances end in two windows and go on in the next.
func TestBudgetOnChange(t *testing.T) {
	const calm = "{name: calm, statistic: median, epsilon: 0.1, publish: on_change, tolerance: 0.1, watch_epsilon: " +
		"0.2, at_most: 2}"
	for _, releases := range []string{"{name: p50, statistic: median, epsilon: 0.01}, " + calm, calm} {
		streams := parsed(t,
			strings.Replace(streamsFile, "    releases: [{name: p50, statistic: median, epsilon: 0.01}]\n",
				"    releases: ["+releases+"]\n", 1))
		s := streams[slices.IndexFunc(streams, func(s *config.Stream) bool { return len(s.Lasting()) > 0 })]
		for _, minutes := range []int{5, 12, 30} {
			w := newWorld(t, 1<<20)
			books := ledger.NewBooks()
			for m := 1; m <= minutes; m++ {
				end := epoch.Add(time.Duration(m) * time.Minute)
				w.watched(books, s, end.Add(-s.Window.Size), end, func(*ledger.Entry) bool { return m == 7 || m == 10 })
			}
			now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
			// Records do not say whether the last instance fired or was ended. Either way it looks no more.
			want := strings.ReplaceAll(reported(t, books, now), `"state":"fired"`, `"state":"ended"`)
			if got := ask(t, served(w, streams, now), "/api/v1/budget"); got != want ||
				!strings.Contains(got, `"watch":"calm"`) {
				t.Errorf("%s after %d minutes:\n%s\nwant\n%s", releases, minutes, got, want)
			}
			said := ask(t, served(w, streams, now), "/api/v1/statement?stream="+s.Name)
			if !strings.Contains(said,
				"Release calm costs one person ε 0.3 until it changes, over all windows together, at most 2 times in "+
					"a period of the budget. The first time it costs ε 0.1 more: at most ε 0.4.") ||
				strings.Contains(said,
					"Beside its releases on change, one window costs one person at most ε 0.01. Of 100 guesses "+
						"whether that person is in it, by these figures alone, at most 51 "+
						"are right.") != strings.Contains(releases, "p50") {
				t.Errorf("%s", said)
			}
		}
	}
}

// A window that is decided later than a newer one of another stream is not missing: the newer one's record could not
// know it.
func TestBudgetOfALateWindow(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	books := ledger.NewBooks()
	minute := func(m int) time.Time { return epoch.Add(time.Duration(m) * time.Minute) }
	w.decide(books, streams[1], minute(0), minute(4), true)
	w.decide(books, streams[0], minute(0), minute(1), true)
	asTheLedger(t, "the report", w, streams, books, minute(5))
}

// Fewer returns are the same ε: the next one as it is, and none before it is really back.
func TestFewerReturns(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	w.ledgerOf(streams, 30, 0)
	h := served(w, streams, epoch.Add(30*time.Minute+10*time.Second))
	type back struct {
		At      time.Time
		Epsilon decimal.Decimal
	}
	type answer struct {
		Streams []any
		Budgets []struct{ Returns []back }
	}
	get := func(query string) answer { return answered[answer](t, h, "/api/v1/budget"+query) }
	upTo := func(all []back, until time.Time) (sum decimal.Decimal) {
		for _, r := range all {
			if !r.At.After(until) {
				sum = sum.Add(r.Epsilon)
			}
		}
		return sum
	}
	all := get("")
	full := all.Budgets[0].Returns
	if len(all.Streams) != 2 || len(full) < 5 {
		t.Fatalf("%d streams, %d returns; want 2 and some", len(all.Streams), len(full))
	}
	for n := 1; n <= len(full)+1; n++ {
		a := get(fmt.Sprint("?only=budgets&returns=", n))
		few := a.Budgets[0].Returns
		if a.Streams != nil || len(few) > n || n > 1 &&
			(!few[0].At.Equal(full[0].At) || !few[0].Epsilon.Equal(full[0].Epsilon)) {
			t.Errorf("%d: %v, streams %v", n, few, a.Streams)
		}
		for _, r := range full {
			if upTo(few, r.At).GreaterThan(upTo(full, r.At)) {
				t.Errorf("%d returns: more is said to be back at %s than is", n, r.At)
			}
		}
		if end := full[len(full)-1].At; !upTo(few, end).Equal(upTo(full, end)) {
			t.Errorf("%d returns: %s in all; want %s", n, upTo(few, end), upTo(full, end))
		}
	}
}

func TestBudgetOfAnIncompletePast(t *testing.T) {
	streams := parsed(t, streamsFile)
	w := newWorld(t, 1<<20)
	w.ledgerOf(streams, 30, 28)
	for name, known := range map[string][]*config.Stream{"declared": streams, "from records alone": nil} {
		r := answered[struct{ Streams, Budgets []map[string]any }](t, served(w, known, epoch.Add(31*time.Minute)),
			"/api/v1/budget")
		newest, err := w.store.latest(selection{streams: []string{"hopping"}})[0].decode() // the last to be decided
		if err != nil || len(r.Budgets) != 1 || len(r.Streams) != 2 {
			t.Fatalf("%s: %v, %+v", name, err, r)
		}
		b := r.Budgets[0]
		if b["budget"] != "shared" || b["partial"] != true ||
			fmt.Sprint(b["epsilon_spent"]) != newest.BudgetSpent.String() ||
			fmt.Sprint(b["epsilon_limit"]) != "2" || b["exhausted_at"] != nil {
			t.Errorf("%s: %+v; want what the newest record says, %s", name, b, newest.BudgetSpent)
		}
		if s := r.Streams[1]; s["stream"] != "hopping" ||
			fmt.Sprint(s["epsilon_total"]) != newest.StreamSpent.String() {
			t.Errorf("%s: %+v; want a total of %s", name, s, newest.StreamSpent)
		}
	}
}
