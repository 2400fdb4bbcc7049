package stream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/rawproduce"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
)

func only(stages ...string) func(*stream.Service) {
	return func(s *stream.Service) { s.Stages = stages }
}

// TestPartsAreDeletedBeforeTheirRelease is an outage that outlives the parts: windows come out incomplete and say so,
// and what comes later is whole again.
func TestPartsAreDeletedBeforeTheirRelease(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, withBudget("1000000000"))
		b.Produce(t, w.input, 0, in(0, 5, "a-")...)
		b.Produce(t, w.input, 1, in(1, 7, "b-")...)
		names := topics.Names{App: w.app}
		s := w.start(only(stream.Ingest))
		kafkatest.Await(t, "every window is cut in both partitions", w.cut)
		s.end(t)
		place := topics.Place("users", topics.Partitions)
		end, err := b.Fetch(fetch.Options{}).Ends(kafkatest.Context(t), names.Partials(), []int{place})
		if err != nil {
			t.Fatal(err)
		}
		b.DeleteRecords(t, names.Partials(), place, end[place])
		s = w.start()
		for id, r := range w.await(3) {
			if !r.Incomplete || r.Value == nil {
				t.Errorf("%s: incomplete %v, value %v; want a value that is marked", id, r.Incomplete, r.Value)
			}
		}
		s.expect(t, 3, "louver_incomplete_windows_total")
		s.end(t)
		w.audit()
	})
}

// TestAllPartsAreDeleted empties the log of parts while nothing is written to it: the window that they belonged to says
// so, though it is cut only after that.
//
// In fake time alone: what a real broker says of parts that are gone is in TestPartsAreDeletedBeforeTheirRelease.
func TestAllPartsAreDeleted(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const size = 30 * time.Second
		start := time.Now().UTC().Truncate(size).Add(size)
		w := newWorld(t, b, 1, withBudget("1000000000", configtest.Window(size, 10*time.Second),
			configtest.Start(start), configtest.End(start.Add(size))))
		b.Produce(t, w.input, 0, recent([]event{{User: "lost", Value: 1, Time: start}})...)
		names := topics.Names{App: w.app}
		place := topics.Place("users", topics.Partitions)
		// A bag of one event is already too large, and so written long before its window is due.
		s := w.start(only(stream.Ingest), func(s *stream.Service) { s.BagBytes = 1 })
		kafkatest.Await(t, "the event is in a part", func() bool { return w.records(names.Partials()) >= 3 })
		s.end(t)
		end, err := b.Fetch(fetch.Options{}).Ends(kafkatest.Context(t), names.Partials(), []int{place})
		if err != nil {
			t.Fatal(err)
		}
		b.DeleteRecords(t, names.Partials(), place, end[place])
		s = w.start(only(stream.Release))
		kafkatest.Await(t, "the release stage has looked for parts",
			func() bool { return s.has(t, names.Group(stream.Release), fmt.Sprint(place)) })
		rest := w.start(only(stream.Ingest, stream.Publish))
		for id, r := range w.await(1) {
			if !r.Incomplete {
				t.Errorf("%s = %v is not marked incomplete", id, r.Value)
			}
		}
		rest.end(t)
		s.end(t)
		w.audit()
	})
}

// TestOffsetsExpire deletes the consumer groups of a service that is stopped, as Kafka does after a week: nothing is
// published again, and nothing is missing.
func TestOffsetsExpire(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, withBudget("1000000000"))
		b.Produce(t, w.input, 0, in(0, 5, "a-")...)
		s := w.start()
		before := values(w.await(3))
		s.end(t)
		names := topics.Names{App: w.app}
		for _, group := range []string{names.Group(stream.Ingest), names.Group(stream.Release),
			names.Group(stream.Publish)} {
			kafkatest.Await(t, "the group is deleted", func() bool {
				res, err := b.Conn.Client.DeleteGroups(kafkatest.Context(t),
					&kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
				return err == nil && (res.Errors[group] == nil || errors.Is(res.Errors[group], kafka.GroupIdNotFound))
			})
		}
		s = w.start()
		kafkatest.Await(t, "the service works again", s.Ready)
		b.Produce(t, w.input, 0, in(1, 1, "late-")...)
		kafkatest.Await(t, "the service reads again",
			func() bool { return s.count(t, "louver_events_late_total") == 1 })
		if diff := cmp.Diff(before, values(w.await(3))); diff != "" {
			t.Error(diff)
		}
		s.end(t)
		w.audit()
	})
}

// TestOutputIsDeleted deletes the output of one of two streams that share a budget, and so a partition of the ledger:
// the other's figures go on, and the first's follow when its topic is there again.
func TestOutputIsDeleted(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		const size = 2 * time.Second
		start := time.Now().UTC().Truncate(size).Add(3 * size)
		var streams []string
		for _, name := range []string{"first", "other"} {
			streams = append(streams, configtest.Stream(name, configtest.Window(size, time.Second),
				configtest.Start(start), configtest.Topics("INPUT", "OUTPUT-"+name),
				configtest.Set("budget", "shared")))
		}
		yaml := configtest.File(streams...) + "budgets: [{name: shared, epsilon: 1000000000000, per: 24h}]\n"
		w := newWorld(t, b, 1, yaml)
		both := w.streams
		first, other := w.streams[0].Output, w.streams[1].Output
		s := w.start()
		kafkatest.Await(t, "the first figures", func() bool { return w.records(first) > 0 && w.records(other) > 0 })
		b.DeleteTopic(t, first)
		later := time.Now().UTC().Truncate(size).Add(3 * size) // the end of a window that is released without the topic
		await := func(what string) {
			kafkatest.Await(t, what, func() bool {
				return slices.ContainsFunc(w.published(),
					func(r outputs.Record) bool { return r.WindowEnd.Equal(later) })
			})
			var ends []time.Time
			for _, r := range w.published() {
				ends = append(ends, r.WindowEnd)
			}
			slices.SortFunc(ends, time.Time.Compare)
			for i := range ends {
				if want := ends[0].Add(time.Duration(i) * size); !ends[i].Equal(want) {
					t.Errorf("%s: the windows end at %v; want each once", what, ends)
					break
				}
			}
		}
		w.streams = both[1:]
		await("the other stream's figures")
		b.CreateTopic(t, first, 3, map[string]string{"retention.ms": "-1"})
		w.streams = both[:1]
		await("the figures that were waiting")
		s.end(t)
		w.streams = both
		w.audit()
	})
}

