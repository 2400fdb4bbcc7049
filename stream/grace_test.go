package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestGraceIsLowered lowers a stream's grace under the same budget: its new windows are due before the last ones of the
// former definition. Both are released.
func TestGraceIsLowered(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		file := func(grace string, revision int) string {
			return fmt.Sprintf(`
version: 1
revision: %d
budgets: [{name: one, epsilon: 100000, per: 1h}]
streams:
  - name: s
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 2s, grace: %s, start: now}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: one
`, revision, grace)
		}
		w := newWorld(t, b, 1, file("8s", 1))
		input, output := w.input, w.streams[0].Output
		first := w.start()
		kafkatest.Await(t, "figures of the first definition", func() bool { return len(w.published()) >= 2 })
		w.configure(strings.NewReplacer("INPUT", input, "OUTPUT", output).Replace(file("0s", 2)))
		second := w.start()
		first.end(t)
		n := len(w.published())
		kafkatest.Await(t, "figures of both definitions", func() bool { return len(w.published()) >= n+9 })
		second.end(t)
	})
}
