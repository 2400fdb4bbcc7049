package decide

import (
	"errors"
	"slices"

	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// feed is a window, or a period of a discovery, whose parts go into a merger or a tally, in as many passes as that
// wants. Only here is a decision interrupted: where the payload of a part is not held, Next asks for it.
type feed struct {
	program  *program
	round    *attendance.Round // the trackers that go through the window
	held     []*windows.Held   // all its parts
	to       passes
	merger   *windows.Merger  // if it is a window …
	tally    *tallying        // … or a period
	spec     *windows.BagSpec // of a sample that other streams may share
	of       *decision        // nil if the window was decided before
	absent   []*windows.Held  // parts that the pass still wants
	bad      map[*windows.Held]bool
	lost     bool
	readings int
}

// passes takes the payloads of all parts, once in each pass: a [windows.Merger], or the notes of a discovery.
type passes interface {
	Pass() bool
	Add(data []byte, slice windows.Window) error
}

// partsAtOnce is how many parts are read again before a discovery is asked whether it needs more.
const partsAtOnce = 64

// ErrGone says that the log no longer has a part.
var ErrGone = errors.New("the log no longer has it")

// through begins to merge a window's parts to one sample for each of some groups, for the users who count in it, and
// takes the window through its trackers. d is the window's decision, or nil if it was decided before. If the users do
// not fit into MergeBytes, there are several passes over the parts.
func (c *Core) through(r *attendance.Round, groups []string, d *decision) error {
	if err := r.Begin(); err != nil {
		return err
	}
	p := c.programs[r.Lane.Place]
	spec := windows.BagSpec{Groups: groups, MaxGroups: p.Stream.MaxGroups, Policy: p.Stream.Contribution,
		Window: r.Window, Hasher: c.Hasher, Open: p.Stream.Found != nil, Other: p.rules.Other != "" && len(groups) > 0,
		Adding: p.Stream.Adding()}
	held := c.gather.Parts(p.Stream.Name, p.Number, r.Window)
	if r.Lane.Of != nil { // a period only asks who is there
		held = c.gather.All(p.Stream.Name, p.Number, r.Window)
	}
	if r.Empty() && c.last.of(spec, held) {
		return c.fed(d, c.last.merged, false)
	}
	c.last = mergedParts{}
	merger := windows.NewMerger(spec, c.MergeBytes)
	r.Join(merger)
	c.feeding = &feed{program: p, round: r, held: held, to: merger, merger: merger, of: d}
	if r.Empty() && len(c.programs) > 1 {
		c.feeding.spec = &spec
	}
	return nil
}

// feedOn feeds parts until some that it wants are not held. Then it asks for these. After the last pass the decision
// goes on with fed.
func (c *Core) feedOn() (Action, error) {
	f := c.feeding
	for {
		if again := c.wanted(f); len(again) > 0 {
			return Again{again}, nil
		}
		if !f.to.Pass() {
			break
		}
		f.readings++
		for _, h := range f.held {
			switch {
			case !f.wants(h):
			case h.Payload == nil:
				f.absent = append(f.absent, h)
			default:
				c.add(f, h, h.Payload)
			}
		}
	}
	c.feeding = nil
	lost := f.lost || len(f.bad) > 0
	if f.merger != nil {
		c.say(Merged{f.program.Stream.Name, f.readings})
	}
	if f.spec != nil && !lost {
		c.last = mergedParts{*f.spec, written(f.held), f.merger}
	}
	if f.of == nil {
		f.round.End(lost)
		c.tellLosses()
		return nil, nil
	}
	return nil, c.fed(f.of, f.merger, lost)
}

// wanted returns the absent parts to read next. For a window these are all of them, and parts of the next windows as
// far as there is room. For a period they are a few. Most of its parts are noted already, and a few are usually enough
// to learn the texts of the names that were found.
func (c *Core) wanted(f *feed) (some []*windows.Held) {
	if f.tally == nil {
		if some, f.absent = f.absent, nil; len(some) > 0 {
			some = append(some, c.gather.Ahead(f.program.Stream.Name, f.program.Number, f.round.Window,
				windows.Size(some))...)
		}
		return some
	}
	f.absent = slices.DeleteFunc(f.absent, func(h *windows.Held) bool { return !f.wants(h) })
	some = f.absent[:min(len(f.absent), partsAtOnce)]
	f.absent = f.absent[len(some):]
	return some
}

// wants reports whether the pass wants a part.
func (f *feed) wants(h *windows.Held) bool { return !f.bad[h] && (f.tally == nil || f.tally.wants(h)) }

// own reports whether a part is of the window itself, and not of one after it.
func (f *feed) own(h *windows.Held) bool { return h.Slice.Start < f.round.Window.End }

// Part gives a part that was read again, or says why it cannot be read: [ErrGone], or what is wrong with it.
func (c *Core) Part(h *windows.Held, payload []byte, err error) {
	f := c.feeding
	switch {
	case f == nil: // for the notes of a discovery
		if err == nil {
			c.noting.note(h, payload)
		}
	case err == nil:
		if f.tally == nil {
			c.gather.Hold(h, payload)
		}
		if f.own(h) {
			c.add(f, h, payload)
		}
	case !f.own(h):
	case errors.Is(err, ErrGone):
		f.lost = true
	default:
		c.leave(f, h, "a part is unreadable", err)
	}
}

// add adds a part to the pass, and notes it for discoveries.
func (c *Core) add(f *feed, h *windows.Held, payload []byte) {
	if err := f.to.Add(payload, h.Slice); err != nil {
		c.leave(f, h, "a part does not fit the stream", err)
	} else if f.tally == nil {
		c.notes.note(f.program, h, payload)
	}
}

// leave leaves out a part. The window is still released: the schedule is public.
func (c *Core) leave(f *feed, h *windows.Held, why string, err error) {
	c.say(Line{Error, why + " and is left out", []Field{{"stream", f.program.Stream.Name}, {"partition", c.Partition},
		{"offset", h.Offsets[0]}, {"error", err}}})
	if f.bad == nil {
		f.bad = map[*windows.Held]bool{}
	}
	f.bad[h] = true
}

// mergedParts are the last parts that were merged. Streams of one topic that differ only in their releases have the
// same parts. Then their windows have the same sample, which is made once. Each stream still draws with its own noise,
// and is charged separately.
type mergedParts struct {
	spec   windows.BagSpec
	parts  []writtenPart // in any order
	merged *windows.Merger
}

// writtenPart names what a part holds, whichever stream it is for. Ingest writes the bags of a partition together, one
// part for each slice, under 16 random bytes.
type writtenPart struct {
	attempt   [16]byte
	partition int
	slice     int64
}

func written(held []*windows.Held) []writtenPart {
	parts := make([]writtenPart, len(held))
	for i, h := range held {
		parts[i] = writtenPart{h.Attempt, h.Partition, h.Slice.Start}
	}
	return parts
}

// of reports whether these are the parts, merged in this way.
func (m *mergedParts) of(spec windows.BagSpec, held []*windows.Held) bool {
	if m.merged == nil || len(held) != len(m.parts) || spec.Window != m.spec.Window || spec.Policy != m.spec.Policy ||
		spec.MaxGroups != m.spec.MaxGroups || spec.Hasher != m.spec.Hasher || spec.Other != m.spec.Other ||
		spec.Open != m.spec.Open || spec.Adding != m.spec.Adding ||
		!slices.Equal(spec.Groups, m.spec.Groups) {
		return false
	}
	have := map[writtenPart]bool{}
	for _, p := range m.parts {
		have[p] = true
	}
	for _, p := range written(held) {
		if !have[p] {
			return false
		}
	}
	return true
}
