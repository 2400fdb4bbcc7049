package ledger

import (
	"maps"
	"slices"
)

// Join returns the books of all partitions together, for a report. It takes the parts over, so they must not be used any more.
// The charges of a budget are all in one partition. A stream that has changed its budget may be in several.
func Join(parts []*Books) *Books {
	all := NewBooks()
	for _, b := range parts {
		for name, a := range b.accounts {
			if all.accounts[name] == nil || slices.Contains(b.Budgets(), name) { // elsewhere it is only named as continued
				all.accounts[name] = a
			}
		}
		for heir, old := range b.continues {
			all.continues[heir] = append(all.continues[heir], old...)
		}
		for name, s := range b.streams {
			all.streams[name] = all.streams[name].join(s)
		}
		maps.Copy(all.watches, b.watches)
		maps.Copy(all.going, b.going)
		maps.Copy(all.withheld, b.withheld)
	}
	for heir, old := range all.continues {
		for _, name := range old {
			all.accounts[heir].Continue(all.accounts[name])
		}
	}
	return all
}

// join takes over another part of a stream's book. Its epochs are of one part each, and its last window is of one of them.
func (s *streamBook) join(t *streamBook) *streamBook {
	if s == nil {
		return t
	}
	maps.Copy(s.ends, t.ends)
	maps.Copy(s.caps, t.caps)
	if !t.latest.WindowEnd.Before(s.latest.WindowEnd) {
		s.latest, s.unpaid = t.latest, t.unpaid
	}
	return s
}
