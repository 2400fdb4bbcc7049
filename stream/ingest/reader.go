package ingest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// reader says what is read of one input partition, and into which streams.
//
// Offsets in streams and marks include the base; those of pages do not.
type reader struct {
	*Ingest
	at   stage.Partition
	kept *stage.Latest[progress.Input]
	last progress.Input // what was put there last, or stood there before

	pages    *fetch.Reader
	streams  []*streamInput
	lanes    []lane // the streams that take events
	leading  []lane // the lanes, without those that follow others
	base     int64
	id       string // the topic's id; "" if unknown
	former   string // the id of the previous topic of this name
	reported int64  // records below were already seen before a restart
}

// sort finds the lanes.
func (p *reader) sort() {
	p.lanes = lanes(p.streams)
	p.leading = leading(p.lanes)
}

// position is the reader's position plus the base.
func (p *reader) position() int64 { return p.pages.Position() + p.base }

// lose notes that records just below the position could not be read.
func (p *reader) lose(n int64, why error) {
	p.missing(n)
	p.Log.Error("records are lost: windows that they may belong to will be marked incomplete",
		zap.String("topic", p.at.Topic), zap.Int("partition", p.at.Number), zap.Int64("records", n), zap.Error(why))
}

// missing counts records that could not be read.
func (p *reader) missing(n int64) {
	p.Metrics.Lost.WithLabelValues(p.at.Topic).Add(float64(n))
	for _, in := range p.streams {
		in.lose(n)
	}
}

// keepProgress writes the progress. Nothing below it may be waiting to be sent.
func (p *reader) keepProgress() {
	p.last = p.progress()
	p.kept.Put(p.last)
}

// keepAsks writes the last progress once more, and with it what all windows of the partition wait for; nil: for
// nothing.
func (p *reader) keepAsks(a *progress.Asks) {
	next := p.last
	next.Streams = maps.Clone(next.Streams)
	for key, s := range next.Streams {
		s.Asks = a
		next.Streams[key] = s
	}
	p.kept.Put(next)
}

func (p *reader) placeOf(in *streamInput) at {
	return at{p.at, config.EditionKey(in.stream.Name, in.edition)}
}

// held reports whether the windows of a stream, or of one that follows it, wait because the broker was away.
func (p *reader) held(in *streamInput) bool {
	return slices.ContainsFunc(in.all(), func(in *streamInput) bool {
		_, until := p.absences.of(p.placeOf(in), in.schedule.Grace)
		return time.Now().Before(until)
	})
}

// again says what a stream's windows wait for after an outage; nil if they do not wait.
func (p *reader) again(in *streamInput) *progress.Again {
	o, until := p.absences.of(p.placeOf(in), in.schedule.Grace)
	if !time.Now().Before(until) {
		return nil
	}
	return &progress.Again{Away: o.back.Sub(o.since), Grace: in.schedule.Grace, Until: until}
}

// progress says below which offset everything is written. A stream whose windows are all cut needs no more records, so
// it does not hold the offset back.
func (p *reader) progress() progress.Input {
	position := p.position()
	read := position
	for _, in := range p.streams {
		read = min(read, max(in.undecided, p.base))
	}
	next := progress.Input{Offset: position, Base: p.base, TopicID: p.id, Former: p.former,
		Read: max(read, p.reported), Streams: map[string]progress.Stream{}}
	for _, in := range p.streams {
		if !in.finished() {
			next.Offset = min(next.Offset, in.from)
		}
		written := progress.Stream{From: in.from, Through: in.through}
		if !in.marked.IsZero() {
			written.Marked = in.marked.UnixNano()
		}
		written.Again = p.again(in)
		next.Streams[config.EditionKey(in.stream.Name, in.edition)] = written
	}
	next.Offset -= p.base
	return next
}

// lane holds the inputs of one stream's editions, the newest first. Usually there is one. While a new definition begins
// there are two, and an event's time decides to which it belongs.
type lane []*streamInput

