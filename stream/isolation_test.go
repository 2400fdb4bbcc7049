package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
)

// TestALargeRecordIsRejectedAlone: in the middle of a batch, one record unpacks to 140 MB. It is rejected; the others
// of its batch count.
func TestALargeRecordIsRejectedAlone(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		for _, codec := range []kafka.Compression{kafka.Gzip, kafka.Lz4, kafka.Zstd} {
			w := newWorld(t, b, 1, withBudget("1000000000"))
			w.streams[0].Rejects = b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
			const size = 140 << 20
			large := append(append([]byte(`{"user":"large","value":1,"time":"2026-01-01T00:00:01Z","x":"`),
				bytes.Repeat([]byte{'x'}, size)...), `"}`...)
			var batch []kafka.Record
			for i, r := range in(0, 20, "u") {
				if i == 10 {
					batch = append(batch, kafka.Record{Time: midnight, Value: kafka.NewBytes(large)})
				}
				batch = append(batch, kafka.Record{Time: midnight, Value: kafka.NewBytes(r.Value)})
			}
			res, err := b.Conn.Client.Produce(kafkatest.Context(t), &kafka.ProduceRequest{Topic: w.input,
				RequiredAcks: kafka.RequireAll,
				Compression:  codec, Records: kafka.NewRecordReader(batch...)})
			if err != nil || res.Error != nil {
				t.Fatal(err, res)
			}
			s := w.start()
			if diff := cmp.Diff(map[int]string{0: "20", 1: "0", 2: "0"}, values(w.await(3))); diff != "" {
				t.Errorf("%v: windows: %s", codec, diff)
			}
			s.expect(t, 1, "louver_events_rejected_total", "malformed")
			copies := b.Consume(t, w.streams[0].Rejects, 0)
			if len(copies) != 1 || copies[0].Value != "" || copies[0].Headers["louver-reason"] != "malformed" ||
				len(copies[0].Headers["louver-bytes"]) != len(fmt.Sprint(size)) {
				t.Errorf("%v: rejects hold %d records, the first of %d bytes", codec, len(copies), len(copies[0].Value))
			}
			s.end(t)
			w.audit()
		}
	})
}

// damaging is a connection whose answers have one text replaced by another, as if the broker's disk had.
type damaging struct {
	net.Conn
	from, to []byte
}

func (c *damaging) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	copy(b, bytes.ReplaceAll(b[:n], c.from, c.to))
	return n, err
}

// damaged is a way to the broker on which batches that hold the text are damaged.
func damaged(t *testing.T, b *kafkatest.Broker, text string) *kafkaconn.Conn {
	t.Helper()
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: b.Conn.Brokers, ClientID: "louver-test",
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := b.Conn.Transport.Dial(ctx, network, address)
			return &damaging{c, []byte(text), []byte(strings.ToUpper(text))}, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// TestADamagedBatchIsLostAlone: the CRC of one batch of the input does not fit. What is behind it counts.
func TestADamagedBatchIsLostAlone(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		b.Produce(t, w.input, 0, in(0, 2, "before-")...)
		b.Produce(t, w.input, 0, in(0, 3, "damaged-")...)
		b.Produce(t, w.input, 0, in(0, 4, "behind-")...)
		b.Produce(t, w.input, 0, in(1, 3, "damaged-")...)
		conn := damaged(t, b, "damaged-")
		s := w.start(func(s *stream.Service) { s.Conn = conn })
		if diff := cmp.Diff(map[int]string{0: "6", 1: "0", 2: "0"}, values(w.await(3))); diff != "" {
			t.Errorf("windows: %s", diff)
		}
		s.expect(t, 6, "louver_input_lost_records_total", w.input)
		s.end(t)
		w.audit()
	})
}

