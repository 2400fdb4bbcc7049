package attendance

import (
	"math"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// A Lane is what is decided in order: the windows of a stream under one definition, or the periods of one of its
// discoveries. What is said about windows here is true of periods too.
type Lane struct {
	config.Edition
	// Place is that of the edition among those of the session.
	Place int
	// Of is the discovery whose periods these are; nil for windows.
	Of *config.Discovery
	// Cap says who counts; nil where everybody does.
	Cap *Cap

	books *ledger.Books
	// until is the end of the first window of the stream's next definition, which draws the periods from there on.
	until int64
	// trackers go through all windows of the lane.
	trackers []*cursor
	// passed is the end of the last window whose parts nobody needs. It is kept for windows only.
	passed int64
}

// Lanes are the lanes of one edition.
type Lanes struct {
	Windows *Lane
	Periods []*Lane // of its discoveries, in their order
}

// newLanes returns the lanes of an edition. all are the editions of all streams.
func newLanes(e config.Edition, place int, books *ledger.Books, all []config.Edition) Lanes {
	lane := func(of *config.Discovery) *Lane {
		l := &Lane{Edition: e, Place: place, Of: of, books: books, until: math.MaxInt64}
		for _, o := range all {
			if o.Stream.Name == e.Stream.Name && o.Number > e.Number {
				l.until = min(l.until, o.Schedule.First().End)
			}
		}
		return l
	}
	lanes := Lanes{Windows: lane(nil)}
	for _, of := range config.All[*config.Discovery](e.Stream) {
		lanes.Periods = append(lanes.Periods, lane(of))
	}
	return lanes
}

// Each calls a function for each lane: for that of the windows first.
func (of Lanes) Each(do func(l *Lane)) {
	do(of.Windows)
	for _, l := range of.Periods {
		do(l)
	}
}

// name is that of the discovery, or "" for windows, as entries say it.
func (l *Lane) name() string {
	if l.Of == nil {
		return ""
	}
	return l.Of.Name
}

// Decided returns the end of the last decided window, in Unix nanoseconds. If none is decided, Next is the first one
// that ends later.
func (l *Lane) Decided() int64 {
	if last, ok := l.books.LastOf(l.Stream.Name, l.Number, l.name()); ok {
		return last.UnixNano()
	}
	if l.Of != nil {
		return l.Schedule.Start
	}
	return l.Schedule.First().End - int64(l.Schedule.Every)
}

// Next returns the window to decide next, or false if none is left. Each definition of a stream draws the periods that
// end before the first window of the next definition does.
func (l *Lane) Next() (windows.Window, bool) {
	w, ok := l.After(l.Decided())
	if l.Of != nil {
		ok = w.End < l.until && (l.Schedule.End == 0 || w.End <= l.Schedule.End)
	}
	return w, ok
}

// After returns the first window that ends after a moment, or false if the schedule has none. Periods end at multiples
// of their length since 1970, and the first one begins with the definition of the stream.
func (l *Lane) After(end int64) (w windows.Window, ok bool) {
	if l.Of == nil {
		return l.Schedule.After(end)
	}
	w.End = windows.NextBoundary(max(end+1, l.Schedule.First().End), l.Of.Every)
	w.Start = max(w.End-int64(l.Of.Every), l.Schedule.Start)
	return w, true
}

// size is the length of a window, and every the step to the next one.
func (l *Lane) size() time.Duration {
	if l.Of != nil {
		return l.Of.Every
	}
	return l.Schedule.Size
}

// Counts reports whether a user who has something in the window that has begun counts in it. Each such user takes a
// turn, so ask about nobody else. Call it only where there is a Cap.
func (l *Lane) Counts(u windows.UserHash) bool { return l.Cap.counts(u) }

// lagging lists the trackers that have not been through all decided windows.
func (l *Lane) lagging() (all []*cursor) {
	for _, c := range l.trackers {
		if c.lagsIn(l) {
			all = append(all, c)
		}
	}
	return all
}
