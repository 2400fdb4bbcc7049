package windows

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func at(t *testing.T, s string) int64 {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return v.UnixNano()
}

func TestContaining(t *testing.T) {
	f := func(s Schedule, moment string, want ...string) {
		t.Helper()
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for w := range s.Containing(at(t, moment)) {
			got = append(got, format(w.Start)+"/"+format(w.End))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", moment, d)
		}
	}
	tumbling := Schedule{Size: 15 * time.Minute, Every: 15 * time.Minute, Start: at(t, "2026-11-20T08:00:00Z")}
	f(tumbling, "2026-11-20T07:59:59.999999999Z")
	f(tumbling, "2026-11-20T08:00:00Z", "2026-11-20T08:00:00Z/2026-11-20T08:15:00Z")
	f(tumbling, "2026-11-20T08:14:59.999999999Z", "2026-11-20T08:00:00Z/2026-11-20T08:15:00Z")
	f(tumbling, "2026-11-20T08:15:00Z", "2026-11-20T08:15:00Z/2026-11-20T08:30:00Z")

	hopping := Schedule{Size: time.Minute, Every: 20 * time.Second, Start: at(t, "1969-12-31T23:58:00Z"),
		End: at(t, "1970-01-01T00:01:00Z")}
	f(hopping, "1969-12-31T23:58:00Z", "1969-12-31T23:58:00Z/1969-12-31T23:59:00Z")
	f(hopping, "1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:00Z/1970-01-01T00:00:00Z",
		"1969-12-31T23:59:20Z/1970-01-01T00:00:20Z", "1969-12-31T23:59:40Z/1970-01-01T00:00:40Z")
	f(hopping, "1970-01-01T00:00:45Z", "1970-01-01T00:00:00Z/1970-01-01T00:01:00Z")
	f(hopping, "1970-01-01T00:01:00Z")
}

// drawSchedule returns a random short schedule and a list of its windows, counted one by one.
func drawSchedule(t *rapid.T) (s Schedule, windows []Window) {
	const second = int64(time.Second)
	every := rapid.Int64Range(1, 5).Draw(t, "every")
	size := every * rapid.Int64Range(1, 4).Draw(t, "ratio")
	start := every * rapid.Int64Range(-8, 8).Draw(t, "start")
	n := rapid.Int64Range(1, 12).Draw(t, "windows")
	s = Schedule{Size: time.Duration(size) * time.Second, Every: time.Duration(every) * time.Second,
		Start: start * second, End: (start + size + (n-1)*every) * second}
	if s.End == 0 {
		t.Skip("an end of 0 means none")
	}
	for second := start; second+size <= s.End/int64(time.Second); second++ {
		if second%every == 0 {
			windows = append(windows, Window{second * int64(time.Second), (second + size) * int64(time.Second)})
		}
	}
	if rapid.Bool().Draw(t, "endless") {
		s.End = 0
	}
	return s, windows
}

func TestScheduleMatchesCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, windows := drawSchedule(t)
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		limit := windows[len(windows)-1].End // after this an endless schedule has more windows than were counted

		var walked []Window
		for w, ok := s.First(), true; ok && w.End <= limit; w, ok = s.Next(w) {
			walked = append(walked, w)
		}
		if d := cmp.Diff(windows, walked); d != "" {
			t.Fatalf("First and Next (-want +got)\n%s", d)
		}

		moment := rapid.Int64Range(windows[0].Start-6e9, limit+6e9).Draw(t, "moment")
		if rapid.Bool().Draw(t, "whole second") {
			moment -= moment % 1e9
		}
		due := int64(0)
		for _, w := range windows {
			if s.Due(w) <= moment {
				due++
			}
		}
		if got := s.DueSince(windows[0], min(moment, limit+int64(s.Grace))); got != due &&
			moment <= limit+int64(s.Grace) {
			t.Fatalf("DueSince(%d) = %d, want %d", moment, got, due)
		}
		var want, got []Window
		for _, w := range windows {
			if w.Start <= moment && moment < w.End {
				want = append(want, w)
			}
		}
		for w := range s.Containing(moment) {
			if w.End <= limit {
				got = append(got, w)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("Containing(%d) (-want +got)\n%s", moment, d)
		}

		next, ok := s.After(moment)
		i := slices.IndexFunc(windows, func(w Window) bool { return w.End > moment })
		switch {
		case i >= 0 && (!ok || next != windows[i]):
			t.Fatalf("After(%d) = %v, %v, want %v", moment, next, ok, windows[i])
		case i < 0 && s.End != 0 && ok:
			t.Fatalf("After(%d) = %v, want none", moment, next)
		case i < 0 && s.End == 0 && (!ok || next.End <= moment || next.End-int64(s.Every) > moment):
			t.Fatalf("After(%d) = %v, %v", moment, next, ok)
		}
	})
}

