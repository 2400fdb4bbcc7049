package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestPages(t *testing.T) {
	plain := spec{}.batch(values("a", "b", "c")...)
	for name, c := range map[string]struct {
		from     int64
		answer   *response
		want     []string
		position int64
	}{
		"nothing":           {5, set(), nil, 5},
		"in the batch":      {1, set(plain), []string{"1:b", "2:c"}, 3},
		"behind the batch":  {3, set(plain), nil, 3},
		"compacted at end":  {0, set(spec{last: 9}.batch(rec{delta: 2, value: []byte("x")})), []string{"2:x"}, 10},
		"compacted away":    {0, set(spec{last: 9}.batch()), nil, 10},
		"cut in the header": {0, set(plain, plain[:30]), []string{"0:a", "1:b", "2:c"}, 3},
		"cut in the records": {0, set(plain, spec{base: 3}.batch(values("d")...)[:65]), []string{"0:a", "1:b", "2:c"},
			3},
		"cut after 5 bytes": {0, set(plain, plain[:5]), []string{"0:a", "1:b", "2:c"}, 3},
		"marker alone":      {0, set(marker(0, 7, true)), nil, 1},
		"committed":         {0, set(txnBatch(0, 7, "a"), marker(1, 7, true)), []string{"0:a"}, 2},
		"aborted": {0, &response{records: join(txnBatch(0, 7, "a"), marker(1, 7, false)),
			aborted: []aborted{{7, 0}}}, nil, 2},
		"aborted from before": {5, &response{records: join(txnBatch(5, 7, "a"), marker(6, 7, false)),
			aborted: []aborted{{7, 1}}}, nil, 7},
		"aborted, then committed": {0,
			&response{records: join(txnBatch(0, 7, "a"), marker(1, 7, false), txnBatch(2, 7, "b"), marker(3, 7, true)),
				aborted: []aborted{{7, 0}}}, []string{"2:b"}, 4},
		"committed, then aborted": {0,
			&response{records: join(txnBatch(0, 7, "a"), marker(1, 7, true), txnBatch(2, 7, "b"), marker(3, 7, false)),
				aborted: []aborted{{7, 2}}}, []string{"0:a"}, 4},
		"aborted twice": {0, &response{records: join(txnBatch(0, 7, "a"), marker(1, 7, false), txnBatch(2, 7, "b"),
			marker(3, 7, false)),
			aborted: []aborted{{7, 2}, {7, 0}}}, nil, 4},
		"two at once": {0, &response{records: join(txnBatch(0, 7, "a"), txnBatch(1, 8, "b"), marker(2, 7, false),
			txnBatch(3, 8, "c"), marker(4, 8, true)),
			aborted: []aborted{{7, 0}}}, []string{"1:b", "3:c"}, 5},
		"plain among aborted": {0,
			&response{records: join(txnBatch(0, 7, "a"), spec{base: 1, producer: 7}.batch(values("p")...),
				marker(2, 7, false)),
				aborted: []aborted{{7, 0}}}, []string{"1:p"}, 3},
		"abort marker is in the next page": {0, &response{records: join(txnBatch(0, 7, "a"), txnBatch(1, 9, "b")),
			aborted: []aborted{{7, 0}}},
			[]string{"1:b"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := scripted(t, Options{}, c.answer)
			r := client.Partition("t", 0, c.from)
			got, err := read(t, r)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
			if r.Position() != c.position {
				t.Errorf("position %d, want %d", r.Position(), c.position)
			}
		})
	}
}

// A producer that was in an aborted transaction in one page is not skipped in
// the next, whose list says nothing of it.
func TestAbortedIsForgottenWithThePage(t *testing.T) {
	c, _ := scripted(t, Options{},
		&response{records: txnBatch(0, 7, "a"), aborted: []aborted{{7, 0}}},
		set(txnBatch(2, 7, "b")))
	r := c.Partition("t", 0, 0)
	for _, want := range [][]string{nil, {"2:b"}} {
		if got, err := read(t, r); err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
	}
}

// No broker packs a marker, but whatever comes over the wire must not end the process.
func TestPackedMarkersAreRead(t *testing.T) {
	for _, codec := range []kafka.Compression{0, kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		abort := spec{base: 1, producer: 7, attributes: transactionalBit | controlBit,
			codec: codec}.batch(rec{key: make([]byte, 4), value: make([]byte, 6)})
		damaged := spec{base: 1, producer: 7, attributes: transactionalBit | controlBit | int16(codec)}.batch(
			rec{key: []byte("no packed bytes")})
		for _, c := range []struct {
			marker []byte
			want   []string
		}{{abort, []string{"2:b"}}, {damaged, nil}} {
			if codec == 0 && c.want == nil {
				continue
			}
			records := join(txnBatch(0, 7, "a"), c.marker, txnBatch(2, 7, "b"))
			client, _ := scripted(t, Options{}, &response{records: records, aborted: []aborted{{7, 0}}})
			if got, err := read(t, client.Partition("t", 0, 0)); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, %v; want %v", codec, got, err, c.want)
			}
		}
	}
}

