package ledger_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// The books of several partitions report together as those of one ledger do: a budget is in one partition, also if
// others continue it, and a stream moves with its budget.
func TestJoinedBooksReportAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ledgertest.History(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		moved := rapid.IntRange(0, 40).Draw(t, "moved from")
		whole, parts := ledger.NewBooks(), map[string]*ledger.Books{}
		for i, e := range p.Entries {
			if i >= moved && e.Stream == "u" {
				e.Budget, e.Limit, e.Epoch = "c", ledgertest.Limit("2", 0), e.Epoch+1<<20
			}
			if parts[e.Budget] == nil {
				parts[e.Budget] = ledger.NewBooks()
			}
			for _, b := range []*ledger.Books{whole, parts[e.Budget]} {
				if err := b.Add(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		var all []*ledger.Books
		for _, b := range parts {
			all = append(all, b)
		}
		now := p.Entries[len(p.Entries)-1].WindowEnd
		if diff := cmp.Diff(ledger.NewReport(whole, now), ledger.NewReport(ledger.Join(all), now), wholeReport,
			sameDecimals); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A stream that moves while its budget pays nothing has been withheld since the first of these windows, under whichever
// budget.
func TestJoinedBooksSaySinceWhen(t *testing.T) {
	for _, reversed := range []bool{false, true} {
		parts := []*ledger.Books{ledger.NewBooks(), ledger.NewBooks()}
		for n := range 4 {
			p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.6", Limit: ledgertest.Limit("1", 0)}
			if n > 1 {
				p.Budget, p.Limit = "c", ledgertest.Limit("0.5", 0)
			}
			ledgertest.Settle(t, parts[n/2], p.Entry(n))
		}
		if reversed {
			parts[0], parts[1] = parts[1], parts[0]
		}
		since := ledger.NewReport(ledger.Join(parts), ledgertest.Epoch.Add(time.Hour)).Streams[0].ExhaustedSince
		if want := ledgertest.Epoch.Add(2 * time.Minute); since == nil || !since.Equal(want) {
			t.Errorf("reversed %v: since %v, want %s", reversed, since, want)
		}
	}
}
