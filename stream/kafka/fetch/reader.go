package fetch

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	wire "github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Reader reads one partition. It is not safe for concurrent use.
type Reader struct {
	client    *Client
	topic     string
	partition int
	position  int64
	lost      int64 // not yet reported in a page
	retried   bool
	wait      time.Duration // of the next Poll for a first record

	highWatermark, lastStable, newest int64

	buffer  []byte // holds the current page; the next page reuses it
	unpack  unpacker
	record  Record
	skipped map[int64]struct{} // producers in an aborted transaction
}

// Partition makes a reader of one partition that begins at offset. kafka.FirstOffset and kafka.LastOffset are resolved
// at the first Poll.
func (c *Client) Partition(topic string, partition int, offset int64) *Reader {
	return &Reader{
		client: c, topic: topic, partition: partition, position: offset,
		highWatermark: -1, lastStable: -1, newest: -1,
		wait:    c.options.MaxWait,
		unpack:  unpacker{zstd: c.zstd},
		skipped: make(map[int64]struct{}),
	}
}

// Position is the offset that the next Poll begins at. Everything below it has been delivered, must not be delivered,
// or is lost. Until the first Poll it may be negative (kafka.FirstOffset, kafka.LastOffset).
func (r *Reader) Position() int64 { return r.position }

// MoveTo makes the next Poll begin at an offset.
func (r *Reader) MoveTo(offset int64) { r.position, r.lost = offset, 0 }

// WaitAtMost bounds how long the next polls wait for a first record: d in whole milliseconds, rounded up, and at most
// Options.MaxWait.
func (r *Reader) WaitAtMost(d time.Duration) {
	r.wait = min((d + time.Millisecond - 1).Truncate(time.Millisecond), r.client.options.MaxWait)
}

// HighWatermark is the end of the partition as of the last Poll: the offset after its last replicated record. It is −1
// before the first Poll. A newly elected leader may report an older one; Client.Ends returns the true one.
func (r *Reader) HighWatermark() int64 { return r.highWatermark }

// LastStable is the lowest offset of an open transaction, or else the high watermark, as of the last Poll. It is −1
// before the first Poll. Under read committed the position stops there.
func (r *Reader) LastStable() int64 { return r.lastStable }

// Newest is the latest timestamp in the last batch that was fetched, in milliseconds since 1970: the producer's, or the
// broker's if the topic uses LogAppendTime. It is −1 before the first batch, and if the batch has none.
func (r *Reader) Newest() int64 { return r.newest }

// Retried reports whether an attempt of the last Poll failed and was made again.
func (r *Reader) Retried() bool { return r.retried }

// Page holds the batches that one Poll fetched, possibly none. It is valid until the next Poll of its reader.
type Page struct {
	// Lost is how many offsets the broker deleted before they were read. The position has skipped them.
	Lost int64

	reader  *Reader
	from    int64 // lowest offset to deliver
	set     []byte
	aborted []aborted
}

// Bytes is the size of the page's batches as fetched.
func (p *Page) Bytes() int { return len(p.set) }

// Poll fetches once from the position on and moves the position past the received batches. If none comes within
// Options.MaxWait, or a shorter time set by WaitAtMost, the page is empty.
//
// Temporary failures (a moved leader, a lost connection, a missing topic) are retried until ctx ends and reported to
// Options.OnRetry. Other errors are a *BatchError, a *TruncatedError, a kafka.Error such as
// kafka.TopicAuthorizationFailed, or ctx's. After any of them Poll may be called again and begins at the position.
func (r *Reader) Poll(ctx context.Context) (Page, error) {
	notify := r.client.notify(r.topic, r.partition)
	r.retried = false
	page, err := retry(ctx, r.client, func(err error) {
		if r.retried = true; notify != nil {
			notify(err)
		}
	}, r.poll)
	if err != nil {
		var batch *BatchError
		var truncated *TruncatedError
		if errors.As(err, &batch) || errors.As(err, &truncated) {
			return Page{}, err
		}
		return Page{}, fmt.Errorf("fetch from offset %d of %s/%d: %w", r.position, r.topic, r.partition,
			kafkaconn.Needs(err, "Read", "topic "+r.topic))
	}
	return page, nil
}

