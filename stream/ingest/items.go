package ingest

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/windows"
)

// Records of some formats hold many items, each of them one person's event: see [codec.Batch]. A record is read in
// parts of so many items. All lanes take a part before the next one is decoded, so that lanes share what was decoded
// and memory is bounded. Cuts, marks, positions and progress stay at records: an item counts in a window if its record
// lies below the cut. Whether an item counts depends on nothing else that is in its record.

// partItems is how many items a part has at most.
const partItems = 1024

// item is what a decoding made of an item, or of a record that is one.
type item struct {
	verdict     verdict
	why         codec.SkipCause
	condition   int8 // that it does not meet, if it is skipped
	name        span // of the group, if groups are found
	group       int32
	time, value int64
	user        windows.UserHash
}

// leftOut is an item that is skipped.
func leftOut(reason codec.Reason, s codec.Skip) item {
	return item{verdict: verdict{rejected: reason}, condition: int8(s.Condition), why: s.Why}
}

// span is a stretch of a buffer.
type span struct{ from, to int32 }

// part is some of the items of a record, in their order.
type part struct {
	number int // in the record; −1: there is none
	first  int // the number of its first item in the record
	items  []item
	names  []byte
	faults [codec.NumReasons]fault // of one of the items that were rejected for each reason
	more   bool                    // others follow
	broken string                  // why what follows in the record cannot be read; "" if nothing does
}

// part reads a part of the record at an offset, unless that is the one that was read last. A format without items has
// one of them in a record.
func (d *decoding) part(offset int64, n int, rec *fetch.Record) *part {
	p := &d.items
	if offset == d.offset && n == p.number {
		return p
	}
	record := codec.Record{Key: rec.Key, Value: rec.Value, Time: rec.Time * int64(time.Millisecond), Headers: rec}
	if d.batch == nil {
		d.single(offset, n, rec, p)
		return p
	}
	if offset != d.offset || n <= p.number {
		d.offset, p.number, p.first, p.items, p.broken = offset, -1, 0, p.items[:0], ""
		if rec.TooLarge > 0 {
			record.Value, p.broken = nil, tooLarge
		}
		d.batch.Begin(record)
	}
	for p.number < n {
		p.number++
		p.first += len(p.items)
		p.items, p.names, p.faults = p.items[:0], p.names[:0], [codec.NumReasons]fault{}
		p.more = true
		for p.more && len(p.items) < partItems {
			if p.more = d.next(record, p); !p.more && rec.TooLarge == 0 {
				p.broken = d.batch.Broken()
			}
		}
	}
	return p
}

// tooLarge is the cause of a record that is not looked at.
const tooLarge = "is larger than 4 MiB"

// next reads the next item into a part. It returns false if there is none.
func (d *decoding) next(record codec.Record, p *part) bool {
	reason, more := d.batch.Next(&d.event)
	switch {
	case !more:
		return false
	case reason.Skips():
		p.items = append(p.items, leftOut(reason, d.batch.Skipped()))
	case reason != codec.OK:
		v := verdict{rejected: reason,
			missing: reason != codec.Malformed && reason != codec.Future && d.batch.Missing()}
		if p.faults[reason] == (fault{}) {
			p.faults[reason] = d.faultOf(record, reason)
		}
		p.items = append(p.items, item{verdict: v})
	default:
		p.add(d)
	}
	return true
}

// add adds the event that was just decoded.
func (p *part) add(d *decoding) {
	e := &d.event
	i := item{group: int32(e.Group), time: e.Time, value: e.Value, user: d.hasher.User(e.User)}
	if len(e.Name) > 0 {
		i.name.from = int32(len(p.names))
		p.names = append(p.names, e.Name...)
		i.name.to = int32(len(p.names))
	}
	e.User, e.Name = nil, nil // they point into the page
	p.items = append(p.items, i)
}

// single makes the first part of the one event of a record. Others are empty.
func (d *decoding) single(offset int64, n int, rec *fetch.Record, p *part) {
	v := d.decode(offset, rec)
	*p = part{number: n, names: append(p.names[:0], d.name...), items: p.items[:0]}
	if n > 0 {
		return
	}
	p.items = append(p.items, d.one)
	p.faults[v.rejected] = d.fault
}

