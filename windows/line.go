package windows

import (
	"math"
	"slices"
	"time"
)

// A stream that adds up its events may count each record once at most. Choosing the last value of overlapping parts is
// the same as choosing once; adding it up is not. So of a window, only the parts on the line of its cut count.
//
// Within one partition, in the order of the log, a mark continues the last mark before it whose To is its From and
// whose Through is its After, whoever wrote that: these two numbers say from where a worker reads, and what is cut. The
// line of a mark is the mark, the one that it continues, and so on. A part is on a line if its mark is. Parts without a
// mark are on none. A window's cut is the first mark in the log that cuts it.
//
// This counts each record below the cut exactly once:
//
//   - The ranges on a line follow one another without overlap, and the parts of a mark hold each record of its range
//     that was taken.
//   - A worker drops a record as late only if it has cut all windows of the record's slice, and so this window. But
//     every mark on the line, and every one that its writer wrote or resumed from, is in the log before the first that
//     cuts it.
//   - A line begins with the mark of a worker without progress, and no window has a record below its To.
//
// Two workers must not have one number for different records. So a worker that goes on at the end of a topic which has
// lost its newest records gives the records to come numbers that are larger by a random amount. One that had not read
// those records notices nothing, and gives their numbers to the next ones. So if several marks have the two numbers, a
// mark continues the one that was written when its Since says: its writer wrote that, or began where that ends.
//
// Nobody has to know which of two workers is a zombie. Their lines fork, each is complete, and the first cut picks one.
// Later marks change nothing about earlier cuts, so all readers find the same.
//
// Privacy needs this too, and not only accuracy. If a record counted twice, what a user adds would depend on when parts
// are written, which everybody's events decide.

// place is that of a mark on its line. The zero place is none.
type place struct {
	line   *line
	number int // of the line's marks before this one
}

// line is a stretch of marks of which each continues the one before. Another line forks off where a mark continues an
// earlier one, and where something is lost.
type line struct {
	of    place // the mark that the first one continues, if it is known and matters
	marks int
	known int   // marks before this number are forgotten
	lacks lacks // what its windows lack, because of this line and those that it forks off
}

// lacks says what is missing in windows that start before a moment.
type lacks struct{ records, messages int64 }

// link is a mark, as far as others that continue it need it.
type link struct {
	place
	attempt           [16]byte
	from, to, through int64
	newest            int64 // the start of its latest slice
	at, written       int64
}

// chain holds the marks of a partition from the oldest that matters on, in the order of the log.
type chain struct {
	links  []link
	lowest int64 // the lowest From of any mark
	began  int64 // when the first one was written
	floor  int64 // the highest To of those that are forgotten: no record below it is in a slice that matters
}

// leadsTo reports whether a mark is on the line of another one.
func (p place) leadsTo(o place) bool {
	for o.line != nil && o.line != p.line {
		o = o.line.of
	}
	return p.line != nil && o.line == p.line && p.number <= o.number
}

// forgotten reports whether nothing matters of a mark, nor of those that it continues.
func (p place) forgotten() bool { return p.line == nil || p.number < p.line.known }

// join puts a mark on its line, and the parts that it names. If it is in the log twice, because its batch was sent
// again, it keeps its place.
func (s *gathered) join(o *source, m *Mark, at int64, written time.Time) place {
	var parts []*Held
	lack, newest := lacks{math.MinInt64, math.MinInt64}, int64(math.MinInt64)
	need := func(until *int64, end, from int64) {
		*until = max(*until, end)
		o.gaps = append(o.gaps, gap{until: end, at: from})
	}
	of := writing{m.Attempt, m.Partition}
	for _, start := range m.Slices {
		if l := s.slices[start]; l != nil && l.has[of] != nil && l.has[of].place.line != nil {
			return l.has[of].place
		}
	}
	for _, start := range m.Slices {
		if s.over(start) {
			continue
		}
		newest = max(newest, start)
		if h := s.slice(start).has[of]; h != nil {
			parts = append(parts, h)
		} else {
			need(&lack.messages, start+int64(s.schedule.Every), at)
		}
	}
	now := written.UnixNano()
	ahead := now + int64(s.maxAhead)
	if m.Lost > 0 {
		need(&lack.records, ahead, at)
	}
	c := &o.chain
	if len(parts) == 0 {
		if p, again := c.again(m); again {
			return p
		}
	}
	before, found := c.before(m)
	if !found && c.misses(m) {
		if m.Since != 0 { // the mark itself may have come much later, while nobody wrote any
			ahead = min(ahead, m.Since+int64(s.maxAhead))
		}
		need(&lack.messages, ahead, c.below(m, at))
	}
	p := before.next(lack)
	for _, h := range parts {
		h.place, h.marked = p, at
	}
	if len(c.links) == 0 {
		c.lowest, c.began = m.From, now
	}
	c.lowest = min(c.lowest, m.From)
	c.links = append(c.links, link{p, m.Attempt, m.From, m.To, m.Through, newest, at, now})
	return p
}