// TestADamagedLedgerIsAPrivacyStop: the same in the ledger ends the service.
func TestADamagedLedgerIsAPrivacyStop(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		s := w.start()
		w.await(3)
		s.end(t)
		for partition := range topics.Partitions {
			b.Produce(t, topics.Names{App: w.app}.Ledger(), partition, kafkatest.Values("damaged-")...)
		}
		conn := damaged(t, b, "damaged-")
		err := w.start(func(s *stream.Service) { s.Conn = conn }).refused(t)
		if !errors.Is(err, ledger.ErrUnreadable) || !strings.Contains(err.Error(), "CRC") {
			t.Errorf("the service ended with %v", err)
		}
	})
}

// TestDamagedSnapshotsStopNothing: the last one that can be read is used, with the parts since. Every window is
// released, and nothing is counted anew.
func TestDamagedSnapshotsStopNothing(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const count = 12
		w := newWorld(t, b, 1, everyTwoSeconds(count))
		s := w.start()
		w.await(3)
		s.end(t)
		for partition := range topics.Partitions {
			b.Produce(t, topics.Names{App: w.app}.State(), partition, kafkatest.Values("damaged-")...)
		}
		conn := damaged(t, b, "damaged-")
		lines, log := told()
		s = w.start(func(s *stream.Service) { s.Conn = conn }, log)
		w.await(count)
		s.expect(t, 0, "louver_max_windows_recounts_total")
		s.end(t)
		w.audit()
		if n := lines.FilterMessageSnippet("snapshot of who has counted is damaged").Len(); n != 1 {
			t.Errorf("%d lines say that a snapshot is damaged, want 1: %v", n, lines.All())
		}
	})
}

// live is a stream of windows of one second, from a few seconds ahead.
func live(windows int) (yaml string, start time.Time) {
	return liveOf(time.Second, time.Second, windows)
}

// liveOf is the same for windows of any size.
func liveOf(size, grace time.Duration, windows int, options ...configtest.Option) (yaml string, start time.Time) {
	start = time.Now().UTC().Add(5 * time.Second).Truncate(size).Add(size)
	return configtest.File(configtest.Stream("live", append([]configtest.Option{configtest.Window(size, grace),
		configtest.Start(start), configtest.End(start.Add(time.Duration(windows) * size))}, options...)...)), start
}

// TestNoBrokerErrorEndsTheService answers each kind of request with each kind of error, once the service has worked.
func TestNoBrokerErrorEndsTheService(t *testing.T) {
	t.Parallel()
	codes := []*kerr.Error{kerr.UnknownServerError, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.TransactionalIDAuthorizationFailed,
		kerr.ClusterAuthorizationFailed, kerr.NotLeaderForPartition, kerr.UnknownTopicOrPartition,
		kerr.CoordinatorNotAvailable, kerr.RequestTimedOut,
		kerr.KafkaStorageError, kerr.PolicyViolation, kerr.InvalidRequest}
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.OffsetCommit, kmsg.OffsetFetch,
		kmsg.FindCoordinator, kmsg.Heartbeat,
		kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Produce, kmsg.InitProducerID, kmsg.AddPartitionsToTxn,
		kmsg.AddOffsetsToTxn,
		kmsg.TxnOffsetCommit, kmsg.EndTxn} {
		t.Run(key.Name(), func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				const seconds = 240 // of events: more than a test may wait
				yaml, start := live(seconds)
				w := newWorld(t, b, 2, yaml)
				var events [2][]event
				for i := range seconds {
					events[i%2] = append(events[i%2],
						event{User: "u", Value: 1, Time: start.Add(time.Duration(i) * time.Second)})
				}
				for p := range events {
					b.Produce(t, w.input, p, records(events[p]...)...)
				}
				s := w.start()
				kafkatest.Await(t, "the first release", func() bool { return s.count(t, "louver_releases_total") > 0 })
				var faults []kfake.Fault
				for _, code := range codes {
					faults = append(faults, kfake.Fault{Keys: []kmsg.Key{key}, Err: code},
						kfake.Fault{Keys: []kmsg.Key{key}, Err: code, TopLevel: true})
				}
				h := b.Fake.Fault(faults...)
				// These make sessions begin anew, which ask for everything again.
				again := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: 20})
				if key == kmsg.JoinGroup || key == kmsg.SyncGroup || key == kmsg.OffsetFetch {
					// A member asks for these only when it joins, and this is why it joins again, every second.
					rejoin := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress,
						Count: -1, TopLevel: true})
					defer rejoin.Remove()
				}
				over := time.Now().UTC().Truncate(time.Second).Add(10 * time.Second)
				kafkatest.Await(t, "requests that are answered with an error, for some seconds", func() bool {
					return s.ended.Load() || h.Hits() > 0 && time.Now().After(over)
				})
				again.Remove() // the test reads too
				h.Remove()
				kafkatest.Await(t, "the figures of these seconds", func() bool {
					return s.ended.Load() ||
						slices.ContainsFunc(w.published(),
							func(r outputs.Record) bool { return r.WindowEnd.Equal(over) })
				})
				if s.ended.Load() {
					t.Errorf("the service has ended with %v", <-s.err)
					return
				}
				seen := map[time.Time]bool{}
				for _, r := range w.published() {
					if shown(r) != "1" || seen[r.WindowEnd] {
						t.Errorf("%s is %s, and was there before: %v; want 1, once", r.ID, shown(r), seen[r.WindowEnd])
					}
					seen[r.WindowEnd] = true
				}
				for end := start.Add(time.Second); !end.After(over); end = end.Add(time.Second) {
					if !seen[end] {
						t.Errorf("the window that ends %s is missing", end)
					}
				}
				s.end(t)
				w.audit()
			})
		})
	}
}

