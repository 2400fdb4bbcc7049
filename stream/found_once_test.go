package stream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
)

// noisyGroups finds names by noise of at most 39, of which two draws differ with 95 % for a name.
const noisyGroups = `
version: 1
streams:
  - name: web
    input: {topic: INPUT, user: user, value: value, time: time, group: group}
    groups: {discover: [{name: often, every: 2m, epsilon: 0.1, delta: 0.001}]}
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:12:00Z}
    releases:
      - {name: users, statistic: count, mechanism: geometric, epsilon: 1}
    output: {topic: OUTPUT}
    budget: {epsilon: 10000, delta: 0.09, per: 10m}
`

// TestDiscoveriesAreDrawnOnce takes the release stage's transactional id away at each step of its transactions. Whoever
// reads the ledger's log uncommitted sees one draw of each name and period, however often its transaction failed.
func TestDiscoveriesAreDrawnOnce(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, noisyGroups)
		start := time.Unix(0, w.streams[0].Window.Start)
		var events []event
		for period := range 6 {
			for u := range 100 { // more than T + K
				for _, name := range []string{"/a", "/b", "/c", "/d"} {
					events = append(events, event{User: fmt.Sprint(name, u), Value: 1, Group: name,
						Time: start.Add(time.Duration(2*period)*time.Minute + time.Second)})
				}
			}
		}
		b.Produce(t, w.input, 0, recent(events)...)
		place := topics.Place("web", topics.Partitions)
		s := w.start(w.takeovers(6, place))
		// Each of six discoveries has a record about all names and four about found names. All windows but the first
		// have four groups.
		w.await(6*5 + 11*4)
		s.end(t)
		w.audit()
		drawn := map[string]map[string]bool{}
		aborted := 0
		_, err := b.Fetch(fetch.Options{Aborted: true}).ReadAll(kafkatest.Context(t), topics.Names{App: w.app}.Ledger(),
			place, 0, func(r *fetch.Record) error {
				e, err := ledger.Decode(r.Value)
				if err != nil || e.Discovery == nil {
					return err
				}
				id := e.WindowEnd.String()
				if drawn[id] == nil {
					drawn[id] = map[string]bool{}
				}
				drawn[id][fmt.Sprint(e.Discovery.Found)] = true
				if len(e.Discovery.Found) != 4 {
					t.Errorf("%s has found %d names, want 4", e.Name(), len(e.Discovery.Found))
				}
				if r.Aborted {
					aborted++
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		for id, v := range drawn {
			if len(v) != 1 {
				t.Errorf("the discovery of %s was drawn %d times: %v", id, len(v), v)
			}
		}
		if len(drawn) != 6 || aborted == 0 {
			t.Errorf("%d discoveries and %d aborted draws are in the log; want 6, and some", len(drawn), aborted)
		}
	})
}