// taker takes over a transactional id of the service at chosen steps of its transactions.
type taker struct {
	kafka.RoundTripper
	take func()
	mu   sync.Mutex
	left map[string]int // by step, how often
}

// RoundTrip implements [kafka.RoundTripper].
func (k *taker) RoundTrip(ctx context.Context, addr net.Addr, q kafka.Request) (kafka.Response, error) {
	step := ""
	switch q := q.(type) {
	case *endtxn.Request:
		if strings.Contains(q.TransactionalID, ".release.") && q.Committed {
			step = "end"
		}
	case *rawproduce.Request:
		if strings.Contains(q.TransactionalID, ".release.") {
			step = "produce"
		}
	case *addpartitionstotxn.Request:
		if strings.Contains(q.TransactionalID, ".release.") {
			step = "add"
		}
	}
	k.mu.Lock()
	now := k.left[step] > 0
	k.left[step]--
	k.mu.Unlock()
	if now {
		k.take()
	}
	return k.RoundTripper.RoundTrip(ctx, addr, q)
}

// takeovers takes the transactional id of a partition's release away so many times at each step.
func (w *world) takeovers(n, place int) func(*stream.Service) {
	k := &taker{RoundTripper: w.broker.Conn.Transport, left: map[string]int{"add": n, "produce": n, "end": n},
		take: func() {
			if _, err := txn.Open(context.Background(), w.broker.Conn.Client, topics.Names{App: w.app}.ReleaseID(place),
				30*time.Second); err != nil {
				w.t.Error(err)
			}
		}}
	return func(s *stream.Service) {
		conn, client := *s.Conn, *s.Conn.Client
		client.Transport = k
		conn.Client = &client
		s.Conn = &conn
	}
}

// TestTakeoversDrawNothingTwice takes the release stage's transactional id away at each step of its transactions.
// Whoever reads the ledger's log uncommitted sees one entry of each window, however often its transaction failed: one
// draw, and of a watch one secret for each instance, which fires in one window.
func TestTakeoversDrawNothingTwice(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		const count = 12
		w := newWorld(t, b, 1, withBudget("1000", configtest.Window(time.Minute, 10*time.Second),
			configtest.End(midnight.Add(count*time.Minute)),
			configtest.Releases("{name: users, statistic: count, epsilon: 0.1}"), configtest.Set("watches",
				"[{name: few, users_below: 30, epsilon: 2, false_alarms: {at_most: 0.001, per: 30d}, hold: 1m, at_most: 9}]")))
		b.Produce(t, w.input, 0, in(0, 50, "a-")...)
		place := topics.Place("users", topics.Partitions)
		s := w.start(w.takeovers(4, place))
		w.await(2 * count) // the count and the watch
		s.end(t)
		w.audit()
		values := map[string]map[string]bool{}
		aborted, armed := 0, map[int64]bool{}
		_, err := b.Fetch(fetch.Options{Aborted: true}).ReadAll(kafkatest.Context(t), topics.Names{App: w.app}.Ledger(),
			place, 0, func(r *fetch.Record) error {
				e, err := ledger.Decode(r.Value)
				if err != nil {
					return err
				}
				id := e.WindowEnd.String()
				if values[id] == nil {
					values[id] = map[string]bool{}
				}
				values[id][string(r.Value)] = true
				armed[e.Continual[0].Instance] = true
				if r.Aborted {
					aborted++
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		for id, v := range values {
			if len(v) != 1 {
				t.Errorf("the window ending %s has %d entries: %q", id, len(v), slices.Collect(maps.Keys(v)))
			}
		}
		if len(values) != count || aborted == 0 || len(armed) < 3 {
			t.Errorf("%d windows, %d aborted entries and %d instances are in the log; want %d, some, and more", len(values),
				aborted, len(armed), count)
		}
	})
}

// TestWorkersComeBeforeTheStart has two workers one after the other that find a partition of different lengths before
// the first window begins. The records between them belong to no window, so nothing is missing.
//
// In fake time alone: it depends on offsets and times of events.
func TestWorkersComeBeforeTheStart(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		yaml, start := liveOf(10*time.Second, 2*time.Second, 1,
			configtest.Set("input", "{topic: INPUT, user: user, value: value, time: time, max_future: 1s}"))
		w := newWorld(t, b, 1, yaml)
		names := topics.Names{App: w.app}
		first := w.start(only(stream.Ingest))
		kafkatest.Await(t, "the first worker's mark", func() bool { return w.records(names.Partials()) > 0 })
		first.end(t)
		w.sendUsers(start.Add(-time.Minute), "early", 3)
		select { // until the start has come: from then on a worker begins behind these three
		case <-time.After(time.Until(start)):
		case <-t.Context().Done():
		}
		w.sendUsers(start, "in", 5)
		s := w.start()
		for _, r := range w.await(1) {
			if r.Incomplete || shown(r) != "5" {
				t.Errorf("%s counts %s users, incomplete %v; want 5, complete", r.ID, shown(r), r.Incomplete)
			}
		}
		s.end(t)
	})
}
