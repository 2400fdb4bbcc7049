package fetch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// quick makes polls that find nothing return soon.
var quick = fetch.Options{MaxWait: 50 * time.Millisecond}

// readTo polls until the position is at offset, and returns the values.
func readTo(t *testing.T, r *fetch.Reader, offset int64) []string {
	t.Helper()
	var got []string
	for r.Position() < offset {
		page, err := r.Poll(kafkatest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := page.Each(func(r *fetch.Record) error {
			got = append(got, string(r.Value))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		aborted, committed, open := b.Begin(t, kafkatest.Name(t)), b.Begin(t, kafkatest.Name(t)),
			b.Begin(t, kafkatest.Name(t))
		aborted.Produce(t, topic, 0, kafkatest.Values("a0")...)          // 0
		committed.Produce(t, topic, 0, kafkatest.Values("c1", "c2")...)  // 1, 2
		aborted.Produce(t, topic, 0, kafkatest.Values("a3")...)          // 3
		aborted.Abort(t)                                                 // 4
		b.Produce(t, topic, 0, kafkatest.Values("p5")...)                // 5
		committed.Commit(t)                                              // 6
		aborted.Produce(t, topic, 0, kafkatest.Values("again7")...)      // 7
		aborted.Commit(t)                                                // 8
		open.Produce(t, topic, 0, kafkatest.Values("o9")...)             // 9
		b.Produce(t, topic, 0, kafkatest.Values("after an open one")...) // 10
		ctx := kafkatest.Context(t)

		r := b.Fetch(quick).Partition(topic, 0, 0)
		if got, want := readTo(t, r, 9), []string{"c1", "c2", "p5", "again7"}; !slices.Equal(got, want) {
			t.Errorf("committed: %v, want %v", got, want)
		}
		if page, err := r.Poll(ctx); err != nil || page.Bytes() != 0 || r.Position() != 9 {
			t.Errorf("behind the last stable offset: %d bytes, position %d, %v", page.Bytes(), r.Position(), err)
		}
		if r.HighWatermark() != 11 || r.LastStable() != 9 {
			t.Errorf("high watermark %d, last stable %d; want 11, 9", r.HighWatermark(), r.LastStable())
		}
		// In the middle of the aborted transaction, which began before.
		if got, want := readTo(t, b.Fetch(quick).Partition(topic, 0, 3), 9),
			[]string{"p5", "again7"}; !slices.Equal(got, want) {
			t.Errorf("from 3: %v, want %v", got, want)
		}
		uncommitted := quick
		uncommitted.ReadUncommitted = true
		want := []string{"a0", "c1", "c2", "a3", "p5", "again7", "o9", "after an open one"}
		if got := readTo(t, b.Fetch(uncommitted).Partition(topic, 0, 0), 11); !slices.Equal(got, want) {
			t.Errorf("uncommitted: %v, want %v", got, want)
		}
		if ends, err := b.Fetch(quick).Ends(ctx, topic, []int{0}); err != nil || ends[0] != 11 {
			t.Errorf("end %v, %v; want 11, the open transaction included", ends, err)
		}

		// ReadAll waits for the open one.
		done := make(chan []string)
		go func() {
			var got []string
			next, err := b.Fetch(quick).ReadAll(ctx, topic, 0, 8, func(r *fetch.Record) error {
				got = append(got, string(r.Value))
				return nil
			})
			if err != nil || next < 11 {
				t.Errorf("next %d, %v", next, err)
			}
			done <- got
		}()
		select {
		case got := <-done:
			t.Fatalf("ReadAll returned %v while a transaction was open", got)
		case <-time.After(300 * time.Millisecond): // six empty polls
		}
		open.Abort(t)
		if got, want := <-done, []string{"after an open one"}; !slices.Equal(got, want) {
			t.Errorf("ReadAll: %v, want %v", got, want)
		}
	})
}

func TestCompression(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		for _, codec := range []kafka.Compression{0, kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
			topic := b.Topic(t, 1, nil)
			var want []string
			for batch := range 3 {
				var records []kafka.Record
				for i := range 100 {
					v := fmt.Sprintf("%d/%d %s", batch, i, strings.Repeat("packs well ", 20))
					want = append(want, v)
					records = append(records,
						kafka.Record{Key: kafka.NewBytes([]byte("k")), Value: kafka.NewBytes([]byte(v))})
				}
				res, err := b.Conn.Client.Produce(kafkatest.Context(t), &kafka.ProduceRequest{Topic: topic,
					RequiredAcks: kafka.RequireAll,
					Compression:  codec, Records: kafka.NewRecordReader(records...)})
				if err != nil || res.Error != nil {
					t.Fatal(err, res)
				}
			}
			// Each batch is larger than MaxBytes, and still comes.
			small := quick
			small.MaxBytes = 100
			for _, o := range []fetch.Options{quick, small} {
				if got := readTo(t, b.Fetch(o).Partition(topic, 0, 0), 300); !slices.Equal(got, want) {
					t.Errorf("%v, %d bytes a fetch: %d records, want %d", codec, o.MaxBytes, len(got), len(want))
				}
			}
		}
	})
}