// lanes sorts inputs by stream and leaves out editions that take no more events.
func lanes(streams []*streamInput) []lane {
	var all []lane
	at := map[string]int{}
	sorted := slices.Clone(streams)
	slices.SortStableFunc(sorted, func(a, b *streamInput) int { return cmp.Compare(b.edition, a.edition) })
	for _, in := range sorted {
		i, known := at[in.stream.Name]
		switch {
		case !known:
			at[in.stream.Name] = len(all)
			all = append(all, lane{in})
		case !in.finished():
			all[i] = append(all[i], in)
		}
	}
	return all
}

// add offers a record to every edition and returns the best verdict: an event is late or rejected only if no edition
// takes it.
func (l lane) add(offset int64, rec *fetch.Record) verdict {
	v := l[0].add(offset, rec)
	for _, in := range l[1:] {
		if other := in.add(offset, rec); other.better(v) {
			v = other
		}
	}
	l[0].counts.count(v)
	return v
}

// decoding decodes the records of one partition, once for all streams whose specs are equal.
//
// A partition's worker fetches each page once, for all streams of the topic, and offers each record to every stream in
// turn. Most streams of a topic read its records in the same way: they differ in windows, releases or policy. They
// share a decoding. The first of them that takes a record decodes it and hashes its user, and the others use the
// result. Nothing else is shared. Each stream has its own position, bags, cuts, horizon, counts and copies. A stream
// that is ahead of others asks for no record below its position, so streams at different positions may share too.
//
// Whether a record is rejected follows from the record and the spec alone, so a shared answer is the one that the
// stream would have found itself. Specs that differ in anything share nothing, even if only their groups or bounds
// differ: a name that comes twice, for example, is an error only for streams that look for it.
//
// Only the partition's goroutine uses it.
type decoding struct {
	spec     codec.Spec
	decoder  codec.Decoder
	preparer codec.Preparer // the decoder, if it may have to ask a server before it can decode; else nil
	batch    codec.Batch    // the decoder, if records hold many items; else nil
	items    part           // the part that was read last, if they do
	bareKeys bool           // the whole key is the user
	hasher   *windows.Hasher

	offset int64 // of the record that the rest is about. It includes the base, so no two records have the same
	event  codec.Event
	one    item   // what was made of the record, if it holds one
	name   []byte // of its group, if groups are found
	fault  fault  // if it is rejected
}

// fault says more about why a record is rejected than its reason.
type fault struct {
	schema codec.SchemaID // the id of its schema, if that is not known; else zero
	cause  string         // in words that go on from "the record"; "" if no more is known
}

// unstamped is the cause of a record that Kafka has no time of. Whatever its fields say, it is rejected.
const unstamped = "has no timestamp"

func newDecoding(spec codec.Spec, h *windows.Hasher) (*decoding, error) {
	decoder, err := codec.New(spec)
	if err != nil {
		return nil, err
	}
	preparer, _ := decoder.(codec.Preparer)
	batch, _ := decoder.(codec.Batch)
	return &decoding{spec: spec, decoder: decoder, preparer: preparer, batch: batch, items: part{number: -1}, hasher: h,
		offset: -1, bareKeys: spec.User == codec.KeyField && preparer == nil}, nil
}

// share makes a stream use the decoding of another one, if there is one with the same spec.
func (in *streamInput) share(others []*streamInput) {
	for _, o := range others {
		if o.decoding.hasher == in.decoding.hasher && reflect.DeepEqual(o.decoding.spec, in.decoding.spec) {
			in.decoding = o.decoding
			return
		}
	}
}

// decode reads the record at an offset, unless that is the one that was read last.
func (d *decoding) decode(offset int64, rec *fetch.Record) verdict {
	if offset != d.offset {
		d.offset = offset
		d.read(rec)
	}
	return d.one.verdict
}

