package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// hour is an hour of minutes from eight o'clock: so many users a minute, of whom some are slow in some minutes. Each
// comes twice a minute, and once on the day before.
func hour(users int, slow func(minute int) int) string {
	var b strings.Builder
	b.WriteString("ts,who,ms\n")
	for minute := range 60 {
		for u := range users {
			ms := 100
			if u < slow(minute) {
				ms = 5000
			}
			fmt.Fprintf(&b, "2026-11-20T08:%02d:30Z,u%d,1\n2026-11-20T08:%02d:40Z,u%d,%d\n"+
				"2026-11-19T08:%02d:40Z,u%d,9999\n", minute, u, minute, u, ms, minute, u)
		}
	}
	return b.String()
}

func watchHour(more ...string) []string {
	return append([]string{"release", "--user", "who", "--value", "ms", "--time", "ts", "--lower", "0", "--upper",
		"10000", "--step", "1", "--from", "2026-11-20T08:00:00Z", "--to", "2026-11-20T09:00:00Z", "--epsilon", "2000"},
		more...)
}

// With an ε as large as this the watch does what its condition says. It holds for ten minutes, is armed again twice,
// and then it is over.
func TestReleaseWatch(t *testing.T) {
	text := hour(50, func(minute int) int {
		if minute >= 10 && minute < 25 || minute >= 40 {
			return 6
		}
		return 5
	})
	got := commandLine(t, text, watchHour("--watch", "above: 2000, more_than: 0.1", "--hold", "10m", "--at-most",
		"3")...)
	want := `2026-11-20T08:00:00Z armed, 1 of 3, for ε 2000; sees 0.1 users too many with a probability of 95 %
2026-11-20T08:11:00Z fires
2026-11-20T08:21:00Z armed, 2 of 3, for ε 2000; sees 0.1 users too many with a probability of 95 %
2026-11-20T08:22:00Z fires
2026-11-20T08:32:00Z armed, 3 of 3, for ε 2000; sees 0.1 users too many with a probability of 95 %
2026-11-20T08:41:00Z fires
2026-11-20T08:51:00Z over: it was armed 3 times
`
	if got != (outcome{out: want}) {
		t.Errorf("%d, %q, and\n%s\nwant\n%s", got.code, got.err, got.out, want)
	}
}

// TestReleaseWatchIsSilent: a watch that fires in no window says so at the end.
func TestReleaseWatchIsSilent(t *testing.T) {
	got := commandLine(t, hour(50, func(int) int { return 5 }), watchHour("--watch", "above: 2000, more_than: 0.2")...)
	want := `2026-11-20T08:00:00Z armed, 1 of 1, for ε 2000; sees 0.2 users too many with a probability of 95 %
2026-11-20T09:00:00Z the last window ends: the watch is still armed and silent
`
	if got != (outcome{out: want}) {
		t.Errorf("%d, %q, and\n%s\nwant\n%s", got.code, got.err, got.out, want)
	}
}

func TestReleaseWatchJSON(t *testing.T) {
	text := hour(3, func(minute int) int { return minute / 30 })
	got := commandLine(t, text, watchHour("--watch", "above: 2000, users: 0", "--hold", "20m", "--json")...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if got.code != 0 || got.err != "" || len(lines) != 60 {
		t.Fatalf("%d, %q, %d lines", got.code, got.err, len(lines))
	}
	for minute, line := range lines {
		var w struct {
			Start         string `json:"window_start"`
			Status        string
			Value         *int
			Since, Reason *string
		}
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatal(err)
		}
		value, since, reason := "<nil>", "<nil>", "<nil>"
		if w.Value != nil {
			value = fmt.Sprint(*w.Value)
		}
		if w.Since != nil {
			since = *w.Since
		}
		if w.Reason != nil {
			reason = *w.Reason
		}
		want := "0 <nil> ok <nil>"
		switch {
		case minute >= 51:
			want = "<nil> <nil> withheld budget_exhausted"
		case minute >= 30:
			want = "1 2026-11-20T08:31:00Z ok <nil>"
		}
		if got := strings.Join([]string{value, since, w.Status, reason}, " "); got != want ||
			w.Start != fmt.Sprintf("2026-11-20T08:%02d:00Z", minute) {
			t.Errorf("%s: %s, want %s", w.Start, got, want)
		}
	}
}

