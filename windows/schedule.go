package windows

import (
	"fmt"
	"iter"
	"time"

	"github.com/louver/louver/windows/period"
)

const (
	// horizon bounds the windows of every schedule to 146 years either side of 1970, so that no sum of a time and a
	// duration overflows.
	horizon int64 = 1 << 62
	// longest is the upper limit of a schedule's durations.
	longest = 10 * 366 * 24 * time.Hour
)

// Schedule is the public timetable of a stream's windows. They begin at multiples of Every since 1970 (UTC), not before
// Start, and end not after End. If Every < Size, they overlap (hopping windows).
//
// The other methods need a schedule that [Schedule.Validate] accepts. Its methods are safe for concurrent use.
type Schedule struct {
	Size  time.Duration // length of a window, a multiple of Every
	Every time.Duration // from the start of a window to the start of the next, whole seconds
	Grace time.Duration // from the end of a window to its closing, whole seconds, may be 0
	Start int64         // start of the first window, Unix nanoseconds, a multiple of Every
	End   int64         // end of the last window, Unix nanoseconds; 0 if there is no last window
}

// Window is the half-open interval [Start, End) of event time, in Unix nanoseconds.
type Window struct{ Start, End int64 }

// Error says which field of a [Schedule] is wrong, by its name in streams files, and what would be right.
type Error struct{ Field, Problem string }

func (e *Error) Error() string { return "window " + e.Field + ": " + e.Problem }

// wrong makes an [Error].
func wrong(field, problem string, args ...any) error {
	return &Error{field, fmt.Sprintf(problem, args...)}
}

// Validate checks the rules of schedules. It returns an [Error] or nil.
func (s Schedule) Validate() error {
	for _, d := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{{"size", s.Size, time.Second}, {"every", s.Every, time.Second}, {"grace", s.Grace, 0}} {
		if d.value < d.least || d.value > longest {
			return wrong(d.name, "%s; want from %s to %s", period.Text(d.value),
				period.Text(d.least), period.Text(longest))
		}
		if d.value%time.Second != 0 {
			return wrong(d.name, "%s; want whole seconds", period.Text(d.value))
		}
	}
	size, every := period.Text(s.Size), period.Text(s.Every)
	switch first := s.Start + int64(s.Size); {
	case s.Every > s.Size:
		return wrong("every",
			"%s is longer than size, which is %s: events between windows would be lost; want at most %s",
			every, size, size)
	case s.Size%s.Every != 0:
		below := s.Size / s.Every * s.Every
		return wrong("size", "%s is not a multiple of every, which is %s; want %s or %s",
			size, every, period.Text(below), period.Text(below+s.Every))
	case s.Start < -horizon || s.Start > horizon-int64(s.Size):
		return wrong("start", "%s; want from %s to %s", format(s.Start), format(-horizon),
			format(horizon-int64(s.Size)))
	case floor(s.Start, s.Every) != s.Start:
		return wrong("start", "%s is not a multiple of every (%s) since 1970; want %s", format(s.Start), every,
			around(s.Start, s.Every))
	case s.End == 0:
		return nil
	case s.End > horizon:
		return wrong("end", "%s; want %s at the latest", format(s.End), format(horizon))
	case floor(s.End, s.Every) != s.End:
		return wrong("end", "%s is not a multiple of every (%s) since 1970; want %s", format(s.End), every,
			around(s.End, s.Every))
	case s.End < first:
		return wrong("end", "%s is before the end of the first window; want %s or later", format(s.End), format(first))
	}
	return nil
}

// around lists the multiples of every on both sides of t, which is not one itself.
func around(t int64, every time.Duration) string {
	below := floor(t, every)
	return format(below) + " or " + format(below+int64(every))
}

// Due returns the first moment at which w may be closed: its end plus the grace, in Unix nanoseconds.
func (s Schedule) Due(w Window) int64 { return w.End + int64(s.Grace) }

// Containing returns the windows of the schedule that contain the event time t, the earliest first. t may be any
// number. Ranging over it does not allocate.
func (s Schedule) Containing(t int64) iter.Seq[Window] {
	return func(yield func(Window) bool) { s.containing(t, yield) }
}

func (s Schedule) containing(t int64, yield func(Window) bool) {
	if t < s.Start || t >= s.last() {
		return
	}
	latest := floor(t, s.Every)
	for start := max(s.Start, latest-int64(s.Size)+int64(s.Every)); start <= latest; start += int64(s.Every) {
		if w := s.at(start); w.End > s.last() || !yield(w) {
			return
		}
	}
}

// First returns the first window of the schedule.
func (s Schedule) First() Window { return s.at(s.Start) }

// Next returns the window that follows w, and false if w is the last.
func (s Schedule) Next(w Window) (Window, bool) { return s.After(w.End) }

// After returns the first window of the schedule that ends after end, a time in Unix nanoseconds that need not be
// aligned, and false if there is none.
func (s Schedule) After(end int64) (Window, bool) {
	if first := s.First(); end < first.End {
		return first, first.End <= s.last() // otherwise it would end before it begins
	}
	if end >= s.last() {
		return Window{}, false
	}
	w := s.at(floor(end, s.Every) + int64(s.Every) - int64(s.Size))
	return w, w.End <= s.last()
}

// DueSince returns how many windows of the schedule are due at t, in Unix nanoseconds, from w on. w is one of them.
func (s Schedule) DueSince(w Window, t int64) int64 {
	if latest := min(t-int64(s.Grace), s.last()); latest >= w.End {
		return (latest-w.End)/int64(s.Every) + 1
	}
	return 0
}

func (s Schedule) at(start int64) Window { return Window{start, start + int64(s.Size)} }

// last returns the time after which no window ends.
func (s Schedule) last() int64 {
	if s.End != 0 {
		return s.End
	}
	return horizon
}

// NextBoundary returns the first multiple of every since 1970 at or after t, in Unix nanoseconds; every > 0. A window
// that begins there is entirely after t. t must be a time that a [Schedule] could have.
func NextBoundary(t int64, every time.Duration) int64 {
	if f := floor(t, every); f < t {
		return f + int64(every)
	}
	return t
}

// floor returns the greatest multiple of every at or before t, also for t before 1970, where Go's division would
// round up.
func floor(t int64, every time.Duration) int64 {
	r := t % int64(every)
	if r < 0 {
		r += int64(every)
	}
	return t - r
}

func format(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339Nano) }
