package main

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

// TestKillAtFirings has a watch that fires in every window, and is armed again for the next. Two processes decide the
// windows. One of them is killed whenever a window closes, and once both are stopped longer than a session may be
// silent. In the log of the ledger, with what was aborted, every instance has one secret, every window one outcome, and
// nothing fires twice.
func TestKillAtFirings(t *testing.T) {
	t.Parallel()
	const windows = 16
	l := newLive(t, kafkatest.Real(t), windows, configtest.Set("watches", "[{name: busy, above: 300, more_than: 0.1, "+
		"epsilon: 50, false_alarms: {at_most: 0.01, per: 1d}, hold: 0s, at_most: 1000}]"))
	random := rand.New(rand.NewPCG(11, 12))
	members := []*clitest.Process{l.run(), l.run()}
	before := map[string]string{}
	for round := range 9 {
		next := time.Now().Truncate(liveSize).Add(liveSize + liveGrace)
		l.traffic(random, next.Add(time.Duration(random.IntN(600)-100)*time.Millisecond))
		p := members[round%2]
		if round == 4 {
			for _, p := range members {
				p.Signal(t, syscall.SIGSTOP)
			}
			l.traffic(random, time.Now().Add(11*time.Second))
			for _, p := range members {
				p.Signal(t, syscall.SIGCONT)
			}
		} else {
			p.Kill(t)
			members[round%2] = l.run()
		}
		now := l.published()
		l.same(before, now)
		before = now
	}
	l.traffic(random, l.start.Add(windows*liveSize))
	kafkatest.Await(t, "all windows and watches are published", func() bool { return len(l.published()) >= windows*6 })
	l.finish()

	outcomes, secrets, fired, aborted := map[string]string{}, map[string]string{}, map[int64]int{}, 0
	committed, charged := map[int64]bool{}, 0
	place := topics.Place("live", topics.Partitions)
	_, err := l.broker.Fetch(fetch.Options{Aborted: true}).ReadAll(kafkatest.Context(t),
		topics.Names{App: l.app}.Ledger(), place, 0, func(r *fetch.Record) error {
			e, err := ledger.Decode(r.Value)
			if err != nil {
				return err
			}
			if before, known := outcomes[e.WindowEnd.String()]; known && before != string(r.Value) {
				t.Errorf("the window ending %s has two outcomes in the log", e.WindowEnd)
			}
			outcomes[e.WindowEnd.String()] = string(r.Value)
			if r.Aborted {
				aborted++
			}
			for _, w := range e.Continual {
				if w.Arms {
					if name, known := secrets[string(w.Sealed)]; known && name != fmt.Sprint(w.Instance) {
						t.Errorf("instances %s and %d have one secret", name, w.Instance)
					}
					secrets[string(w.Sealed)] = fmt.Sprint(w.Instance)
				}
				if r.Aborted {
					continue
				}
				if w.Arms {
					charged++
					committed[w.Instance] = true
				}
				if w.Fires() != nil {
					fired[w.Instance]++
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	for instance, n := range fired {
		if n > 1 {
			t.Errorf("instance %d fires %d times", instance, n)
		}
	}
	if len(secrets) != charged || len(committed) != charged || len(fired) < windows/2 {
		t.Errorf("%d secrets, %d instances and %d charges; %d fired of %d windows; want as many secrets as charges, "+
			"and most to fire", len(secrets), len(committed), charged, len(fired), windows)
	}
	t.Logf("%d windows: %d instances, %d of them fired; %d aborted entries in the log", len(outcomes), charged,
		len(fired), aborted)
	for _, p := range members {
		p.Signal(t, syscall.SIGTERM)
		if err := p.Wait(); err != nil {
			t.Errorf("SIGTERM: %v\n%s", err, p.Log.String())
		}
	}
}
