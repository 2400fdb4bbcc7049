package stream_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// withFollower is foundGroups with a second stream that has the list of the first. Series end in both outputs.
var withFollower = strings.NewReplacer("streams:\n",
	"budgets: [{name: web, epsilon: 10000, delta: 0.09, per: 24h}]\nstreams:\n"+
		`  - name: slow
    input: {topic: INPUT, user: user, value: value, time: time, group: group}
    groups: {from: web}
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 2m, grace: 30s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:20:00Z}
    releases:
      - {name: n, statistic: count, mechanism: geometric, epsilon: 30}
    output: {topic: OUTPUT, tombstones: true}
    budget: web
`, "{topic: OUTPUT}", "{topic: OUTPUT, tombstones: true}", "budget: {epsilon: 10000, delta: 0.09, per: 24h}", "budget: web").
	Replace(foundGroups)

// TestSeriesEndWithTheirGroups: /shoes is found after five minutes and after ten, and leaves the list after twenty.
// Then a record without a value ends each of its series: once, whenever workers stop, and after all other records of
// the series.
func TestSeriesEndWithTheirGroups(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, withFollower)
		w.alternately(recent(groupEvents(200)))
		random := rand.New(rand.NewPCG(7, 8))
		for range 4 {
			s := w.start()
			s.works(t, time.Duration(random.IntN(2500))*time.Millisecond)
			s.end(t)
		}
		w.start()
		w.await(groupRecords + 2*2 + 7*3 + 1*2) // windows for two groups, for three, and for two
		var ended []string
		last := map[string]bool{}
		read := func() {
			ended, last = nil, map[string]bool{}
			err := w.reader().All(kafkatest.Context(t), w.outputs(), func(m outputs.Message) error {
				if last[string(m.Key)] = true; m.Ended != "" {
					ended = append(ended, m.Ended)
					delete(last, string(m.Key))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		kafkatest.Await(t, "the series end", func() bool {
			read()
			return len(ended) >= 3
		})
		slices.Sort(ended)
		if want := []string{"slow/%2Fshoes/2026-01-01T00:20:00Z/n/left",
			"web/%2Fshoes/2026-01-01T00:20:00Z/often/left/often",
			"web/%2Fshoes/2026-01-01T00:20:00Z/users/left/often"}; !slices.Equal(ended, want) {
			t.Errorf("%q end, want %q", ended, want)
		}
		for key := range last {
			if strings.Contains(key, "shoes") {
				t.Errorf("a compacted topic would keep %s", key)
			}
		}
		if len(last) != 2+1+2 { // both groups of both streams, and the discovery
			t.Errorf("a compacted topic would keep %d series, want 5", len(last))
		}
		for _, e := range w.audit() {
			if e.Incomplete || e.Reason != "" {
				t.Errorf("%s is incomplete, or withheld for %q", e.Name(), e.Reason)
			}
		}
	})
}
