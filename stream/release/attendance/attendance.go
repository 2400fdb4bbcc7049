package attendance

import (
	"math"
	"slices"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// Attendance has the trackers of a session. It is not safe for concurrent use.
type Attendance struct {
	// Lanes are those of the editions that the session decides, in their order.
	Lanes []Lanes

	gather   *windows.Gathering
	trackers []*cursor // in the order of their snapshots: caps of windows, caps of periods, all others
	lost     map[ledger.Instance]bool
	losses   []Loss
}

// New returns the attendance of the editions that a session decides. all are the editions of all streams. The books may
// not have all entries yet.
func New(here, all []config.Edition, books *ledger.Books, gather *windows.Gathering) *Attendance {
	a := &Attendance{gather: gather, lost: map[ledger.Instance]bool{}}
	for i, e := range here {
		a.Lanes = append(a.Lanes, newLanes(e, i, books, all))
	}
	return a
}

// Keys are the keys of all snapshots that there may be.
func (a *Attendance) Keys() (keys []string) {
	for _, of := range a.Lanes {
		of.Each(func(l *Lane) {
			if l.Of == nil && l.Stream.MaxWindows != nil || l.Of != nil && l.Of.MaxWindows != nil {
				keys = append(keys, capKey(l))
			}
		})
		for _, f := range config.All[config.Ongoing](of.Windows.Stream) {
			keys = append(keys, ongoingKey(of.Windows.Stream, f))
		}
	}
	return keys
}

// Restore makes the trackers once the books have all entries, each from its snapshot if there is one that fits. Then it
// has the gathering collect the parts that are needed from there on. saved are what earlier sessions recorded
// ([Attendance.Saved]). unfit says why snapshots are left out, by their keys.
func (a *Attendance) Restore(snapshots map[string][]byte, saved ...map[string]int64) (unfit map[string]error) {
	a.makeTrackers()
	unfit = map[string]error{}
	for _, c := range a.trackers {
		if text, found := snapshots[c.key()]; found {
			c.stored = true
			if err := c.read(text); err != nil {
				unfit[c.key()] = err
			}
		}
	}
	for _, of := range a.Lanes {
		l := of.Windows
		l.passed = l.Decided()
		for _, c := range l.lagging() {
			l.passed = min(l.passed, c.at)
		}
		a.gather.Follow(l.Stream.Name, l.Number, l.Schedule, l.Stream.Input.MaxFuture, l.passed)
		if l.Stream.Contribution.Adds() {
			a.gather.Adds(l.Stream.Name, l.Number)
		}
		a.keep(of)
	}
	for _, c := range a.trackers {
		if _, ok := c.goes(); ok && slices.ContainsFunc(saved, func(ends map[string]int64) bool {
			return ends[c.key()] > c.at
		}) {
			a.reset(c, c.lanes[len(c.lanes)-1])
		}
	}
	for _, of := range a.Lanes {
		a.pass(of.Windows)
		a.keep(of)
	}
	return unfit
}

func (a *Attendance) makeTrackers() {
	var caps, periods, ongoing []*cursor
	for _, of := range a.Lanes {
		of.Each(func(l *Lane) {
			of, after := newCap(l)
			if l.Cap = of; of == nil {
				return
			}
			c := &cursor{Tracker: of, lanes: []*Lane{l}}
			c.start(after)
			if l.trackers = []*cursor{c}; l.Of == nil {
				caps = append(caps, c)
			} else {
				periods = append(periods, c)
			}
		})
		for _, f := range config.All[config.Ongoing](of.Windows.Stream) {
			ongoing = addOngoing(ongoing, of.Windows, f, a.lost)
		}
	}
	a.trackers = slices.Concat(caps, periods, ongoing)
}

// addOngoing adds an ongoing figure to a lane. Where an earlier lane has the same one, that goes on in this lane.
func addOngoing(all []*cursor, l *Lane, of config.Ongoing, lost map[ledger.Instance]bool) []*cursor {
	key := ongoingKey(l.Stream, of)
	at := slices.IndexFunc(all, func(c *cursor) bool { return c.key() == key })
	if at < 0 {
		at = len(all)
		t, after := newOngoing(l, of, lost)
		c := &cursor{Tracker: t}
		c.start(after)
		all = append(all, c)
	}
	all[at].lanes, l.trackers = append(all[at].lanes, l), append(l.trackers, all[at])
	return all
}

// Behind returns the next decided window that trackers have to go through again, once its parts are here; nil if there
// is none. Go through it before asking for another one.
func (a *Attendance) Behind() *Round {
	for _, of := range a.Lanes {
		if r := a.behind(of.Windows); r != nil {
			return r
		}
		a.pass(of.Windows)
		for _, l := range of.Periods {
			if r := a.behind(l); r != nil {
				return r
			}
		}
	}
	return nil
}

func (a *Attendance) behind(l *Lane) *Round {
	for {
		lagging, end := l.lagging(), int64(math.MaxInt64)
		if len(lagging) == 0 {
			return nil
		}
		for _, c := range lagging {
			if c.waitsBefore(l) {
				return nil
			}
			end = min(end, c.at)
		}
		w, _ := l.After(end)
		lagging = slices.DeleteFunc(lagging, func(c *cursor) bool { return c.at >= w.End })
		r := &Round{Lane: l, Window: w, of: a, cursors: lagging, again: true}
		switch state := a.gather.State(l.Stream.Name, l.Number, w); {
		case !state.Ready:
			return nil
		case !state.Gone: // if records of the input were lost, all parts that there ever were are here all the same
			return r
		}
		r.finish(true)
	}
}

// Overtake resets the trackers that have not been through all decided windows of a lane whose next window is ready. If
// an earlier window is not ready by now, part of it is lost: the marks of a partition that the input no longer has.
func (a *Attendance) Overtake(l *Lane) {
	for _, c := range l.lagging() {
		a.reset(c, l)
	}
	a.pass(l)
}

// reset starts a tracker over, with the next window of a lane.
func (a *Attendance) reset(c *cursor, l *Lane) {
	loss := c.reset()
	if c.start(l.Decided()); !loss.Over {
		a.losses = append(a.losses, loss)
	}
	if l.Of != nil {
		a.keep(a.Lanes[l.Place])
	}
}

// Losses returns what was lost since the last call.
func (a *Attendance) Losses() []Loss {
	losses := a.losses
	a.losses = nil
	return losses
}

// Passed says that a window is decided, and that nothing needs its parts any more beside trackers and discoveries.
func (a *Attendance) Passed(l *Lane, w windows.Window) {
	if l.Of != nil {
		a.keep(a.Lanes[l.Place])
		return
	}
	a.gather.Decide(l.Stream.Name, l.Number, w)
	l.passed = w.End
}

// pass gives up the parts of decided windows that no tracker needs any more.
func (a *Attendance) pass(l *Lane) {
	decided := l.Decided()
	if l.Of != nil || l.passed >= decided || len(l.lagging()) > 0 {
		return
	}
	for w, ok := l.Schedule.After(l.passed); ok && w.End <= decided; w, ok = l.Schedule.Next(w) {
		a.Passed(l, w)
	}
}

// keep keeps the parts of an edition's undecided periods, and of periods that have not been through their cap.
func (a *Attendance) keep(of Lanes) {
	if len(of.Periods) == 0 {
		return
	}
	from := int64(math.MaxInt64)
	for _, l := range of.Periods {
		if w, ok := l.Next(); ok {
			from = min(from, w.Start)
		}
		for _, c := range l.lagging() {
			w, _ := l.After(c.at)
			from = min(from, w.Start)
		}
	}
	a.gather.Keep(of.Windows.Stream.Name, of.Windows.Number, from)
}

// Lost reports whether an instance has to end, because nobody knows who has counted in it.
func (a *Attendance) Lost(i ledger.Instance) bool { return a.lost[i] }

// Bytes is how much memory the trackers take. The limits of bags and parts do not include it, since nobody may be
// forgotten.
func (a *Attendance) Bytes() (sum int64) {
	for _, c := range a.trackers {
		sum += c.bytes()
	}
	return sum
}

// EachOngoing says how many users each ongoing figure remembers. A user who has counted in several groups is in each.
// The numbers are private.
func (a *Attendance) EachOngoing(do func(stream, name string, users int)) {
	for _, c := range a.trackers {
		if o, ok := c.Tracker.(*Ongoing); ok {
			users := 0
			if o.users != nil {
				users = o.users.Users()
			}
			do(o.stream.Name, o.of.Heading().Name, users)
		}
	}
}

// Needs returns the lowest offset of the log that the trackers of the next session need, or math.MaxInt64.
func (a *Attendance) Needs() int64 {
	least := int64(math.MaxInt64)
	for _, c := range a.trackers {
		least = min(least, c.needs())
	}
	return least
}

// Saved are the ends of the windows up to which the next session needs no parts for the trackers, by the keys of their
// snapshots. They have to be recorded before parts are deleted.
func (a *Attendance) Saved() map[string]int64 {
	ends := map[string]int64{}
	for _, c := range a.trackers {
		if _, ok := c.goes(); ok {
			ends[c.key()] = c.saved
		}
	}
	return ends
}

// A Snapshot says who has counted up to a window.
type Snapshot struct {
	Key  string
	Text []byte // nil: the tracker is over, and its snapshot is to be deleted
	of   *cursor
}

// Due returns snapshots that are due, until their texts have so many bytes. Commit them, say so with [Attendance.Keep],
// and ask again.
func (a *Attendance) Due(most int) (all []Snapshot) {
	for _, c := range a.trackers {
		switch _, goes := c.goes(); {
		case !goes && c.stored:
			all = append(all, Snapshot{Key: c.key(), of: c})
		case goes && c.due():
			all = append(all, Snapshot{c.key(), c.write(), c})
			if most -= len(all[len(all)-1].Text); most <= 0 {
				return all
			}
		}
	}
	return all
}

// Keep takes note that snapshots were committed. No window may have been decided since they were made.
func (a *Attendance) Keep(all []Snapshot) {
	for _, s := range all {
		if s.of.stored = s.Text != nil; s.of.stored {
			s.of.saved = s.of.at
		}
	}
}