// takeAll offers the items of a record to lanes, part after part, and returns how many they are. It notes if the record
// is broken: then nobody knows whose items are lost, and windows that they may belong to are incomplete.
func (p *partition) takeAll(ctx context.Context, lanes []lane, offset int64, rec *fetch.Record) (items int, err error) {
	broken := ""
	for n, more := 0, true; more; n++ {
		more = false
		for _, l := range lanes {
			of := p.takePart(l, offset, n, rec)
			more = more || of.more
			items = max(items, of.first+len(of.items))
			if !of.more && of.broken != "" {
				broken = of.broken
			}
		}
		if p.copies.bytes >= queueBytes {
			if err := p.copies.send(ctx); err != nil {
				return items, err
			}
		}
	}
	if broken != "" && offset >= p.reported {
		p.Metrics.Lost.WithLabelValues(p.at.Topic).Inc()
		p.Monitor.Episodes.On("broken records: "+p.at.Topic, brokenRecords, fmt.Sprintf("records of topic %s cannot be "+
			"read to their end: windows that the rest may belong to will be marked incomplete", p.at.Topic),
			zap.String("why", "the record "+broken))
	}
	return items, nil
}

var brokenRecords = episode.Rule{Every: time.Hour, Count: true, Lapse: 15 * time.Minute}

// takePart offers a part of a record to a lane and counts what becomes of its items. Those that are bad or late are
// copied together, for each reason.
func (p *partition) takePart(l lane, offset int64, n int, rec *fetch.Record) *part {
	in := l[0]
	var of *part
	for _, edition := range l {
		if offset < edition.from {
			continue
		}
		if read := edition.decoding.part(offset, n, rec); of == nil || len(read.items) > len(of.items) {
			of = read
		}
	}
	if of == nil { // counted by an earlier worker
		return &part{}
	}
	for i := range p.bad {
		p.bad[i] = p.bad[i][:0]
	}
	for i := range of.items {
		v := l.addItem(offset, i, rec)
		if offset < p.reported || v.when == seenBefore {
			continue
		}
		in.fresh.count(v)
		switch at := &of.items[i]; {
		case v.rejected.Skips():
			if v.rejected == codec.Unwanted {
				in.fresh.unmet[at.condition][at.why]++
			}
		case v.rejected != codec.OK:
			if cause := of.faults[v.rejected].cause; cause != "" {
				in.fresh.caused(v.rejected, cause, 1)
			}
			p.bad[v.rejected] = append(p.bad[v.rejected], of.first+i)
		case v.late():
			if v.when == outside {
				in.fresh.strayed(at.time)
			}
			p.bad[codec.OK] = append(p.bad[codec.OK], of.first+i)
		}
	}
	if n == 0 && len(of.items) == 0 && of.broken == "" && offset >= p.reported {
		in.fresh.empty++
	}
	p.copyItems(l, rec, of)
	if !of.more && of.broken != "" {
		p.lostItems(l, offset, rec, of.broken)
	}
	return of
}

// addItem offers an item of the parts that were just read to every edition, and returns the best verdict.
func (l lane) addItem(offset int64, i int, rec *fetch.Record) verdict {
	best := l[0].addItem(offset, i, rec)
	for _, in := range l[1:] {
		if v := in.addItem(offset, i, rec); v.better(best) {
			best = v
		}
	}
	l[0].counts.count(best)
	return best
}

func (in *streamInput) addItem(offset int64, i int, rec *fetch.Record) verdict {
	of := &in.decoding.items
	switch {
	case offset < in.from:
		return verdict{when: seenBefore}
	case i >= len(of.items): // of an edition in another format
		return verdict{rejected: codec.Unwanted}
	}
	at := &of.items[i]
	if at.verdict.rejected != codec.OK {
		return at.verdict
	}
	return in.put(offset, at, of.names, rec)
}

// copyItems queues copies of the bad and late items of a part, for the streams that want them: a record with the items
// of each reason.
func (p *partition) copyItems(l lane, rec *fetch.Record, of *part) {
	for reason, items := range p.bad {
		if len(items) == 0 {
			continue
		}
		v := verdict{rejected: codec.Reason(reason)}
		if v.rejected == codec.OK {
			v.when = tooLate
		}
		value := rec.Value
		if batch := l[0].decoding.batch; batch != nil {
			if !p.copied(l[0], v) {
				continue
			}
			value = batch.Cut(rec.Value, items)
		}
		p.copy(l[0], rec, v, copied{value: value, items: len(items), cause: of.faults[v.rejected].cause})
	}
}

// lostItems rejects a record whose frames do not fit, or that is too large to be looked at. It hides an unknown number
// of people's items.
func (p *partition) lostItems(l lane, offset int64, rec *fetch.Record, why string) {
	for _, edition := range l {
		if offset < edition.from {
			continue
		}
		for _, in := range edition.all() {
			in.lose(1)
		}
	}
	if offset < p.reported {
		return
	}
	in, v := l[0], verdict{rejected: codec.Malformed}
	in.counts.count(v)
	in.fresh.count(v)
	in.fresh.caused(codec.Malformed, why, 1)
	p.copy(in, rec, v, copied{value: rec.Value, cause: why})
}
