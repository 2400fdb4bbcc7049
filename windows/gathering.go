package windows

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Gathering collects the parts and marks in a log until their windows are decided. It assembles messages into parts,
// knows which windows are complete, and notices when a piece of a window will never come.
//
// A window is complete when each partition of the input has a mark that cuts it. If there are several such marks, the
// first in the log counts. A window is overtaken in a partition when a mark says that it was cut and the log no longer
// has that cut.
//
// It holds payloads up to a limit, and only the place in the log of the others. A Gathering is not safe for concurrent
// use.
type Gathering struct {
	limit   int64
	held    int64 // of payloads
	streams map[edition]*gathered
	aside   int64 // the offset of the first message of a later definition that is not followed; −1 if none
}

// edition is one definition of a stream.
type edition struct {
	stream string
	epoch  uint32
}

// gathered is the state of one edition's undecided windows.
type gathered struct {
	schedule Schedule
	maxAhead time.Duration
	adds     bool  // each record must count once: see line.go
	decided  int64 // windows with End ≤ decided are decided
	kept     int64 // slices that start here or later are kept all the same
	slices   map[int64]*slice
	sources  map[int]*source
	gaps     []gap // in the log itself, for any partition
}

// slice holds the parts of one slice.
type slice struct {
	least   int64 // the lowest offset of its messages
	parts   []*Held
	has     map[writing]*Held      // its parts: there may be a million
	open    map[[16]byte]*assembly // by attempt; parts that still lack messages
	missing []int                  // partitions with a part that a mark names and the log lacks
}

// writing names a part of a slice.
type writing struct {
	attempt   [16]byte
	partition int
}

// NewGathering returns an empty gathering that holds up to limit bytes of payloads.
func NewGathering(limit int64) *Gathering {
	return &Gathering{limit: limit, streams: map[edition]*gathered{}, aside: -1}
}

// Follow collects the windows of a stream's edition that end after decided, in Unix nanoseconds. Messages of other
// editions are ignored, but those of later editions are still needed, because those will be followed later. maxAhead is
// how far an event's time may be ahead of the moment at which it was written.
func (g *Gathering) Follow(stream string, epoch uint32, s Schedule, maxAhead time.Duration, decided int64) {
	g.streams[edition{stream, epoch}] = &gathered{schedule: s, maxAhead: maxAhead, decided: decided,
		kept: math.MaxInt64, slices: map[int64]*slice{}, sources: map[int]*source{}}
}

// Adds says that the contributions of an edition add up records, so that each record of a window must count once, even
// if several parts hold it. Call it right after Follow.
func (g *Gathering) Adds(stream string, epoch uint32) { g.streams[edition{stream, epoch}].adds = true }

// Keep keeps the slices of an edition that start at a moment or later, whatever is decided, because something other
// than the stream's windows reads their parts. State, Parts and NeedsOf are right for any window that begins with a
// kept slice and ends with a window. Call it after Follow, and again when what lies before is no longer needed.
// math.MaxInt64 keeps nothing. Payloads of slices whose own windows are decided are not held.
func (g *Gathering) Keep(stream string, epoch uint32, from int64) {
	s := g.streams[edition{stream, epoch}]
	s.kept = from
	for start, l := range s.slices {
		if s.over(start) {
			g.drop(l)
			delete(s.slices, start)
		}
	}
	s.forget()
}

// room is how many bytes of payloads may still be held.
func (g *Gathering) room() int64 { return g.limit - g.held }

// Add adds the message at an offset of the log, written at a moment of its writer's clock. Call it in the order of the
// log. It does not keep data. An error means that the message is corrupt. Then it counts as lost.
func (g *Gathering) Add(data []byte, at int64, written time.Time) error {
	c, m, err := decode(data)
	switch {
	case err != nil:
		g.Lose(at, written)
		return err
	case c != nil:
		if s := g.of(c.Origin, at); s != nil {
			return g.addChunk(s, c, at)
		}
	default:
		if s := g.of(m.Origin, at); s != nil {
			s.addMark(m, at, written)
		}
	}
	return nil
}

// of returns the edition to which a message at an offset belongs, or nil if that is not followed.
func (g *Gathering) of(o Origin, at int64) *gathered {
	s := g.streams[edition{o.Stream, o.Epoch}]
	if s != nil || g.aside >= 0 {
		return s
	}
	for e := range g.streams {
		if e.stream == o.Stream && e.epoch > o.Epoch {
			return nil // it was replaced before it began
		}
	}
	g.aside = at
	return nil
}

// Lose says that messages from an offset on are gone. They were written before a moment.
func (g *Gathering) Lose(at int64, before time.Time) {
	for _, s := range g.streams {
		s.gaps = append(s.gaps, gap{from: math.MinInt64, until: before.UnixNano() + int64(s.maxAhead), at: at})
	}
}

// over reports whether nobody needs the slice that starts at start.
func (s *gathered) over(start int64) bool { return start < s.kept && s.decidedOf(start) }

// decidedOf reports whether all windows that hold the slice that starts at start are decided. The last of them starts
// with the slice.
func (s *gathered) decidedOf(start int64) bool { return start+int64(s.schedule.Size) <= s.decided }

// slice returns the slice that starts at start. It makes it if there is none yet.
func (s *gathered) slice(start int64) *slice {
	l := s.slices[start]
	if l == nil {
		l = &slice{least: math.MaxInt64, has: map[writing]*Held{}}
		s.slices[start] = l
	}
	return l
}

