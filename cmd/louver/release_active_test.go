package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

var activeFrom = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// comings has a user come every few minutes of a day, each after another time, and the first one twice in a row. So
// different numbers of users are active at different times. Every third visit has the amount 9, and the others 2. One
// user came on the day before, and one row has no amount.
func comings() (text string, seen map[int]map[string]int) {
	var b strings.Builder
	b.WriteString("ts,who,spent\n2026-11-19T23:59:40Z,early,9\n2026-11-20T03:00:40Z,blank,\n")
	seen = map[int]map[string]int{180: {"blank": 0}}
	for u := range 40 {
		for n, minute := 0, u*7; minute < 24*60; n, minute = n+1, minute+20+u*u%90 {
			amount := 2
			if n%3 == 0 {
				amount = 9
			}
			who := fmt.Sprintf("u%d", u)
			fmt.Fprintf(&b, "%s,%s,%d\n", activeFrom.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339), who, amount)
			if seen[minute] == nil {
				seen[minute] = map[string]int{}
			}
			seen[minute][who] = amount
		}
	}
	return b.String(), seen
}

// seenBefore counts by brute force who came in so many minutes before a minute, with an amount above another.
func seenBefore(seen map[int]map[string]int, minute, within, above int) int {
	who := map[string]bool{}
	for at := minute - within; at < minute; at++ {
		for u, amount := range seen[at] {
			if amount > above {
				who[u] = true
			}
		}
	}
	return len(who)
}

func activeToday(more ...string) []string {
	return append([]string{"release", "--active", "15m", "--update", "5m", "--user", "who", "--time", "ts", "--from",
		"2026-11-20T00:00:00Z"}, more...)
}

// TestReleaseActive: with an ε of 20,000 the numbers are exact. The noise of an estimate has a standard deviation of at
// most 1.42·150/20,000 = 0.011, and a wrong number needs more than 0.5: with Laplace noise that has a probability of
// e^−60 or so.
func TestReleaseActive(t *testing.T) {
	t.Parallel()
	text, seen := comings()
	for name, c := range map[string]struct {
		args                         []string
		within, update, above, until int // minutes
		left                         bool
	}{
		"whoever has a row":    {nil, 15, 5, -1, 1440, false},
		"with a delta":         {[]string{"--delta", "0.000001"}, 15, 5, -1, 1440, false},
		"gaussian":             {[]string{"--mechanism", "centred_gaussian"}, 15, 5, -1, 1440, false},
		"windows of 5 minutes": {[]string{"--window", "5m", "--update", "0", "--statistic", "count"}, 15, 5, -1, 1440, false},
		"an hour, longer": {[]string{"--active", "1h", "--update", "30m", "--to", "2026-11-21T02:00:00Z"}, 60, 30, -1, 1560,
			false},
		"with an amount": {[]string{"--value", "spent"}, 15, 5, 0, 1440, true},
		"above 5": {[]string{"--value", "spent", "--above", "5", "--lower", "0", "--upper", "10", "--step", "1",
			"--contribution", "max"}, 15, 5, 5, 1440, true},
	} {
		got := commandLine(t, text, activeToday(append(c.args, "--epsilon", "20000")...)...)
		lines := strings.Split(strings.TrimSpace(got.out), "\n")
		if got.code != 0 || len(lines) != c.until/c.update || strings.Contains(got.err, "left out") != c.left {
			t.Errorf("%s: %d, %q, %d values", name, got.code, got.err, len(lines))
			continue
		}
		different := map[int]bool{}
		for i, line := range lines {
			minute := (i + 1) * c.update
			users := seenBefore(seen, minute, c.within, c.above)
			different[users] = true
			want := fmt.Sprintf("%s %d ± 1", activeFrom.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339), users)
			if users <= 1 { // the band ends at 0
				want = strings.Replace(want, "± 1", fmt.Sprintf("(at most %d)", users+1), 1)
			}
			if !strings.HasPrefix(line, want) || strings.HasSuffix(line, " incomplete") != (minute < c.within) {
				t.Errorf("%s: %s, want %s", name, line, want)
			}
		}
		if len(different) < 4 {
			t.Errorf("%s: there are only %d different numbers", name, len(different))
		}
	}
}