// A window without anybody has nobody in it, and is looked at like any other.
func TestReleaseWatchOfNobody(t *testing.T) {
	got := commandLine(t, "ts,who,ms\n2026-11-19T08:00:00Z,u,1\n", watchHour("--watch", "users_below: 1")...)
	if got.code != 0 || !strings.Contains(got.out, "2026-11-20T08:01:00Z fires\n") ||
		!strings.HasPrefix(got.err, "louver: stdin holds no users from 2026-11-20T08:00:00Z to 2026-11-20T09:00:00Z") {
		t.Errorf("%+v", got)
	}
}

// Times that name no zone are in the zone that is given, and without one the owner is told that they are taken as UTC.
// What cannot be used is left out.
func TestReleaseWatchZone(t *testing.T) {
	text := "ts,who,ms\n2026-11-20 08:00:00,u,1\n2026-11-20 08:00:00,v,\n,u,1\n1985-01-01 00:00:00,u,1\n"
	const left = "louver: stdin: 1 of 4 rows is left out, first on line 3: column ms is missing or not a number such " +
		"as 12 or -3.5 (this line is not private: do not publish it)\n" +
		"louver: stdin: 1 of 4 rows is left out, first on line 4: column ts is missing or not a time after 1970 " +
		"(this line is not private: do not publish it)\n"
	const utc = "louver: stdin: times in column ts name no zone and are taken as UTC; --zone NAME takes them as " +
		"those of another, such as Europe/Berlin\n"
	const early = "louver: stdin: 1 of 3 events is before 1990, first on line 5; want a column of times, and numbers " +
		"in seconds, milli-, micro- or nanoseconds since 1970\n"
	watch := watchHour("--watch", "users_below: 1")
	if got := commandLine(t, text, watch...); got.code != 0 || got.err != left+utc+early {
		t.Errorf("%+v, want %s", got, left+utc+early)
	}
	berlin := commandLine(t, text, append(watch, "--zone", "Europe/Berlin")...)
	if want := left + early + "louver: stdin holds no users from 2026-11-20T08"; !strings.HasPrefix(berlin.err, want) {
		t.Errorf("%+v, want %s", berlin, want)
	}
	commandLine(t, text, append(watch, "--zone", "Mars")...).wants(t, cli.ExitUsage,
		`louver: --zone "Mars" is no time zone; want a name of the IANA database`)
}

// A date in one column and the time of day in another are one time.
func TestReleaseTimeOfDay(t *testing.T) {
	text := "day,ts,who,ms\n2026-11-20,08:00:30,u,1\n2026-11-20,08:01:30,v,2\n2026-11-20,,w,2\n"
	args := watchHour("--watch", "users_below: 1", "--time", "day", "--time-of-day", "ts")
	got := commandLine(t, text, args...)
	if want := "louver: stdin: 1 of 3 rows is left out, first on line 4: column day with the time of day in ts is " +
		"missing or not a time after 1970 ("; got.code != cli.ExitDone || !strings.HasPrefix(got.err, want) ||
		strings.Contains(got.err, "holds no users") {
		t.Errorf("%+v, want %s", got, want)
	}
}

// What no window can show is said before: of ten users at most nine can be too many.
func TestReleaseWatchSaysWhatItCannotSee(t *testing.T) {
	args := watchHour("--watch", "above: 2000, more_than: 0.1", "--expected-users", "10", "--epsilon", "1")
	got := commandLine(t, hour(10, func(int) int { return 0 }), args...)
	if got.code != 0 || !strings.HasPrefix(got.err, "louver: with 10 users, at most 9 can be too many, but the watch "+
		"needs ") {
		t.Errorf("%+v", got)
	}
}
