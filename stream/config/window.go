package config

import (
	"time"

	"github.com/louver/louver/windows"
)

// Window is the schedule of a stream. All durations are whole seconds.
type Window struct {
	// Size is the length of a window, Every the time between two starts. A window is cut Grace after its end.
	Size, Every, Grace time.Duration
	// StartNow lets the first window begin at the next boundary; otherwise Start says when, in Unix nanoseconds.
	StartNow bool
	Start    int64
	// End is the end of the last window in Unix nanoseconds, or 0 if there is no last window.
	End int64
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
