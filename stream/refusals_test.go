package stream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

// refused waits for the service to end and gives the error.
func (r *running) refused(t *testing.T) error {
	t.Helper()
	err := kafkatest.Receive(t, "the service is refused", r.err)
	if err == nil {
		t.Fatal("the service ended without an error")
	}
	return err
}

// TestUnreadableLedgerIsAPrivacyStop puts something into the ledger that nobody can read. What it charged is not known,
// so nothing more is released.
func TestUnreadableLedgerIsAPrivacyStop(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		s := w.start()
		w.await(3)
		s.end(t)
		for partition := range topics.Partitions {
			b.Produce(t, topics.Names{App: w.app}.Ledger(), partition, kafkatest.Values(`{"v":1,"stream":`)...)
		}
		before := len(w.published())
		err := w.start().refused(t)
		if !errors.Is(err, ledger.ErrUnreadable) {
			t.Errorf("the service ended with %v", err)
		}
		if n := len(w.published()); n != before {
			t.Errorf("%d figures were published", n-before)
		}
	})
}

// TestLedgerThatIsMadeAnewIsAPrivacyStop deletes the ledger and recreates it, empty: what it charged is forgotten, and
// no stage may go on as if nothing had been spent.
func TestLedgerThatIsMadeAnewIsAPrivacyStop(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		s := w.start()
		w.await(3)
		s.end(t)
		b.DeleteTopic(t, topics.Names{App: w.app}.Ledger())
		for _, stage := range []string{stream.Release, stream.Publish} {
			if err := w.start(only(stage)).refused(t); !errors.Is(err, ledger.ErrUnreadable) {
				t.Errorf("the stage %s ended with %v", stage, err)
			}
		}
	})
}

// TestOwnTopicsAreGone deletes topics of an app that has published: all, and all but the control topic. Its outputs
// tell: it does not begin with empty books unless it is told to, and then it says what it forgets. That holds until the
// ledger is gone once more. Another app that shares the output begins as ever.
func TestOwnTopicsAreGone(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		s := w.start()
		w.await(3)
		s.end(t)
		refused := func(kept string) {
			t.Helper()
			for _, of := range topics.Plan(w.app, w.streams) {
				if of.Own() && of.Name != kept {
					b.DeleteTopic(t, of.Name)
				}
			}
			err := w.start().refused(t)
			if !errors.Is(err, ledger.ErrUnreadable) ||
				!strings.Contains(err.Error(), "topic "+w.streams[0].Output+" has figures") ||
				!strings.Contains(err.Error(), "--begin-again") {
				t.Errorf("the service ended with %v", err)
			}
		}
		refused("")
		const line = "the app begins again: what its figures in these topics cost is forgotten, and the budgets " +
			"begin at zero"
		begins := func(app string, want int, change func(*stream.Service)) {
			t.Helper()
			lines, log := told()
			s := w.start(log, change, func(s *stream.Service) { s.App = app })
			kafkatest.Await(t, "the app begins", s.Ready)
			s.end(t)
			if n := lines.FilterMessage(line).Len(); n != want {
				t.Errorf("app %s: %d lines say what is forgotten, want %d", app, n, want)
			}
		}
		begins(w.app+"x", 0, func(*stream.Service) {})
		before := len(w.published()) // the windows are over, so whichever run comes to it publishes them again
		begins(w.app, 1, func(s *stream.Service) { s.BeginAgain = true })
		begins(w.app, 0, func(*stream.Service) {})
		s = w.start()
		kafkatest.Await(t, "the app publishes again", func() bool { return len(w.published()) >= before+3 })
		s.end(t)
		refused(topics.Names{App: w.app}.Control())
		begins(w.app, 1, func(s *stream.Service) { s.BeginAgain = true })
	})
}

// TestForgetfulTopicsAreRefused creates topics that would lose charges or records.
func TestForgetfulTopicsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		topic   func(*world) string
		count   int
		configs map[string]string
		want    string
	}{
		"ledger with finite retention": {func(w *world) string { return topics.Names{App: w.app}.Ledger() }, 8,
			map[string]string{"retention.ms": "86400000"}, "retention.ms=-1"},
		"ledger that is compacted": {func(w *world) string { return topics.Names{App: w.app}.Ledger() }, 8,
			map[string]string{"cleanup.policy": "compact", "retention.ms": "-1"}, "cleanup.policy"},
		"partials of a day": {func(w *world) string { return topics.Names{App: w.app}.Partials() }, 8,
			map[string]string{"retention.ms": "86400000"},
			"keeps its records for 24h0m0s; it needs retention.ms=604800000 or more"},
		"progress of small messages": {func(w *world) string { return topics.Names{App: w.app}.Progress() }, 8,
			map[string]string{"cleanup.policy": "compact", "max.message.bytes": "500000"},
			"max.message.bytes=500000; it needs 1048576"},
		"ledger with other partitions": {func(w *world) string { return topics.Names{App: w.app}.Ledger() }, 3,
			map[string]string{"retention.ms": "-1"}, "8"},
		"input shorter than the window": {func(w *world) string {
			w.streams[0].Input.Topic += "-short"
			return w.streams[0].Input.Topic
		}, 1, map[string]string{"retention.ms": "60000"}, "retention.ms=3610000"},
	} {
		t.Run(name, func(t *testing.T) {
			kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 1, withBudget("1000000000"))
				b.CreateTopic(t, c.topic(w), c.count, c.configs)
				err := w.start().refused(t)
				if !errors.Is(err, topics.ErrUnfit) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("the service ended with %v, want what says %s", err, c.want)
				}
			})
		})
	}
}

// TestMissingInputIsWaitedFor starts before the input topic exists.
func TestMissingInputIsWaitedFor(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		w.streams[0].Input.Topic += "-later"
		s := w.start()
		kafkatest.Await(t, "the service waits",
			func() bool { return !s.Ready() && w.records(topics.Names{App: w.app}.Ledger()) == 0 })
		b.CreateTopic(t, w.streams[0].Input.Topic, 1, nil)
		w.await(3)
		s.end(t)
	})
}

// openWhenKilled has windows open, all of whose events are in parts, when the broker is killed. noticed checks that
// the service notices. recovered checks that nothing was lost and nothing comes twice once the broker runs again.
func openWhenKilled(t *testing.T, b *kafkatest.Broker) (noticed, recovered func()) {
	t.Helper()
	w := newWorld(t, b, 2, withBudget("1000000000"))
	b.Produce(t, w.input, 0, in(0, 5, "before-")...)
	s := w.start(func(s *stream.Service) { s.Stages = []string{stream.Ingest} })
	kafkatest.Await(t, "partials of all windows",
		func() bool { return w.records(topics.Names{App: w.app}.Partials()) >= 5 })
	return func() {
			kafkatest.Await(t, "the service notices", func() bool { return !s.Ready() })
			if s.ended.Load() {
				t.Fatal("the service ended when Kafka was lost")
			}
		}, func() {
			all := w.start()
			if diff := cmp.Diff(map[int]string{0: "5", 1: "0", 2: "0"}, values(w.await(3))); diff != "" {
				t.Errorf("windows: %s", diff)
			}
			s.end(t)
			all.end(t)
			w.audit()
		}
}