// again returns the place of a mark that is in the log already. Marks with parts are known by these.
func (c *chain) again(m *Mark) (p place, known bool) {
	i := slices.IndexFunc(c.links, func(l link) bool { return l.attempt == m.Attempt })
	if i < 0 {
		return place{}, false
	}
	return c.links[i].place, true
}

// misses reports whether the mark that a mark continues is missing, if it is not known. It is not missing if it is one
// from before the reader began, or one that was forgotten: nothing of those matters. It is one of these if the mark
// begins low enough, or says that the one before was written earlier than the first that the reader saw. So a reader
// that begins between the marks of two workers misses nothing.
func (c *chain) misses(m *Mark) bool {
	return len(c.links) > 0 && m.From > max(c.lowest, c.floor) && (m.Since == 0 || m.Since >= c.began)
}

// before returns the place of the mark that a mark continues. It is mostly the last one.
func (c *chain) before(m *Mark) (p place, found bool) {
	since := m.Since - m.Since%int64(time.Millisecond) // as the log has it
	for _, l := range slices.Backward(c.links) {
		switch {
		case l.to != m.From || l.through != m.After:
		case l.written == since:
			return l.place, true
		case !found:
			p, found = l.place, true
		}
	}
	return p, found
}

// below returns where a new reader has to begin to see that the one before a mark is missing: at an earlier mark that
// begins lower, and was written before the one that is missing.
func (c *chain) below(m *Mark, at int64) int64 {
	lower := slices.IndexFunc(c.links, func(l link) bool {
		return l.from < m.From && (m.Since == 0 || l.written <= m.Since)
	})
	if lower < 0 {
		return min(at, c.links[0].at)
	}
	return c.links[lower].at
}

// next returns the place of a mark that continues the one at p and lacks something.
func (p place) next(own lacks) place {
	if l := p.line; l != nil && p.number == l.marks-1 && own.records <= l.lacks.records &&
		own.messages <= l.lacks.messages {
		l.marks++
		return place{l, l.marks - 1}
	}
	l := &line{of: p, marks: 1, lacks: own}
	if p.line != nil {
		l.lacks.records = max(own.records, p.line.lacks.records)
		l.lacks.messages = max(own.messages, p.line.lacks.messages)
		if p.line.of.forgotten() {
			p.line.of = place{}
		}
	}
	return place{l, 0}
}

// forget drops the oldest marks, as far as their slices are over and nothing that they lack matters to windows that
// start at next or later. The last mark stays: the next one continues it.
func (c *chain) forget(next int64, over func(start int64) bool) {
	for len(c.links) > 1 {
		l := c.links[0]
		if l.newest != math.MinInt64 && !over(l.newest) || max(l.line.lacks.records, l.line.lacks.messages) > next {
			return
		}
		c.floor = max(c.floor, l.to)
		l.line.known = l.number + 1
		c.links = c.links[1:]
	}
}

// lineOf returns the place of the mark whose line has the parts of a window that count: its cut or, if the log no
// longer has that, the last mark with a part of it.
func (s *gathered) lineOf(w Window, partition int) (p place) {
	if c := s.source(partition).cut(w); c != nil {
		return c.place
	}
	last := int64(-1)
	for start := w.Start; start < w.End; start += int64(s.schedule.Every) {
		if l := s.slices[start]; l != nil {
			for _, h := range l.parts {
				if h.Partition == partition && h.place.line != nil && h.marked > last {
					p, last = h.place, h.marked
				}
			}
		}
	}
	return p
}
