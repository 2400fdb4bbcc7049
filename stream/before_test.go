package stream_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// cheap is a count whose windows cost ε 1 each.
var cheap = configtest.Releases("{name: users, statistic: count, epsilon: 1}")

// TestWhatAStreamHasSpentNeverFalls moves a stream from one budget to another, with fresh: true, and back. Each window
// costs ε 1, so the figures of the n-th window say that n was spent, whichever budget paid.
func TestWhatAStreamHasSpentNeverFalls(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		file := func(budget string, revision int) string {
			return fmt.Sprintf("revision: %d\nbudgets: [{name: %s, epsilon: 100000, per: 1h}]\n", revision, budget) +
				configtest.File(configtest.Stream("s", configtest.Window(2*time.Second, 0), configtest.StartNow, cheap,
					configtest.Set("budget", budget), configtest.Set("fresh", "true")))
		}
		w := newWorld(t, b, 1, file(former, 1))
		var last *running
		for i, budget := range []string{former, latter, former} {
			if i > 0 {
				w.reconfigure(file(budget, i+1))
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
