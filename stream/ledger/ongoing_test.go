package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
)

// TestAnyDayOfActiveUsers goes through days of hours in which instances are lost, definitions change and windows are
// missing. What counts in the budget's period is, for each instance with a value in it, its price once for each day
// from the first of these values to the last. It never passes the limit. A checkpoint in the middle leads to the same.
func TestAnyDayOfActiveUsers(t *testing.T) {
	armed, exhausted := false, false
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.SampledFrom([]time.Duration{24 * time.Hour, 25 * time.Hour, 60 * time.Hour}).Draw(t, "per")
		limit := ledgertest.Limit(rapid.SampledFrom([]string{"1", "2", "3.5", "100"}).Draw(t, "limit"), per)
		p, definition, last := ledgertest.Partition{}, "d", int64(0)
		books := ledger.NewBooks()
		leaves := map[int64][]int64{} // ends in hours, by instance
		cut := rapid.IntRange(1, 60).Draw(t, "cut")
		hour := 0
		for range 90 {
			switch rapid.IntRange(0, 30).Draw(t, "what") {
			case 0:
				definition = fmt.Sprintf("d%d", hour)
			case 1:
				hour += rapid.IntRange(1, 30).Draw(t, "missing")
			}
			hour++
			e := ledgertest.Hour(t, hour, limit, definition)
			if open, ok := books.OpenOngoing("b", "s", "now", definition); ok && rapid.IntRange(0, 25).Draw(t, "lost") == 0 {
				e.Ended = []ledger.Instance{{Stream: "s", Name: "now", Number: open.Number}}
			}
			ledgertest.Decide(t, books, &e, nil)
			p.Add(t, e)
			s := e.Continual[0]
			armed, exhausted = armed || s.Arms && s.Instance > 1, exhausted || s.Reason == record.BudgetExhausted
			if s.Arms {
				last = s.Instance
			}
			end := e.WindowEnd.Unix() / 3600
			if s.Looks() && end%2 == 0 {
				leaves[last] = append(leaves[last], end)
			}
			want := int64(0)
			for _, ends := range leaves {
				first := int64(0)
				for _, at := range ends {
					if at > end-int64(per/time.Hour) {
						if first == 0 {
							first = at
						}
						if at == ends[len(ends)-1] {
							want += (at-first)/24 + 1
						}
					}
				}
			}
			if e.Standing.BudgetSpent.IntPart() != want || e.Standing.BudgetSpent.GreaterThan(limit.Epsilon) {
				t.Fatalf("hour %d: ε %s counts, want %d, and at most %s", end, e.Standing.BudgetSpent, want, limit.Epsilon)
			}
		}
		p.Cut(t, cut)
	})
	if !armed || !exhausted {
		t.Errorf("an instance followed another one: %v; one could not be paid: %v; want both", armed, exhausted)
	}
}

// TestActiveUsersBeginAnewAfterAGap: a window is missing, so a mean that later values follow from would be wrong.
func TestActiveUsersBeginAnewAfterAGap(t *testing.T) {
	books, limit := ledger.NewBooks(), ledgertest.Limit("10", 24*time.Hour)
	for _, c := range []struct {
		hour       int
		instance   int64
		arms       bool
		incomplete bool
		leaf       int64
		spent      string
	}{{1, 1, true, true, 1, "1"}, {2, 1, false, true, 2, "1"}, {3, 1, false, false, 2, "1"}, {5, 2, true, true, 1, "2"},
		{6, 2, false, true, 2, "2"}} {
		e := ledgertest.Hour(t, c.hour, limit, "d")
		ledgertest.Decide(t, books, &e, nil)
		s := e.Continual[0]
		if s.Instance != c.instance || s.Arms != c.arms || s.Active.Incomplete != c.incomplete ||
			s.Active.Leaf != c.leaf || e.Standing.BudgetSpent.String() != c.spent {
			t.Errorf("hour %d: %+v %+v, ε %s; want %+v", c.hour, s, s.Active, e.Standing.BudgetSpent, c)
		}
	}
	for _, hour := range []int{4, 6} { // one that is late, and one that ends with the last one
		e := ledgertest.Hour(t, hour, limit, "d")
		ledgertest.Decide(t, books, &e, nil)
		if s := e.Continual[0]; s.Reason != record.NotArmed {
			t.Errorf("hour %d again: %+v", hour, s)
		}
	}
}

