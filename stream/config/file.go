package config

import (
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/windows/period"
)

// File is the content of one or more streams files, checked as a whole. It is safe for concurrent use as long as
// nobody changes it.
type File struct {
	// Streams in the order of files and of lines. Names are unique.
	Streams []*Stream
	// Revision is raised to go back to an earlier definition. Removed names the streams that the files end.
	Revision int
	Removed  []string
	// Budgets are the shared ones, and then those of single streams. Names are unique.
	Budgets []*Budget
	// FromData are the values that were taken from data and that nobody has chosen anew since. They do not matter to a
	// service.
	FromData []FromData
}

// FromDataComment begins the comment behind a value that was taken from data. A colon and the value follow, so that a
// value that is changed no longer counts as such, even if its comment stays.
const FromDataComment = "from the data"

// FromData says where such a value is.
type FromData struct {
	Where string // file:line
	Key   string // such as streams[checkout].window.size
}

// StreamsOf returns the streams that a budget pays for.
func (f *File) StreamsOf(b *Budget) []*Stream {
	var streams []*Stream
	for _, s := range f.Streams {
		if s.Budget == b {
			streams = append(streams, s)
		}
	}
	return streams
}

// Stream returns the stream of that name, or nil.
func (f *File) Stream(name string) *Stream {
	for _, s := range f.Streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Budget limits what one user may lose. A budget that is not listed under `budgets` belongs to the stream of the same
// name.
type Budget struct {
	Name string
	budget.Limit
	// Where says where the budget is defined, as "file:line".
	Where string
}

// Duration writes a duration as streams files do: 15m instead of 15m0s, 7d instead of 168h0m0s.
func Duration(d time.Duration) string { return period.Text(d) }

// Period formats a budget's period.
func Period(per time.Duration) string {
	if per == 0 {
		return "forever"
	}
	return Duration(per)
}
