package ledger_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
)

// rollupLine makes the entries of a stream with a histogram that is added up over half hours and hours, of windows of a
// quarter.
type rollupLine struct {
	t       *testing.T
	state   *ledger.State
	entries []ledger.Entry
	change  func(e *ledger.Entry) // what another edition has
}

func newRollupLine(t *testing.T) *rollupLine {
	return &rollupLine{t: t, state: ledger.NewState("louver", 0), change: func(*ledger.Entry) {}}
}

// window adds the entry of the window that begins so many quarters after 08:00. Each number of it is n.
func (l *rollupLine) window(quarter int, n int64, reason string) ledger.Entry {
	l.t.Helper()
	e := histogramEntry(l.t)
	e.Continues = nil
	e.Releases[0].Rollups = []string{"30m", "1h"}
	e.WindowStart = at("2026-11-20T08:00:00Z").Add(time.Duration(quarter) * 15 * time.Minute)
	e.WindowEnd = e.WindowStart.Add(15 * time.Minute)
	for g := range e.Groups {
		v := &e.Groups[g].Values[0]
		v.Numbers = &ledger.Numbers{Raw: []int64{n, n, n, n, -n}, Coarse: []int64{3 * n, 0}}
		v.Value = new(decimal.NewFromInt(3 * n))
	}
	l.change(&e)
	if e.Reason = reason; reason != "" {
		for g := range e.Groups {
			e.Groups[g].Values, e.Groups[g].Reason = nil, ""
		}
	} else if err := e.Compute(); err != nil {
		l.t.Fatal(err)
	}
	var err error
	if e.Standing, err = l.state.Books.Standing(e); err != nil {
		l.t.Fatal(err)
	}
	if err := l.state.History().Finish(&e); err != nil {
		l.t.Fatal(err)
	}
	l.learn(e)
	return e
}

func (l *rollupLine) learn(e ledger.Entry) {
	l.t.Helper()
	if err := l.state.Add(e, ledgertest.Encode(l.t, e), int64(len(l.entries))); err != nil {
		l.t.Fatal(err)
	}
	l.entries = append(l.entries, e)
}

// restart goes on from a checkpoint.
func (l *rollupLine) restart() {
	l.t.Helper()
	text := ledgertest.Checkpoint(l.t, l.state)
	restored, err := ledger.Restore(text, "louver", 0)
	if err != nil {
		l.t.Fatal(err)
	}
	at := len(l.entries) - 1
	if err := restored.Add(l.entries[at], ledgertest.Encode(l.t, l.entries[at]), int64(at)); err != nil {
		l.t.Fatal(err)
	}
	if again := ledgertest.Checkpoint(l.t, restored); string(again) != string(text) {
		l.t.Fatalf("the checkpoint of a checkpoint differs:\n%s\n%s", text, again)
	}
	l.state = restored
}

