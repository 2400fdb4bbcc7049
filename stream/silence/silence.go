package silence

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// State says that hardly anybody is in a stream or a group.
type State struct {
	// Group is empty for a stream as a whole.
	Group string
	// Since is the start of the first window in which hardly anybody was.
	Since time.Time
	// AtMost is how many users were in the newest window at most, with a probability of 95 %: the released counts of
	// the groups and the error of their sum.
	AtMost int64
}

// Tracker follows the counts of streams. It is not safe for concurrent use.
type Tracker struct {
	streams map[string]*stream
}

type stream struct {
	begin  time.Time // of the newest window, whether or not its count tells anything
	series map[series]*followed
}

type series struct{ group, release string }

// followed is a series that may be the count of everybody in its group.
type followed struct {
	counts
	histogram bool // its estimate stands in where no count is released
	part      bool // it counts only some of the users
}

// Add takes a published record in. Records of a series come in the order of their windows; one that comes again changes
// nothing. Windows that were withheld tell nothing, and an incomplete one has lost users.
func (t *Tracker) Add(r record.Value) {
	if r.Windows != nil || r.Together || r.Final != nil || r.Statistic == record.StatisticGroups {
		return // of a period, which holds windows, or of all groups together
	}
	if t.streams == nil {
		t.streams = map[string]*stream{}
	}
	s := t.streams[r.Stream]
	if s == nil {
		s = &stream{series: map[series]*followed{}}
		t.streams[r.Stream] = s
	}
	if r.WindowStart.After(s.begin) {
		s.begin = r.WindowStart
	}
	s.add(r)
}

func (s *stream) add(r record.Value) {
	histogram := r.Statistic == string(mechanisms.Histogram)
	if !histogram && r.Statistic != string(mechanisms.Count) || r.Value == nil || r.Error95 == nil {
		return
	}
	count, err := r.Value.Float64()
	off, err2 := r.Error95.Float64()
	if err != nil || err2 != nil {
		return // cannot happen: a published record has numbers
	}
	at := series{r.Group, r.Release}
	f := s.series[at]
	if f == nil {
		f = &followed{histogram: histogram}
		s.series[at] = f
	}
	// A count of some users, such as those above a limit, differs from the count of the window sooner or later.
	f.part = f.part || !histogram && (r.Users == nil || float64(*r.Users) != count)
	if !r.WindowEnd.After(f.end) || r.Incomplete && count <= off {
		return
	}
	f.add(count, off, r.WindowStart, r.WindowEnd)
}

// Of returns the groups of a stream that are silent, by name. all is what is said of the stream: nil unless hardly
// anybody is in any group of its newest window.
//
// The counts of many small groups may each be within their noise although there are many users in all. So the groups
// together are silent only if their sum is within its own noise as well. Noise that is cut off at 0 adds less than a
// fifth of its error to a count on average (b/2 with discrete Laplace noise of scale b, whose error is 3b, and 0.4σ
// with Gaussian noise, whose error is 2σ), and errors of independent counts add up as their squares.
func (t *Tracker) Of(stream string) (groups []State, all *State) {
	s := t.streams[stream]
	if s == nil {
		return nil, nil
	}
	counted := map[string]*followed{}
	for at, f := range s.series {
		old := counted[at.group]
		if f.part || old != nil && !old.histogram && f.histogram {
			continue
		}
		if old == nil || old.histogram && !f.histogram || f.end.After(old.end) {
			counted[at.group] = f
		}
	}
	low := true
	var total State
	var mean, sum, errors, squares float64
	for group, f := range counted {
		if f.end.Before(s.begin) {
			continue // it has left the list, or nothing is known of its newest windows
		}
		if f.silent {
			groups = append(groups, State{group, f.since, int64(math.Ceil(f.last + f.error))})
			if f.since.After(total.Since) {
				total.Since = f.since
			}
		}
		low = low && f.low()
		mean, sum, errors, squares = mean+f.mean, sum+f.last, errors+f.error, squares+f.error*f.error
	}
	slices.SortFunc(groups, func(a, b State) int { return cmp.Compare(a.Group, b.Group) })
	if len(groups) == 0 || !low || mean > errors/5+math.Sqrt(squares) {
		return groups, nil
	}
	total.AtMost = int64(math.Ceil(sum + math.Sqrt(squares)))
	return groups, &total
}
