package windows

import "slices"

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
	for _, gaps := range [][]gap{s.gaps, o.gaps} {
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