func (r *Reader) poll(ctx context.Context) (Page, error) {
	if r.position < 0 {
		if err := r.resolve(ctx); err != nil {
			return Page{}, err
		}
	}
	res, err := r.fetch(ctx)
	if errors.Is(err, kafka.OffsetOutOfRange) {
		if err = r.relocate(ctx); err == nil {
			// The offset is in range now, or will be at the next try.
			return Page{}, kafka.OffsetNotAvailable
		}
	}
	if err != nil {
		return Page{}, err
	}
	r.highWatermark, r.lastStable = res.highWatermark, res.lastStable
	return r.page(res)
}

func (r *Reader) fetch(ctx context.Context) (*response, error) {
	q := r.request(r.buffer)
	// If the exchange is abandoned, kafka-go may still be reading into the buffer. It is ours again only once the
	// response is here.
	r.buffer = nil
	m, err := r.client.transport.RoundTrip(ctx, r.client.addr, q)
	if err != nil {
		return nil, err
	}
	res, ok := m.(*response)
	if !ok {
		return nil, fmt.Errorf("fetch response of type %T: the transport must pass requests on unchanged", m)
	}
	// Drop a buffer that one large batch has enlarged.
	if cap(res.body) <= 4*r.client.options.MaxBytes {
		r.buffer = res.body[:0]
	}
	if res.code != 0 {
		return nil, kafka.Error(res.code)
	}
	return res, nil
}

func (r *Reader) request(buffer []byte) *request {
	o := r.client.options
	isolation := kafka.ReadCommitted
	if o.ReadUncommitted {
		isolation = kafka.ReadUncommitted
	}
	return &request{
		clientID: o.ClientID,
		buffer:   buffer,
		wire: wire.Request{
			ReplicaID:      -1,
			MaxWaitTime:    int32(r.wait.Milliseconds()),
			MinBytes:       1,
			MaxBytes:       int32(o.MaxBytes),
			IsolationLevel: int8(isolation),
			SessionEpoch:   -1, // no fetch session
			Topics: []wire.RequestTopic{{
				Topic: r.topic,
				Partitions: []wire.RequestPartition{{
					Partition:          int32(r.partition),
					CurrentLeaderEpoch: -1,
					FetchOffset:        r.position,
					LogStartOffset:     -1,
					PartitionMaxBytes:  int32(o.MaxBytes),
				}},
			}},
		},
	}
}

// resolve replaces kafka.FirstOffset or kafka.LastOffset with the offset that it stands for.
func (r *Reader) resolve(ctx context.Context) error {
	if r.position != kafka.FirstOffset && r.position != kafka.LastOffset {
		return fmt.Errorf("offset %d; want at least 0, kafka.FirstOffset or kafka.LastOffset", r.position)
	}
	at, err := r.client.list(ctx, r.topic, []int{r.partition}, r.position)
	if err == nil {
		r.position = at[r.partition]
	}
	return err
}

// relocate handles an offset that is out of range. If it is below the log's start, the position moves there, and the
// records in between are lost.
func (r *Reader) relocate(ctx context.Context) error {
	starts, err := r.client.list(ctx, r.topic, []int{r.partition}, kafka.FirstOffset)
	if err != nil {
		return err
	}
	if start := starts[r.partition]; r.position < start {
		r.lost += start - r.position
		r.position = start
		return nil
	}
	ends, err := r.client.list(ctx, r.topic, []int{r.partition}, kafka.LastOffset)
	if err != nil {
		return err
	}
	if end := ends[r.partition]; r.position > end {
		return &TruncatedError{Topic: r.topic, Partition: r.partition, Position: r.position, End: end}
	}
	return nil
}

// page cuts the response to its whole batches and moves the position past them.
func (r *Reader) page(res *response) (Page, error) {
	p := Page{reader: r, from: r.position, aborted: res.aborted}
	slices.SortFunc(p.aborted, func(a, b aborted) int { return cmp.Compare(a.first, b.first) })
	rest := res.records
	for len(rest) > 0 {
		b, behind, whole, reason := nextBatch(rest)
		if !whole {
			if p.set == nil && reason == "" {
				reason = fmt.Sprintf("only its first %d bytes arrived", len(rest))
			}
			if p.set == nil {
				return Page{}, r.broken(r.position, b.next, reason)
			}
			break // the next fetch reports this batch, or returns it whole
		}
		rest = behind
		p.set = res.records[:len(res.records)-len(rest)]
		r.position = max(r.position, b.next)
		r.newest = b.maxTimestamp()
	}
	p.Lost, r.lost = r.lost, 0
	return p, nil
}

