package windows

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// source is one partition of the input, as the marks describe it.
type source struct {
	known      bool
	to         int64 // end of the chain of marks
	toAt       int64 // where in the log that mark is
	said       int64 // windows with End ≤ said are cut
	partitions int
	cuts       []cut
	gaps       []gap
	chain      chain // if the contributions of the edition add up
}

// cut is a mark's statement about the windows that end in (after, through].
type cut struct {
	after, through int64
	reach          int64 // the greatest through of this one and those before
	offset         int64
	partitions     int
	at             int64
	place          place // of the mark
}

// gap says that records from an offset on are missing, and that none of them is in a window that starts at until or
// later.
type gap struct {
	from, until int64
	at          int64 // where in the log it shows
	input       bool  // the records were lost before there was a part of them
}

func (s *gathered) source(partition int) *source {
	o := s.sources[partition]
	if o == nil {
		o = &source{said: math.MinInt64}
		s.sources[partition] = o
	}
	return o
}

// partitions returns how many partitions the marks know of.
func (s *gathered) partitions() int {
	n := 0
	for _, o := range s.sources {
		n = max(n, o.partitions)
	}
	return n
}

func (s *gathered) addMark(m *Mark, at int64, written time.Time) {
	o := s.source(m.Partition)
	var of place
	if s.adds {
		of = s.join(o, m, at, written)
	} else {
		s.chain(o, m, at, written)
	}
	o.known, o.partitions = true, max(o.partitions, m.Partitions)
	if m.Through > m.After && m.Through > min(s.decided, s.kept) {
		c := cut{m.After, m.Through, m.Through, m.To, m.Partitions, at, of}
		if n := len(o.cuts); n > 0 {
			c.reach = max(c.reach, o.cuts[n-1].reach)
		}
		o.cuts = append(o.cuts, c)
	}
	o.said = max(o.said, m.Through)
}

// chain notes what a mark says about gaps before it.
func (s *gathered) chain(o *source, m *Mark, at int64, written time.Time) {
	until := written.UnixNano() + int64(s.maxAhead)
	if o.known && m.From > o.to {
		missing := gap{from: o.to, until: until, at: o.toAt}
		if m.Since != 0 { // the mark itself may have come much later, while nobody wrote any
			missing.until = min(until, m.Since+int64(s.maxAhead))
		}
		o.gaps = append(o.gaps, missing)
	}
	if m.Lost > 0 {
		o.gaps = append(o.gaps, gap{m.From, until, at, true})
	}
	if !o.known || m.To > o.to {
		o.to, o.toAt = m.To, at
	}
	for _, start := range m.Slices {
		if s.over(start) {
			continue
		}
		if l := s.slice(start); l.has[writing{m.Attempt, m.Partition}] == nil {
			l.missing = append(l.missing, m.Partition)
		}
	}
}

// needed returns how many partitions must cut a window. A cut of it says so. If none is left, the latest mark does.
func (s *gathered) needed(w Window) (n int, known bool) {
	said := false
	for _, o := range s.sources {
		if c := o.cut(w); c != nil {
			n = max(n, c.partitions)
		}
		said = said || o.said >= w.End
	}
	if n == 0 && said {
		n = s.partitions()
	}
	return n, n > 0
}

// cut returns the mark that cuts the window in this partition, or nil.
func (o *source) cut(w Window) *cut {
	if o.said < w.End {
		return nil
	}
	first, _ := slices.BinarySearchFunc(o.cuts, w.End, func(c cut, end int64) int { return cmp.Compare(c.reach, end) })
	for i := first; i < len(o.cuts); i++ {
		if c := &o.cuts[i]; c.after < w.End && w.End <= c.through {
			return c
		}
	}
	return nil
}

// State is the state of a window.
type State struct {
	// Ready says that nothing more will come.
	Ready bool
	// Waiting are the partitions whose cut is still to come.
	Waiting []int
	// Incomplete are the partitions that have lost records or messages.
	Incomplete []int
	// Gone says that messages were lost: the log may have had parts of the window that are not here. If it is false,
	// all parts that were ever written for it are here, even if records of the input were lost before.
	Gone bool
}

// State returns the state of a window.
func (g *Gathering) State(stream string, epoch uint32, w Window) State {
	s := g.streams[edition{stream, epoch}]
	n, known := s.needed(w)
	if !known {
		return State{Waiting: []int{0}}
	}
	var st State
	for p := range n {
		o := s.source(p)
		c := o.cut(w)
		switch {
		case c == nil && o.said < w.End:
			st.Waiting = append(st.Waiting, p)
			continue
		case c == nil:
			st.Incomplete, st.Gone = append(st.Incomplete, p), true
			continue
		}
		records, messages := s.lacks(w, p, o, c)
		if records || messages {
			st.Incomplete, st.Gone = append(st.Incomplete, p), st.Gone || messages
		}
	}
	st.Ready = len(st.Waiting) == 0
	return st
}

// lacks reports whether some of the window's records in a partition were lost before there was a part of them, and
// whether messages about it are missing.
func (s *gathered) lacks(w Window, partition int, o *source, c *cut) (records, messages bool) {
	own := o.gaps
	if s.adds { // faults of other lines do not matter
		own = nil
		records, messages = w.Start < c.place.line.lacks.records, w.Start < c.place.line.lacks.messages
	}
	for _, gaps := range [][]gap{s.gaps, own} {
		for _, g := range gaps {
			if g.from < c.offset && w.Start < g.until {
				records, messages = records || g.input, messages || !g.input
			}
		}
	}
	for start := w.Start; start < w.End; start += int64(s.schedule.Every) {
		if l := s.slices[start]; l != nil && slices.Contains(l.missing, partition) {
			messages = true
		}
	}
	return records, messages
}

// Needs returns the lowest offset of the log that an undecided window or a kept slice needs, or position if there is
// none.
func (g *Gathering) Needs(position int64) int64 {
	if g.aside >= 0 {
		position = min(position, g.aside)
	}
	for _, s := range g.streams {
		for _, l := range s.slices {
			position = min(position, l.least)
		}
		for _, o := range s.sources {
			for _, c := range o.cuts {
				position = min(position, c.at)
			}
			for _, g := range o.gaps {
				position = min(position, g.at)
			}
		}
		for _, g := range s.gaps {
			position = min(position, g.at)
		}
	}
	return position
}

// NeedsOf returns the lowest offset of the log that an undecided window needs: another gathering that reads the log
// from there, or from a lower offset, gives the same state and the same parts for it. It is the greatest number if the
// log has nothing of the window.
func (g *Gathering) NeedsOf(stream string, epoch uint32, w Window) int64 {
	s := g.streams[edition{stream, epoch}]
	least := int64(math.MaxInt64)
	for start := w.Start; start < w.End; start += int64(s.schedule.Every) {
		if l := s.slices[start]; l != nil {
			least = min(least, l.least)
		}
	}
	touching := func(gaps []gap) {
		for _, g := range gaps {
			if w.Start < g.until {
				least = min(least, g.at)
			}
		}
	}
	touching(s.gaps)
	for _, o := range s.sources {
		if c := o.cut(w); c != nil {
			least = min(least, c.at)
		}
		touching(o.gaps)
	}
	return least
}
