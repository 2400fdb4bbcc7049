package config

import (
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/windows"
)

// File is the content of one or more streams files, checked as a whole. It is safe for concurrent use as long as nobody
// changes it.
type File struct {
	// Streams in the order of files and of lines. Names are unique.
	Streams []*Stream
	// Revision is raised to go back to an earlier definition. Removed names the streams that the files end.
	Revision int
	Removed  []string
	// Budgets are the shared ones, then those that streams hold inline. Names are unique.
	Budgets []*Budget
}

// Stream reads one input topic and publishes to one output topic.
type Stream struct {
	Name        string
	Description string
	Input       Input
	Unit        string
	// Groups is the public list, never empty: a stream without groups has one, "".
	Groups []string
	// MaxGroups is in how many groups of a window one user counts, at least 1.
	MaxGroups int
	// MaxWindows limits the windows in which one user counts. It is nil if everybody counts in every window.
	MaxWindows *MaxWindows
	Grid       *mechanisms.Grid
	// Prior is the base measure: "adaptive", "tapered", "cells" or "uniform".
	Prior string
	// ExpectedUsers is a public forecast of the users in one window and group, or 0 if unknown.
	ExpectedUsers int64
	Window        Window
	// Contribution says which of a user's values counts.
	Contribution windows.Policy
	// Releases are drawn in every window; names are unique. There may be none if there are releases on change.
	Releases []Release
	// Watches are alarms, and then the releases that are published on change. Names are unique among releases and watches.
	Watches []Watch
	// MinUsers withholds the other releases of a window with few users. If nil, nothing is withheld.
	MinUsers *MinUsers
	// Rejects, Late and Output are topics. The first two hold personal data and are optional: "" if absent.
	Rejects, Late, Output string
	// OutputFormat is how figures are written: OutputJSON or OutputAvro.
	OutputFormat string
	// Budget pays for the stream; several streams may hold the same one.
	Budget *Budget
	// Withhold says that windows are withheld if the budget cannot pay for them. Otherwise it must pay for the whole
	// schedule.
	Withhold bool
	// Fresh says to ignore what was charged for the input topic to other budgets before.
	Fresh bool
	// Continues names a former budget whose spending this one takes over, or is "".
	Continues string
	// Definition is the stream in a normal form.
	Definition Definition
	// Where says where the stream is defined, as "file:line".
	Where string
}

// Input says where a stream's events come from and how to read them.
type Input struct {
	Topic string
	// Spec lacks the stream's groups and grid: [Stream.Codec] has them.
	codec.Spec
	// UserPartitioned says that all records of a user are in one partition.
	UserPartitioned bool
}

// Codec says how to read the stream's records.
func (s *Stream) Codec() codec.Spec {
	spec := s.Input.Spec
	spec.Groups, spec.Grid = s.Groups, s.Grid
	return spec
}

// DefaultMaxFuture is the default of max_future. It is more than clocks usually differ and less than most windows last.
const DefaultMaxFuture = 5 * time.Minute

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

// Release is one statistic of every window and group.
type Release struct {
	Name  string
	Query mechanisms.Query
	// Mechanism answers the query.
	Mechanism mechanisms.Mechanism
	// Where says where the release is defined, as "file:line".
	Where string
}

// MinUsers withholds a window's other releases while the released count named Release is below Count.
type MinUsers struct {
	Count   int64
	Release string
}

// Budget limits what one user may lose.
type Budget struct {
	Name string
	budget.Limit
	// Shared says that the budget is listed under `budgets`. Other budgets belong to the stream of the same name.
	Shared bool
	// Where says where the budget is defined, as "file:line".
	Where string
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
