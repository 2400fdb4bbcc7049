package ingest

import (
	"cmp"
	"slices"

	"github.com/louver/louver/stream/kafka/fetch"
)

// lane holds the routes of one stream's editions, the newest first. Usually there is one. While a new definition begins
// there are two, and an event's time decides to which it belongs.
type lane []*route

// lanes sorts the routes by stream and leaves out editions that take no more events.
func lanes(routes []*route) []lane {
	var all []lane
	at := map[string]int{}
	sorted := slices.Clone(routes)
	slices.SortStableFunc(sorted, func(a, b *route) int { return cmp.Compare(b.edition, a.edition) })
	for _, r := range sorted {
		i, known := at[r.stream.Name]
		switch {
		case !known:
			at[r.stream.Name] = len(all)
			all = append(all, lane{r})
		case !r.finished():
			all[i] = append(all[i], r)
		}
	}
	return all
}

// add offers a record to every edition and returns the best verdict: an event is late or rejected only if no edition
// takes it.
func (l lane) add(offset int64, rec *fetch.Record) verdict {
	v := l[0].add(offset, rec)
	for _, r := range l[1:] {
		if other := r.add(offset, rec); other.better(v) {
			v = other
		}
	}
	l[0].counts.count(v)
	return v
}
