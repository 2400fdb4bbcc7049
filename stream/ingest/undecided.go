package ingest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
)

// Nobody can tell a good record from a bad one whose schema is not known. Such a record is kept aside while the
// registry is asked, and the partition reads on. The record counts as soon as its schema is known. A policy that
// chooses does so by a total order, so it makes no difference that later records were added first. Until the record is
// decided, the progress stays below it, so that a new worker would read it again.
//
// Where contributions add up, a new worker must not read again what is in parts. So the records behind one that waits
// are kept aside too, and are taken in their order. Bags and marks then end below the record that waits. Before a cut,
// all records below it are decided: the window waits until the registry has denied the schemas for half a minute.
//
// A registry may be behind its producers, so "no such schema" is no answer while the record's windows are open. It is
// one when all windows of the record's own timestamp are cut, or after an hour. If too much is kept aside, it is one
// for a schema that the registry has been denying for half a minute, and for numbers that it was not asked for because
// there are too many unknown ones. A registry that does not answer decides nothing: windows wait for it.

// longestAside is how long a record is kept aside at most. A window may take a day; a restart should not reread one.
const longestAside = time.Hour

// sweepEvery is how often records that are kept aside are looked at, unless the registry answers.
const sweepEvery = time.Second

// undecided are the records of a partition that are kept aside.
type undecided struct {
	*reader
	take    func(l lane, offset int64, rec *fetch.Record) // decides a record
	records []aside                                       // in the order of their offsets
	bytes   int64
	swept   time.Time
	answers <-chan struct{} // closed if the registry has answered since the last sweep
}

// aside is a record that is kept aside for some lanes.
type aside struct {
	codec.Wanted      // what the record waits for; nothing if it only is behind one that waits
	waits        bool // the record itself waits
	offset       int64
	rec          *fetch.Record
	read         time.Time
	lanes        []lane
}

// asideOverhead is roughly the memory of a record that is kept aside, in addition to its key, value and headers.
const asideOverhead = 256

// keep keeps a record aside for a lane, if one of the lane's windows may still take it, and the schema that it names is
// not known or it has to stay behind one that waits.
func (p *undecided) keep(l lane, offset int64, rec *fetch.Record) bool {
	if rec.TooLarge > 0 {
		return false
	}
	w, known := prepare(l, rec)
	behind := l.adds() && l.waits()
	if known && !behind || !slices.ContainsFunc(l, func(in *streamInput) bool { return offset >= in.from }) {
		return false
	}
	now := time.Now()
	if over := closed(l, rec, now); !behind && (over || w.Key) && p.final(w, p.schemas.find(w.ID), over) {
		return false
	}
	n := len(p.records)
	if n == 0 || p.records[n-1].offset != offset {
		own := rec.Clone()
		p.records = append(p.records, aside{offset: offset, rec: own, read: now})
		p.bytes += asideOverhead + int64(own.Bytes())
		n++
	}
	a := &p.records[n-1]
	if !known && !a.waits {
		a.Wanted, a.waits = w, true
		p.schemas.named(w.ID)
	}
	a.lanes = append(a.lanes, l)
	for _, in := range l {
		for _, in := range in.all() {
			in.undecided = min(in.undecided, offset)
		}
	}
	return true
}

// adds reports whether an edition of a lane adds up, so that its records are taken in their order.
func (l lane) adds() bool {
	return slices.ContainsFunc(l, func(in *streamInput) bool { return in.stream.Contribution.Adds() })
}

// waits reports whether a record of a lane is kept aside.
func (l lane) waits() bool {
	return slices.ContainsFunc(l, func(in *streamInput) bool { return in.undecided != math.MaxInt64 })
}

// prepare sees whether the schemas that a record names are known.
func prepare(l lane, rec *fetch.Record) (w codec.Wanted, known bool) {
	for _, in := range l {
		if preparer := in.decoding.preparer; preparer != nil {
			if w, known := preparer.Prepare(codec.Record{Key: rec.Key, Value: rec.Value, Headers: rec}); !known {
				return w, false
			}
		}
	}
	return w, true
}

