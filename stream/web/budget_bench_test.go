package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
)

// BenchmarkBudget reports on so many budgets of a day. The windows are minutes, and as many of them are known as the
// service keeps in memory. Every second budget pays for all that come.
func BenchmarkBudget(b *testing.B) {
	for _, n := range []int{10, 300} {
		b.Run(fmt.Sprint("budgets=", n), func(b *testing.B) {
			var file strings.Builder
			file.WriteString("version: 1\nstreams:\n")
			for i := range n {
				fmt.Fprintf(&file, `
  - name: s%d
    input: {topic: in%[1]d, user: u, value: v}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1m, grace: 5s, start: 2026-11-20T08:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 0.01}]
    output: {topic: out}
    budget: {epsilon: %s, per: 24h}
    on_exhausted: withhold
`, i, []string{"14.4", "14"}[i%2]) // pays every window, or not
			}
			streams := parsed(b, file.String())
			const minutes = 24*60 + 30
			w := newWorld(b, 64<<20)
			for _, s := range streams {
				w.minutes(s, minutes)
			}
			now := epoch.Add(minutes * time.Minute)
			h := newHandler(Config{Store: w.store, Streams: streams}, func() time.Time { return now })
			for _, path := range []string{"/api/v1/budget", "/api/v1/budget?only=budgets&returns=48"} {
				b.Run(path[len("/api/v1/"):], func(b *testing.B) {
					for b.Loop() {
						now = now.Add(2 * time.Second) // the report that is kept is too old
						ask(b, h, path)
					}
				})
			}
		})
	}
}

// minutes publishes the first minutes of a stream with one series, as far as its budget pays them.
func (w *world) minutes(s *config.Stream, n int) {
	paid := int(s.Budget.Epsilon.Div(s.Price()[0].Epsilon).IntPart())
	for m := range n {
		value := strings.Replace(text(s.Name, "", "users", m, "7"), `"budget":"b"`,
			fmt.Sprintf(`"budget":%q`, s.Budget.Name),
			1)
		if m >= paid && m < 24*60 {
			value = strings.Replace(value, `"reason":null`, fmt.Sprintf(`"reason":%q`, record.BudgetExhausted), 1)
		}
		w.publish(0, value)
	}
}