func (g *Gathering) addChunk(s *gathered, c *chunk, at int64) error {
	if s.over(c.Slice.Start) {
		return nil
	}
	l := s.slice(c.Slice.Start)
	of := writing{c.Attempt, c.Partition}
	if l.has[of] != nil {
		return nil // the log has it twice
	}
	a := l.open[c.Attempt]
	if a == nil {
		a = &assembly{first: *c, shares: map[uint32][]byte{}, at: map[uint32]int64{}}
		a.first.Payload = nil
		if l.open == nil {
			l.open = map[[16]byte]*assembly{}
		}
		l.open[c.Attempt] = a
	}
	if f := a.first; c.of != f.of || c.Partition != f.Partition || c.From != f.From || c.To != f.To ||
		c.Slice != f.Slice {
		return fmt.Errorf("stream %s, slice of %s: chunk %d of %d contradicts another of its attempt", c.Stream,
			format(c.Slice.Start), c.index, c.of)
	}
	if _, known := a.at[c.index]; !known {
		a.at[c.index] = at
		a.size += int64(len(c.Payload))
		if a.size > g.room() || s.decidedOf(c.Slice.Start) {
			a.shares = nil // it will not be held
		}
		if a.shares != nil {
			a.shares[c.index] = bytes.Clone(c.Payload)
		}
		l.least = min(l.least, at)
	}
	if len(a.at) < int(c.of) {
		return nil
	}
	delete(l.open, c.Attempt)
	h := g.hold(s, a)
	l.parts, l.has[of] = append(l.parts, h), h
	return nil
}

// hold turns a complete assembly into a part, and keeps its payload if there is room.
func (g *Gathering) hold(s *gathered, a *assembly) *Held {
	h := a.part()
	if a.shares != nil && h.size <= g.room() && !s.decidedOf(h.Slice.Start) {
		g.held += h.size
		h.Payload = a.payload()
	}
	return h
}

// Ahead returns parts of slices after a window that are not held and for which there is room besides so many bytes. A
// caller that reads the log again for the window reads these too and passes them to Hold. In a backlog this saves most
// of the reading.
func (g *Gathering) Ahead(stream string, epoch uint32, w Window, beside int64) []*Held {
	s := g.streams[edition{stream, epoch}]
	room := g.room() - beside
	var parts []*Held
	for _, start := range slices.Sorted(maps.Keys(s.slices)) {
		if start < w.End || s.decidedOf(start) {
			continue // Hold would not keep them
		}
		for _, h := range s.slices[start].parts {
			if h.Payload != nil {
				continue
			}
			if room -= h.size; room < 0 {
				return parts
			}
			parts = append(parts, h)
		}
	}
	return parts
}

// Hold keeps the payload of a part that was not held, if there is room, until its windows are decided.
func (g *Gathering) Hold(h *Held, payload []byte) {
	s := g.streams[edition{h.Stream, h.Epoch}]
	if h.Payload == nil && int64(len(payload)) <= g.room() && !s.decidedOf(h.Slice.Start) {
		g.held += int64(len(payload))
		h.Payload = payload
	}
}

// Parts returns the parts of a window that count and are here.
func (g *Gathering) Parts(stream string, epoch uint32, w Window) []*Held {
	s, all := g.streams[edition{stream, epoch}], g.All(stream, epoch, w)
	if !s.adds {
		return all
	}
	lines := map[int]place{}
	return slices.DeleteFunc(all, func(h *Held) bool {
		line, known := lines[h.Partition]
		if !known {
			line = s.lineOf(w, h.Partition)
			lines[h.Partition] = line
		}
		return !h.place.leadsTo(line)
	})
}

// All returns the parts with records that count in a window, as far as they are here. If the contributions of the
// edition add up, some of them may hold the same records: they say who is there, and not how much they have.
func (g *Gathering) All(stream string, epoch uint32, w Window) []*Held {
	s := g.streams[edition{stream, epoch}]
	n, _ := s.needed(w)
	var parts []*Held
	for start := w.Start; start < w.End; start += int64(s.schedule.Every) {
		l := s.slices[start]
		if l == nil {
			continue
		}
		for _, h := range l.parts {
			if h.Partition >= n {
				continue
			}
			if c := s.source(h.Partition).cut(w); c == nil || h.To <= c.offset {
				parts = append(parts, h)
			}
		}
	}
	return parts
}

// Decide frees everything that belongs only to windows that end with w or earlier, unless it is kept. Decide windows in
// the order of their ends.
func (g *Gathering) Decide(stream string, epoch uint32, w Window) {
	s := g.streams[edition{stream, epoch}]
	s.decided = w.End
	if l := s.slices[w.Start]; l != nil {
		g.drop(l)
		if s.over(w.Start) {
			delete(s.slices, w.Start)
		}
	}
	s.forget()
}

// drop lets go of the payloads of a slice.
func (g *Gathering) drop(l *slice) {
	for _, h := range l.parts {
		g.held -= int64(len(h.Payload))
		h.Payload = nil
	}
}

// forget drops the cuts and gaps that nobody needs.
func (s *gathered) forget() {
	next := min(s.kept, s.decided+int64(s.schedule.Every)-int64(s.schedule.Size)) // the start of the next window
	past := func(g gap) bool { return g.until <= next }
	s.gaps = slices.DeleteFunc(s.gaps, past)
	cuts := min(s.kept, s.decided)
	for _, o := range s.sources {
		for len(o.cuts) > 0 && o.cuts[0].through <= cuts {
			o.cuts = o.cuts[1:]
		}
		o.gaps = slices.DeleteFunc(o.gaps, past)
		o.chain.forget(next, s.over)
	}
}
