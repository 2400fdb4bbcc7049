package attendance

import (
	"fmt"
	"slices"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// Round takes trackers through a window. Begin it, join whoever merges its parts, and end it.
type Round struct {
	Lane    *Lane
	Window  windows.Window
	of      *Attendance
	cursors []*cursor
	again   bool // the window was decided before
}

// Round returns that of the next window of a lane, for its cap and for what looks at it.
func (a *Attendance) Round(l *Lane, w windows.Window, looks []Looking) *Round {
	r := &Round{Lane: l, Window: w, of: a}
	for _, c := range l.trackers {
		if c.Tracker == Tracker(l.Cap) {
			r.cursors = append(r.cursors, c)
		}
	}
	for _, t := range looks {
		r.cursors = append(r.cursors, t.cursor)
	}
	return r
}

// Empty reports whether no tracker goes through the window.
func (r *Round) Empty() bool { return len(r.cursors) == 0 }

// Begin has the trackers go on to the window.
func (r *Round) Begin() error {
	for _, c := range r.cursors {
		if err := c.begin(r.Window); err != nil {
			return err
		}
	}
	return nil
}

// Join has a merger ask the trackers about the users of the window, before its first pass.
func (r *Round) Join(m *windows.Merger) {
	for _, c := range r.cursors {
		c.join(m)
	}
}

// End follows after all users. lost says that some parts of the window are lost. The session that decides the window
// knows who has counted in it all the same. Later ones do not, so where the window was decided before, the trackers are
// reset.
func (r *Round) End(lost bool) {
	if r.Empty() {
		return
	}
	offset := r.of.gather.NeedsOf(r.Lane.Stream.Name, r.Lane.Number, r.Window)
	for _, c := range r.cursors {
		c.end()
		c.need(needed{r.Window.End, offset})
		c.at = r.Window.End
	}
	if r.again {
		r.finish(lost)
	}
}

// finish says that trackers have been through a decided window again, as far as that was possible.
func (r *Round) finish(lost bool) {
	for _, c := range r.cursors {
		c.at = r.Window.End
	}
	r.of.Passed(r.Lane, r.Window)
	for _, c := range r.cursors {
		if lost {
			r.of.reset(c, r.Lane)
		}
	}
}

// Looking is an ongoing figure that looks at a window, and its step in the window's entry.
type Looking struct {
	*Ongoing
	Step   *ledger.Continual
	cursor *cursor
}

// Looking lists the ongoing figures that look at the window of a settled entry, after it has begun the instances that
// the entry arms.
func (a *Attendance) Looking(e *ledger.Entry, l *Lane) (all []Looking, err error) {
	for i := range e.Continual {
		s := &e.Continual[i]
		if s.Tests() || !s.Looks() {
			continue
		}
		at := slices.IndexFunc(l.trackers, func(c *cursor) bool {
			o, ok := c.Tracker.(*Ongoing)
			return ok && o.of.Heading().Name == s.Name
		})
		if at < 0 {
			return nil, fmt.Errorf("stream %s has no figure %s that could look", e.Stream, s.Name)
		}
		c := l.trackers[at]
		o := c.Tracker.(*Ongoing)
		if s.Arms {
			o.arm(s)
			c.start(e.WindowStart.UnixNano())
		}
		if o.number != s.Instance {
			return nil, fmt.Errorf("figure %s of stream %s: instance %d is to look, but instance %d is open", s.Name,
				e.Stream, s.Instance, o.number)
		}
		all = append(all, Looking{o, s, c})
	}
	return all, nil
}
