package config

import (
	"fmt"
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
		meaning: "how long a window waits for late events after its end. Events that are read after that count in no figure",
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

// check checks that the keys fit together.
func (w *Window) check(m mapping) {
	_, ends := m.values["end"]
	switch {
	case w.Every > w.Size:
		m.values["every"].refuse("%s is longer than size, which is %s: events between windows would be lost; want at most %[2]s", Duration(w.Every), Duration(w.Size))
		return
	case w.Size%w.Every != 0:
		m.values["size"].refuse("%s is not a multiple of every, which is %s; want %s", Duration(w.Size), Duration(w.Every), multiples(w.Size, w.Every))
		return
	case !w.StartNow && w.Start%int64(w.Every) != 0:
		m.values["start"].refuse("%s is not a multiple of every (%s) since 1970; want %s", clock(w.Start), Duration(w.Every), around(w.Start, w.Every))
		return
	case ends && w.End%int64(w.Every) != 0:
		m.values["end"].refuse("%s is not a multiple of every (%s) since 1970; want %s", clock(w.End), Duration(w.Every), around(w.End, w.Every))
		return
	case ends && w.End < w.Start+int64(w.Size): // Start is 0 if it is now
		m.values["end"].refuse("%s is before the end of the first window; want %s or later", clock(w.End), clock(w.Start+int64(w.Size)))
		return
	}
	schedule := windows.Schedule{Size: w.Size, Every: w.Every, Grace: w.Grace, Start: w.Start, End: w.End}
	if err := schedule.Validate(); err != nil {
		m.refuseErr(err)
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

// multiples lists the multiples of step next to d.
func multiples(d, step time.Duration) string {
	below := d / step * step
	return fmt.Sprintf("%s or %s", Duration(below), Duration(below+step))
}

// around lists the boundaries next to t.
func around(t int64, every time.Duration) string {
	above := windows.NextBoundary(t, every)
	return fmt.Sprintf("%s or %s", clock(above-int64(every)), clock(above))
}

// Overlapping returns the greatest number of windows that can overlap a stretch of time. A stretch of 0 is one moment.
//
// A window that starts at k·every overlaps [t, t+stretch) if k lies in an interval of length (stretch + size)/every.
func (w Window) Overlapping(stretch time.Duration) int64 {
	sum, every := uint64(stretch)+uint64(w.Size), uint64(w.Every)
	return int64(sum/every + min(sum%every, 1))
}
