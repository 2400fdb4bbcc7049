package period

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func calendar(t testing.TB, u Unit, zone string) Calendar {
	t.Helper()
	c, err := NewCalendar(u, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPeriods has days of 23, 24, 24.5 and 25 hours, one without midnight, one that the calendar lacks, and weeks and
// months around them.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		unit              Unit
		zone              string
		at, begin, length string
	}{
		{Midnight, "UTC", "2026-11-20T00:00:00Z", "2026-11-20T00:00:00Z", "24h"},
		{Midnight, "", "2026-11-20T23:59:59Z", "2026-11-20T00:00:00Z", "24h"},
		{Midnight, "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "23h"},
		{Midnight, "Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-24T22:00:00Z", "25h"},
		{Midnight, "Europe/Berlin", "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z", "24h"},
		{Midnight, "Asia/Kolkata", "2026-11-20T12:00:00Z", "2026-11-19T18:30:00Z", "24h"},
		{Midnight, "America/Sao_Paulo", "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "23h"},
		{Midnight, "America/Sao_Paulo", "2018-02-17T12:00:00Z", "2018-02-17T02:00:00Z", "25h"},
		{Midnight, "Australia/Lord_Howe", "2026-04-05T01:00:00Z", "2026-04-04T13:00:00Z", "24h30m"},
		{Midnight, "Pacific/Apia", "2011-12-30T09:59:00Z", "2011-12-29T10:00:00Z", "24h"},
		// the 31st; there was no 30th
		{Midnight, "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "24h"},
		// At 00:01 clocks went back to 23:01, so that the day began twice.
		{Midnight, "America/St_Johns", "2010-11-07T02:31:00Z", "2010-11-07T02:30:00Z", "25h"},
		{Midnight, "America/St_Johns", "2010-11-07T03:00:00Z", "2010-11-07T02:30:00Z", "25h"},
		{Monday, "Europe/Berlin", "2026-11-25T12:00:00Z", "2026-11-22T23:00:00Z", "168h"},
		{Monday, "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-18T22:00:00Z", "169h"},
		{Monday, "UTC", "2026-11-22T23:59:59Z", "2026-11-16T00:00:00Z", "168h"},
		{Month, "UTC", "2026-02-11T00:00:00Z", "2026-02-01T00:00:00Z", "672h"},
		{Month, "Europe/Berlin", "2026-10-31T23:30:00Z", "2026-10-31T23:00:00Z", "720h"},
		{Month, "Europe/Berlin", "2026-10-31T22:30:00Z", "2026-09-30T22:00:00Z", "745h"},
		{Hour, "Asia/Kolkata", "2026-11-20T12:00:00Z", "2026-11-20T11:30:00Z", "1h"},
		{Hour, "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-25T01:00:00Z", "1h"},
		{Hour, "Australia/Lord_Howe", "2026-04-04T15:10:00Z", "2026-04-04T15:00:00Z", "30m"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		begin, next := calendar(t, c.unit, c.zone).Of(at.UnixNano())
		length, _ := time.ParseDuration(c.length)
		if got := time.Unix(0, begin).UTC().Format(time.RFC3339); got != c.begin ||
			time.Duration(next-begin) != length {
			t.Errorf("%s in %q at %s: begins %s and lasts %s; want %s and %s", c.unit, c.zone, c.at, got,
				time.Duration(next-begin), c.begin, length)
		}
	}
}

// TestPeriodsOfDays: several days are as long as the days in them, and in UTC they begin at multiples of their length.
func TestPeriodsOfDays(t *testing.T) {
	for _, c := range []struct {
		days                    int
		zone, at, begin, length string
	}{
		{1, "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "23h"},
		{1, "Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-24T22:00:00Z", "25h"},
		{7, "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-21T22:00:00Z", "169h"},
		{7, "UTC", "2026-10-25T12:00:00Z", "2026-10-22T00:00:00Z", "168h"}, // a Thursday, as 1 January 1970
		{2, "UTC", "1969-12-31T12:00:00Z", "1969-12-30T00:00:00Z", "48h"},
	} {
		days, err := NewDays(c.days, c.zone)
		at, err2 := time.Parse(time.RFC3339, c.at)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		begin, next := days.Of(at.UnixNano())
		length, _ := time.ParseDuration(c.length)
		if got := time.Unix(0, begin).UTC().Format(time.RFC3339); got != c.begin ||
			time.Duration(next-begin) != length {
			t.Errorf("%d days in %q at %s: begin %s and last %s; want %s and %s", c.days, c.zone, c.at, got,
				time.Duration(next-begin), c.begin, length)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.IntRange(1, 366).Draw(t, "days")
		c, _ := NewDays(days, "UTC")
		at, length := rapid.Int64Range(-1e9, 2e9).Draw(t, "at")*int64(time.Second), int64(days)*24*int64(time.Hour)
		want := at - (at%length+length)%length
		if begin, next := c.Of(at); begin != want || next != want+length {
			t.Fatalf("%d days at %d: %d … %d; want a multiple, %d", days, at, begin, next, want)
		}
	})
}

// TestPeriodsCoverAllTime: each moment is in one period, and its neighbours begin where it ends.
func TestPeriodsCoverAllTime(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "America/St_Johns",
		"Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata", "Africa/Casablanca", "Asia/Tehran", "Antarctica/Troll"}
	rapid.Check(t, func(t *rapid.T) {
		c, err := NewCalendar(rapid.SampledFrom(Units()).Draw(t, "unit"), rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		longest := c.Unit.Longest()
		if c.Unit == Midnight {
			c.Days = rapid.IntRange(0, 10).Draw(t, "days")
			longest += time.Duration(c.days()-1) * 24 * time.Hour
		}
		at := rapid.Int64Range(1e9, 2e9).Draw(t, "at") * int64(time.Second)
		begin, next := c.Of(at)
		if begin > at || at >= next || time.Duration(next-begin) > longest {
			t.Fatalf("%d is in %d … %d", at, begin, next)
		}
		if b, n := c.Of(begin); b != begin || n != next {
			t.Fatalf("the first moment is in %d … %d", b, n)
		}
		if b, n := c.Of(next - 1); b != begin || n != next {
			t.Fatalf("the last moment is in %d … %d", b, n)
		}
		if b, _ := c.Of(next); b != next {
			t.Fatalf("the next period begins at %d, want %d", b, next)
		}
	})
}

func TestWrongZone(t *testing.T) {
	for _, zone := range []string{"Europe/Munich", "Local", "../../etc/passwd"} {
		if _, err := NewCalendar(Midnight, zone); err == nil {
			t.Errorf("%q is a zone", zone)
		}
	}
}

func TestText(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		0:                              {"0s", "0s"},
		500 * time.Millisecond:         {"500ms", "500ms"},
		90 * time.Second:               {"1m30s", "1m30s"},
		10 * time.Minute:               {"10m", "10m"},
		24 * time.Hour:                 {"24h", "24h"},
		time.Hour + time.Second:        {"1h0m1s", "1h0m1s"},
		7 * 24 * time.Hour:             {"7d", "168h"},
		7*24*time.Hour + 2*time.Minute: {"168h2m", "168h2m"},
	} {
		if got := [2]string{Text(d), Hours(d)}; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
		if back, err := time.ParseDuration(Hours(d)); err != nil || back != d {
			t.Errorf("%v reads back as %v, %v", d, back, err)
		}
	}
}

// A stretch has as many windows as fit, of which the oldest begins a block. Windows before 1970 do too.
func TestStretches(t *testing.T) {
	for _, c := range []struct {
		length, every time.Duration
		blocks        int64
	}{{time.Hour, 5 * time.Minute, 12}, {day, 5 * time.Minute, 288}, {day, time.Minute, 288}, {day, 4 * time.Minute, 180},
		{3 * day, time.Minute, 288}, {25 * time.Hour, time.Minute, 250}, {366 * day, time.Second, 288},
		{time.Hour, time.Hour, 1}} {
		s := NewStretch(c.length, c.every)
		if s.Blocks() != c.blocks {
			t.Errorf("%s of %s has %d blocks; want %d", Name(c.length), c.every, s.Blocks(), c.blocks)
		}
		n := int64(c.length / c.every)
		for _, newest := range []int64{-3 * n, -1, 0, 1, 999, 1_000_003} {
			first, size := s.First(newest), s.block()
			start, windows := s.Since(newest)
			// The oldest window begins a block, is in the stretch, and the block before it is not as a whole.
			if windows > n || windows <= n-size || first*size < newest-n+1 || (first-1)*size >= newest-n+1 ||
				s.Block(first*size) != first || s.Block(first*size-1) != first-1 || s.Window(start) != first*size ||
				s.Block(newest)-first+1 > c.blocks+1 {
				t.Errorf("%s of %s up to %d: from block %d of %d windows, %d in all", Name(c.length), c.every, newest, first,
					size, windows)
			}
		}
	}
}