func TestScheduleThatEndsBeforeItBegins(t *testing.T) {
	s := Schedule{Size: 10 * time.Second, Every: 10 * time.Second, Start: 20e9, End: 20e9}
	if w, ok := s.After(0); ok {
		t.Errorf("it has the window %v", w)
	}
}

func TestNextBoundary(t *testing.T) {
	f := func(t0, every, want int64) {
		t.Helper()
		if got := NextBoundary(t0, time.Duration(every)); got != want {
			t.Errorf("NextBoundary(%d, %d) = %d, want %d", t0, every, got, want)
		}
	}
	f(0, 10, 0)
	f(1, 10, 10)
	f(10, 10, 10)
	f(-1, 10, 0)
	f(-10, 10, -10)
	f(-11, 10, -10)
	f(-19, 10, -10)
}

// Event times come from outside. The most extreme ones must not overflow into a window or make Containing slow.
func TestExtremeTimes(t *testing.T) {
	for _, start := range []int64{0, NextBoundary(-horizon, time.Second),
		floor(horizon-int64(time.Hour), time.Second)} {
		s := Schedule{Size: time.Hour, Every: time.Second, Start: start}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		for _, moment := range []int64{math.MinInt64, -horizon, -1, 0, 1, horizon - 1, horizon, math.MaxInt64} {
			n := 0
			for w := range s.Containing(moment) {
				if n++; moment < w.Start || moment >= w.End || w.Start < s.Start {
					t.Errorf("start %d: Containing(%d) gives %v", s.Start, moment, w)
				}
			}
			if n > 3600 {
				t.Errorf("start %d: Containing(%d) gives %d windows", s.Start, moment, n)
			}
			if w, ok := s.After(moment); ok && (w.End <= moment || w.Start < s.Start) {
				t.Errorf("start %d: After(%d) = %v", s.Start, moment, w)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	good := Schedule{Size: 10 * time.Minute, Every: 5 * time.Minute, Grace: 30 * time.Second, Start: 300e9, End: 900e9}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	if due := good.Due(good.First()); due != 930e9 {
		t.Errorf("Due = %d, want the end and the grace, 930e9", due)
	}
	f := func(change func(*Schedule), want ...string) {
		t.Helper()
		s := good
		change(&s)
		err := s.Validate()
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: error %v does not say %q", s, err, w)
			}
		}
	}
	f(func(s *Schedule) { s.Size = 0 }, "size: 0s; want from 1s to 3660d")
	f(func(s *Schedule) { s.Size = -time.Second }, "size: -1s; want from 1s to")
	f(func(s *Schedule) { s.Size = 11 * longest }, "size: 40260d; want from 1s to 3660d")
	f(func(s *Schedule) { s.Size = 1500 * time.Millisecond }, "size: 1.5s; want whole seconds")
	f(func(s *Schedule) { s.Every = 0 }, "every: 0s; want from 1s to")
	f(func(s *Schedule) { s.Every = 1500 * time.Millisecond }, "every: 1.5s; want whole seconds")
	f(func(s *Schedule) { s.Every = 20 * time.Minute },
		"every: 20m is longer than size, which is 10m", "want at most 10m")
	f(func(s *Schedule) { s.Every = 4 * time.Minute },
		"size: 10m is not a multiple of every, which is 4m; want 8m or 12m")
	f(func(s *Schedule) { s.Grace = -time.Second }, "grace: -1s; want from 0s to")
	f(func(s *Schedule) { s.Grace = time.Millisecond }, "grace: 1ms; want whole seconds")
	f(func(s *Schedule) { s.Start = 301e9 }, "start: 1970-01-01T00:05:01Z is not a multiple of every (5m)",
		"want 1970-01-01T00:05:00Z or 1970-01-01T00:10:00Z")
	f(func(s *Schedule) { s.Start = math.MinInt64 }, "start: 1677-09-21", "want from 1823-11-12")
	f(func(s *Schedule) { s.Start = math.MaxInt64 }, "start: 2262-04-11", "to 2116-02-20")
	f(func(s *Schedule) { s.End = 600e9 },
		"end: 1970-01-01T00:10:00Z is before the end of the first window; want 1970-01-01T00:15:00Z or later")
	f(func(s *Schedule) { s.End = 1000e9 }, "end: 1970-01-01T00:16:40Z is not a multiple of every (5m)",
		"want 1970-01-01T00:15:00Z or 1970-01-01T00:20:00Z")
	f(func(s *Schedule) { s.End = math.MaxInt64 }, "end: 2262-04-11", "want 2116-02-20")
}

func TestContainingDoesNotAllocate(t *testing.T) {
	s := Schedule{Size: time.Hour, Every: time.Minute}
	sum := int64(0)
	allocs := testing.AllocsPerRun(100, func() {
		for w := range s.Containing(int64(5 * time.Hour)) {
			sum += w.Start
		}
	})
	if allocs != 0 {
		t.Errorf("ranging over Containing allocates %v times", allocs)
	}
}