// Each calls f for every record of the page, in the order of their offsets. It stops at f's first error and returns it;
// the reader's position is then that record's offset. For a batch that can't be read it returns a *BatchError, and the
// position is the first offset that was not delivered. Call it only once.
func (p *Page) Each(f func(*Record) error) error {
	r := p.reader
	if len(p.set) == 0 {
		return nil
	}
	clear(r.skipped)
	r.record.Offset = p.from - 1
	from, aborted := p.from, p.aborted
	for rest := p.set; len(rest) > 0; {
		var b batch
		b, rest, _, _ = nextBatch(rest) // Poll has checked that they are whole
		if !b.intact() {
			r.position = from
			next := int64(0)
			if behind, _, whole, _ := nextBatch(rest); whole {
				next = behind.base
			} else if b.tellsNext() {
				next = b.next
			}
			return r.broken(from, next, "its CRC does not match")
		}
		for len(aborted) > 0 && aborted[0].first < b.next {
			r.skipped[aborted[0].producer] = struct{}{}
			aborted = aborted[1:]
		}
		if b.attributes&controlBit != 0 {
			if b.aborts(&r.unpack, r.client.options.MaxRecordBytes) {
				delete(r.skipped, b.producer())
			}
			from = max(from, b.next)
			continue
		}
		_, skip := r.skipped[b.producer()]
		if r.record.Aborted = skip && b.attributes&transactionalBit != 0; r.record.Aborted &&
			!r.client.options.Aborted {
			from = max(from, b.next)
			continue
		}
		if b.next <= from {
			continue
		}
		r.record.Offset = from - 1
		reason, err := b.each(&r.unpack, from, r.client.options.MaxRecordBytes, &r.record, f)
		if err != nil {
			r.position = r.record.Offset
			return err
		}
		if reason != "" {
			r.position = r.record.Offset + 1
			return r.broken(r.position, b.next, reason)
		}
		from = b.next
	}
	return nil
}

// aborts reports whether a control batch is an abort marker. The key of its only record holds a version and a type;
// type 0 means abort.
func (b *batch) aborts(u *unpacker, limit int64) bool {
	abort := false
	_, _ = b.each(u, 0, limit, new(Record), func(r *Record) error {
		abort = len(r.Key) >= 4 && binary.BigEndian.Uint16(r.Key[2:]) == 0
		return nil
	})
	return abort
}

// Skip moves the position past a batch that can't be read and returns how many offsets are lost with it. ok is false if
// err is not a *BatchError.
func (r *Reader) Skip(err error) (lost int64, ok bool) {
	var e *BatchError
	if !errors.As(err, &e) {
		return 0, false
	}
	r.position = e.Next
	return e.Next - e.Offset, true
}

// broken makes the error for a batch that can't be read from offset on. If next is not reliable, it is offset + 1.
func (r *Reader) broken(offset, next int64, reason string) error {
	if next <= offset || r.highWatermark > offset && next > r.highWatermark {
		next = offset + 1
	}
	return &BatchError{Topic: r.topic, Partition: r.partition, Offset: offset, Next: next, Reason: reason}
}

// Producer is the id and epoch of the idempotent or transactional producer that wrote a batch.
type Producer struct {
	ID    int64
	Epoch int16
	// Transactional says that the batch belongs to a transaction.
	Transactional bool
}

// atProducerEpoch is where a batch header holds the producer's epoch.
const atProducerEpoch = 51

// ProducerAt returns the producer of the record at an offset, even in a transaction that is still open. Temporary
// failures are retried until ctx ends.
func (c *Client) ProducerAt(ctx context.Context, topic string, partition int, offset int64) (Producer, error) {
	uncommitted := *c
	uncommitted.options.ReadUncommitted = true
	r := uncommitted.Partition(topic, partition, offset)
	res, err := retry(ctx, c, c.notify(topic, partition), r.fetch)
	if err != nil {
		return Producer{}, fmt.Errorf("fetch from offset %d of %s/%d: %w", offset, topic, partition, err)
	}
	b, _, whole, _ := nextBatch(res.records)
	if !whole || offset < b.base || offset >= b.next {
		return Producer{}, fmt.Errorf("no record at offset %d of %s/%d", offset, topic, partition)
	}
	return Producer{ID: b.producer(), Epoch: int16(binary.BigEndian.Uint16(b.raw[atProducerEpoch:])),
		Transactional: b.attributes&transactionalBit != 0}, nil
}
