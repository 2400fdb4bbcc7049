package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/windows"
)

// Stream reads one input topic and publishes to one output topic.
type Stream struct {
	Name        string
	Description string
	Input       Input
	Unit        string
	// Groups is the public list: a stream without groups has one, "". It is empty only if groups are found.
	Groups []string
	// Found says how groups are found; nil if they are listed.
	Found *Found
	// MaxGroups is in how many groups of a window one user counts, at least 1.
	MaxGroups int
	// Together is the name of all groups together, added up; "" if that is not published.
	Together string
	// MaxWindows limits the windows in which one user counts. It is nil if everybody counts in every window.
	MaxWindows *MaxWindows
	Grid       *mechanisms.Grid
	// Prior is the base measure: "adaptive", "tapered", "cells" or "uniform".
	Prior string
	// ExpectedUsers is a public forecast of the users in one window and group, or 0 if unknown.
	ExpectedUsers int64
	Window        Window
	// Contribution says which of a user's values counts, or what all of them make. Unsaid says that the file does not
	// say it.
	Contribution windows.Policy
	Unsaid       bool
	// Figures are everything that the stream publishes, in the order of their kinds and of the file. Names are
	// unique. [Stream.Add] keeps the order.
	Figures []Figure
	// MinUsers withholds the other releases of a window with few users. If nil, nothing is withheld.
	MinUsers *MinUsers
	// Rejects, Late and Output are topics. The first two hold personal data and are optional: "" if absent.
	Rejects, Late, Output string
	// OutputFormat is how figures are written: OutputJSON or OutputAvro.
	OutputFormat string
	// Tombstones says that a record without a value ends each series of a group that left the list.
	Tombstones bool
	// Budget pays for the stream; several streams may hold the same one.
	Budget *Budget
	// Withhold says that windows are withheld if the budget cannot pay for them. Otherwise it must pay for the whole
	// schedule.
	Withhold bool
	// Fresh says that earlier charges of other budgets for the input topic are ignored.
	Fresh bool
	// Continues names a former budget whose spending this one takes over, or is "".
	Continues string
	// Definition is the stream in a normal form.
	Definition Definition
	// Where says where the stream is defined, as "file:line".
	Where string
}

// Edition is one definition of a stream, with the windows that follow it.
type Edition struct {
	Stream *Stream
	// Number counts a stream's definitions, from 0.
	Number uint32
	// Schedule has the windows of this definition only.
	Schedule windows.Schedule
}

// EditionKey names an edition among those of all streams, for what is kept of it in Kafka.
func EditionKey(stream string, number uint32) string {
	if number == 0 {
		return stream
	}
	return fmt.Sprintf("%s#%d", stream, number)
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
	spec.Groups, spec.Open, spec.Grid = s.Groups, s.Found != nil, s.Grid
	if s.Contribution == windows.Count {
		spec.Value, spec.Grid = "", nil
	} else if s.Contribution.Adds() {
		spec.Grid = nil // which no decoder takes
		if u, err := s.Grid.Units(); err == nil {
			spec.Grid = u
		}
	}
	return spec
}

// Adding says how what a user's events add up to becomes a point of the grid, if the contribution adds.
func (s *Stream) Adding() (a windows.Adding) {
	if s.Contribution == windows.Count {
		return windows.Adding{Lower: s.Grid.Lower().IntPart(), Step: s.Grid.Step().IntPart(), Last: s.Grid.Last()}
	}
	if u, err := s.Grid.Units(); err == nil && s.Contribution.Adds() {
		a.Lower, a.Step, a.Last = u.Bounds()
	}
	return a
}

// DefaultMaxFuture is the default of max_future. It is more than clocks usually differ and less than most windows last.
const DefaultMaxFuture = 5 * time.Minute

// MinUsers withholds a window's other releases while the released count named Release is below Count.
type MinUsers struct {
	Count   int64
	Release string
}

// The formats of published records.
const (
	OutputJSON = "json"
	OutputAvro = "avro"
)

// Lasting names the kinds that have instances: "running totals, watches and releases on change".
func Lasting() string {
	var all []string
	for _, k := range Kinds {
		if k.Lasts {
			all = append(all, k.Plural)
		}
	}
	return english.WordSeries(all, "and")
}

// Besides names what streams pay for in addition to their windows; "" for nothing.
func Besides(streams ...*Stream) string {
	var all []string
	for kind, k := range Kinds {
		if slices.ContainsFunc(streams, func(s *Stream) bool {
			return slices.ContainsFunc(s.Figures, func(f Figure) bool {
				per := f.Cost().Per
				return f.Kind() == Kind(kind) && (per == PerInstance || per == PerPeriod)
			})
		}) {
			all = append(all, k.Plural)
		}
	}
	return english.WordSeries(all, "and")
}

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