// A fake broker ignores the topic's setting.
func TestLogAppendTime(t *testing.T) {
	b := kafkatest.Real(t)
	for kind, appended := range map[string]bool{"CreateTime": false, "LogAppendTime": true} {
		topic := b.Topic(t, 1, map[string]string{"message.timestamp.type": kind, "retention.ms": "-1"})
		began := time.Now().UnixMilli()
		b.Produce(t, topic, 0, txn.Record{Value: []byte("a"), Time: 1_000_000}, txn.Record{Value: []byte("b"),
			Time: 2_000_000})
		for i, m := range b.Consume(t, topic, 0) {
			if appended && (m.Time < began || m.Time > time.Now().UnixMilli()) {
				t.Errorf("%s: time %d, want now", kind, m.Time)
			}
			if want := int64(i+1) * 1_000_000; !appended && m.Time != want {
				t.Errorf("%s: time %d, want %d", kind, m.Time, want)
			}
		}
	}
}

func TestDeletedRecordsAreCounted(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		for _, v := range []string{"a", "b", "c", "d", "e"} {
			b.Produce(t, topic, 0, kafkatest.Values(v)...)
		}
		client := b.Fetch(quick)
		r := client.Partition(topic, 0, 1)
		b.DeleteRecords(t, topic, 0, 3)
		page, err := r.Poll(kafkatest.Context(t))
		if err != nil || page.Lost != 2 {
			t.Fatalf("lost %d, %v; want 2", page.Lost, err)
		}
		if page, err = r.Poll(kafkatest.Context(t)); err != nil || page.Lost != 0 {
			t.Errorf("then lost %d, %v", page.Lost, err)
		}
		starts, err := client.Starts(kafkatest.Context(t), topic, []int{0})
		if err != nil || starts[0] != 3 {
			t.Errorf("starts %v, %v", starts, err)
		}
		var lost *fetch.LostError
		if _, err := client.ReadAll(kafkatest.Context(t), topic, 0, 0,
			func(*fetch.Record) error { return nil }); !errors.As(
			err, &lost) || lost.Start != 3 {
			t.Errorf("ReadAll from 0: %v", err)
		}
		// What is asked for as the first is not lost.
		first := client.Partition(topic, 0, kafka.FirstOffset)
		if got := readTo(t, first, 5); !slices.Equal(got, []string{"d", "e"}) {
			t.Errorf("from the first: %v", got)
		}
		var truncated *fetch.TruncatedError
		if _, err := client.Partition(topic, 0, 6).Poll(kafkatest.Context(t)); !errors.As(err, &truncated) ||
			truncated.End != 5 {
			t.Errorf("above the end: %v", err)
		}
	})
}

func TestOffsets(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 3, map[string]string{"retention.ms": "-1"})
		for i, ms := range []int64{1000, 2000, 3000} {
			b.Produce(t, topic, 1, txn.Record{Value: fmt.Append(nil, i), Time: ms})
		}
		ctx, client := kafkatest.Context(t), b.Fetch(quick)
		ends, err := client.Ends(ctx, topic, []int{0, 1, 2})
		if err != nil || ends[0] != 0 || ends[1] != 3 || ends[2] != 0 {
			t.Errorf("ends %v, %v", ends, err)
		}
		for ms, want := range map[int64]int64{-5: 0, 0: 0, 1000: 0, 1001: 1, 3000: 2, 3001: 3} {
			if got, err := client.OffsetAt(ctx, topic, 1, ms); err != nil || got != want {
				t.Errorf("offset at %d ms: %d, %v; want %d", ms, got, err, want)
			}
		}
		last := client.Partition(topic, 1, kafka.LastOffset)
		if page, err := last.Poll(ctx); err != nil || page.Bytes() > 0 || last.Position() != 3 {
			t.Errorf("from the last: position %d, %v", last.Position(), err)
		}
	})
}