// read reads a record that holds one event.
func (d *decoding) read(rec *fetch.Record) {
	if rec.TooLarge > 0 {
		d.one, d.fault = item{verdict: verdict{rejected: codec.Malformed}}, fault{cause: tooLarge}
		return
	}
	record := codec.Record{Key: rec.Key, Value: rec.Value, Time: rec.Time * int64(time.Millisecond), Headers: rec}
	e := &d.event
	if reason := d.decoder.Decode(record, e); reason.Skips() {
		d.one = leftOut(reason, d.decoder.Skipped())
		return
	} else if reason != codec.OK {
		d.one = item{verdict: verdict{rejected: reason,
			missing: reason != codec.Malformed && reason != codec.Future && d.decoder.Missing()}}
		d.fault = d.faultOf(record, reason)
		return
	}
	d.one = item{user: d.hasher.User(e.User), group: int32(e.Group), time: e.Time, value: e.Value}
	if len(e.Name) > 0 {
		d.name = append(d.name[:0], e.Name...)
		d.one.name.to = int32(len(d.name))
	}
	e.User, e.Name = nil, nil // they point into the page
}

// faultOf says more about a record that the decoder has just rejected.
func (d *decoding) faultOf(record codec.Record, reason codec.Reason) (f fault) {
	switch {
	case reason == codec.Malformed:
		f.cause = d.decoder.Cause(record)
		if d.preparer != nil {
			if w, known := d.preparer.Prepare(record); !known && !w.Key {
				f.schema = w.ID
			}
		}
	case reason == codec.BadValue:
		f.cause = d.decoder.Doubt()
	case reason == codec.BadTime && record.Time < 0:
		f.cause = unstamped
	case reason == codec.Future:
		f.cause = fmt.Sprintf("has a timestamp of %s, and its own time is more than %s later", date(record.Time),
			config.Duration(d.spec.MaxFuture))
	}
	return f
}

const (
	// copyOverhead is roughly the memory of a queued copy in addition to its key and value.
	copyOverhead = 256
	// copyPatience is how long copies may hold up a partition. It is long enough for a leader to move.
	copyPatience = 10 * time.Second
	// copyPause is how long copies are dropped after their topic took none.
	copyPause = 30 * time.Second
)

// copies are the copies of bad and late records.
type copies struct {
	stage.Env
	at      stage.Partition      // the one that is read
	waiting []txn.Record         // not written yet
	bytes   int                  // roughly what these take
	retry   map[string]time.Time // when to retry a topic that took none
}

// add queues a copy of the record for another (personal) topic of the stream, which may have other partitions. For
// a record that is too large, only the size is copied. The record's own headers come first: they may say how to read
// it, and a copy of a copy says last where it comes from.
func (c *copies) add(topic string, rec *fetch.Record, of copied, stream, reason string) {
	var headers []kafka.Header
	size := 0
	for key, value := range rec.Headers() {
		headers = append(headers, kafka.Header{Key: key, Value: bytes.Clone(value)})
		size += len(key) + len(value)
	}
	headers = append(headers,
		kafka.Header{Key: "louver-stream", Value: []byte(stream)},
		kafka.Header{Key: "louver-reason", Value: []byte(reason)},
		kafka.Header{Key: "louver-topic", Value: []byte(c.at.Topic)},
		kafka.Header{Key: "louver-partition", Value: strconv.AppendInt(nil, int64(c.at.Number), 10)},
		kafka.Header{Key: "louver-offset", Value: strconv.AppendInt(nil, rec.Offset, 10)})
	if of.cause != "" {
		headers = append(headers, kafka.Header{Key: "louver-detail", Value: []byte("the record " + of.cause)})
	}
	if of.items > 0 {
		headers = append(headers, kafka.Header{Key: "louver-items", Value: strconv.AppendInt(nil, int64(of.items), 10)})
	}
	if rec.TooLarge > 0 {
		headers = append(headers, kafka.Header{Key: "louver-bytes", Value: strconv.AppendInt(nil, rec.TooLarge, 10)})
	}
	c.waiting = append(c.waiting,
		txn.Record{Topic: topic, Partition: c.at.Number, Key: bytes.Clone(rec.Key), Value: bytes.Clone(of.value),
			Time: rec.Time, Headers: headers})
	c.bytes += copyOverhead + size + len(rec.Key) + len(of.value)
}

