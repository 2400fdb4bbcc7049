package config

import (
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/windows"
)

// File is what one or more streams files say, checked as a whole. It must not be changed and is then safe for
// concurrent use.
type File struct {
	// Streams in the order of files and of lines. Names are unique.
	Streams []*Stream
	// Revision is raised to go back to an earlier definition; Removed names the streams that the files end.
	Revision int
	Removed  []string
	// Budgets are the shared ones, then those that streams hold inline. Names are unique.
	Budgets []*Budget
}

// Stream is one input topic's way to one output topic.
type Stream struct {
	Name        string
	Description string
	Input       Input
	Unit        string
	// Groups is the public list, never empty: a stream without groups has one, "".
	Groups []string
	// MaxGroups is in how many groups of a window one user counts, at least 1.
	MaxGroups int
	Grid      *mechanisms.Grid
	// Prior is the base measure: "adaptive", "tapered", "cells" or "uniform".
	Prior string
	// ExpectedUsers is a public forecast of the users in one window and group; 0: unknown.
	ExpectedUsers int64
	Window        Window
	// Contribution says which of a user's values counts.
	Contribution windows.Policy
	// Releases are never empty; names are unique.
	Releases []Release
	// MinUsers withholds the other releases of a window with few users; nil: nothing is withheld.
	MinUsers *MinUsers
	// Rejects, Late and Output are topics; the first two are optional, "", and hold personal data.
	Rejects, Late, Output string
	// Budget pays for the stream; several streams may hold the same one.
	Budget *Budget
	// Withhold says that windows which the budget cannot pay are withheld; otherwise the schedule must be payable.
	Withhold bool
	// Fresh says that a budget which the input topic was charged to before does not matter.
	Fresh bool
	// Continues names a former budget whose spending this one takes over; "": none.
	Continues string
	// Definition is what says all of this again; see [Definition].
	Definition Definition
	// Where the stream is written, as "file:line".
	Where string
}

// Input says how to read a stream's events.
type Input struct {
	Topic string
	// Format is "json" or "csv".
	Format string
	// User and Value are field paths (dots), or KeyField and ValueField.
	User, Value string
	// Time is a field path, or TimestampField.
	Time string
	// Group is a field path; "": the stream has no groups.
	Group string
	// UserPartitioned says that all records of a user are in one partition.
	UserPartitioned bool
	// Columns names the columns of CSV, in order; absent for other formats.
	Columns []string
	// Delimiter parts the columns of CSV.
	Delimiter rune
	// MaxFuture bounds how far an event's time may lie ahead of its record's timestamp.
	MaxFuture time.Duration
}

// What stands for a part of the record instead of a field.
const (
	KeyField       = "$key"       // the record's key
	ValueField     = "$value"     // the record's value, a bare number
	TimestampField = "$timestamp" // the record's timestamp
)

// DefaultMaxFuture is how far ahead of its record's timestamp an event may lie unless max_future says otherwise: more
// than clocks differ, less than most windows last.
const DefaultMaxFuture = 5 * time.Minute

// Window is the schedule of a stream. All durations are whole seconds.
type Window struct {
	// Size is how long a window is, Every how far apart starts are, Grace how long after its end it is cut.
	Size, Every, Grace time.Duration
	// StartNow lets the first window begin at the next boundary; otherwise Start says when, in Unix nanoseconds.
	StartNow bool
	Start    int64
	// End is the end of the last window in Unix nanoseconds; 0: there is none.
	End int64
}

// Release is one statistic of every window and group.
type Release struct {
	Name  string
	Query mechanisms.Query
	// Mechanism is what the query became.
	Mechanism mechanisms.Mechanism
	// Where the release is written, as "file:line".
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
	// Shared budgets stand under `budgets`; the others belong to the stream of their name.
	Shared bool
	// Where the budget is written, as "file:line".
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