func TestPollWaitsForRecords(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		r := b.Fetch(fetch.Options{MaxWait: 5 * time.Second}).Partition(topic, 0, 0)
		got := make(chan []string)
		go func() { got <- readTo(t, r, 1) }()
		b.Produce(t, topic, 0, txn.Record{Key: []byte("k"), Value: []byte("v")})
		if v := <-got; !slices.Equal(v, []string{"v"}) {
			t.Errorf("got %v", v)
		}
	})
}

func TestLeaderMoves(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	b.Produce(t, topic, 0, kafkatest.Values("a")...)
	o, retried := quick, 0
	o.OnRetry = func(string, int, error) { retried++ }
	r := b.Fetch(o).Partition(topic, 0, 0)
	readTo(t, r, 1)
	ctx := kafkatest.Context(t)
	for retried == 0 { // now and then the client asks by chance who leads, and asks the new leader at once
		if err := b.Fake.MoveTopicPartition(topic, 0, (b.Fake.LeaderFor(topic, 0)+1)%3); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Poll(ctx); err != nil {
			t.Fatal(err)
		}
	}
	b.Produce(t, topic, 0, kafkatest.Values("b")...)
	if got := readTo(t, r, 2); !slices.Equal(got, []string{"b"}) {
		t.Errorf("after the move: %v", got)
	}
}

func TestMissingTopicIsWaitedFor(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := kafkatest.Name(t)
		o, missed := quick, make(chan struct{}, 1)
		o.OnRetry = func(string, int, error) {
			select {
			case missed <- struct{}{}:
			default:
			}
		}
		got := make(chan []string)
		go func() { got <- readTo(t, b.Fetch(o).Partition(topic, 0, 0), 1) }()
		<-missed
		b.CreateTopic(t, topic, 1, nil)
		b.Produce(t, topic, 0, kafkatest.Values("a")...)
		if v := <-got; !slices.Equal(v, []string{"a"}) {
			t.Errorf("got %v", v)
		}
	})
}

func TestBrokerIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	b := kafkatest.Own(t)
	topic := b.Topic(t, 1, nil)
	b.Produce(t, topic, 0, kafkatest.Values("a")...)
	o, failed := quick, make(chan struct{}, 1)
	o.OnRetry = func(string, int, error) {
		select {
		case failed <- struct{}{}:
		default:
		}
	}
	r := b.Fetch(o).Partition(topic, 0, 0)
	readTo(t, r, 1)
	b.Kill(t)
	got := make(chan []string)
	go func() { got <- readTo(t, r, 2) }()
	<-failed
	b.Start(t)
	b.Produce(t, topic, 0, kafkatest.Values("b")...)
	if v := <-got; !slices.Equal(v, []string{"b"}) {
		t.Errorf("got %v", v)
	}
}

// TestPatience: a client with patience gives up on a partition without a leader, and says why.
func TestPatience(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		b.Produce(t, topic, 0, kafkatest.Values("v")...)
		o := quick
		o.Patience = 200 * time.Millisecond
		for name, f := range map[string]struct {
			key kmsg.Key
			ask func(*fetch.Client) error
		}{
			"poll": {kmsg.Fetch,
				func(c *fetch.Client) error { _, err := c.Partition(topic, 0, 0).Poll(kafkatest.Context(t)); return err }},
			"offsets": {kmsg.ListOffsets,
				func(c *fetch.Client) error { _, err := c.Ends(kafkatest.Context(t), topic, []int{0}); return err }},
		} {
			fault := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{f.key}, Err: kerr.LeaderNotAvailable, Count: -1})
			if err := f.ask(b.Fetch(o)); !errors.Is(err, kafka.LeaderNotAvailable) ||
				!strings.Contains(err.Error(), "no success within 200ms") {
				t.Errorf("%s: %v", name, err)
			}
			fault.Remove()
		}
		if got := readTo(t, b.Fetch(o).Partition(topic, 0, 0), 1); !slices.Equal(got, []string{"v"}) {
			t.Errorf("afterwards it reads %q", got)
		}
	})
}