// TestCommitsThatAreRefusedHoldNothingUp: while no offset can be committed, windows are released on time.
func TestCommitsThatAreRefusedHoldNothingUp(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const windows = 10
		yaml, _ := live(windows)
		w := newWorld(t, b, 2, yaml)
		h := b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.CoordinatorNotAvailable,
			Count: -1}, kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.CoordinatorNotAvailable, Count: -1,
			TopLevel: true})
		s := w.start()
		w.await(windows)
		if h.Hits() == 0 {
			t.Error("no commit was refused")
		}
		h.Remove()
		// Later the commits are made up for.
		ingest := topics.Names{App: w.app}.Group(stream.Ingest)
		kafkatest.Await(t, "the offsets are committed", func() bool {
			res, err := b.Conn.Client.OffsetFetch(kafkatest.Context(t), &kafka.OffsetFetchRequest{GroupID: ingest,
				Topics: map[string][]int{w.input: {0, 1}}})
			return err == nil && len(res.Topics[w.input]) == 2 && res.Topics[w.input][0].CommittedOffset >= 0 &&
				res.Topics[w.input][1].CommittedOffset >= 0
		})
		s.end(t)
		w.audit()
	})
}

// TestCopiesThatAreNotTakenStopNothing: the topic of rejects refuses a record because of its content.
func TestCopiesThatAreNotTakenStopNothing(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		w.streams[0].Rejects = b.Topic(t, 1, nil)
		b.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: w.streams[0].Rejects,
			Err: kerr.InvalidTimestamp, Count: -1})
		b.Produce(t, w.input, 0, append([]txn.Record{{Value: []byte("bad")}, {Value: []byte("bad")}},
			in(0, 3, "u")...)...)
		s := w.start()
		if diff := cmp.Diff(map[int]string{0: "3", 1: "0", 2: "0"}, values(w.await(3))); diff != "" {
			t.Errorf("windows: %s", diff)
		}
		s.expect(t, 2, "louver_forward_failures_total")
		s.end(t)
	})
}

