package stream_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/avro"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// node is a registry that takes 20 ms for an answer. It has schema 258 once it has caught up.
type node struct {
	caughtUp time.Time

	mu    sync.Mutex
	asked map[codec.SchemaID]int
}

func (n *node) Schema(_ context.Context, id codec.SchemaID) (codec.Registered, error) {
	n.mu.Lock()
	n.asked[id]++
	n.mu.Unlock()
	<-time.After(20 * time.Millisecond)
	if id != codec.Numbered(258) || time.Now().Before(n.caughtUp) {
		return codec.Registered{}, codec.ErrNoSchema
	}
	return codec.Registered{Format: "avro", Text: avroEvent}, nil
}

// requests returns how often the registry was asked, and for how many schemas.
func (n *node) requests() (times, ids int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, k := range n.asked {
		times += k
	}
	return times, len(n.asked)
}

// unknowing is a world whose records name schemas, with live windows of ten seconds and three of grace.
type unknowing struct {
	*world
	start, end time.Time
	registry   *node
	schema     *avro.Schema
	sent       []event
}

func newUnknowing(t *testing.T, b *kafkatest.Broker, windows int, policy string) *unknowing {
	start := time.Now().UTC().Truncate(10 * time.Second).Add(20 * time.Second)
	end := start.Add(time.Duration(windows) * 10 * time.Second)
	yaml := strings.NewReplacer("user: user,", "format: avro, schema: registry, user: user,",
		"contribution: last", "contribution: "+policy, "size: 1h, every: 30m, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T04:00:00Z",
		fmt.Sprintf("size: 10s, grace: 3s, start: %s, end: %s", start.Format(time.RFC3339), end.Format(time.RFC3339))).
		Replace(exactly)
	return &unknowing{world: newWorld(t, b, 1, yaml), start: start, end: end,
		registry: &node{asked: map[codec.SchemaID]int{}}, schema: avro.MustParse(avroEvent)}
}

// send sends an event of schema 258 that happens now, together with other records.
func (w *unknowing) send(i int, others ...txn.Record) {
	now := time.Now().UTC().Truncate(time.Microsecond)
	e := event{User: fmt.Sprint("user-", i), Group: []string{"eu", "us"}[i%2], Value: i % 900, Time: now}
	value, err := w.schema.AppendEncode([]byte{0, 0, 0, 1, 2}, map[string]any{"user": e.User, "value": e.Value,
		"time": e.Time, "group": e.Group})
	if err != nil {
		w.t.Fatal(err)
	}
	w.sent = append(w.sent, e)
	records := slices.Concat(others, []txn.Record{{Value: value}})
	for i := range records {
		records[i].Time = now.UnixMilli()
	}
	w.broker.Produce(w.t, w.input, 0, records...)
}

// check compares the figures of all windows with what was sent.
func (w *unknowing) check() {
	w.t.Helper()
	for _, r := range w.await(7 * 2 * int(w.end.Sub(w.start)/(10*time.Second))) {
		if err := right(r, naive(w.sent, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
			w.t.Error(err)
		}
	}
}

// TestUnframedRecords sends records whose first bytes look like numbers of schemas, each another one, among good ones.
// The good ones count, windows close on time, the registry is asked little, and one line says what is wrong.
func TestUnframedRecords(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newUnknowing(t, b, 4, "last")
		core, logs := observer.New(zap.WarnLevel)
		s := w.world.start(func(s *stream.Service) { s.Schemas, s.Log = w.registry, zap.New(core) })
		random := rand.New(rand.NewPCG(17, 18))
		unframed := 0
		for i := 0; time.Now().Before(w.end); i++ {
			var others []txn.Record
			for range 20 {
				value := binary.BigEndian.AppendUint32([]byte{0}, random.Uint32()|1<<16)
				others = append(others, txn.Record{Value: append(value, "some datum"...)})
			}
			unframed += len(others)
			w.send(i, others...)
			s.works(t, 200*time.Millisecond)
			// Each window is published within two seconds of the moment at which it is due.
			due := int((time.Since(w.start) - 15*time.Second) / (10 * time.Second))
			if n := len(w.published()); time.Since(w.start) > 15*time.Second && n < 7*2*(due+1) {
				t.Fatalf("%s after the start %d figures are published, want %d", time.Since(w.start), n, 7*2*(due+1))
			}
		}
		w.check()
		s.expect(t, unframed, "louver_events_rejected_total", "malformed")
		if times, ids := w.registry.requests(); ids > 21 || times > 200 {
			t.Errorf("the registry is asked %d times for %d schemas within a minute", times, ids)
		}
		lines := logs.Filter(func(l observer.LoggedEntry) bool {
			return strings.HasPrefix(l.Message, "topic ") && strings.Contains(l.Message,
				" records begin with ids of schemas that the registry does not have, such as ") &&
				strings.HasSuffix(l.Message, ": are they framed?")
		})
		if lines.Len() != 1 {
			t.Errorf("%d lines, want one: %v", lines.Len(), logs.All())
		}
		s.end(t)
	})
}

// TestRegistryBehind has a registry that does not have the schema of the first events when they come. They count all
// the same if it has caught up before the grace is over, also if the service restarts meanwhile. Each user has one
// event: one that was added twice would have twice its value.
func TestRegistryBehind(t *testing.T) {
	for name, c := range map[string]struct {
		policy   string
		restarts bool
	}{"last": {"last", false}, "last, and a restart": {"last", true}, "sum": {"sum", false},
		"sum, and a restart": {"sum", true}} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newUnknowing(t, b, 2, c.policy)
				use := func(s *stream.Service) { s.Schemas = w.registry }
				s := w.world.start(use)
				s.works(t, time.Until(w.start.Add(7*time.Second)))
				w.registry.caughtUp = time.Now().Add(4 * time.Second)
				for i := 0; time.Now().Before(w.end); i++ {
					w.send(i)
					s.works(t, 100*time.Millisecond)
					if c.restarts && i == 12 {
						s.end(t)
						s = w.world.start(use)
					}
				}
				w.check()
				if n := s.count(t, "louver_events_rejected_total"); n > 0 {
					t.Errorf("%v events are rejected", n)
				}
				s.end(t)
			})
		})
	}
}

// TestAnInputMadeAnewWhileARecordWaits: a record waits for its schema when its topic is deleted and recreated. Nobody
// can read it again, so it holds back no position: one among the old numbers lies before the new topic's first record.
func TestAnInputMadeAnewWhileARecordWaits(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newUnknowing(t, b, 20, "last")
		s := w.world.start(func(s *stream.Service) { s.Schemas = w.registry })
		id := ""
		kafkatest.Await(t, "the topic is known", func() bool { id = w.progress().TopicID; return id != "" })
		<-time.After(time.Until(w.start))
		w.send(1)
		kafkatest.Await(t, "the registry is asked", func() bool { n, _ := w.registry.requests(); return n > 0 })
		w.remake()
		for range 400 { // every 10 ms
			if in := w.progress(); in.TopicID != id {
				at := in.Streams["exact"]
				if at.From < in.Base || in.Offset < 0 {
					t.Fatalf("the stream begins at %d, and the topic's first record is %d: offset %d", at.From, in.Base,
						in.Offset)
				}
			}
			<-time.After(10 * time.Millisecond)
		}
		s.end(t)
	})
}
