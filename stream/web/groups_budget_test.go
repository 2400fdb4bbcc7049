package web

import (
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// What discoveries cost is in the budget's report, as in the ledger's own.
func TestBudgetOfDiscoveries(t *testing.T) {
	v := newVisits(t, 10, epoch)
	s := v.streams[0]
	s.Budget.Limit = budget.Limit{Epsilon: ledgertest.Dec("10000"), Delta: ledgertest.Dec("0.01"), Per: 24 * time.Hour}
	books := ledger.NewBooks()
	add := func(row string, price []budget.Item, end time.Time, size time.Duration, reason string) {
		e := ledger.Entry{Stream: s.Name, Budget: s.Budget.Name, Lane: row, Price: price, Every: size,
			Limit: s.Budget.Limit, WindowStart: end.Add(-size), WindowEnd: end, Reason: reason}
		if err := books.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for hour := 1; hour <= 5; hour++ {
		found, reason := map[string]int64{"/a": 70}, ""
		if hour == 3 {
			found, reason = nil, record.BudgetExhausted
		}
		end := epoch.Add(time.Duration(hour) * time.Hour)
		v.discover(hour, found)
		add("hourly", config.All[*config.Discovery](s)[0].Cost().Items, end, time.Hour, reason)
		v.window(4 * hour)
		add("", s.Price(), end, s.Window.Size, "")
	}
	got, err := source{v.store, v.streams, func() time.Time { return epoch.Add(6 * time.Hour) }}.books()
	if err != nil {
		t.Fatal(err)
	}
	now := epoch.Add(5*time.Hour + time.Minute)
	a, b := reported(t, got, now), reported(t, books, now)
	if a != b || !strings.Contains(a, "pages") {
		t.Errorf("the report is\n%s\nwant\n%s", a, b)
	}
}

// The report is that of the ledger also where no group has figures in all windows, of the stream that finds the groups
// and of one that follows it. Series are looked at in any order, so this is asked many times.
func TestBudgetOfGroupsThatComeAndGo(t *testing.T) {
	v := newVisits(t, 10, epoch)
	v.books = ledger.NewBooks()
	v.rules = ledger.Rules{Source: "in path", Keep: 3600, Max: 10}
	*v.streams[0].Found = config.Found{Keep: time.Hour, Max: 10}
	carts := v.follower()
	carts.MaxGroups = 2
	for _, f := range carts.Figures {
		f.Heading().Groups = 2
	}
	for hour := 1; hour <= 9; hour++ {
		name := "/a"
		if hour > 3 && hour <= 6 {
			name = "/b"
		}
		v.discover(hour, map[string]int64{name: 70})
		v.window(4 * hour)
		v.windowOf(carts, 4*hour)
	}
	want := reported(t, v.books, v.first.Add(9*time.Hour+time.Minute))
	for range 30 {
		if got := ask(t, v.served(9), "/api/v1/budget"); got != want {
			t.Fatalf("the report is\n%s\nwant\n%s", got, want)
		}
	}
}
