package stage

import (
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// Schedule is the timetable of a stream whose first window starts at start, in Unix nanoseconds.
func Schedule(s *config.Stream, start int64) windows.Schedule {
	return windows.Schedule{Size: s.Window.Size, Every: s.Window.Every, Grace: s.Window.Grace, Start: start, End: s.Window.End}
}
