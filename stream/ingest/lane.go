package ingest

import (
	"cmp"
	"slices"

	"github.com/louver/louver/stream/codec"
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
func (l lane) add(offset, at int64, rec *fetch.Record) verdict {
	v := l[0].try(offset, at, rec)
	for _, r := range l[1:] {
		if other := r.try(offset, at, rec); other.better(v) {
			v = other
		}
	}
	l[0].counts.count(v)
	return v
}

func (r *route) try(offset, at int64, rec *fetch.Record) verdict {
	if rec.TooLarge > 0 {
		return verdict{rejected: codec.Malformed, before: offset < r.from}
	}
	return r.add(offset, codec.Record{Key: rec.Key, Value: rec.Value, Time: at, Headers: rec})
}

// better reports whether one verdict is better than another.
func (v verdict) better(o verdict) bool {
	rank := func(v verdict) int {
		switch {
		case v.before:
			return 4
		case v.rejected == codec.OK && !v.late:
			return 3
		case v.late && !v.history:
			return 2
		case v.late:
			return 1
		}
		return 0
	}
	return rank(v) > rank(o)
}

func (c *counts) count(v verdict) {
	switch {
	case v.before:
		return
	case v.rejected != codec.OK:
		c.rejected[v.rejected]++
	case v.late:
		c.late++
	}
	if v.clamped {
		c.clamped++
	}
	c.events++
}
