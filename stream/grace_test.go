package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestGraceIsLowered lowers a stream's grace, under the same budget and under others: its new windows are due before
// the last ones of the former definition. All are released.
func TestGraceIsLowered(t *testing.T) {
	for name, budgets := range map[string][]string{"same": {"one", "one", "one"}, "fresh": {former, latter, former}} {
		t.Run(name, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				graces := []string{"8s", "4s", "0s"}
				file := func(edit int) string {
					return fmt.Sprintf(`
version: 1
revision: %d
budgets: [{name: %s, epsilon: 100000, per: 1h}]
streams:
  - name: s
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 2s, grace: %s, start: now}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: %[2]s
    fresh: true
`, edit+1, budgets[edit], graces[edit])
				}
				w := newWorld(t, b, 1, file(0))
				input, output := w.input, w.streams[0].Output
				last := w.start()
				kafkatest.Await(t, "figures of the first definition", func() bool { return len(w.published()) >= 2 })
				for edit := 1; edit < len(graces); edit++ {
					w.configure(strings.NewReplacer("INPUT", input, "OUTPUT", output).Replace(file(edit)))
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
