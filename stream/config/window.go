package config

import (
	"errors"
	"time"

	"github.com/louver/louver/windows"
)

var windowForm = form{
	{name: "size", required: true, example: "15m", meaning: "how long a window is",
		value: into(duration(time.Second), func(w *Window, v time.Duration) { w.Size = v })},
	{name: "every", absent: "as `size`", example: "5m",
		meaning: "the time from the start of one window to the start of the next. `size` must be a multiple of it. If it is less than `size`, windows overlap, and each costs ε",
		value:   into(duration(time.Second), func(w *Window, v time.Duration) { w.Every = v })},
	{name: "grace", required: true, example: "30s",
		meaning: "how long a window waits for late events after its end. Events that are read after that count in no figure. When a broker was away, windows that are due wait as long again from its return",
		value:   into(duration(0), func(w *Window, v time.Duration) { w.Grace = v })},
	{name: "start", fallback: "now", example: "2026-11-20T08:00:00Z",
		meaning: "when the first window starts: a multiple of `every` since 1970. `now`: the next such time. If the start is in the past, windows that are over are released, and paid for, at once",
		value: into(orWord("now", instant(), parseInstant), func(w *Window, v *int64) {
			if w.StartNow = v == nil; v != nil {
				w.Start = *v
			}
		})},
	{name: "end", absent: "no end", example: "2026-12-20T08:00:00Z", meaning: "when the last window ends: a multiple of `every` since 1970",
		value: into(instant(), func(w *Window, v int64) { w.End = v })},
}

func window() kind[Window] {
	return mappingOf(windowForm, func(m mapping, w *Window, ok bool) {
		if w.Every == 0 {
			w.Every = w.Size
		}
		if ok {
			w.check(m)
		}
	})
}

// check places what is wrong with the schedule at its key. The start is 0 if it is now.
func (w *Window) check(m mapping) {
	err := (*windows.Error)(nil)
	if _, ends := m.values["end"]; ends && w.End == 0 { // which means no end to a schedule
		m.values["end"].refuse("%s is too early; want the end of a window", clock(w.End))
	} else if errors.As(w.Schedule(w.Start).Validate(), &err) {
		m.values[err.Field].refuse("%s", err.Problem)
	}
}

// Schedule returns the schedule of a stream whose first window starts at start, in Unix nanoseconds.
func (w Window) Schedule(start int64) windows.Schedule {
	return windows.Schedule{Size: w.Size, Every: w.Every, Grace: w.Grace, Start: start, End: w.End}
}

// FirstStart returns when the first window starts, in Unix nanoseconds, for a stream that begins at now.
func (w Window) FirstStart(now time.Time) int64 {
	if w.StartNow {
		return windows.NextBoundary(now.UnixNano(), w.Every)
	}
	return w.Start
}
