package release

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// TestTotalsAreObserved: what a total publishes or withholds is counted where there is a record, at the end of a leaf.
func TestTotalsAreObserved(t *testing.T) {
	s, of := opened(t, `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b, c]
    max_groups: 1
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1h, every: 1h, grace: 10s, start: 2026-01-01T00:00:00Z}
    contribution: last
    releases:
      - {name: today, statistic: count, since: midnight, update: 2h, epsilon: 1000}
    output: {topic: out}
    budget: {epsilon: 1500, per: 24h}
    on_exhausted: withhold
`, 1<<20)
	w := of.Schedule.First()
	for offset := range int64(28) { // nobody comes
		o := windows.Origin{Stream: "s", Epoch: of.Number, From: offset, To: offset + 1, Attempt: [16]byte{byte(offset)}}
		mark := windows.Mark{Origin: o, Partitions: 1, After: w.Start, Through: w.End}
		if err := s.core.Message(mark.Message(), offset, time.Unix(0, w.End)); err != nil {
			t.Fatal(err)
		}
		w, _ = of.Schedule.Next(w)
	}
	if all := s.decided(t); len(all) != 28 {
		t.Fatalf("%d windows are decided, want 28", len(all))
	}
	// 12 records of each of 3 groups on the first day, and none can be paid in 4 hours of the next
	if got := testutil.ToFloat64(s.Metrics.Releases.WithLabelValues("s")); got != 36 {
		t.Errorf("%v figures were released, want 36", got)
	}
	if got := testutil.ToFloat64(s.Metrics.Withheld.WithLabelValues("s", record.BudgetExhausted)); got != 6 {
		t.Errorf("%v figures were withheld, want 6", got)
	}
}
