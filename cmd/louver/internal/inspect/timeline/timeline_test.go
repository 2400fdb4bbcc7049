package timeline

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// facts are those of streams that read one topic of two partitions, in windows of an hour from midnight on.
func facts(t *testing.T, streams ...string) *Facts {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: 1\nbudgets:\n  - {name: shared, epsilon: 100, per: 24h}\nstreams:\n")
	for _, name := range streams {
		fmt.Fprintf(&b, `  - name: %s
    input: {topic: in, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 10s, start: 2026-01-01T00:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: shared
`, name)
	}
	file, err := parse.File("streams.yaml", []byte(b.String()), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	f := &Facts{Partitions: func(string, int64) int { return 2 },
		Lineage: func(budget string) []string { return []string{budget} }}
	for _, s := range file.Streams {
		f.Editions = append(f.Editions, config.Edition{Stream: s, Schedule: s.Window.Schedule(midnight.UnixNano())})
	}
	return f
}

// cut says that a partition has cut a stream's windows up to an hour.
func (f *Facts) cut(t *testing.T, partition, hour int, streams ...string) {
	t.Helper()
	var shares []string
	for _, s := range streams {
		shares = append(shares,
			fmt.Sprintf(`%q:{"from":0,"through":%d}`, s, midnight.Add(time.Duration(hour)*time.Hour).UnixNano()))
	}
	if err := f.Progress(fmt.Appendf(nil, "ingest/in/%d", partition),
		fmt.Appendf(nil, `{"offset":7,"read":7,"streams":{%s}}`, strings.Join(shares, ","))); err != nil {
		t.Fatal(err)
	}
}

// decide takes in the entry of the window of stream a that ends at an hour.
func (f *Facts) decide(hour int, change func(*ledger.Entry)) {
	end := midnight.Add(time.Duration(hour) * time.Hour)
	e := ledger.Entry{Stream: "a", Budget: "shared", Input: "in", WindowStart: end.Add(-time.Hour), WindowEnd: end,
		DueAt: end.Add(10 * time.Second), Every: time.Hour}
	change(&e)
	f.Learn(e)
}

// shown returns the parts of a run that are compared.
func shown(runs []Run) []string {
	var all []string
	for _, r := range runs {
		text := fmt.Sprintf("%s %d..%d (%d) %s", r.Stream, int(r.First.Sub(midnight).Hours()),
			int(r.Last.Sub(midnight).Hours()), r.Windows, r.State)
		if r.Incomplete {
			text += " incomplete"
		}
		if r.Overdue {
			text += " overdue"
		}
		if len(r.Partitions) > 0 {
			text += fmt.Sprint(" ", r.Partitions)
		}
		if len(r.Why) > 0 {
			text += ": " + strings.Join(r.Why, "; ")
		}
		all = append(all, text)
	}
	return all
}

func at(hour int, more time.Duration) time.Time {
	return midnight.Add(time.Duration(hour)*time.Hour + more)
}

func TestEveryWindowHasOneState(t *testing.T) {
	f := facts(t, "a")
	released := func(*ledger.Entry) {}
	f.decide(1, released)
	f.decide(2, released)
	f.decide(3, func(e *ledger.Entry) { e.Incomplete, e.IncompleteIn = true, []int{1} })
	f.decide(4, func(e *ledger.Entry) { e.Incomplete = true })
	f.decide(5, func(e *ledger.Entry) { e.Reason = record.BudgetExhausted })
	f.cut(t, 0, 8, "a")
	f.cut(t, 1, 6, "a")
	want := []string{
		"a 3..3 (1) released incomplete [1]: input of partition 1 of in was lost",
		"a 4..4 (1) released incomplete: a part of its input was lost",
		"a 5..5 (1) withheld: budget shared is exhausted",
		"a 6..6 (1) cut overdue",
		"a 7..8 (2) waiting overdue [1]",
		"a 9..9 (1) waiting [0 1]",
		"a 10..10 (1) open",
	}
	if diff := cmp.Diff(want, shown(f.Runs(at(9, 20*time.Second)))); diff != "" {
		t.Error(diff)
	}
	if got := Awaited(f.Runs(at(9, 20*time.Second))); !cmp.Equal(got, []Partition{{"in", 0}, {"in", 1}}) {
		t.Errorf("awaited: %v", got)
	}
	if offset, ok := f.Position(Partition{"in", 1}); !ok || offset != 7 {
		t.Errorf("position %d, %v", offset, ok)
	}
}

func TestBeforeAnythingHasHappened(t *testing.T) {
	f := facts(t, "a")
	if got := f.Runs(at(0, -time.Second)); len(got) != 0 {
		t.Errorf("before the first window: %v", shown(got))
	}
	if diff := cmp.Diff([]string{"a 1..2 (2) open"}, shown(f.Runs(at(1, 5*time.Second)))); diff != "" {
		t.Errorf("within the grace: %s", diff)
	}
	f.Partitions = func(string, int64) int { return 0 }
	if diff := cmp.Diff([]string{"a 1..1 (1) waiting", "a 2..2 (1) open"},
		shown(f.Runs(at(1, 10*time.Second)))); diff != "" {
		t.Errorf("while nobody has counted the partitions: %s", diff)
	}
}

// A budget decides its windows in the order in which they are due.
func TestWindowsWaitForTheirTurn(t *testing.T) {
	f := facts(t, "a", "b")
	f.cut(t, 0, 2, "a", "b")
	f.cut(t, 1, 2, "a") // this partition has no cut of b
	f.decide(1, func(*ledger.Entry) {})
	want := []string{
		"a 1..1 (1) released",
		"a 2..2 (1) cut: its turn comes after the window of stream b that was due 2026-01-01T01:00:10Z",
		"a 3..3 (1) open",
		"b 1..2 (2) waiting overdue [1]",
		"b 3..3 (1) open",
	}
	if diff := cmp.Diff(want, shown(f.Runs(at(2, 20*time.Second)))); diff != "" {
		t.Error(diff)
	}
	f.Only = "b"
	if got := f.Runs(at(2, 20*time.Second)); len(got) != 2 || got[0].Stream != "b" {
		t.Errorf("of one stream: %v", shown(got))
	}
}

// A window that waits for many others says so in one line, and names the next one.
func TestOneLineForEachCause(t *testing.T) {
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("s%02d", i))
	}
	f := facts(t, names...)
	f.cut(t, 0, 2, "s00")
	f.cut(t, 1, 2, "s00")
	f.decide(1, func(e *ledger.Entry) { e.Stream = "s00" })
	why := f.Runs(at(2, 20*time.Second))[1].Why
	if want := []string{"its turn comes after the window of stream s01 that was due 2026-01-01T01:00:10Z, " +
		"and 2 other streams"}; !slices.Equal(why, want) {
		t.Errorf("%q, want %q", why, want)
	}
}

func TestOnlyTheLastDecidedRunsAreKept(t *testing.T) {
	f := facts(t, "a")
	for hour := 1; hour <= 20; hour++ {
		f.decide(hour, func(e *ledger.Entry) {
			if hour%2 == 0 {
				e.Reason = record.BudgetExhausted
			}
		})
	}
	if got := f.Runs(at(20, 0)); len(got) != kept+1 || got[0].First != at(18, 0) {
		t.Errorf("%v", shown(got))
	}
}

func TestNumbers(t *testing.T) {
	for want, partitions := range map[string][]int{
		"partition 3 of in":                         {3},
		"partitions 1 and 2 of in":                  {1, 2},
		"partitions 0, 1, 2, 3 and 4 of in":         {0, 1, 2, 3, 4},
		"partitions 0, 1, 2, 3, 4 and 2 more of in": {0, 1, 2, 3, 4, 5, 6},
	} {
		if got := Numbers("in", partitions); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