// TestAClockThatStepsBurnsNoWindows sets the clock a day ahead while windows are open. None closes early; when the
// clock is right again, all are released with what was sent.
func TestAClockThatStepsBurnsNoWindows(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		const windows = 2
		const size = 10 * time.Second
		yaml, start := liveOf(size, 2*time.Second, windows)
		w := newWorld(t, b, 2, yaml)
		var set atomic.Int64
		core, logs := observer.New(zap.ErrorLevel)
		s := w.start(func(s *stream.Service) {
			s.Wall = func() time.Time { return time.Now().Add(time.Duration(set.Load())) }
			s.Log = zap.New(core)
		})
		kafkatest.Await(t, "the service is ready", s.Ready)
		set.Store(int64(24 * time.Hour))
		kafkatest.Await(t, "the service is not ready", func() bool { return !s.Ready() })
		kafkatest.Await(t, "the first window", func() bool { return time.Now().After(start.Add(time.Second)) })
		if n := w.records(topics.Names{App: w.app}.Ledger()); n != 0 {
			t.Errorf("%d windows were charged before they ended", n)
		}
		for i := range windows {
			b.Produce(t, w.input, i%2, event{User: "u", Value: 1, Time: start.Add(time.Duration(i) * size)}.record())
		}
		set.Store(0)
		for _, r := range w.await(windows) {
			if shown(r) != "1" {
				t.Errorf("%s is %s, want 1", r.ID, shown(r))
			}
		}
		if n := logs.FilterMessageSnippet("clock").Len(); n != 1 {
			t.Errorf("%d errors are logged, want one: %v", n, logs.All())
		}
		s.end(t)
		w.audit()
	})
}

// TestARecordOfTheFutureIsRejected: nothing is held open for a window of the year 2099.
func TestARecordOfTheFutureIsRejected(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000", configtest.End(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC))))
		at := time.Date(2098, 1, 1, 0, 0, 0, 0, time.UTC)
		b.Produce(t, w.input, 0, append(in(0, 3, "u"), event{User: "future", Value: 1, Time: at}.record())...)
		s := w.start()
		kafkatest.Await(t, "the record is rejected",
			func() bool { return s.count(t, "louver_events_rejected_total", "future") == 1 })
		if n := s.count(t, "louver_open_windows"); n > 1 {
			t.Errorf("%v windows are held open", n)
		}
		s.end(t)
	})
}

// TestCopiesToATopicThatIsMissing deletes the topic of rejects under the service. Events go on, copies are dropped and
// counted, one line says so, and copies are written again when the topic is back.
func TestCopiesToATopicThatIsMissing(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const size = 5 * time.Second
		yaml, start := liveOf(size, time.Second, 1000)
		w := newWorld(t, b, 1, yaml)
		rejects := b.Topic(t, 1, nil)
		w.streams[0].Rejects = rejects
		core, logs := observer.New(zap.WarnLevel)
		s := w.start(func(s *stream.Service) { s.Log = zap.New(core) })
		kafkatest.Await(t, "the service is ready", s.Ready)
		b.Produce(t, w.input, 0, txn.Record{Value: []byte("bad")})
		kafkatest.Await(t, "a copy is written", func() bool { return len(b.Consume(t, rejects, 0)) == 1 })
		b.DeleteTopic(t, rejects)
		dropped := 0
		at := w.sendInTime(start, func(at time.Time) {
			b.Produce(t, w.input, 0, txn.Record{Value: []byte("bad")}, event{User: "u", Value: 1, Time: at}.record(),
				txn.Record{Value: []byte("bad")},
				event{User: "u", Value: 1, Time: at.Add(size)}.record())
			dropped += 2
		})
		both := func() (found []outputs.Record) {
			for _, r := range w.published() {
				if r.WindowStart.Equal(at) || r.WindowStart.Equal(at.Add(size)) {
					found = append(found, r)
				}
			}
			return found
		}
		kafkatest.Await(t, "both windows are published", func() bool { return len(both()) == 2 })
		for _, r := range both() {
			if shown(r) != "1" || r.Incomplete {
				t.Errorf("%s is %s, want 1", r.ID, shown(r))
			}
		}
		s.expect(t, dropped, "louver_forward_failures_total", rejects)
		b.CreateTopic(t, rejects, 1, nil)
		kafkatest.Await(t, "a copy is written again", func() bool {
			b.Produce(t, w.input, 0, txn.Record{Value: []byte("bad")})
			return len(b.Consume(t, rejects, 0)) > 0
		})
		if n := logs.FilterMessageSnippet("copies of records are dropped").Len(); n != 1 {
			t.Errorf("%d warnings, want 1: %v", n, logs.All())
		}
		s.end(t)
	})
}
