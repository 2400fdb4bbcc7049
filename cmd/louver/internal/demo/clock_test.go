package demo

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The clock stands until it begins. Then a day takes two minutes, and it waits where it may not go on yet. A short wait
// is made up for, a long one is not.
func TestOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		c := newOwnClock(midnight, 2*time.Minute, 15*time.Minute)
		wants := func(what string, want time.Duration) {
			t.Helper()
			if got := c.time().Sub(midnight); got != want {
				t.Errorf("%s: %s after midnight, want %s", what, got, want)
			}
		}
		c.until(midnight.Add(6 * time.Hour))
		time.Sleep(time.Minute)
		if _, err := c.Now(); err == nil || c.Confirmed(midnight) {
			t.Error("windows close before the clock begins")
		}
		wants("before it begins", 0)
		c.begin()
		if _, err := c.Now(); err != nil || !c.Confirmed(midnight) || c.Confirmed(midnight.Add(1)) {
			t.Errorf("%v: it does not run, or runs ahead", err)
		}
		time.Sleep(10 * time.Second)
		wants("after ten seconds", 2*time.Hour)
		if got := c.Takes(time.Hour); got != 5*time.Second {
			t.Errorf("an hour takes %s, want 5s", got)
		}
		time.Sleep(21 * time.Second)
		wants("where it waits", 6*time.Hour)
		c.until(midnight.Add(5 * time.Hour)) // that is past
		wants("told to wait earlier", 6*time.Hour)
		c.until(midnight.Add(24 * time.Hour))
		wants("a second too late", 6*time.Hour+12*time.Minute)
		c.until(midnight.Add(25 * time.Hour))
		time.Sleep(time.Hour) // a laptop was asleep
		wants("where it waits again", 25*time.Hour)
		c.until(midnight.Add(48 * time.Hour))
		wants("an hour too late", 25*time.Hour+15*time.Minute)
		time.Sleep(5 * time.Second)
		wants("five seconds later", 26*time.Hour+15*time.Minute)
	})
}

// A day takes more than no time and at most a day, and a file has no such day.
func TestLengthOfADay(t *testing.T) {
	for _, c := range []struct {
		day  time.Duration
		csv  string
		want string
	}{{usualDay, "", ""}, {24 * time.Hour, "", ""}, {0, "", "--day 0s; want more than 0"},
		{25 * time.Hour, "", "--day 25h0m0s; want more than 0"}, {time.Minute, "events.csv", "--day 1m0s with --csv"},
		{usualDay, "events.csv", "--csv events.csv: no such file"}} {
		_, err := (&Command{Day: c.day, fileFlags: fileFlags{CSV: c.csv}}).scene()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("--day %s --csv %q: %v; want %q", c.day, c.csv, err, c.want)
		}
	}
}