// final reports whether a schema counts as unknown from now on. A key that names none is most likely of a kind that has
// no schemas, so it waits for the registry alone and not for the windows to close.
func (p *undecided) final(w codec.Wanted, f finding, over bool) bool {
	return f == isUnknown && w.Key || f > isAsked && over
}

// closed reports whether all windows are cut that hold the record's own timestamp. A timestamp of the future counts as
// the moment at which the record was read.
func closed(l lane, rec *fetch.Record, read time.Time) bool {
	t := read.UnixNano()
	if rec.Time >= 0 && rec.Time < t/int64(time.Millisecond) {
		t = rec.Time * int64(time.Millisecond)
	}
	return !slices.ContainsFunc(l, func(in *streamInput) bool { _, open := in.open(t); return open })
}

// sweep decides what can be decided. It looks only if there may be something.
func (p *undecided) sweep() {
	if len(p.records) == 0 {
		return
	}
	select {
	case <-p.answers:
	default:
		if time.Since(p.swept) < sweepEvery {
			return
		}
	}
	p.settle()
}

// settle decides what can be decided.
func (p *undecided) settle() {
	if len(p.records) == 0 {
		return
	}
	p.answers, p.swept = p.schemas.answers(), time.Now()
	states := map[codec.SchemaID]finding{}
	for _, a := range p.records {
		if _, seen := states[a.ID]; a.waits && !seen {
			states[a.ID] = p.schemas.find(a.ID)
		}
	}
	p.decide(func(a *aside, l lane) bool {
		w, known := prepare(l, a.rec)
		if known || a.Wanted == w && p.final(w, states[w.ID], closed(l, a.rec, a.read) || time.Since(a.read) > longestAside) {
			return true
		}
		a.Wanted, a.waits = w, true
		return false
	})
	p.tell(states)
}

// upTo returns where the parts of a stream end that should hold the records below to: there or, if the stream adds up,
// below the first record that waits. If to is the stream's next cut, it first decides what can be decided of the
// records below it. For a stream that adds up that is all of them: those whose schema is still not known are rejected.
func (p *undecided) upTo(ctx context.Context, in *streamInput, to int64) (int64, error) {
	cuts, adds := in.reached(to), in.stream.Contribution.Adds()
	if cuts {
		if err := p.await(ctx, in); err != nil {
			return to, err
		}
	}
	if cuts && adds {
		p.decide(func(a *aside, l lane) bool { return a.offset < to && slices.Contains(l, in) })
	}
	if adds {
		to = min(to, in.undecided)
	}
	return to, nil
}

// decide decides the records for the lanes for which ripe says so. If a lane adds up, it decides none behind one that
// still waits.
func (p *undecided) decide(ripe func(*aside, lane) bool) {
	for _, in := range p.streams {
		in.undecided = math.MaxInt64
	}
	kept := p.records[:0]
	p.bytes = 0
	for i := range p.records {
		a := p.records[i]
		a.lanes = slices.DeleteFunc(a.lanes, func(l lane) bool {
			if l.adds() && l.waits() || !ripe(&a, l) {
				return false
			}
			prepare(l, a.rec) // its schema may have come while the record was behind another one
			p.take(l, a.offset, a.rec)
			return true
		})
		if len(a.lanes) == 0 {
			continue
		}
		kept = append(kept, a)
		p.bytes += asideOverhead + int64(a.rec.Bytes())
		if a.offset < p.base {
			continue // of a former topic: nobody can read it again
		}
		for _, l := range a.lanes {
			for _, in := range l {
				for _, in := range in.all() {
					in.undecided = min(in.undecided, a.offset)
				}
			}
		}
	}
	clear(p.records[len(kept):])
	p.records = kept
}

// await decides what can be decided, and waits until the registry has answered what a stream's records need: then its
// windows may be cut. If the stream adds up, a schema that the registry does not have is an answer only after a while.
// If that takes longer than the registry usually does, louver windows says so.
func (p *undecided) await(ctx context.Context, in *streamInput) error {
	began, told := time.Now(), false
	for {
		p.settle()
		id, asks := p.asks(in)
		if !asks || ctx.Err() != nil {
			if told {
				p.keepAsks(nil)
			}
			return ctx.Err()
		}
		if !told && time.Since(began) >= sweepEvery {
			p.keepAsks(&progress.Asks{Schema: id.String(), Since: began})
			told = true
		}
		p.wait(ctx)
	}
}

