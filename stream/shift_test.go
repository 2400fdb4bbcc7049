package stream_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestABadClockHandsItsPartitionsOver: of two processes one has a clock that is a day ahead. The other one takes over
// what it reads, and windows close while the clock is wrong. When it is right, the process takes part again.
//
// In fake time alone: a wrong clock meets the time of a real broker in TestAClockThatStepsBurnsNoWindows.
func TestABadClockHandsItsPartitionsOver(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const windows, partitions = 3, 2
		const size = 15 * time.Second
		yaml, start := liveOf(size, 2*time.Second, windows)
		w := newWorld(t, b, partitions, yaml)
		var set atomic.Int64
		core, logs := observer.New(zap.InfoLevel)
		bad := w.start(func(s *stream.Service) {
			s.Wall = func() time.Time { return time.Now().Add(time.Duration(set.Load())) }
			s.Log = zap.New(core)
		})
		reads := func(s *running) int { return s.Health.Stage(stream.Ingest).Reading(w.input) }
		kafkatest.Await(t, "the first process reads everything",
			func() bool { return reads(bad) == partitions && bad.Ready() })
		set.Store(int64(24 * time.Hour))
		kafkatest.Await(t, "its clock is doubted", func() bool { return !bad.Ready() })
		if n := reads(bad); n != partitions {
			t.Errorf("alone it reads %d partitions, want all %d", n, partitions)
		}
		good := w.start()
		kafkatest.Await(t, "the other process reads everything",
			func() bool { return reads(good) == partitions && reads(bad) == 0 })
		if facts := bad.Health.Report().Facts; !slices.ContainsFunc(facts, func(fact string) bool {
			return strings.HasPrefix(fact,
				"ingest: leaves its partitions to other processes, because the clock of this machine ")
		}) {
			t.Errorf("the first process does not say that it has left: %q", facts)
		}
		kafkatest.Await(t, "the first window", func() bool { return time.Now().After(start.Add(time.Second)) })
		w.await(windows)
		left := logs.FilterMessageSnippet("leaves its partitions")
		if left.Len() != 1 {
			t.Errorf("%d lines say that it has left, want one: %v", left.Len(), left.All())
		}
		set.Store(0)
		kafkatest.Await(t, "the first process takes part again",
			func() bool { return reads(bad) == 1 && reads(good) == 1 && bad.Ready() })
		if n := logs.FilterMessageSnippet("takes part in reading the inputs again").Len(); n != 1 {
			t.Errorf("%d lines say that it takes part again, want one", n)
		}
		bad.end(t)
		good.end(t)
		w.audit()
	})
}
