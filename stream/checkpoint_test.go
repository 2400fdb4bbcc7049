package stream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
)

// progressLog is the app's topic of the progress, in the test's hands.
func (w *world) progressLog() *progress.Log {
	return &progress.Log{Client: w.broker.Conn.Client, Fetch: w.broker.Fetch(fetch.Options{}),
		Topic: topics.Names{App: w.app}.Progress()}
}

// checkpoint reads the last checkpoint of a partition of the ledger.
func (w *world) checkpoint(partition int) (progress.Text, bool) {
	w.t.Helper()
	if _, err := topics.Counts(kafkatest.Context(w.t), w.broker.Conn.Client,
		[]topics.Topic{{Name: topics.Names{App: w.app}.Progress()}}); err != nil {
		return progress.Text{}, false
	}
	text, found, err := w.progressLog().ReadText(kafkatest.Context(w.t), progress.CheckpointKey(partition))
	if err != nil {
		w.t.Fatal(err)
	}
	return text, found
}

// plant writes a checkpoint of a partition.
func (w *world) plant(partition int, text string) {
	w.t.Helper()
	log := w.progressLog()
	records, _ := log.TextRecords(progress.CheckpointKey(partition), []byte(text), 1)
	if err := txn.Send(kafkatest.Context(w.t), log.Client, records); err != nil {
		w.t.Fatal(err)
	}
}

// often writes a checkpoint every so many entries.
func often(entries int64) func(*stream.Service) {
	return func(s *stream.Service) { s.CheckpointEvery = entries }
}

// told collects what a service logs.
func told() (*observer.ObservedLogs, func(*stream.Service)) {
	core, lines := observer.New(zap.InfoLevel)
	return lines, func(s *stream.Service) { s.Log = zap.New(core) }
}

// What is said when the ledger is read from its first entry.
const (
	leftOut = "a checkpoint of the ledger is left out"
	noneYet = "the ledger has no checkpoint yet"
)

// long is the file of users with so many hours, of which the budget pays the first so many.
func long(hours, paid int) string {
	paidFor := fmt.Sprint(paid, "000000")
	return withBudget(paidFor, configtest.End(midnight.Add(time.Duration(hours)*time.Hour)),
		configtest.Budget(paidFor, "forever"))
}

// TestReleaseGoesOnFromACheckpoint stops a service half-way and starts it again, which then reads no more than what
// follows the checkpoint. It pays as many windows as one that never stopped.
func TestReleaseGoesOnFromACheckpoint(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		const hours, paidHours = 400, 300
		w := newWorld(t, b, 1, long(hours, paidHours))
		at := topics.Place("users", topics.Partitions)
		for w.records(topics.Names{App: w.app}.Ledger()) < hours {
			before := w.records(topics.Names{App: w.app}.Ledger())
			lines, log := told()
			s := w.start(often(20), log)
			kafkatest.Await(t, "more windows are decided", func() bool {
				return w.records(topics.Names{App: w.app}.Ledger()) >= min(hours, before+100)
			})
			s.end(t)
			if n := lines.FilterMessageSnippet(leftOut).Len() + lines.FilterMessageSnippet(noneYet).Len(); n != 0 {
				t.Errorf("the ledger was read from its first entry: %v", lines.All())
			}
		}
		text, found := w.checkpoint(at)
		if !found || !strings.Contains(string(text.Text), `"stream":"users"`) {
			t.Errorf("there is no checkpoint: %s", text.Text)
		}
		if n := paid(w.audit()); n != paidHours {
			t.Errorf("%d windows were paid, want %d", n, paidHours)
		}
		// What is reported from the checkpoint is what is reported from the first entry, where the checkpoint is
		// damaged.
		report := func(wrong int) (ledger.Report, ledger.Entry) {
			ignored := 0
			tails, err := stream.Tails(kafkatest.Context(t), b.Conn.Client, b.Fetch(fetch.Options{}), w.app, 50,
				func(error) { ignored++ })
			if err != nil || ignored != wrong {
				t.Fatalf("%v, and %d checkpoints are left out; want %d", err, ignored, wrong)
			}
			var parts []*ledger.Books
			for _, tail := range tails {
				parts = append(parts, tail.Books)
			}
			newest := tails[at].Entries
			if n := len(newest); n < 50 || n > 150 {
				t.Errorf("%d entries are kept; want the newest 50, and few others", n)
			}
			return ledger.NewReport(ledger.Join(parts), midnight.Add(hours*time.Hour)), newest[len(newest)-1]
		}
		short, last := report(0)
		w.plant(at, string(text.Text[:len(text.Text)/2]))
		whole, same := report(1)
		if a, b := fmt.Sprint(short), fmt.Sprint(whole); a != b || !strings.Contains(a, "users") ||
			!last.WindowEnd.Equal(same.WindowEnd) {
			t.Errorf("from the checkpoint:\n%s\nfrom the first entry:\n%s", a, b)
		}
	})
}

