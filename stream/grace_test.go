package stream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestGraceIsLowered lowers a stream's grace, under the same budget and under others: its new windows are due before
// the last ones of the former definition. All are released.
func TestGraceIsLowered(t *testing.T) {
	for name, budgets := range map[string][]string{"same": {"one", "one", "one"}, "fresh": {former, latter, former}} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				graces := []time.Duration{8 * time.Second, 4 * time.Second, 0}
				file := func(edit int) string {
					return fmt.Sprintf("revision: %d\nbudgets: [{name: %s, epsilon: 100000, per: 1h}]\n", edit+1,
						budgets[edit]) +
						configtest.File(configtest.Stream("s", configtest.Window(2*time.Second, graces[edit]),
							configtest.StartNow,
							cheap, configtest.Set("budget", budgets[edit]), configtest.Set("fresh", "true")))
				}
				w := newWorld(t, b, 1, file(0))
				last := w.start()
				kafkatest.Await(t, "figures of the first definition", func() bool { return len(w.published()) >= 2 })
				for edit := 1; edit < len(graces); edit++ {
					w.reconfigure(file(edit))
					next := w.start()
					last.end(t)
					last = next
					n := len(w.published())
					kafkatest.Await(t, "figures of both definitions", func() bool { return len(w.published()) >= n+9 })
				}
				last.end(t)
			})
		})
	}
}
