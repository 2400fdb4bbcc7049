package stream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// TestWhatAStreamHasSpentNeverFalls moves a stream from one budget to another, with fresh: true, and back. Each window
// costs ε 1, so the figures of the n-th say that n were spent, whoever paid.
func TestWhatAStreamHasSpentNeverFalls(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		file := func(budget string, revision int) string {
			return fmt.Sprintf(`
version: 1
revision: %d
budgets: [{name: %s, epsilon: 100000, per: 1h}]
streams:
  - name: s
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 2s, grace: 0s, start: now}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: %[2]s
    fresh: true
`, revision, budget)
		}
		w := newWorld(t, b, 1, file(former, 1))
		input, output := w.input, w.streams[0].Output
		var last *running
		for i, budget := range []string{former, latter, former} {
			if i > 0 {
				w.configure(strings.NewReplacer("INPUT", input, "OUTPUT", output).Replace(file(budget, i+1)))
			}
			next := w.start()
			if last != nil {
				last.end(t)
			}
			last = next
			before := len(w.published())
			kafkatest.Await(t, "figures that the budget pays", func() bool {
				n := 0
				for _, r := range w.published() {
					if r.Budget == budget {
						n++
					}
				}
				return len(w.published()) >= before+4 && n >= 3
			})
		}
		last.end(t)
		all := w.published()
		slices.SortFunc(all, func(a, b outputs.Record) int { return a.WindowEnd.Compare(b.WindowEnd) })
		budgets := map[string]bool{}
		for i, r := range all {
			budgets[r.Budget] = true
			if r.StreamSpent == nil || r.StreamSpent.String() != fmt.Sprint(i+1) {
				t.Errorf("window %d, paid by %s, says that %v were spent; want %d", i+1, r.Budget, r.StreamSpent, i+1)
			}
		}
		if len(budgets) != 2 {
			t.Errorf("the budgets %v paid; want two", budgets)
		}
		w.audit()
	})
}