// TestReleaseActiveInJSON says what any 24 hours cost, and errors that are those of plan. They hold, and the noise is
// not far smaller. The noise of a value is beyond its error with a probability of at most 5 %, and beyond an eighth of
// it with at least 65 %. Were the 288 values independent, more than 48 would be beyond the error with a probability of
// 8e-14, and fewer than 144 beyond an eighth with 7e-8. Neighbours share a little of their noise, for which there is
// room.
func TestReleaseActiveInJSON(t *testing.T) {
	t.Parallel()
	text, seen := comings()
	for _, c := range []struct {
		args      []string
		mechanism string
		error95   int
		lost      float64
		delta     float64
	}{
		{nil, "centred", 483, 1, 0},
		{[]string{"--mechanism", "centred_gaussian"}, "centred_gaussian", 20, 6.491248, 1e-9},
		{[]string{"--delta", "0.000001"}, "centred_gaussian", 20, 0, 1e-6},
	} {
		got := commandLine(t, text, activeToday(append(c.args, "--epsilon", "1", "--json")...)...)
		beyond, far := 0, 0
		for line := range strings.Lines(got.out) {
			var v struct {
				Window_start, Window_end          time.Time
				Statistic, Mechanism, Active      string
				Value, Raw, Error_95, Low, High   int
				Incomplete                        bool
				Epsilon, Epsilon_lost, Delta_lost float64
				Charge                            []struct{ Kind string }
			}
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			minute := int(v.Window_end.Sub(activeFrom) / time.Minute)
			if v.Statistic != "count" || v.Mechanism != c.mechanism || v.Active != "15m" || v.Error_95 != c.error95 ||
				v.Value != max(v.Raw, 0) || v.High != v.Value+v.Error_95 || v.Incomplete != (minute < 15) ||
				v.Epsilon != 1 || v.Delta_lost != c.delta || c.lost != 0 && v.Epsilon_lost != c.lost ||
				v.Epsilon_lost < 1 || v.Epsilon_lost > 6.5 || len(v.Charge) != 1 {
				t.Fatalf("%q: %s", c.args, line)
			}
			off := max(v.Raw, 2*seenBefore(seen, minute, 15, -1)-v.Raw) - seenBefore(seen, minute, 15, -1)
			if off > c.error95 {
				beyond++
			}
			if off > c.error95/8 {
				far++
			}
		}
		if n := strings.Count(got.out, "\n"); got.code != 0 || n != 288 || beyond > 48 || far < 144 {
			t.Errorf("%q: %d, %q, %d values, %d beyond their error, %d beyond an eighth of it", c.args, got.code, got.err, n,
				beyond, far)
		}
	}
}

// TestReleaseActiveOverDays: what more than a day costs stands in a line of its own, as any 24 hours cost ε once.
func TestReleaseActiveOverDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--to", "2026-11-21T00:00:00Z"}, ""},
		{[]string{"--to", "2026-11-21T00:05:00Z"}, "there are 2 days, which together cost one user at most ε 3"},
		{[]string{"--to", "2026-11-27T00:00:00Z"}, "there are 7 days, which together cost one user at most ε 10.5"},
		{[]string{"--to", "2026-11-22T00:00:00Z", "--delta", "0.000001", "--json"},
			"there are 2 days, which together cost one user at most ε 12.591604, δ 0.000001"},
	} {
		got := commandLine(t, "ts,who\n2026-11-20T00:01:00Z,a\n", activeToday(append(c.args, "--epsilon", "1.5")...)...)
		if got.code != 0 || strings.Count(got.err, "\n") != min(len(c.want), 1) || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: %d, %q; want %q", c.args, got.code, got.err, c.want)
		}
	}
}

// TestReleaseActiveReadsJSON: the rows may be lines of JSON. A file without anybody in time says so.
func TestReleaseActiveReadsJSON(t *testing.T) {
	t.Parallel()
	const rows = `{"who":"a","ts":"2026-11-20T00:01:00Z"}
{"who":"b","ts":"2026-11-20T00:03:00Z"}
`
	args := activeToday("--epsilon", "20000", "--to", "2026-11-20T00:20:00Z")
	got := commandLine(t, rows, args...)
	want := "2026-11-20T00:05:00Z 2 ± 1.0 incomplete\n2026-11-20T00:10:00Z 2 ± 1.0 incomplete\n" +
		"2026-11-20T00:15:00Z 2 ± 1.0\n2026-11-20T00:20:00Z 0 (at most 1)\n"
	if got != (outcome{out: want}) {
		t.Errorf("%+v", got)
	}
	got = commandLine(t, strings.ReplaceAll(rows, "2026-11-20", "2026-11-19"), args...)
	if got.code != 0 || strings.Count(got.out, "\n") != 4 || !strings.Contains(got.err, "holds no users from") {
		t.Errorf("%+v", got)
	}
}
