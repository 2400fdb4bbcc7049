package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// localDays makes the line's windows hours since a moment, with roll-ups of six hours and of days in a zone.
type localDays struct {
	*rollupLine
	begin time.Time
	zone  string
	hours int
}

func newLocalDays(t *testing.T, begin string) *localDays {
	l := &localDays{newRollupLine(t), at(begin), "Europe/Berlin", 0}
	l.change = func(e *ledger.Entry) {
		e.Every, e.Releases[0].Rollups = time.Hour, []string{"6h", "1d"}
		e.WindowStart = l.begin.Add(time.Duration(l.hours) * time.Hour)
		e.WindowEnd = e.WindowStart.Add(time.Hour)
		c, err := period.NewDays(1, l.zone)
		if err != nil {
			t.Fatal(err)
		}
		since, until := c.Of(e.WindowStart.UnixNano())
		e.Periods = []ledger.Period{{Release: "latency", Period: "1d", Since: record.Whole(time.Unix(0, since)),
			Until: record.Whole(time.Unix(0, until))}}
	}
	return l
}

// hour adds the next window, of one user in the first bucket, and says the days that end with it.
func (l *localDays) hour(reason string) string {
	l.t.Helper()
	e := l.window(0, 1, reason)
	l.hours++
	e.Rollups = slices.DeleteFunc(slices.Clone(e.Rollups), func(up ledger.Rollup) bool { return up.Period != "1d" })
	return said(e)
}

// TestRollupsOfLocalDays adds up a day of 23 hours and one of 25, and the days around them.
func TestRollupsOfLocalDays(t *testing.T) {
	for _, c := range []struct {
		begin string
		want  map[int]string // by how many windows there were before
	}{
		{"2026-03-27T23:00:00Z", map[int]string{23: "1d from 23:00, 24/24/0 24", 46: "1d from 23:00, 23/22/0 22",
			70: "1d from 22:00, 24/24/0 24"}},
		{"2026-10-24T22:00:00Z", map[int]string{24: "1d from 22:00, 25/25/0 25", 48: "1d from 23:00, 24/23/0 23"}},
	} {
		l := newLocalDays(t, c.begin)
		for i := range 72 {
			reason := ""
			if i == 40 {
				reason = record.BudgetExhausted
			}
			if got := l.hour(reason); got != c.want[i] {
				t.Errorf("%s, window %d: %q; want %q", c.begin, i, got, c.want[i])
			}
		}
	}
}

// The first entry of a period decides when it ends, whatever later ones say: another zone, or another database of
// zones. It holds across a checkpoint too.
func TestTheFirstEntryDecidesADay(t *testing.T) {
	l := newLocalDays(t, "2026-03-28T23:00:00Z")
	for range 10 {
		l.hour("")
	}
	l.zone = "UTC"
	l.restart()
	for i := 10; i < 49; i++ {
		want := map[int]string{22: "1d from 23:00, 23/23/0 23", 24: "1d from 00:00, 24/2/0 2",
			48: "1d from 00:00, 24/24/0 24"}[i]
		if got := l.hour(""); got != want {
			t.Errorf("window %d: %q; want %q", i, got, want)
		}
	}
}

func TestWrongPeriods(t *testing.T) {
	for _, c := range []struct {
		old, new, want string
	}{
		{`"release":"latency","period":"1d"`, `"release":"p50","period":"1d"`,
			`period 1d of "p50", which is no histogram`},
		{`"release":"latency","period":"1d"`, `"release":"latency","period":"2d"`,
			`period 2d of "latency", which is no`},
		{`"since":"2026-03-27T23:00:00Z","until"`, `"since":"2026-03-27T23:30:00Z","until"`, "want whole windows"},
		{`"since":"2026-03-27T23:00:00Z","until"`, `"since":"2026-03-28T00:00:00Z","until"`, "want whole windows"},
		{`"until":"2026-03-28T23:00:00Z"`, `"until":"2026-03-28T23:10:00Z"`, "want whole windows"},
		{`"until":"2026-03-28T23:00:00Z"`, `"until":"2026-03-27T23:00:00Z"`, "want whole windows"},
	} {
		l := newLocalDays(t, "2026-03-27T23:00:00Z")
		l.hour("")
		text := string(ledgertest.Encode(t, l.entries[0]))
		if strings.Count(text, c.old) != 1 {
			t.Fatalf("%s is not in %s", c.old, text)
		}
		if _, err := ledger.Decode([]byte(strings.Replace(text, c.old, c.new, 1))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.new, err, c.want)
		}
	}
}
