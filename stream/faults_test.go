package stream_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/outputs"
)

// users is a stream that only counts users, exactly.
// withBudget is a file of the three hours from midnight, of which each costs ε 1,000,000.
func withBudget(epsilon string, options ...configtest.Option) string {
	return configtest.File(configtest.Stream("users", append([]configtest.Option{
		configtest.Window(time.Hour, 10*time.Second), configtest.Start(midnight),
		configtest.End(midnight.Add(3 * time.Hour)),
		configtest.Budget(epsilon, "24h"), configtest.Set("on_exhausted", "withhold")}, options...)...))
}

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// in are n events of as many users in the hour of that number.
func in(hour, n int, prefix string) []txn.Record {
	var events []event
	for i := range n {
		events = append(events, event{User: fmt.Sprint(prefix, i), Value: i,
			Time: midnight.Add(time.Duration(hour)*time.Hour + time.Duration(i)*time.Second)})
	}
	return records(events...)
}

// values gives each window's figure by the hour it starts.
func values(figures map[string]outputs.Record) map[int]string {
	byHour := map[int]string{}
	for _, r := range figures {
		byHour[r.WindowStart.Hour()] = shown(r)
	}
	return byHour
}

func shown(r outputs.Record) string {
	if r.Value == nil {
		return *r.Reason
	}
	return r.Value.String()
}

func TestTransactionsOfTheInput(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, withBudget("1000000000"))
		for i := range 6 {
			x := b.Begin(t, kafkatest.Name(t))
			x.Produce(t, w.input, i%2, in(0, 10, fmt.Sprintf("%d-", i))...)
			if i%2 == 0 {
				x.Commit(t)
			} else {
				x.Abort(t)
			}
		}
		// This transaction stays open: it holds back the windows of its partition, and the records behind it.
		hung := b.Begin(t, kafkatest.Name(t))
		hung.Produce(t, w.input, 1, in(1, 5, "hung-")...)
		b.Produce(t, w.input, 1, in(2, 7, "behind-")...)
		s := w.start()
		kafkatest.Await(t, "a cut waits", func() bool { return s.count(t, "louver_cut_wait_seconds") > 0.5 })
		if n := w.records(topics.Names{App: w.app}.Ledger()); n != 0 {
			t.Errorf("%d windows are released although a transaction is open", n)
		}
		hung.Commit(t)
		want := map[int]string{0: "30", 1: "5", 2: "7"}
		if diff := cmp.Diff(want, values(w.await(3))); diff != "" {
			t.Errorf("windows: %s", diff)
		}
		s.end(t)
		w.audit()
	})
}

func TestBudgetIsNeverExceeded(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, withBudget("2000000")) // two windows
		for hour := range 3 {
			b.Produce(t, w.input, hour%2, in(hour, 4, "u")...)
		}
		one, two := w.start(), w.start()
		want := map[int]string{0: "4", 1: "4", 2: "budget_exhausted"}
		if diff := cmp.Diff(want, values(w.await(3))); diff != "" {
			t.Errorf("windows: %s", diff)
		}
		one.end(t)
		two.end(t)
		again := w.start()
		kafkatest.Await(t, "the service is ready", again.Ready)
		again.end(t)
		figures := w.await(3)
		for _, r := range figures {
			if spent, err := r.BudgetSpent.Float64(); err != nil || spent > 2e6 {
				t.Errorf("%s: budget_epsilon_spent is %s", r.ID, r.BudgetSpent)
			}
			if r.Value == nil && r.Epsilon != "0" {
				t.Errorf("%s is withheld and charges ε %s", r.ID, r.Epsilon)
			}
		}
		if diff := cmp.Diff(want, values(figures)); diff != "" {
			t.Errorf("windows after a restart: %s", diff)
		}
		w.audit()
	})
}

func TestAnotherBudgetMustBeMeant(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, withBudget("2000000"))
		s := w.start()
		w.await(3)
		s.end(t)
		renamed := strings.Replace(withBudget("2000000"), "name: users\n", "name: renamed\n", 1)
		w.reconfigure(renamed)
		s = w.start()
		if err := <-s.err; !errors.Is(err, control.ErrRefused) {
			t.Fatalf("a renamed stream started anew: %v", err)
		}
		w.reconfigure(renamed + "    continues: users\nremoved: [users]\n")
		s = w.start()
		kafkatest.Await(t, "all six figures", func() bool { return len(w.published()) == 6 })
		for _, r := range w.published() {
			if r.Stream == "renamed" && r.Value != nil {
				t.Errorf("%s was released although the budget it continues is spent", r.ID)
			}
		}
		s.end(t)
	})
}

// TestCrashesAtRandomMoments stops one of two services without notice again and again. The one that is stopped leaves
// its transactions open and commits nothing more, as if it had been killed.
func TestCrashesAtRandomMoments(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 3, exactly)
		random := rand.New(rand.NewPCG(5, 6))
		events := history(random, midnight, 1500)
		w.scatter(random, events)
		seen := map[string]outputs.Record{}
		for range 8 {
			s := w.start(often(3))
			s.works(t, time.Duration(random.IntN(1500))*time.Millisecond)
			s.end(t)
			if w.records(w.streams[0].Output) == 0 {
				continue
			}
			for _, r := range w.published() {
				if old, ok := seen[r.ID]; ok {
					if diff := cmp.Diff(old, r); diff != "" {
						t.Errorf("%s changed: %s", r.ID, diff)
					}
				}
				seen[r.ID] = r
			}
		}
		s := w.start(often(3))
		for _, r := range w.await(7 * 14) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
				t.Error(err)
			}
			if old, ok := seen[r.ID]; ok {
				if diff := cmp.Diff(old, r); diff != "" {
					t.Errorf("%s changed: %s", r.ID, diff)
				}
			}
		}
		s.end(t)
		w.audit()
	})
}