// said writes the roll-ups of an entry in short.
func said(e ledger.Entry) string {
	var all []string
	for _, up := range e.Rollups {
		text := fmt.Sprintf("%s from %s, %d/%d/%d", up.Period, up.Since.Format("15:04"), up.Windows.Of,
			up.Windows.Released, up.Windows.Incomplete)
		if len(up.Groups) > 0 {
			text += fmt.Sprint(" ", up.Groups[0].Values[0].Numbers.Raw[0])
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestRollups(t *testing.T) {
	l := newRollupLine(t)
	for i, c := range []struct {
		quarter int
		n       int64
		reason  string
		want    string
	}{
		{0, 100, "", ""},
		{1, 200, "", "30m from 08:00, 2/2/0 300"},
		{2, 400, "", ""},
		// the last one is withheld
		{3, 800, record.BudgetExhausted, "30m from 08:30, 2/1/0 400; 1h from 08:00, 4/3/0 700"},
		{4, 1000, record.BudgetExhausted, ""},
		{5, 1000, record.BudgetExhausted, "30m from 09:00, 2/0/0"}, // none was released
		{7, 50, "", "30m from 09:30, 2/1/0 50; 1h from 09:00, 4/1/0 50"},
	} {
		if got := said(l.window(c.quarter, c.n, c.reason)); got != c.want {
			t.Errorf("window %d: %q; want %q", i, got, c.want)
		}
	}
	if l.window(8, 10, ""); said(l.window(10, 20, "")) != "" || said(l.window(11, 30, "")) !=
		"30m from 10:30, 2/2/0 50; 1h from 10:00, 4/3/0 60" {
		t.Errorf("after a gap: %q", said(l.entries[len(l.entries)-1]))
	}
	// Adding up and estimating go together: the number of users of the sums is the sum of those of the windows.
	up := l.entries[3].Rollups[1].Groups[0].Values
	if v := up[0]; v.Value.String() != "2100" || v.Quality != "useful" || len(up) != 7 {
		t.Errorf("%d values, of which the first is %s, %s", len(up), v.Value, v.Quality)
	}
	one := l.entries[0].Groups[0].Values[0].Error95
	if two := up[0].Error95; !two.GreaterThan(one.Mul(ledgertest.Dec("1.6"))) ||
		!two.LessThan(one.Mul(ledgertest.Dec("1.9"))) {
		t.Errorf("the error of three windows is %s; that of one is %s", two, one)
	}
	incomplete := newRollupLine(t)
	incomplete.change = func(e *ledger.Entry) { e.Incomplete = true }
	incomplete.window(0, 1, "")
	incomplete.change = func(*ledger.Entry) {}
	if got := said(incomplete.window(1, 2, "")); got != "30m from 08:00, 2/2/1 3" {
		t.Errorf("of an incomplete window: %q", got)
	}
}

// TestRollupsOfAGroupThatIsAway: a found group that was off the list begins anew when it comes back, also where all
// windows without it were withheld.
func TestRollupsOfAGroupThatIsAway(t *testing.T) {
	l, away := newRollupLine(t), false
	l.change = func(e *ledger.Entry) {
		e.List = &ledger.List{Of: new(record.Whole(e.WindowStart)), Rules: ledger.Rules{Source: "in region", Keep: 3600, Max: 9}}
		if slices.Reverse(e.Groups); away {
			e.Groups = e.Groups[:1]
		}
	}
	l.window(0, 100, "")
	away = true
	l.window(1, 100, record.BudgetExhausted)
	away = false
	l.window(2, 100, "")
	hour := l.window(3, 100, "").Rollups[1]
	for g, want := range []int64{3, 2} { // of a<b, and of eu, which was away
		if of := hour.Groups[g]; of.Windows.Released != want || of.Values[0].Numbers.Raw[0] != 100*want {
			t.Errorf("group %d has %d windows and the number %d, want %d windows of 100 each", g, of.Windows.Released,
				of.Values[0].Numbers.Raw[0], want)
		}
	}
}

func TestRollupRecords(t *testing.T) {
	s := recordtest.Compile(t)
	l := newRollupLine(t)
	l.window(0, 100, "")
	l.window(1, 100, "")
	l.window(2, 100, "")
	e := l.window(3, 100, record.BudgetExhausted)
	back, err := ledger.Decode(ledgertest.Encode(t, e))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range ledgertest.Records(t, back) {
		f := s.Follows(t, "roll-up", r.Value)
		name := f["release"].(string)
		if f["group"] != "eu" || !strings.HasSuffix(name, ".1h") {
			continue
		}
		names = append(names, name)
		if f["status"] != "ok" || fmt.Sprint(f["epsilon"]) != "0" || f["counts"] != "user_windows" ||
			f["window_start"] != "2026-11-20T08:00:00Z" || f["window_end"] != "2026-11-20T09:00:00Z" ||
			f["id"] != "checkout-latency/eu/2026-11-20T08:00:00Z/"+name ||
			fmt.Sprint(f["windows"]) != "map[incomplete:0 of:4 released:3]" {
			t.Errorf("%s", r.Value)
		}
		if name == "p50.1h" && f["from"] != "latency.1h" {
			t.Errorf("%s is from %v", name, f["from"])
		}
		if name == "latency.1h" && fmt.Sprint(f["buckets"].(map[string]any)["raw"]) != "[300 300 300 300 -300]" {
			t.Errorf("%s has %v", name, f["buckets"])
		}
	}
	want := []string{"latency.1h", "p50.1h", "p99.1h", "slow.1h", "quick.1h", "out.1h", "peak.1h"}
	if !slices.Equal(names, want) {
		t.Errorf("the roll-ups of an hour are %q; want %q", names, want)
	}
	if n := len(ledgertest.Records(t, back)); n != back.Size() {
		t.Errorf("%d records; the entry says %d", n, back.Size())
	}
}

// What is open takes 8 bytes for each number, roll-up and group: about 0.8 MB for 1,000 buckets, 50 groups and two
// roll-ups, however many windows are in them.
func TestRollupsTakeLittleMemory(t *testing.T) {
	const buckets, groups, coarse = 1000, 50, 32
	e := histogramEntry(t)
	e.Releases = e.Releases[:1]
	e.Releases[0].Rollups = []string{"1h", "1d"}
	e.Releases[0].Buckets.Ends = nil
	for i := range buckets - 1 {
		e.Releases[0].Buckets.Ends = append(e.Releases[0].Buckets.Ends, decimal.NewFromInt(int64(i+1)))
	}
	e.Releases[0].Buckets.Ends[buckets-2] = ledgertest.Dec("1000")
	e.Groups = nil
	for g := range groups {
		e.Groups = append(e.Groups,
			ledger.Group{Name: fmt.Sprint(g),
				Values: []ledger.Value{{Value: ledgertest.Some("0"),
					Numbers: &ledger.Numbers{Raw: make([]int64, buckets), Coarse: make([]int64, coarse)}}}})
	}
	used := func() uint64 {
		var m runtime.MemStats
		// what other tests left in pools is gone after the second, and what has a finalizer after the third
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	sums, before := ledger.NewRollups(), used()
	for quarter := range 3 {
		e.WindowStart = at("2026-11-20T08:00:00Z").Add(time.Duration(quarter) * 15 * time.Minute)
		e.WindowEnd = e.WindowStart.Add(15 * time.Minute)
		if err := sums.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	const numbers = 8 * (buckets + coarse) * groups * 2
	if after := used(); after > before+numbers*3/2 || after < before+numbers*9/10 {
		t.Errorf("the open roll-ups take %d bytes, want about %d and at most half as much more",
			int64(after)-int64(before), numbers)
	}
	runtime.KeepAlive(sums)
	runtime.KeepAlive(e)
}