// TestUnpaidLeaf: a budget of 60 hours that has enough for one day pays for no leaf of the second, and ends the
// instance.
func TestUnpaidLeaf(t *testing.T) {
	books, limit := ledger.NewBooks(), ledgertest.Limit("1", 60*time.Hour)
	for hour := 1; hour <= 28; hour++ {
		e := ledgertest.Hour(t, hour, limit, "d")
		ledgertest.Decide(t, books, &e, nil)
		if s := e.Continual[0]; (hour < 25) != s.Looks() || e.Standing.BudgetSpent.GreaterThan(limit.Epsilon) {
			t.Errorf("hour %d: reason %q, ε %s", hour, s.Reason, e.Standing.BudgetSpent)
		}
	}
}

// What one reads from the records of an output costs the same as what the ledger says.
func TestPublishedActiveUsers(t *testing.T) {
	books, seen, limit := ledger.NewBooks(), ledger.NewBooks(), ledgertest.Limit("10", 50*time.Hour)
	var published ledger.PublishedInstance
	for hour := 1; hour < 70; hour++ {
		e := ledgertest.Hour(t, hour, limit, "d")
		ledgertest.Decide(t, books, &e, nil)
		end := e.WindowEnd.UnixNano()
		if published.Number == 0 {
			published = ledger.PublishedInstance{Number: 1, Cost: e.Continual[0].Cost, From: end}
		}
		if published.To = end; e.WindowEnd.Unix()%7200 == 0 {
			published.Leaves = append(published.Leaves, end)
		}
	}
	e := ledgertest.Hour(t, 70, limit, "d")
	e.Continual = nil
	if err := seen.Add(e); err != nil {
		t.Fatal(err)
	}
	if err := seen.AddPublished("b", "s", "now", []ledger.PublishedInstance{published}); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*ledger.Books{books, seen} {
		if s, err := b.Standing(e); err != nil || s.BudgetSpent.String() != "3" {
			t.Errorf("ε %s counts in 50 hours, want 3 (%v)", s.BudgetSpent, err)
		}
	}
	if r := ledger.NewReport(books, e.WindowEnd); len(r.Watches) != 1 || r.Watches[0].EpsilonTotal.String() != "3" {
		t.Errorf("%+v", r.Watches)
	}
}

// The error of a number of active users has room for what users have left in groups that they gave up.
func TestErrorOfActiveUsersInGroups(t *testing.T) {
	e := ledgertest.Hour(t, 1, ledgertest.Limit("10", 24*time.Hour), "d")
	e.Continual = []ledger.Continual{ledgertest.Active(t, "d", "centred", "0.1")}
	ledgertest.Decide(t, ledger.NewBooks(), &e, nil)
	of := func(groups int64) int64 {
		s, err := mechanisms.NewActiveStrategy("centred", 12, groups, ledgertest.Dec("0.1"))
		if err != nil {
			t.Fatal(err)
		}
		return s.Error95(1)
	}
	if got := e.Continual[0].Active.Error95.IntPart(); got != of(2) || got <= of(0) {
		t.Errorf("± %d users; want ± %d, and more than ± %d", got, of(2), of(0))
	}
}

func TestActiveUsersThatAreWrong(t *testing.T) {
	good := ledgertest.Hour(t, 1, ledgertest.Limit("10", 24*time.Hour), "d")
	ledgertest.Decide(t, ledger.NewBooks(), &good, nil)
	s := recordtest.Compile(t)
	for _, r := range ledgertest.Records(t, good) {
		if f := s.Follows(t, "active users", r.Value); f["active"] != "3h" || f["incomplete"] != true {
			t.Errorf("%s", r.Value)
		}
	}
	text := string(ledgertest.Encode(t, good))
	if _, err := ledger.Decode([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{`"mechanism":"centred"`, `"mechanism":"tree"`, `by "tree"`},
		{`"leaves":12`, `"leaves":13`, "13 leaves of 7200 s"},
		{`"update":7200`, `"update":0`, "0 s"},
		{`"windows":3`, `"windows":0`, "0 windows"},
		{`"among":2`, `"among":3`, "move among 3 groups"},
		{`"at_once":1`, `"at_once":2`, "and are in 2"},
		{`"leaf":1`, `"leaf":0`, "leaf 0"},
		{`"draw":"-50331648"`, `"draw":"-0.5"`, "want a whole number"},
		{`"since":"1970-01-01T01:00:00Z"`, `"since":"1970-01-01T02:00:00Z"`, "leaf 1 since"},
	} {
		wrong := strings.Replace(text, c[0], c[1], 1)
		if wrong == text {
			t.Fatalf("%s is not in %s", c[0], text)
		}
		if _, err := ledger.Decode([]byte(wrong)); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s → %s: %v, want %q", c[0], c[1], err, c[2])
		}
	}
}
