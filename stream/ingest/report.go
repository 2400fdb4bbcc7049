package ingest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/stage"
)

// report tells operators what a partition's worker does.
type report struct {
	*reader
	waiting time.Time // when a cut began to wait for an open transaction
	hanging int64     // where the transaction logged as hung begins; −1 if none
}

// page updates the metrics after a page.
func (p *report) page() {
	m := p.Metrics
	for _, in := range p.streams {
		if in.follows == nil {
			in.page = page{in.counted(), in.fresh}
			in.fresh = tally{}
		}
	}
	for _, in := range p.streams {
		name, of := in.stream.Name, &in.leader().page
		if in.counters == nil {
			in.counters = newCounters(m, name)
		}
		in.counters.add(of.counts, name, m)
		in.traffic.add(of.fresh)
	}
	p.Lag(p.Names.Group(stage.Ingest), p.at, p.pages)
	m.CutWait.WithLabelValues(p.at.Topic, strconv.Itoa(p.at.Number)).Set(p.cutWait().Seconds())
}

// cutWait is how long a cut window has waited for an open transaction.
func (p *report) cutWait() time.Duration {
	for _, in := range p.streams {
		if len(in.cuts) > 0 && in.cuts[0].offset-p.base > p.pages.LastStable() &&
			p.pages.Position() >= p.pages.LastStable() {
			if p.waiting.IsZero() {
				p.waiting = time.Now()
			}
			return time.Since(p.waiting)
		}
	}
	p.waiting = time.Time{}
	return 0
}

// hungAfter is how long a cut may wait for an open transaction before it is logged.
const hungAfter = 10 * time.Second

// hung logs each open transaction that windows wait for, once. If the readable end does not move for another reason, it
// says so: it would be wrong to advise ending a transaction where there is none.
func (p *report) hung(ctx context.Context) {
	begins := p.pages.LastStable()
	if p.hanging >= 0 && (p.waiting.IsZero() || p.hanging != begins) {
		p.Monitor.Episodes.Over(p.hungKey(),
			fmt.Sprintf("windows no longer wait for the end of %s/%d", p.at.Topic, p.at.Number))
		p.hanging = -1
	}
	if p.hanging >= 0 || p.waiting.IsZero() || time.Since(p.waiting) < hungAfter {
		return
	}
	who, err := p.Fetch.ProducerAt(ctx, p.at.Topic, p.at.Number, begins)
	if err != nil {
		return // it has just ended, or the next check will tell
	}
	p.hanging = begins
	if !who.Transactional {
		p.Monitor.Episodes.On(p.hungKey(), episode.Rule{},
			fmt.Sprintf("windows are waiting: the readable end of %s/%d does not move, and no open transaction is "+
				"there; this process or the brokers may be too busy",
				p.at.Topic, p.at.Number), zap.Int64("offset", begins),
			zap.Stringer("waiting", episode.Round(time.Since(p.waiting))))
		return
	}
	p.Monitor.Episodes.On(p.hungKey(), episode.Rule{},
		fmt.Sprintf("windows are waiting for an open transaction on %s/%d", p.at.Topic, p.at.Number),
		zap.Int64("producer_id", who.ID), zap.Int16("producer_epoch", who.Epoch), zap.Int64("offset", begins),
		zap.Stringer("waiting", episode.Round(time.Since(p.waiting))), zap.String("to end it", fmt.Sprintf(
			"kafka-transactions.sh abort --topic %s --partition %d --start-offset %d", p.at.Topic,
			p.at.Number, begins)))
}

func (p *report) hungKey() string {
	return fmt.Sprintf("transaction on %s/%d", p.at.Topic, p.at.Number)
}

// progressed reports the oldest window of each stream that is not cut.
func (p *reader) progressed() {
	for _, l := range p.lanes {
		oldest := l[len(l)-1]
		if w, ok := oldest.schedule.After(oldest.through); ok {
			p.Health.Next(p.at, oldest.stream.Name, w, oldest.schedule)
		} else {
			p.Health.Finished(p.at, oldest.stream.Name)
		}
	}
}

// counters are the metrics of a stream that every page adds to. They are looked up once, because with many streams that
// takes longer than most pages do.
type counters struct{ events, late, superseded, clamped prometheus.Counter }

func newCounters(m *metrics.Operator, stream string) *counters {
	return &counters{m.Events.WithLabelValues(stream), m.Late.WithLabelValues(stream),
		m.Superseded.WithLabelValues(stream), m.Clamped.WithLabelValues(stream)}
}

