package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/louver/louver/stream/groupname"
)

// Survey holds what a demo must know about a file before it replays it. Use it only for a demo with your own data:
// groups, windows and their times are public, and if they come from people's records, they reveal something about those
// people.
type Survey struct {
	// Groups are the distinct groups in the file, sorted. It is empty if there is no column of groups, and leaves out
	// groups that no stream would accept.
	Groups []string
	// Window is the length of the windows.
	Window time.Duration
	// Stretches are the times in which there are events, in order. There is at least one.
	Stretches []Stretch
	// Events is the number of records.
	Events int
	// Times is what was noticed about their times.
	Times Times
	// Trial predicts which of them a stream rejects, apart from those without a group.
	Trial *Trial
	// Ungrouped is how many records have no group, if there is a column of groups.
	Ungrouped int
	// Unfinished is how many records belong to no stretch, because their window is not over yet.
	Unfinished int
}

// Stretch is a time without a long pause. It begins and ends where windows do.
type Stretch struct {
	Start, End time.Time // UTC
	// Windows is how many windows it has.
	Windows int
}

const (
	// maxGroups is the most groups that a demo may have. A column with more values is unlikely to hold groups.
	maxGroups = 100
	// wantedWindows is the fewest windows with events.
	wantedWindows = 24
	// mostWindows is the most windows.
	mostWindows = 1000
	// pause is how many empty windows in a row end a stretch.
	pause = 4
)

// sizes are the lengths of windows to choose from. Every window begins at a multiple of its length since 1970.
var sizes = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	day, 2 * day, 4 * day, 7 * day, 14 * day, 28 * day, 91 * day, 364 * day,
}

const day = 24 * time.Hour

// Contains reports whether a time is in the stretch.
func (s Stretch) Contains(at time.Time) bool { return !at.Before(s.Start) && at.Before(s.End) }

// NewSurvey reads a file to its end. It chooses the longest windows of which at least 24 hold events. If window is not
// 0, it is used instead, and must be whole seconds. Windows that are not over now are left out. Its errors are about
// the file's lines, too many groups or windows, or ctx.
func NewSurvey(ctx context.Context, f *File, window time.Duration, columns Columns) (*Survey, error) {
	trial, err := NewTrial(columns)
	if err != nil {
		return nil, err
	}
	s := &Survey{Trial: trial}
	groups := map[string]bool{}
	now := time.Now()
	calendar := newCalendar(window, now)
	var unmoved clock
	for ctx.Err() == nil {
		r, at, err := f.next()
		if errors.Is(err, io.EOF) {
			s.Times = f.times
			trial.leftOut(s.Times.Untimed)
			s.Events += s.Times.Untimed.Count
			return s, s.finish(f.name, columns, groups, calendar, window)
		} else if err != nil {
			return nil, err
		}
		name := groupName(r.parts[partGroup])
		record := f.record(r, at, &unmoved)
		s.Events++
		trial.Add(record, now)
		if name != "" {
			groups[name] = true
		} else if columns.Group != "" {
			s.Ungrouped++
		}
		if len(groups) > maxGroups {
			return nil, fmt.Errorf("%s:%d: group %q has more than %d different values; want a column with fewer",
				f.name, r.line, columns.Group, maxGroups)
		}
		calendar.add(record.Time)
	}
	return nil, ctx.Err()
}

func (s *Survey) finish(name string, columns Columns, groups map[string]bool, c *calendar, window time.Duration) error {
	if s.Events == 0 {
		return fmt.Errorf("%s: the file has no events; want at least one below the header", name)
	}
	if s.Groups = slices.Sorted(maps.Keys(groups)); columns.Group != "" && len(s.Groups) == 0 {
		return fmt.Errorf("%s: group %q is empty on every line; want another column, or none", name, columns.Group)
	}
	p := c.choose()
	switch {
	case p == nil:
		return fmt.Errorf("windows of %s: more than %d of them in %s; want longer ones", window, mostWindows, name)
	case len(p.windows) == 0:
		return fmt.Errorf("%s: no event lies in a window that has ended; want events from the past", name)
	}
	s.Window, s.Stretches, s.Unfinished = p.size, p.stretches(), p.unfinished
	return nil
}

// groupName returns the name of a group, a JSON string, an integer, or true or false, in the form in which streams
// compare names. It is empty for anything else.
func groupName(group []byte) string {
	var name string
	switch {
	case integer.Match(group) || truth.Match(group):
		return string(group)
	case json.Unmarshal(group, &name) != nil:
		return ""
	}
	form, err := groupname.Canonical([]byte(name))
	if err != nil {
		return ""
	}
	return string(form)
}

var (
	integer = regexp.MustCompile(`^-?[0-9]+$`)
	truth   = regexp.MustCompile(`^(true|false)$`)
)

// calendar records which windows hold events, for several lengths of windows.
type calendar struct {
	now         int64
	first, last int64 // of the events' times
	pages       []*page
}

// page is a calendar of one length.
type page struct {
	size       time.Duration
	last       int64          // the window of the previous event
	windows    map[int64]bool // by start in multiples of size since 1970; nil: too many
	unfinished int            // events in windows that are not over
}

func newCalendar(window time.Duration, now time.Time) *calendar {
	c := &calendar{now: now.UnixNano(), first: math.MaxInt64}
	of := sizes
	if window != 0 {
		of = []time.Duration{window}
	}
	for _, size := range of {
		c.pages = append(c.pages, &page{size: size, last: -1, windows: map[int64]bool{}})
	}
	return c
}

func (c *calendar) add(at time.Time) {
	ns := at.UnixNano()
	c.first, c.last = min(c.first, ns), max(c.last, ns)
	for _, p := range c.pages {
		i := ns / int64(p.size)
		switch {
		case i == p.last || p.windows == nil:
			continue
		case i >= c.now/int64(p.size):
			p.unfinished++
			continue
		}
		p.last = i
		if p.windows[i] = true; len(p.windows) > mostWindows {
			p.windows = nil
		}
	}
}

// choose returns the page with the longest windows among those where enough windows hold events. If there is none, it
// returns the page where most windows hold events, not longer than the whole file. It returns nil if every length has
// too many windows.
func (c *calendar) choose() (best *page) {
	for i, p := range slices.Backward(c.pages) {
		if i > 0 && int64(p.size) > c.last-c.first {
			continue
		}
		if p.windows != nil && (best == nil || len(p.windows) > len(best.windows)) {
			best = p
		}
		if best != nil && len(best.windows) >= wantedWindows {
			break
		}
	}
	return best
}

func (p *page) stretches() (all []Stretch) {
	at := func(i int64) time.Time { return time.Unix(0, i*int64(p.size)).UTC() }
	last := int64(0)
	for _, i := range slices.Sorted(maps.Keys(p.windows)) {
		if all == nil || i > last+pause {
			all = append(all, Stretch{Start: at(i)})
		}
		s := &all[len(all)-1]
		s.End = at(i + 1)
		s.Windows = int(s.End.Sub(s.Start) / p.size)
		last = i
	}
	return all
}