func TestAVisitorsErrorLeavesThePositionAtItsRecord(t *testing.T) {
	batch := spec{}.batch(values("a", "b", "c")...)
	c, s := scripted(t, Options{}, set(batch), set(batch))
	r := c.Partition("t", 0, 0)
	page, err := r.Poll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := page.Each(func(r *Record) error {
		if r.Offset == 1 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if got, err := read(t, r); err != nil || !slices.Equal(got, []string{"1:b", "2:c"}) {
		t.Fatalf("then %v, %v", got, err)
	}
	if !slices.Equal(s.asked, []int64{0, 1}) {
		t.Errorf("asked at %v", s.asked)
	}
}

// The page before a damaged batch is delivered; the next Poll tells.
func TestDamageBehindWholeBatches(t *testing.T) {
	bad := spec{base: 1}.batch(values("b")...)
	bad[atMagic] = 0
	c, _ := scripted(t, Options{}, set(spec{}.batch(values("a")...), bad), set(bad))
	r := c.Partition("t", 0, 0)
	if got, err := read(t, r); err != nil || !slices.Equal(got, []string{"0:a"}) {
		t.Fatalf("got %v, %v", got, err)
	}
	_, err := read(t, r)
	_ = mustBatchError(t, err, 1)
}

func TestFailuresThatPassAreTriedAgain(t *testing.T) {
	var heard []error
	c, _ := scripted(t, Options{OnRetry: func(topic string, partition int, err error) {
		if topic != "t" || partition != 3 {
			t.Errorf("heard of %s/%d", topic, partition)
		}
		if err != nil {
			heard = append(heard, err)
		}
	}},
		&response{code: int16(kafka.NotLeaderForPartition)}, io.EOF, protocol.NewErrNoLeader("t", 3),
		&response{code: int16(kafka.UnknownTopicOrPartition)}, set(spec{}.batch(values("a")...)))
	got, err := read(t, c.Partition("t", 3, 0))
	if err != nil || !slices.Equal(got, []string{"0:a"}) || len(heard) != 4 {
		t.Fatalf("got %v, %v after %v", got, err, heard)
	}
}

func TestFailuresThatStayAreReturned(t *testing.T) {
	c, _ := scripted(t, Options{}, &response{code: int16(kafka.TopicAuthorizationFailed)})
	if _, err := read(t, c.Partition("t", 0, 0)); !errors.Is(err, kafka.TopicAuthorizationFailed) {
		t.Fatal(err)
	}
}

func TestPollEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _ := scripted(t, Options{OnRetry: func(string, int, error) { cancel() }}, io.EOF)
	_, err := c.Partition("t", 0, 0).Poll(ctx)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, io.EOF) {
		t.Fatalf("%v, want both what ended it and what went wrong before", err)
	}
}

func TestBelowTheLogsStart(t *testing.T) {
	c, s := scripted(t, Options{}, &response{code: int16(kafka.OffsetOutOfRange)}, io.EOF,
		set(spec{base: 20}.batch(values("a")...)))
	s.start, s.end = 20, 21
	r := c.Partition("t", 0, 5)
	page, err := r.Poll(t.Context())
	if err != nil || page.Lost != 15 || r.Position() != 21 {
		t.Fatalf("lost %d, position %d, %v; want 15, 21", page.Lost, r.Position(), err)
	}
}

func TestAboveTheEnd(t *testing.T) {
	c, s := scripted(t, Options{}, &response{code: int16(kafka.OffsetOutOfRange)})
	s.start, s.end = 0, 4
	r := c.Partition("t", 0, 5)
	_, err := r.Poll(t.Context())
	var e *TruncatedError
	if !errors.As(err, &e) || e.Position != 5 || e.End != 4 || r.Position() != 5 {
		t.Fatal(err)
	}
}

