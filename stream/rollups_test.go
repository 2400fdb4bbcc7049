package stream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
)

// quarters are four hours of minutes, of which the budget pays for 40 in any hour. A histogram is added up over
// quarters and hours.
const quarters = `
version: 1
streams:
  - name: web
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1m, grace: 10s, start: 2015-05-17T10:00:00Z, end: 2015-05-17T14:00:00Z}
    contribution: last
    on_exhausted: withhold
    releases:
      - {name: size, statistic: histogram, buckets: [100, 300], epsilon: 1000000, rollup: [15m, 1h]}
      - {name: large, statistic: count, above: 100, from: size}
    output: {topic: OUTPUT}
    budget: {epsilon: 40000000, per: 1h}
`

// TestRollupsWhateverHappens takes the release stage away in its transactions, and ends the service and starts it again
// from checkpoints: every roll-up is the sum of those of its windows that were released, and of no other ones.
func TestRollupsWhateverHappens(t *testing.T) {
	const minutes = 4 * 60
	begin := time.Date(2015, 5, 17, 10, 0, 0, 0, time.UTC)
	var events []event
	counts := map[time.Time][]int64{}
	for m := range minutes {
		start := begin.Add(time.Duration(m) * time.Minute)
		counts[start] = make([]int64, 4)
		for i := range 2 + m%7 {
			value := i * 170 % 450
			bucket, _ := slices.BinarySearch([]int{100, 300, 1000}, value)
			counts[start][bucket]++
			events = append(events,
				event{User: fmt.Sprint("u", i), Value: value, Time: start.Add(time.Duration(i) * time.Second)})
		}
	}
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 3, quarters)
		w.produceAnywhere(b, events)
		place := topics.Place(w.streams[0].Budget.Name, topics.Partitions)
		gate := w.gate()
		for stop := range 3 {
			s := w.start(func(s *stream.Service) { s.CheckpointEvery = 20 }, w.takeovers(1, place))
			gate.until("more windows are decided", func() bool {
				return w.records(topics.Names{App: w.app}.Ledger()) > (stop+1)*minutes/5
			})
			s.end(t)
		}
		gate.open.Store(true)
		s := w.start()
		records := w.await(2 * (minutes + minutes/15 + minutes/60))
		released := map[time.Time]bool{}
		for _, r := range records {
			if r.Release == "size" && r.Value != nil {
				released[r.WindowStart] = true
			}
		}
		if len(released) < minutes/3 || len(released) > minutes*2/3 {
			t.Errorf("%d of %d windows were released", len(released), minutes)
		}
		for _, r := range records {
			if name, rollup, _ := strings.Cut(r.Release, "."); name == "size" && rollup != "" {
				sumOfWindows(t, r, counts, released)
			}
		}
		s.end(t)
		if entries := w.audit(); len(entries) != minutes {
			t.Errorf("%d ledger entries, want %d", len(entries), minutes)
		}
	})
}

// sumOfWindows checks that a roll-up is the sum of its released windows.
func sumOfWindows(t *testing.T, r outputs.Record, counts map[time.Time][]int64, released map[time.Time]bool) {
	t.Helper()
	want, of, n := make([]int64, 4), int64(0), int64(0)
	for start := r.WindowStart; start.Before(r.WindowEnd); start = start.Add(time.Minute) {
		if of++; !released[start] {
			continue
		}
		n++
		for i, c := range counts[start] {
			want[i] += c
		}
	}
	if r.Windows == nil || r.Windows.Of != of || r.Windows.Released != n || r.Windows.Incomplete != 0 {
		t.Errorf("%s: %+v, want %d of %d windows", r.ID, r.Windows, n, of)
	}
	if (r.Value != nil) != (n > 0) || n > 0 && !slices.Equal(r.Buckets.Count, want) {
		t.Errorf("%s: %+v, want %d", r.ID, r.Buckets, want)
	}
}
