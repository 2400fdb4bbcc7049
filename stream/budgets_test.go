package stream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
)

// former and latter are budgets in different partitions of the ledger, each for three windows of ε 10⁶.
const former, latter = "old", "new"

// payers is a file of streams with windows of an hour, from midnight for six hours. A line has a stream's name, its
// budget, and the key that says what happens to the former budget.
func payers(lines ...string) string { return payersUntil(midnight.Add(6*time.Hour), lines...) }

func payersUntil(end time.Time, lines ...string) string {
	var streams []string
	for _, line := range lines {
		line, word, _ := strings.Cut(line, "; ")
		name, budget, _ := strings.Cut(line, " ")
		key, value, _ := strings.Cut(word, ": ")
		streams = append(streams, configtest.Stream(name, configtest.Window(time.Hour, 10*time.Second),
			configtest.Start(midnight), configtest.End(end), configtest.Set("budget", budget),
			configtest.Set("on_exhausted", "withhold"), configtest.Set(key, value)))
	}
	const limit = "epsilon: 3000000, per: forever"
	return configtest.File(streams...) + fmt.Sprintf("budgets: [{name: %s, %s}, {name: %s, %s}]\n", former, limit,
		latter, limit)
}

// paid counts the windows that were paid.
func paid(entries []ledger.Entry) (n int) {
	for _, e := range entries {
		if e.Reason == "" {
			n++
		}
	}
	return n
}

// TestBudgetsForgetNothing moves streams from one budget to another and back. No more is spent on the same users than
// the file says in so many words.
func TestBudgetsForgetNothing(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"there and back": {payers("s " + former), payers("s " + latter + "; continues: " + former),
			payers("s2 " + former)},
		"a budget that is in use": {payers("s "+former, "t "+former), payers("s "+latter+"; continues: "+former,
			"t "+former)},
		"two budgets, then the other's": {payers("s "+former, "t "+latter+"; fresh: true"),
			payers("s "+latter, "t "+latter)},
		"two budgets without a word":     {payers("s "+former, "t "+latter)},
		"a budget that nobody paid from": {payers("s " + former), payers("s " + former + "; continues: typo")},
		"a stream of a name of its own":  {payers("s " + former), payers("s2 " + latter)},
	} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 1, files[0])
				for i, file := range files {
					w.reconfigure(file)
					s := w.start()
					if i == len(files)-1 {
						if err := s.refused(t); !errors.Is(err, control.ErrRefused) ||
							!strings.Contains(err.Error(), "streams.yaml:") ||
							strings.Contains(err.Error(), "\n") {
							t.Errorf("the last file ends with %v, want it refused in one line", err)
						}
						return
					}
					kafkatest.Await(t, "the service is ready", s.Ready)
					kafkatest.Await(t, "every window is decided", func() bool {
						decided := 0
						for _, st := range w.streams {
							for _, e := range w.audit() {
								if e.Stream == st.Name {
									decided++
								}
							}
						}
						return decided == 6*len(w.streams)
					})
					s.end(t)
					if n, most := paid(w.audit()), 3*(1+strings.Count(files[0]+file, "fresh")); n > most {
						t.Errorf("%d windows were paid, want at most %d", n, most)
					}
				}
			})
		})
	}
}

// TestFormerBudgetIsStillCharged charges a budget from elsewhere after a session has begun that continues it: what it
// charges from then on counts.
func TestFormerBudgetIsStillCharged(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, payersUntil(midnight.Add(time.Hour), "s "+former))
		ledgerTopic := topics.Names{App: w.app}.Ledger()
		from, to := topics.Place(former, topics.Partitions), topics.Place(latter, topics.Partitions)
		if from == to {
			t.Fatal("want budgets in two partitions")
		}
		first := w.start()
		w.await(1)
		first.end(t)

		w.reconfigure(payers("s2 "+latter+"; continues: "+former) + "removed: [s]\n")
		release := w.start(func(s *stream.Service) { s.Stages = []string{stream.Release, stream.Publish} })
		kafkatest.Await(t, "the session is open", func() bool {
			return release.Ready() && release.has(t, topics.Names{App: w.app}.Group(stream.Release), fmt.Sprint(to))
		})
		entry := w.audit()[0]
		for range 2 { // another process, which still has the former file
			entry.WindowStart, entry.WindowEnd = entry.WindowEnd, entry.WindowEnd.Add(time.Hour)
			entry.DueAt = entry.DueAt.Add(time.Hour)
			spent := entry.Standing.BudgetSpent.Add(decimal.NewFromInt(1_000_000))
			entry.Standing = ledger.Standing{StreamSpent: &spent, BudgetSpent: &spent,
				WindowsLeft: entry.Standing.WindowsLeft - 1,
				Lost:        ledger.Lost{Stream: &spent, Budget: &spent, Used: entry.Standing.Lost.Used + 1}}
			value, err := entry.Encode()
			if err != nil {
				t.Fatal(err)
			}
			b.Produce(t, ledgerTopic, from,
				txn.Record{Key: entry.Key(), Value: value, Time: entry.WindowEnd.UnixMilli()})
		}
		ingest := w.start(func(s *stream.Service) { s.Stages = []string{stream.Ingest} })
		for id, r := range w.await(1 + 2 + 6) {
			if strings.HasPrefix(id, "s2/") && r.Value != nil {
				t.Errorf("%s was released, though the budget that it continues was spent by then", id)
			}
		}
		release.end(t)
		ingest.end(t)
		account := budget.NewAccount(budget.Limit{})
		for _, e := range w.audit() {
			charge, err := e.Charge()
			if err != nil {
				t.Fatal(err)
			}
			account.Add(charge)
		}
		if spent := account.Total().Epsilon; !spent.Equal(decimal.NewFromInt(3_000_000)) {
			t.Errorf("the two budgets spent ε %s together, want 3000000", spent)
		}
	})
}