// The log may have moved between the two questions.
func TestOutOfRangeForAMoment(t *testing.T) {
	c, s := scripted(t, Options{}, &response{code: int16(kafka.OffsetOutOfRange)},
		set(spec{base: 5}.batch(values("a")...)))
	s.start, s.end = 0, 9
	if got, err := read(t, c.Partition("t", 0, 5)); err != nil || !slices.Equal(got, []string{"5:a"}) {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestReadAllTellsWhatIsLost(t *testing.T) {
	c, s := scripted(t, Options{}, &response{code: int16(kafka.OffsetOutOfRange)},
		set(spec{base: 20}.batch(values("a")...)))
	s.start, s.end = 20, 21
	_, err := c.ReadAll(t.Context(), "t", 0, 5, func(*Record) error { return nil })
	var e *LostError
	if !errors.As(err, &e) || e.From != 5 || e.Start != 20 {
		t.Fatal(err)
	}
	_, err = c.ReadAll(t.Context(), "t", 0, 22, func(*Record) error { return nil })
	var above *TruncatedError
	if !errors.As(err, &above) {
		t.Fatal(err)
	}
}

// The response of an exchange that was given up may still be arriving.
func TestBufferOfAnAbandonedExchangeIsNotReused(t *testing.T) {
	c, _ := scripted(t, Options{}, kafka.TopicAuthorizationFailed)
	r := c.Partition("t", 0, 0)
	r.buffer = make([]byte, 100)
	if _, err := r.Poll(t.Context()); err == nil || r.buffer != nil {
		t.Fatalf("%v, buffer of %d", err, cap(r.buffer))
	}
}

// wireResponse encodes a response as a broker does.
func wireResponse(version int16, topic string, res *response) []byte {
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode, p.HighWatermark, p.LastStableOffset = res.code, res.highWatermark, res.lastStable
	for _, a := range res.aborted {
		p.AbortedTransactions = append(p.AbortedTransactions,
			kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.producer, FirstOffset: a.first})
	}
	p.RecordBatches = res.records
	answer := kmsg.FetchResponse{Version: version,
		Topics: []kmsg.FetchResponseTopic{{Topic: topic, Partitions: []kmsg.FetchResponseTopicPartition{p}}}}
	body := answer.AppendTo([]byte{0, 0, 0, 1}) // the correlation id
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

type wires struct {
	io.Reader
	io.Writer
}

// exchange lets a request of topic "t" read these bytes.
func exchange(version int16, answer []byte) (*response, error) {
	r := New(nil, nil, Options{}).Partition("t", 0, 0)
	q := r.request(nil)
	q.Required(map[protocol.ApiKey]int16{protocol.Fetch: version})
	m, err := q.RawExchange(wires{bytes.NewReader(answer), io.Discard})
	if err != nil {
		return nil, err
	}
	return m.(*response), nil
}

func TestResponseOfEveryVersion(t *testing.T) {
	want := &response{highWatermark: 9, lastStable: 8, aborted: []aborted{{1, 2}, {3, 4}},
		records: []byte("batches")}
	for version := int16(minVersion); version <= maxVersion; version++ {
		got, err := exchange(version, wireResponse(version, "t", want))
		if err != nil {
			t.Fatalf("v%d: %v", version, err)
		}
		if got.highWatermark != 9 || got.lastStable != 8 ||
			!slices.Equal(got.aborted, want.aborted) ||
			string(got.records) != "batches" {
			t.Errorf("v%d: %+v", version, got)
		}
	}
	if _, err := exchange(3, nil); !errors.Is(err, kafka.UnsupportedVersion) {
		t.Errorf("v3: %v", err)
	}
	if _, err := exchange(11, wireResponse(11, "other", want)); !errors.Is(err, errShape) {
		t.Errorf("another topic: %v", err)
	}
	// Written by hand: the correlation, the throttle, one topic t, one partition 0, no error, an end of 9 and a stable
	// end of 8, no aborted transactions, and two bytes of records.
	const zero, one, seven = "\x00\x00\x00\x00", "\x00\x00\x00\x01", "\x00\x00\x00\x00\x00\x00\x00"
	const byHand = "\x00\x00\x00\x33" + one + zero + one + "\x00\x01t" + one + zero + "\x00\x00" + seven + "\x09" + seven +
		"\x08" + "\xff\xff\xff\xff" + "\x00\x00\x00\x02ab"
	got, err := exchange(4, []byte(byHand))
	if err != nil || got.highWatermark != 9 || got.lastStable != 8 || string(got.records) != "ab" {
		t.Errorf("by hand: %+v, %v", got, err)
	}
}

func FuzzResponse(f *testing.F) {
	for _, version := range []int16{4, 7, 11} {
		f.Add(version, wireResponse(version, "t", &response{aborted: []aborted{{1, 2}}, records: []byte("batches")}))
		f.Add(version, wireResponse(version, "t", &response{}))
	}
	f.Fuzz(func(t *testing.T, version int16, answer []byte) {
		// Sizes are believed only as far as there are bytes: else a few bytes
		// could claim a gigabyte.
		if len(answer) >= 4 && binary.BigEndian.Uint32(answer) > uint32(len(answer)) {
			return
		}
		res, err := exchange(version, answer)
		if (res == nil) == (err == nil) {
			t.Fatalf("%v, %v", res, err)
		}
		if res != nil && len(res.records) > len(answer) {
			t.Fatal("more records than bytes")
		}
	})
}

func TestWaitAtMost(t *testing.T) {
	r := (&Client{options: Options{}.withDefaults()}).Partition("t", 0, 0)
	if got := r.request(nil).wire.MaxWaitTime; got != 500 {
		t.Errorf("a request waits %d ms, want 500", got)
	}
	for d, want := range map[time.Duration]int32{time.Hour: 500, 20 * time.Millisecond: 20, 20*time.Millisecond + 1: 21,
		1: 1} {
		r.WaitAtMost(d)
		if got := r.request(nil).wire.MaxWaitTime; got != want {
			t.Errorf("with %s a request waits %d ms, want %d", d, got, want)
		}
	}
}
