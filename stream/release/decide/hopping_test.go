package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// hopping is a program whose windows hold two slices of half an hour, one of them new.
func hopping(t testing.TB, text string, more ...string) *program {
	t.Helper()
	return programOf(t, strings.NewReplacer(append([]string{"size: 1h, every: 1h", "size: 1h, every: 30m", "EPSILON",
		"1000", "LIMIT", "1000000000"}, more...)...).Replace(text))
}

// slide hands over the next slice, and records the window that ends with it. There is none that ends with the first
// slice.
func (d *decider) slide(records []contribution) (e ledger.Entry) {
	d.t.Helper()
	s := d.programs[0].schedule
	w, _ := d.programs[0].lanes.Windows.Next()
	if d.offset == 0 {
		w.End -= int64(s.Every)
	}
	d.give(windows.Window{Start: w.End - int64(s.Every), End: w.End}, records, 0)
	if w.End-w.Start == int64(s.Size) {
		e = d.decide(w)
		d.learnt(w, e)
	}
	return e
}

// from are users of every group whose numbers begin at first.
func from(first, n uint64, a, b, c int64) []contribution {
	all := slices.Concat(users(n, 0, a), users(n, 1, b), users(n, 2, c))
	for i := range all {
		all[i].user += first
	}
	return all
}

// TestAFigureOnChangeOfHoppingWindows: some users come in one half hour, fewer others in the next one, with other
// values. Every window holds both, so nothing changes, although each half hour alone is unlike the one before. When the
// first ones change, the window in which they are new is drawn anew; the windows overlap, and each group is still drawn
// once. At the next change at_most is reached.
func TestAFigureOnChangeOfHoppingWindows(t *testing.T) {
	d := newDecider(t, hopping(t, changing, "ATMOST", "3"), zap.NewNop()).sealing(1)
	most := func(a, b, c int64) []contribution { return from(0, 120, a, b, c) }
	others := from(10_000, 80, 900, 900, 900)
	for i, c := range []struct {
		records []contribution
		want    string
	}{
		{most(100, 200, 300), ""},
		{others, "100* 200* 300*, instance 1 for 6000, spent 6000"},
		{most(100, 200, 300), "100 200 300, instance 1 for 6000, spent 6000"},
		{others, "100 200 300, instance 1 for 6000, spent 6000"},
		{most(100, 500, 600), "100 500* 300, instance 1 for 6000, spent 6000"},
		{others, "100 500 600*, instance 2 for 3000, spent 9000"},
		{most(100, 500, 600), "100 500 600, instance 3 for 3000, spent 12000"},
		{others, "100 500 600, instance 3 for 3000, spent 12000"},
		{most(400, 500, 600), "400* 500 600, instance 3 for 3000, spent 12000"},
		{others, "- - -, instance 3 for 0, spent 12000 budget_exhausted"},
	} {
		e := d.slide(c.records)
		if c.want == "" && e.Stream == "" {
			continue
		}
		if got := shownOnChange(t, e); got != c.want {
			t.Errorf("half hour %d: %q, want %q", i, got, c.want)
		}
	}
}

// TestAWatchOfHoppingWindows: the hold begins with the end of the window in which the watch fired. So windows that
// overlap with that window are not looked at, even if the hold is 0: the next instance would be paid to see the same
// users again.
func TestAWatchOfHoppingWindows(t *testing.T) {
	slow := users(6, 1, 501)
	for hold, want := range map[string][]string{
		"0s": {"1 armed", "1 fired in b 01h", "1 not_armed fired in b 01h", "2 armed fired in b 02h",
			"2 not_armed fired in b 02h", "2 budget_exhausted"},
		"1h": {"1 armed", "1 fired in b 01h", "1 not_armed fired in b 01h", "1 not_armed fired in b 01h",
			"1 not_armed fired in b 01h", "2 armed fired in b 03h"},
	} {
		d := newDecider(t, hopping(t, alarmed, "ATMOST", "2", "hold: 1h", "hold: "+hold), zap.NewNop()).sealing(1)
		var got []string
		for i := range len(want) + 1 {
			records := slow
			if i < 2 {
				records = nil
			}
			if e := d.slide(records); e.Stream != "" {
				got = append(got, told(e))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("hold %s: %q, want %q", hold, got, want)
		}
	}
}

// TestHoppingWindowsUnderACap: with max_windows, figures of every window count few of the users who come all day, while
// a watch and a release on change still see all of them.
func TestHoppingWindowsUnderACap(t *testing.T) {
	const n, k = 100, 4
	limited := []string{"    bounds:", "    max_windows: {count: 4, per: 24h, parts: 1}\n    bounds:",
		"users, statistic: count, epsilon: 1}", "users, statistic: count, epsilon: 1000000}"}
	counted := func(e ledger.Entry) int64 { return e.Groups[1].Values[0].Value.IntPart() }
	t.Run("watch", func(t *testing.T) {
		d := newDecider(t, hopping(t, alarmed, append(limited, "ATMOST", "2", "users: 5", "users: 99")...),
			zap.NewNop()).sealing(1)
		total := int64(0)
		for i := range 48 {
			records := users(n, 1, 100)
			if i == 20 {
				records = users(n, 1, 501)
			}
			e := d.slide(records)
			if i == 0 {
				continue
			}
			total += counted(e)
			if want := i == 20; (e.Continual[0].Fires() != nil) != want || want && counted(e) >= n {
				t.Errorf("half hour %d: %s, and %d of %d users count", i, told(e), counted(e), n)
			}
		}
		if total == 0 || total > n*k {
			t.Errorf("%d users count %d times in a day, want at most %d", n, total, n*k)
		}
	})
	t.Run("on change", func(t *testing.T) {
		text := strings.Replace(changing, "releases: [", "releases: [{name: users, statistic: count, epsilon: 1}, ", 1)
		d := newDecider(t, hopping(t, text, append(limited, "ATMOST", "9")...), zap.NewNop()).sealing(1)
		total := int64(0)
		for i := range 48 {
			value := int64(100)
			if i >= 20 {
				value = 700
			}
			e := d.slide(at(1, value, 3))
			if i == 0 {
				continue
			}
			total += counted(e)
			w := e.Continual[0]
			if want := i == 1 || i == 20; w.Change.Draws(w, "b") != want ||
				w.Change.Values[1].Figure.Value.IntPart() != value || i == 20 && counted(e) >= n {
				t.Errorf("half hour %d: b is %s, drawn now: %v, and %d of %d users count", i,
					w.Change.Values[1].Figure.Value, w.Change.Draws(w, "b"), counted(e), n)
			}
		}
		if total == 0 || total > n*k {
			t.Errorf("%d users count %d times in a day, want at most %d", n, total, n*k)
		}
	})
}
