package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The books of several partitions report together as those of one ledger do: a budget is in one partition, also if others
// continue it, and a stream moves with its budget.
func TestJoinedBooksReportAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := history(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		moved := rapid.IntRange(0, 40).Draw(t, "moved from")
		whole, parts := NewBooks(), map[string]*Books{}
		for i, e := range p.entries {
			if i >= moved && e.Stream == "u" {
				e.Budget, e.Limit, e.Epoch = "c", limit("2", 0), e.Epoch+1<<20
			}
			if parts[e.Budget] == nil {
				parts[e.Budget] = NewBooks()
			}
			for _, b := range []*Books{whole, parts[e.Budget]} {
				if err := b.Add(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		var all []*Books
		for _, b := range parts {
			all = append(all, b)
		}
		now := p.entries[len(p.entries)-1].WindowEnd
		if diff := cmp.Diff(NewReport(whole, now), NewReport(Join(all), now), cmp.AllowUnexported(number{}), sameDecimals); diff != "" {
			t.Fatal(diff)
		}
	})
}
