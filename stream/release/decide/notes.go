package decide

import (
	"maps"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// A discovery notes who counts for what while its period lasts: whenever a part is read for a window, the names of its
// users are noted too. At the end of the period only the parts are read that no window has read yet. So the windows
// that are due with the discovery need not wait until a whole day is read again.
//
// What is drawn follows from the parts of the period and the list alone, whatever was noted when. Users count for the
// first of their names in a total order, so notes may be taken in any order, and twice. In the end, everything noted
// has to be among the parts of the period, and the names that come last have to be the same as when it was noted.
// Otherwise everything is read again.
//
// A new session has no notes. It reads the parts of decided windows again, a few at a time when nothing is due.

// tallying is what is noted of the period of a discovery. Its tally is in the first pass until the period ends.
type tallying struct {
	*windows.Tally
	period windows.Window
	last   map[string]bool // the names that come last
	// noted are the parts that have been noted. They include every readable part of windows that end at or before at.
	noted map[*windows.Held]bool
	at    int64
	// asked is the window whose missing parts are being read while nothing is due, and left are those still to be read.
	asked windows.Window
	left  []*windows.Held
	ended bool
	// withheld says that nothing is drawn. Everybody in the period uses up one of their max_windows all the same.
	withheld bool
}

// newTallying begins the first pass over a period.
func newTallying(period windows.Window, spec windows.TallySpec, notes, counts int64) *tallying {
	n := &tallying{period: period, noted: map[*windows.Held]bool{}, at: period.Start}
	spec.Period = period
	if draw := spec.Draw; draw != nil {
		spec.Draw = func(users int64) (int64, bool, error) {
			if n.withheld {
				return 0, false, nil
			}
			return draw(users)
		}
	}
	n.Tally = windows.NewTally(spec, notes, counts)
	n.Tally.Pass()
	return n
}

// Pass goes on with the first pass at the end of the period, and then begins the others.
func (n *tallying) Pass() bool {
	if !n.ended {
		n.ended = true
		return true
	}
	n.noted = nil
	return n.Tally.Pass()
}

// wants reports whether the pass needs a part.
func (n *tallying) wants(h *windows.Held) bool { return !n.noted[h] && n.Needs(h.Slice) }

// note notes the users of a part of a window, if it is of the period. A part that cannot be read is left for the end.
func (n *tallying) note(h *windows.Held, payload []byte) {
	if n.misses(h) && n.Add(payload, h.Slice) == nil {
		n.noted[h] = true
	}
}

// misses reports whether a part is of the period and is not noted.
func (n *tallying) misses(h *windows.Held) bool {
	return h.Slice.Start >= n.period.Start && h.Slice.Start < n.period.End && !n.noted[h]
}

// notes are the notes of a worker's discoveries.
type notes struct {
	*Core
	of map[*attendance.Lane]*tallying // by the lane of their periods
}

// now returns the notes of the period that a discovery is in; nil if there is none.
func (ns *notes) now(l *attendance.Lane) *tallying {
	period, ok := l.Next()
	switch n := ns.of[l]; {
	case !ok:
		delete(ns.of, l)
	case n == nil || n.period != period:
		ns.of[l] = ns.begin(l, period)
	}
	return ns.of[l]
}

// begin returns notes in which nothing is noted yet.
func (ns *notes) begin(l *attendance.Lane, period windows.Window) *tallying {
	p, of := ns.programs[l.Place], l.Of
	random, last := buffered(p.random), ns.last(p, of, period)
	spec := windows.TallySpec{MaxGroups: int(of.Groups), Hasher: ns.Hasher,
		May: p.Stream.Found.May, Last: func(name string) bool { return last[name] },
		Draw: func(users int64) (int64, bool, error) { return of.Mechanism.Draw(users, random) },
		Most: int(p.rules.Max)}
	if of.MaxWindows != nil {
		spec.Counts = l.Counts
	}
	n := newTallying(period, spec, ns.share(), 2*ns.MergeBytes)
	n.last = last
	return n
}

// last returns the names that come last in a period. They are known when the period begins, unless a former definition
// of the stream finds names after that.
func (ns *notes) last(p *program, of *config.Discovery, period windows.Window) map[string]bool {
	return ns.own.Lists().Last(p.Stream.Budget.Name, p.Stream.Name, of.Name, p.rules,
		time.Unix(0, period.End))
}

// share is how many bytes the notes of a discovery may take.
func (ns *notes) share() int64 {
	rows := 0
	for _, all := range ns.editions {
		rows += len(config.All[*config.Discovery](all[len(all)-1].Stream))
	}
	return ns.NoteBytes / int64(max(rows, 1))
}

// take hands over the notes of a period at its end. parts are all parts of the period.
func (ns *notes) take(l *attendance.Lane, period windows.Window, parts []*windows.Held) *tallying {
	n := ns.now(l)
	delete(ns.of, l)
	stray := maps.Clone(n.noted)
	for _, h := range parts {
		delete(stray, h)
	}
	if last := ns.last(ns.programs[l.Place], l.Of, period); len(stray) > 0 || !maps.Equal(last, n.last) {
		n = ns.begin(l, period)
	}
	return n
}

// note notes a part that was read for a window.
func (ns *notes) note(p *program, h *windows.Held, payload []byte) {
	for _, l := range p.lanes.Periods {
		if n := ns.now(l); n != nil {
			n.note(h, payload)
		}
	}
}

// hold notes the parts of a window that are still held: nothing else may have read them.
func (ns *notes) hold(p *program, w windows.Window) {
	if len(p.lanes.Periods) == 0 {
		return
	}
	for _, h := range ns.gather.All(p.Stream.Name, p.Number, w) {
		if h.Payload != nil {
			ns.note(p, h, h.Payload)
		}
	}
}

// catchUp returns parts of decided windows that are not noted yet and are to be read again, as long as there is time.
// The next call finds them noted. If they are gone or unreadable, the discovery looks for them in the end.
func (ns *notes) catchUp() []*windows.Held {
	for _, p := range ns.programs {
		for _, l := range p.lanes.Periods {
			if n := ns.now(l); n != nil {
				if some := ns.unnoted(p, n); len(some) > 0 {
					ns.noting = n
					return some
				}
			}
		}
	}
	return nil
}

// unnoted returns some parts of decided windows that the notes lack. It goes through the windows in order, and stays at
// one until its parts have been read.
func (ns *notes) unnoted(p *program, n *tallying) []*windows.Held {
	decided := p.lanes.Windows.Decided()
	for w, ok := p.Schedule.After(n.at); ok && w.End <= decided; w, ok = p.Schedule.Next(w) {
		w.Start = max(w.Start, n.period.Start)
		if !ns.gather.State(p.Stream.Name, p.Number, w).Ready {
			return nil // this session has not read that far yet
		}
		if n.asked != w {
			n.asked, n.left = w, nil
			for _, h := range ns.gather.All(p.Stream.Name, p.Number, w) {
				if n.misses(h) {
					n.left = append(n.left, h)
				}
			}
		}
		if len(n.left) > 0 {
			if !ns.Idle() {
				n.asked = windows.Window{}
				return nil
			}
			some := n.left[:min(len(n.left), partsAtOnce)]
			n.left = n.left[len(some):]
			return some
		}
		n.at = w.End
	}
	return nil
}

// bytes is how much memory the notes take.
func (ns *notes) bytes() (sum int64) {
	for _, n := range ns.of {
		sum += n.Bytes() + notedBytes*int64(len(n.noted))
	}
	return sum
}

// notedBytes is roughly the memory it takes to remember that a part is noted.
const notedBytes = 32
