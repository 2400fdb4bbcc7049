package stream_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestStreamsThatDifferInReleasesAreExact has four streams of one topic: two that differ in releases and share their
// bags, one whose budget is decided elsewhere, and one that reads the same events with another max_groups. Each counts
// the events for itself and is charged for itself. The service ends in the middle and begins anew.
func TestStreamsThatDifferInReleasesAreExact(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		head, body, _ := strings.Cut(exactly, "streams:\n")
		another := func(name string, changes ...string) string {
			return strings.NewReplacer(append(changes, "name: exact", "name: "+name)...).Replace(body)
		}
		two := []string{"      - {name: p90, statistic: quantile, p: 0.9, epsilon: 1000000}\n", "",
			"      - {name: typical, statistic: trimmed_mean, trim: 0.1, epsilon: 1000000}\n", ""}
		shared := []string{"budget: {epsilon: 1000000000, per: 1h}", "budget: all"}
		w := newWorld(t, b, 3, head+"budgets: [{name: all, epsilon: 1000000000, per: 1h}]\nstreams:\n"+another("exact",
			shared...)+another("twin", append(two, shared...)...)+another("apart",
			"budget: {epsilon: 1000000000, per: 1h}", "budget: {epsilon: 1000000000, per: 1h}\n"+
				"    fresh: true")+another("wide", append(shared, "max_groups: 1", "max_groups: 2")...))
		random := rand.New(rand.NewPCG(5, 6))
		events := history(random, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 3000)
		send := func(events []event) {
			for i := 0; i < len(events); i += 100 {
				w.broker.Produce(t, w.input, random.IntN(3), records(events[i:i+100]...)...)
			}
		}
		send(events)
		little := func(s *stream.Service) { s.BagBytes = 20_000 }
		s := w.start(little)
		names := []string{"exact", "twin", "apart", "wide"}
		for _, name := range names {
			s.expect(t, len(events), "louver_events_total", name)
		}
		superseded := int(s.count(t, "louver_events_superseded_total", "exact"))
		if superseded == 0 {
			t.Error("no event took another one's place")
		}
		for _, name := range names[:3] {
			s.expect(t, superseded, "louver_events_superseded_total", name)
		}
		s.end(t)
		s = w.start(little)
		const windows, series = 7, 2 * (7 + 5 + 7 + 7)
		for _, r := range w.await(windows * series) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil || r.Incomplete {
				t.Errorf("%s: incomplete %v, %v", r.Stream, r.Incomplete, err)
			}
		}
		s.end(t)
		if entries := w.audit(); len(entries) != 4*windows {
			t.Errorf("%d ledger entries, want %d", len(entries), 4*windows)
		}
	})
}
