package windows

import "math"

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
