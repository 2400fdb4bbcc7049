package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/ledger"
)

// What totals cost is known from their records alone: each instance once a period, from its first window on, although
// not each window has a record. The page's API says of what periods they are, and what one costs a person.
func TestBudgetOfTotals(t *testing.T) {
	streams := parsed(t, strings.Replace(streamsFile, "releases: [{name: users, statistic: count, epsilon: 0.2}, {name: tail, "+
		"statistic: quantiles, p: [0.9, 0.99], epsilon: 0.1}]", "releases: [{name: today, statistic: count, since: hour, "+
		"update: 2m, epsilon: 0.5}]", 1))[:1]
	s := streams[0]
	for _, minutes := range []int{6, 58, 62, 70} {
		w := newWorld(t, 1<<20)
		books := ledger.NewBooks()
		for m := 1; m <= minutes; m++ {
			end := epoch.Add(time.Duration(m) * time.Minute)
			w.watched(books, s, end.Add(-s.Window.Size), end, nil)
		}
		now := epoch.Add(time.Duration(minutes)*time.Minute + 10*time.Second)
		var b strings.Builder
		if err := json.NewEncoder(&b).Encode(ledger.NewReport(books, now)); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, served(w, streams, now), "/api/v1/budget"); got != b.String() || !strings.Contains(got, `"watch":"today"`) {
			t.Errorf("after %d minutes:\n%s\nwant\n%s", minutes, got, &b)
		}
		if said := ask(t, served(w, streams, now), "/api/v1/statement?stream="+s.Name); !strings.Contains(said,
			"Running total today costs one person ε 0.5 in each hour, over all windows together.") {
			t.Errorf("%s", said)
		}
		if said := ask(t, served(w, streams, now), "/api/v1/streams"); !strings.Contains(said,
			`"total":{"since":"hour","zone":"UTC","update_seconds":120,"max_total":null}`) {
			t.Errorf("%s", said)
		}
	}
}
