package ingest

import "github.com/louver/louver/stream/codec"

// verdict says what became of a record in one stream. It has only four fields, so that it is passed in registers.
type verdict struct {
	rejected codec.Reason // 0: not rejected
	missing  bool         // the field that it was rejected for is missing
	clamped  bool         // the value is beyond the bounds
	when     when
}

// when says whether a record came in time.
type when uint8

const (
	inTime     when = iota
	tooLate         // all windows of its time are cut
	outside         // it lies before the first window or after the last
	history         // it lies before the first window, and was written soon after it happened, before that window
	seenBefore      // an earlier worker has counted it
)

func (v verdict) late() bool { return v.when == tooLate || v.when == outside || v.when == history }

// better reports whether one verdict is better than another.
func (v verdict) better(o verdict) bool {
	rank := func(v verdict) int {
		switch {
		case v.when == seenBefore:
			return 5
		case v.rejected == codec.OK && v.when == inTime:
			return 4
		case v.when == tooLate:
			return 3
		case v.when == outside:
			return 2
		case v.when == history:
			return 1
		}
		return 0
	}
	return rank(v) > rank(o)
}

// counts holds what has happened since the metrics were last updated.
type counts struct {
	events, late, superseded, clamped int
	rejected                          [codec.NumReasons]int
}

func (c *counts) count(v verdict) {
	switch {
	case v.when == seenBefore:
		return
	case v.rejected != codec.OK:
		c.rejected[v.rejected]++
	case v.late():
		c.late++
	}
	if v.clamped {
		c.clamped++
	}
	c.events++
}

// tally counts what became of events. It leaves out events that a restart reads again, and those from before the
// stream's start.
type tally struct {
	events, late, clamped int
	rejected, missing     [codec.NumReasons]int
	causes                map[cause]int // of rejected records, as far as more is known; at most mostCauses
	framed                int           // keys that begin like a schema registry's header, and are users as they are
	spelled, respelled    int           // keys of JSON that were looked at, and those written in another way than before
	unknown               waiting       // records whose schema the registry does not have
	outside               int
	oldest, newest        int64 // event times of those outside, in Unix nanoseconds
}

func (t *tally) count(v verdict) {
	if v.when == history {
		return
	}
	t.events++
	if v.when == tooLate {
		t.late++
	}
	if v.clamped {
		t.clamped++
	}
	if v.rejected != codec.OK {
		t.rejected[v.rejected]++
		if v.missing {
			t.missing[v.rejected]++
		}
	}
}

// cause says more about a reason.
type cause struct {
	reason codec.Reason
	words  string // go on from "the record"
}

// mostCauses bounds the causes that are told apart: some name the number of a schema, which a sender may make up.
const mostCauses = 8

// caused notes why n records were rejected.
func (t *tally) caused(reason codec.Reason, words string, n int) {
	if t.causes == nil {
		t.causes = map[cause]int{}
	}
	of := cause{reason, words}
	if _, known := t.causes[of]; known || len(t.causes) < mostCauses {
		t.causes[of] += n
	}
}

// why notes why a record was rejected, as far as more is known.
func (t *tally) why(reason codec.Reason, d *decoding) {
	switch {
	case d.fault.schema != codec.SchemaID{}:
		t.unknown.add(waiting{records: 1, id: d.fault.schema})
	case d.fault.cause != "":
		t.caused(reason, d.fault.cause, 1)
	}
}

// strayed counts an event outside all windows. It has been counted as an event.
func (t *tally) strayed(at int64) {
	t.add(tally{outside: 1, oldest: at, newest: at})
}

func (t *tally) add(o tally) {
	if o.outside > 0 {
		if t.outside == 0 {
			t.oldest, t.newest = o.oldest, o.newest
		}
		t.oldest, t.newest = min(t.oldest, o.oldest), max(t.newest, o.newest)
		t.outside += o.outside
	}
	for of, n := range o.causes {
		t.caused(of.reason, of.words, n)
	}
	t.unknown.add(o.unknown)
	t.framed += o.framed
	t.spelled += o.spelled
	t.respelled += o.respelled
	t.events += o.events
	t.late += o.late
	t.clamped += o.clamped
	for r := range t.rejected {
		t.rejected[r] += o.rejected[r]
		t.missing[r] += o.missing[r]
	}
}

// page says what became of the events of a page.
type page struct {
	counts counts
	fresh  tally
}