// TestTailsAreLongEnough has each window in a transaction of its own, so that every other offset of the ledger is a
// marker.
func TestTailsAreLongEnough(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const windows, keep = 100, 50
		yaml, start := live(windows)
		w := newWorld(t, b, 1, yaml)
		s := w.start(often(20))
		w.await(windows)
		s.end(t)
		at := topics.Place("live", topics.Partitions)
		if _, found := w.checkpoint(at); !found {
			t.Error("there is no checkpoint")
		}
		tails, err := stream.Tails(kafkatest.Context(t), b.Conn.Client, b.Fetch(fetch.Options{}), w.app, keep,
			func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		newest := tails[at].Entries
		if n := len(newest); n < keep || n > 2*keep || !newest[n-1].WindowEnd.Equal(start.Add(windows*time.Second)) {
			t.Errorf("%d entries are kept; want the newest %d, or up to twice as many", n, keep)
		}
	})
}

// TestCheckpointOfALostLedgerIsAPrivacyStop recreates the ledger, and also forgets how far it was published: the
// checkpoint still tells of entries that are gone.
func TestCheckpointOfALostLedgerIsAPrivacyStop(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const hours = 150
		w := newWorld(t, b, 1, long(hours, hours))
		names, at := topics.Names{App: w.app}, topics.Place("users", topics.Partitions)
		s := w.start(often(10))
		kafkatest.Await(t, "all windows are decided", func() bool { return w.records(names.Ledger()) == hours })
		s.end(t)
		entries := w.audit()
		if _, found := w.checkpoint(at); !found {
			t.Fatal("there is no checkpoint")
		}
		b.DeleteTopic(t, names.Ledger())
		b.Produce(t, names.Progress(), topics.Place(progress.PublishKey(at), topics.Partitions),
			txn.Record{Key: []byte(progress.PublishKey(at))})
		if err := w.start(only(stream.Release)).refused(t); !errors.Is(err, ledger.ErrUnreadable) ||
			!strings.Contains(err.Error(), "some of those are missing") {
			t.Errorf("with an empty ledger the service ended with %v", err)
		}
		for range 2 { // others wrote so much since that it is longer than before
			for _, e := range entries {
				e.ReleasedAt = e.ReleasedAt.Add(time.Hour)
				value, err := e.Encode()
				if err != nil {
					t.Fatal(err)
				}
				b.Produce(t, names.Ledger(), at, txn.Record{Key: e.Key(), Value: value, Time: e.WindowEnd.UnixMilli()})
			}
		}
		if err := w.start(only(stream.Release)).refused(t); !errors.Is(err, ledger.ErrUnreadable) ||
			!strings.Contains(err.Error(), "some of those are missing") {
			t.Errorf("with another ledger the service ended with %v", err)
		}
	})
}

// TestProgressIsMadeAnew deletes the topic with the checkpoints: the ledger is read from its first entry.
func TestProgressIsMadeAnew(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		const hours, half, paidHours = 120, 60, 90
		w := newWorld(t, b, 1, long(hours, paidHours))
		names := topics.Names{App: w.app}
		s := w.start(often(10))
		kafkatest.Await(t, "half of the windows are decided", func() bool { return w.records(names.Ledger()) >= half })
		s.end(t)
		b.DeleteTopic(t, names.Progress())
		lines, log := told()
		s = w.start(often(10), log, only(stream.Ingest, stream.Release))
		at := topics.Place("users", topics.Partitions)
		kafkatest.Await(t, "the ledger is read",
			func() bool { return s.has(t, names.Group(stream.Release), fmt.Sprint(at)) })
		kafkatest.Await(t, "all windows are decided", func() bool { return w.records(names.Ledger()) == hours })
		s.end(t)
		if n := lines.FilterMessageSnippet(noneYet).Len(); n != 1 {
			t.Errorf("%d lines say that the ledger has no checkpoint, want 1: %v", n, lines.All())
		}
		if n := paid(w.audit()); n != paidHours {
			t.Errorf("%d windows were paid, want %d", n, paidHours)
		}
	})
}

// TestContinuedBudgetHasACheckpoint moves a stream to a budget in another partition of the ledger: the former one's
// charges come from its checkpoint, and count.
func TestContinuedBudgetHasACheckpoint(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const windows = 150
		file := func(line, rest string) string {
			return payersUntil(midnight.Add(windows*time.Hour), line) + rest
		}
		w := newWorld(t, b, 1, file("s "+former, ""))
		s := w.start(often(2))
		w.await(windows)
		s.end(t)
		w.reconfigure(file("s2 "+latter+"; continues: "+former, "removed: [s]\n"))
		for range 2 {
			lines, log := told()
			s = w.start(often(2), log)
			figures := w.await(2 * windows)
			kafkatest.Await(t, "the service is ready", s.Ready)
			s.end(t)
			for id, r := range figures {
				if strings.HasPrefix(id, "s2/") && r.Value != nil {
					t.Errorf("%s was released, though the budget that it continues is spent", id)
				}
			}
			if n := lines.FilterMessageSnippet(leftOut).Len(); n != 0 {
				t.Errorf("%d checkpoints were left out: %v", n, lines.All())
			}
		}
		for _, budget := range []string{former, latter} {
			if text, found := w.checkpoint(topics.Place(budget, topics.Partitions)); !found ||
				!strings.Contains(string(text.Text), `"budget":"`+budget+`"`) {
				t.Errorf("budget %s has no checkpoint: %s", budget, text.Text)
			}
		}
		if diff := cmp.Diff(3, paid(w.audit())); diff != "" {
			t.Error(diff)
		}
	})
}