// add adds what happened to the records of a page.
func (c *counters) add(n counts, stream string, m *metrics.Operator) {
	c.events.Add(float64(n.events))
	c.late.Add(float64(n.late))
	c.superseded.Add(float64(n.superseded))
	c.clamped.Add(float64(n.clamped))
	for reason, n := range n.rejected {
		if n > 0 {
			r, by := codec.Reason(reason), m.Rejected
			if r.Skips() {
				by = m.Skipped
			}
			by.WithLabelValues(stream, r.String()).Add(float64(n))
		}
	}
}

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
		case v.rejected.Skips():
			return -1
		}
		return 0
	}
	return rank(v) > rank(o)
}

// counts holds what has happened since the metrics were last updated.
type counts struct {
	events, late, superseded, clamped int
	rejected                          [codec.NumReasons]int // or skipped: those are no events
}

func (c *counts) count(v verdict) {
	switch {
	case v.when == seenBefore:
		return
	case v.rejected.Skips():
		c.rejected[v.rejected]++
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
	skipped               int   // what is none of the stream's events
	empty                 int   // records of a format with items that have none
	skips                 [codec.NumReasons]int
	unmet                 [codec.MaxConditions][codec.NumSkipCauses]int
}

func (t *tally) count(v verdict) {
	if v.when == history {
		return
	}
	if v.rejected.Skips() {
		t.skipped++
		t.skips[v.rejected]++
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
	t.skipped += o.skipped
	t.empty += o.empty
	for c := range t.unmet {
		for why, n := range o.unmet[c] {
			t.unmet[c][why] += n
		}
	}
	t.late += o.late
	t.clamped += o.clamped
	for r := range t.rejected {
		t.rejected[r] += o.rejected[r]
		t.missing[r] += o.missing[r]
		t.skips[r] += o.skips[r]
	}
}

// page says what became of the events of a page.
type page struct {
	counts counts
	fresh  tally
}

// One person whose keys are JSON is several users if producers write the same keys in different ways. Nobody can tell
// which users are one person, since that needs their values. But ways of writing the same names are seen easily, and a
// topic whose keys are written in two ways has such persons, unless each producer has persons of its own.

const (
	// remembered is for how long a way to write keys counts as used after it was last seen. A producer that has changed
	// its serializer for good is told of for so long.
	remembered = time.Hour
	// relearned is how soon a partition asks again what it knows of a way.
	relearned = 10 * time.Second
	// mostShapes bounds the memory: keys of a topic have one shape or a few.
	mostShapes = 64
)

// spellings are the ways in which the keys of topics are written. All partitions of a process share them. They are safe
// for concurrent use.
type spellings struct {
	mu   sync.Mutex
	used map[shape]used
}

type shape struct {
	topic string
	shape uint64
}

// used is the way in which keys of a shape are written that came first.
type used struct {
	way  uint64
	seen time.Time
}

// other reports whether keys of a topic with the same shape are written in another way too, which came first.
func (s *spellings) other(topic string, key codec.Spelled) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, now := shape{topic, key.Shape}, time.Now()
	first, known := s.used[of]
	if known && first.way != key.Way && now.Sub(first.seen) < remembered {
		return true
	}
	if s.used == nil || !known && len(s.used) >= mostShapes {
		s.used = map[shape]used{}
	}
	s.used[of] = used{key.Way, now}
	return false
}

// speller looks at keys of one partition: the first few of every ten seconds, and then one in so many.
type speller struct {
	topic string
	all   *spellings
	known map[codec.Spelled]bool // whether another way came first, since began
	began time.Time
	keys  int // since began
}

const everyFirst, everyLater = 2000, 16

// look reports whether a key is JSON that is written in another way than others of its shape before it. looked is false
// if it was not looked at.
func (s *speller) look(key []byte) (other, looked bool) {
	if len(key) > 5 && key[0] == 0 { // the number of a schema
		key = key[5:]
	}
	if len(key) < 2 || key[0] > ' ' && key[0] != '{' && key[0] != '[' {
		return false, false
	}
	if s.keys++; s.keys > everyFirst && s.keys%everyLater > 0 {
		return false, false
	}
	if len(s.known) >= mostShapes || time.Since(s.began) >= relearned { // at the beginning too
		s.known, s.began, s.keys = map[codec.Spelled]bool{}, time.Now(), 0
	}
	spelled, ok := codec.SpellingOf(key)
	if !ok {
		return false, false
	}
	other, known := s.known[spelled]
	if !known {
		other = s.all.other(s.topic, spelled)
		s.known[spelled] = other
	}
	return other, true
}
