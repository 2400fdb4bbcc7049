package ledger

import (
	"maps"
	"math"
	"slices"
)

// Join returns the books of all partitions together, for a report. It takes over the parts: do not use them afterwards.
// The charges of a budget are all in one partition. A stream that has changed its budget may be in several.
func Join(parts []*Books) *Books {
	all := NewBooks()
	streams := map[string][]*streamBook{}
	for _, b := range parts {
		for name, a := range b.accounts {
			// Elsewhere it is only named as one that another budget continues.
			if all.accounts[name] == nil || slices.Contains(b.Budgets(), name) {
				all.accounts[name] = a
			}
		}
		for heir, old := range b.continues {
			all.continues[heir] = append(all.continues[heir], old...)
		}
		for name, s := range b.streams {
			streams[name] = append(streams[name], s)
		}
		maps.Copy(all.lasting.of, b.lasting.of)
		maps.Copy(all.lasting.going, b.lasting.going)
		maps.Copy(all.lasting.withheld, b.lasting.withheld)
	}
	for heir, old := range all.continues {
		for _, name := range old {
			all.accounts[heir].Continue(all.accounts[name])
		}
	}
	for name, books := range streams {
		slices.SortFunc(books, func(s, t *streamBook) int { return s.latest.WindowEnd.Compare(t.latest.WindowEnd) })
		all.streams[name] = books[0]
		for _, later := range books[1:] {
			all.streams[name].append(later)
		}
	}
	return all
}

// append adds the later part of a stream's book. Each epoch is in one part only.
func (s *streamBook) append(later *streamBook) {
	if s.unpaid.IsZero() || later.unpaid.IsZero() || later.unpaid.UnixNano() > later.first() {
		s.unpaid = later.unpaid
	} // else no window was paid since
	s.latest = later.latest
	maps.Copy(s.rows, later.rows)
}

// first is the end of the first window, in Unix nanoseconds.
func (s *streamBook) first() int64 {
	first := int64(math.MaxInt64)
	for at, d := range s.rows {
		if at.name == "" && len(d.ends) > 0 {
			first = min(first, d.ends[0])
		}
	}
	return first
}
