package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
)

// watchful has two watches. In its hour a false alarm has a probability of at most (0.0001 + 0.000001)·60/43,200 <
// 1e-6. With 80 users too many, where 20 are seen with 95 %, one is missed with far less than that.
//
// Where there are events, half of the users are slow. One watch fires, holds and is armed again, until a day has seen
// six instances. The other one sees nothing.
const watchful = `
version: 1
streams:
  - name: watchful
    input: {topic: INPUT, user: user, value: value, time: time, group: group}
    groups: [eu, us]
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T01:00:00Z}
    contribution: last
    releases: [{name: users, statistic: count, epsilon: 0.1}]
    watches:
      - {name: slow, above: 500, more_than: 0.1, epsilon: 2, false_alarms: {at_most: 0.0001, per: 30d}, hold: 2m,
         at_most: 6}
      - {name: few, above: 500, users: 5000, epsilon: 1, false_alarms: {at_most: 0.000001, per: 30d}, hold: 1m,
         at_most: 2}
    output: {topic: OUTPUT}
    budget: {epsilon: 25, per: 24h}
`

// TestWatchesFireOncePerInstance crashes one of two services again and again, and takes the transactional id of the
// release stage away at each step of its transactions. In the whole log of the ledger, with what was aborted, every
// window has one outcome, every instance one secret and at most one firing, and the charges are those of the instances.
func TestWatchesFireOncePerInstance(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, watchful)
		random := rand.New(rand.NewPCG(9, 1))
		for minute := 5; minute < 60; minute += 7 {
			var events []event
			for i := range 200 {
				events = append(events, event{User: fmt.Sprint("u", i), Group: "us", Value: 400 + 200*(i%2),
					Time: midnight.Add(time.Duration(minute) * time.Minute)})
			}
			b.Produce(t, w.input, minute%2, records(events...)...)
		}
		place := topics.Place("watchful", topics.Partitions)
		names := topics.Names{App: w.app}
		k := &taker{RoundTripper: b.Conn.Transport, left: map[string]int{"add": 3, "produce": 3, "end": 3}}
		k.take = func() {
			if _, err := txn.Open(context.Background(), b.Conn.Client, names.ReleaseID(place),
				30*time.Second); err != nil {
				t.Error(err)
			}
		}
		taken := func(s *stream.Service) {
			conn, client := *s.Conn, *s.Conn.Client
			client.Transport = k
			conn.Client = &client
			s.Conn = &conn
			s.CheckpointEvery = 7
		}
		for range 4 {
			s := w.start(taken)
			s.works(t, time.Duration(500+random.IntN(1500))*time.Millisecond)
			s.end(t)
		}
		one, two := w.start(taken), w.start(taken)
		figures := w.await(60 * 2 * 3)
		one.end(t)
		two.end(t)
		entries := w.audit()

		outcomes, secrets := map[string]string{}, map[string]string{}
		aborted := 0
		_, err := b.Fetch(fetch.Options{Aborted: true}).ReadAll(kafkatest.Context(t), names.Ledger(), place, 0,
			func(r *fetch.Record) error {
				e, err := ledger.Decode(r.Value)
				if err != nil {
					return err
				}
				if before, known := outcomes[e.WindowEnd.String()]; known && before != string(r.Value) {
					t.Errorf("the window ending %s has two outcomes in the log", e.WindowEnd)
				}
				outcomes[e.WindowEnd.String()] = string(r.Value)
				for _, x := range e.Continual {
					if !x.Arms {
						continue
					}
					name := fmt.Sprint(x.Name, x.Instance)
					if before, known := secrets[name]; known && before != string(x.Sealed) {
						t.Errorf("instance %s has two secrets in the log", name)
					}
					secrets[name] = string(x.Sealed)
				}
				if r.Aborted {
					aborted++
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		armed, fired := 0, map[string]int{}
		for _, e := range entries {
			for _, x := range e.Continual {
				if x.Arms {
					armed++
				}
				if group := x.Fires(); group != nil {
					fired[fmt.Sprint(x.Name, x.Instance)]++
					if x.Name != "slow" || *group != "us" || e.WindowStart.Minute()%7 != 5 {
						t.Errorf("%s fires in group %s of the window of %s, where nobody is slow", x.Name, *group,
							e.WindowStart)
					}
				}
			}
		}
		for name, n := range fired {
			if n > 1 {
				t.Errorf("instance %s fires %d times", name, n)
			}
		}
		// Every seventh minute 100 of 200 users are slow, 80 more than a tenth. Six instances are armed: the first with
		// the first window, the others after a firing.
		if len(fired) != 6 || armed != 7 || len(secrets) != armed || aborted == 0 {
			t.Errorf("%d instances have fired, %d were armed with %d secrets, and %d aborted entries are in the log; "+
				"want 6, 7, 7, and some", len(fired), armed, len(secrets), aborted)
		}
		// 60 windows at 0.1, six instances at 2 and one at 1.
		for _, r := range figures {
			if r.WindowEnd.Equal(midnight.Add(time.Hour)) && r.BudgetSpent.String() != "19" {
				t.Errorf("%s: the budget has spent %s, want 19", r.ID, r.BudgetSpent)
			}
			if strings.HasSuffix(r.ID, "/us/2026-01-01T00:05:00Z/slow") && shown(r) != "1" {
				t.Errorf("%s is %s, want it to fire", r.ID, shown(r))
			}
		}
	})
}