// send writes the queued copies, each at least once. Copies that cannot be written are counted and dropped: neither a
// bad record nor a missing topic may stop the stream.
func (c *copies) send(ctx context.Context) error {
	byTopic := map[string][]txn.Record{}
	for _, r := range c.waiting {
		byTopic[r.Topic] = append(byTopic[r.Topic], r)
	}
	clear(c.waiting)
	c.waiting, c.bytes = c.waiting[:0], 0
	for topic, copies := range byTopic {
		c.sendTo(ctx, topic, copies)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// sendTo writes copies to their topic.
func (c *copies) sendTo(ctx context.Context, topic string, copies []txn.Record) {
	if time.Now().Before(c.retry[topic]) {
		c.drop(topic, len(copies))
		return
	}
	trying, cancel := context.WithTimeout(ctx, copyPatience)
	defer cancel()
	done := 0 // copies written or counted
	partitions, err := c.Sizes.Of(trying, topic)
	if err == nil {
		for i := range copies {
			copies[i].Partition %= partitions
		}
		if err = c.write(trying, topic, copies); err != nil && trying.Err() == nil {
			done = c.sendOneByOne(trying, topic, copies)
			err = trying.Err()
		}
	}
	key := "copies to " + topic
	switch {
	case ctx.Err() != nil:
	case err == nil:
		c.Monitor.Episodes.Over(key, "topic "+topic+" takes copies of records again")
	default:
		c.Sizes.Forget(topic)
		c.retry[topic] = time.Now().Add(copyPause)
		c.drop(topic, len(copies)-done)
		c.Monitor.Episodes.On(key, episode.Rule{}, "copies of records are dropped until their topic can be written to",
			zap.String("topic", topic), zap.Error(err))
	}
}

// drop counts copies that are not written.
func (c *copies) drop(topic string, copies int) {
	c.Metrics.ForwardFailure.WithLabelValues(topic).Add(float64(copies))
}

// sendOneByOne drops and counts the copies that their topic refuses, for example because they are too large with their
// headers. It stops when ctx ends, and returns how many copies it has handled.
func (c *copies) sendOneByOne(ctx context.Context, topic string, copies []txn.Record) (done int) {
	refused, why := 0, error(nil)
	for ; done < len(copies); done++ {
		err := c.write(ctx, topic, copies[done:done+1])
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			refused, why = refused+1, err
		}
	}
	if refused > 0 {
		c.drop(topic, refused)
		c.Log.Warn("Kafka rejects copies of records, which are dropped", zap.String("topic", topic),
			zap.Int("copies", refused), zap.Error(why))
	}
	return done
}

// write writes copies to a topic. It retries temporary failures.
func (c *copies) write(ctx context.Context, topic string, copies []txn.Record) error {
	return txn.Send(ctx, c.Conn.Client, copies, txn.OnRetry(c.Writing(topic)))
}

// copied is what a copy has of a record.
type copied struct {
	value []byte
	items int    // how many items of the record are in it; 0: the whole record
	cause string // why it is rejected, as far as more is known
}

// copy queues copies of a bad or late record for the streams that want one.
func (p *partition) copy(leader *streamInput, rec *fetch.Record, v verdict, of copied) {
	for _, in := range leader.all() {
		switch {
		case v.rejected != 0 && in.stream.Rejects != "":
			p.copies.add(in.stream.Rejects, rec, of, in.stream.Name, v.rejected.String())
		case v.late() && in.stream.Late != "":
			of.cause = ""
			p.copies.add(in.stream.Late, rec, of, in.stream.Name, "late")
		}
	}
}

// copied reports whether any stream wants copies of such records.
func (p *partition) copied(leader *streamInput, v verdict) bool {
	return slices.ContainsFunc(leader.all(), func(in *streamInput) bool {
		return v.rejected != 0 && in.stream.Rejects != "" || v.late() && in.stream.Late != ""
	})
}