// asks reports whether the registry has still to answer what a record of a stream needs, and names one such schema.
func (p *undecided) asks(in *streamInput) (id codec.SchemaID, asks bool) {
	seen := map[codec.SchemaID]bool{}
	for _, a := range p.records {
		if a.waits && !seen[a.ID] && slices.ContainsFunc(a.lanes, func(l lane) bool { return slices.Contains(l, in) }) {
			seen[a.ID] = true
			if f := p.schemas.find(a.ID); f == isAsked || f == isDenied && in.stream.Contribution.Adds() {
				return a.ID, true
			}
		}
	}
	return id, false
}

// wait waits for an answer of the registry, but not long.
func (p *undecided) wait(ctx context.Context) {
	timer := time.NewTimer(sweepEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.answers:
	case <-timer.C:
	}
}

// relieve sees to it that not too much is kept aside. It waits while nothing can be given up.
func (p *undecided) relieve(ctx context.Context) error {
	for p.bytes > p.asides.share(p.at, p.bytes, p.BagBytes/2) {
		p.settle()
		room := p.asides.share(p.at, p.bytes, p.BagBytes/2)
		excess := p.bytes - room/4*3
		p.decide(func(a *aside, _ lane) bool {
			if a.waits && (excess <= 0 || p.schemas.find(a.ID) != isUnknown) {
				return false
			}
			excess -= asideOverhead + int64(a.rec.Bytes())
			return true
		})
		if p.bytes <= room {
			break
		}
		if p.wait(ctx); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// tell tells operators of records whose schemas the registry does not have.
func (p *undecided) tell(states map[codec.SchemaID]finding) {
	var w waiting
	for _, a := range p.records {
		if a.waits && states[a.ID] >= isDenied && !a.Key {
			w.add(waiting{records: 1, id: a.ID})
		}
	}
	w.bytes = p.bytes
	if all := p.asides.put(p.at, w); w.records > 0 {
		p.Monitor.Episodes.On("schemas unknown: "+p.at.Topic, unknownSchemas, all.line(p.at.Topic))
	}
}

var unknownSchemas = episode.Rule{After: 5 * time.Second, Every: time.Hour, Lapse: 15 * time.Minute}

// waiting is how many records of a partition or topic wait, though the registry has answered.
type waiting struct {
	records int
	id      codec.SchemaID // of one of their schemas
	several bool           // there are others
	bytes   int64          // of all records that are kept aside
}

func (w *waiting) add(o waiting) {
	if w.records > 0 && o.records > 0 {
		w.several = w.several || o.several || w.id != o.id
	} else if o.records > 0 {
		w.id, w.several = o.id, o.several
	}
	w.records += o.records
}

func (w waiting) line(topic string) string {
	if w.several {
		return fmt.Sprintf("topic %s: %s", topic, unframed(w.records, w.id))
	}
	return printed("topic %s: %d records wait, because the registry does not have their schema, ", topic, w.records) +
		fmt.Sprintf("%s: is the registry behind, or are the records not framed?", w.id)
}

// unframed says that records name several schemas that the registry does not have.
func unframed(records int, id codec.SchemaID) string {
	return printed("%d records begin with ids of schemas that the registry does not have, ", records) +
		fmt.Sprintf("such as %s: are they framed?", id)
}

// asides is what all partitions of a process keep aside. It is safe for concurrent use.
type asides struct {
	mu  sync.Mutex
	all map[stage.Partition]waiting
}

// put notes what a partition keeps aside, and returns what waits in its topic.
func (s *asides) put(at stage.Partition, w waiting) (topic waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[stage.Partition]waiting{}
	}
	if w == (waiting{}) {
		delete(s.all, at)
	} else {
		s.all[at] = w
	}
	for other, w := range s.all {
		if other.Topic == at.Topic {
			topic.add(w)
		}
	}
	return topic
}

// share returns how many bytes a partition may keep aside, if all of them may keep most.
func (s *asides) share(at stage.Partition, bytes, most int64) int64 {
	if bytes <= 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	others := 0
	for other, w := range s.all {
		if other != at && w.bytes > 0 {
			others++
		}
	}
	return most / int64(others+1)
}
