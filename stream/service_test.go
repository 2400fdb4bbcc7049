package stream_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
)

// exactly asks for so much ε that every figure is the true one, except with a chance far below 1e-6: one more edit
// costs a factor e^(−10⁶/2).
const exactly = `
version: 1
streams:
  - name: exact
    input: {topic: INPUT, user: user, value: value, time: time, group: group}
    unit: ms
    groups: [eu, us]
    max_groups: 1
    bounds: {lower: 0, upper: 1000, step: 1, prior: uniform}
    window: {size: 1h, every: 30m, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T04:00:00Z}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 1000000}
      - {name: p90, statistic: quantile, p: 0.9, epsilon: 1000000}
      - {name: typical, statistic: trimmed_mean, trim: 0.1, epsilon: 1000000}
      - {name: top, statistic: mode, epsilon: 1000000}
      - {name: users, statistic: count, epsilon: 1000000}
      - {name: slow, statistic: count, above: 500, epsilon: 1000000}
      - {name: beyond, statistic: outside, epsilon: 1000000}
    output: {topic: OUTPUT}
    budget: {epsilon: 1000000000, per: 1h}
`

// naive is one window of one group, computed from all events in the simplest way.
func naive(events []event, start, end time.Time, group string) []int {
	type latest struct {
		at    time.Time
		value int
	}
	users := map[string]latest{}
	for _, e := range events {
		if e.Time.Before(start) || !e.Time.Before(end) || e.Group != group {
			continue
		}
		v := e.Value.(int)
		if old, ok := users[e.User]; !ok || e.Time.After(old.at) || e.Time.Equal(old.at) && v > old.value {
			users[e.User] = latest{e.Time, v}
		}
	}
	var values []int
	for _, l := range users {
		values = append(values, l.value)
	}
	slices.Sort(values)
	return values
}

// right says whether a figure is what the true values allow on a grid from 0 to upper.
func right(r outputs.Record, values []int, upper int) error {
	clamp := func(v int) int { return min(max(v, 0), upper) }
	got, err := r.Value.Float64()
	if err != nil {
		return err
	}
	n := len(values)
	between := func(low, high float64) error {
		if got < low || got > high {
			return fmt.Errorf("%s = %v, want %v to %v (n = %d)", r.ID, got, low, high, n)
		}
		return nil
	}
	order := func(i int) float64 { return float64(clamp(values[min(max(i, 1), n)-1])) }
	count := func(is func(int) bool) float64 {
		c := 0
		for _, v := range values {
			if is(v) {
				c++
			}
		}
		return float64(c)
	}
	switch r.Release {
	case "users":
		return between(float64(n), float64(n))
	case "slow":
		c := count(func(v int) bool { return clamp(v) > 500 })
		return between(c, c)
	case "beyond":
		c := count(func(v int) bool { return v < 0 || v > upper })
		return between(c, c)
	}
	if n == 0 {
		return between(0, float64(upper))
	}
	switch r.Release {
	case "p50":
		return between(order((n+1)/2), order(n/2+1))
	case "p90":
		return between(order((9*n+9)/10), order(9*n/10+1))
	case "typical":
		m := n / 10
		sum := 0
		for _, v := range values[m : n-m] {
			sum += clamp(v)
		}
		mean := float64(sum) / float64(n-2*m)
		return between(math.Floor(mean), math.Ceil(mean))
	case "top":
		best := count(func(v int) bool { return clamp(v) == int(got) })
		for _, v := range values {
			if c := count(func(o int) bool { return clamp(o) == clamp(v) }); c > best {
				return fmt.Errorf("%s = %v with %v users, but %d has %v", r.ID, got, best, clamp(v), c)
			}
		}
		return nil
	}
	return fmt.Errorf("unexpected release %s", r.Release)
}

// scatter sends events to partitions at random, in batches of any size.
func (w *world) scatter(random *rand.Rand, events []event) {
	w.t.Helper()
	for len(events) > 0 {
		n := min(1+random.IntN(30), len(events))
		w.broker.Produce(w.t, w.input, random.IntN(3), records(events[:n]...)...)
		events = events[n:]
	}
}

// history is some hours of events of some users, in no order.
func history(random *rand.Rand, from time.Time, n int) []event {
	events := make([]event, n)
	for i := range events {
		user := fmt.Sprintf("user-%d", random.IntN(60))
		group := "eu"
		if user[len(user)-1]%2 == 0 {
			group = "us"
		}
		events[i] = event{User: user, Group: group, Value: random.IntN(1200) - 100,
			Time: from.Add(time.Duration(random.Int64N(int64(5*time.Hour))) - 30*time.Minute)}
	}
	return events
}

func TestBackfillIsExactAtHugeEpsilon(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 3, exactly)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		random := rand.New(rand.NewPCG(1, 2))
		events := history(random, start, 2000)
		w.scatter(random, events)
		s := w.start()
		const windows, series = 7, 2 * 7
		figures := w.await(windows * series)
		for _, r := range figures {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
				t.Error(err)
			}
		}
		s.expect(t, len(events), "louver_events_total")
		s.end(t)
		if entries := w.audit(); len(entries) != windows {
			t.Errorf("%d ledger entries, want %d", len(entries), windows)
		}
	})
}

// TestLittleMemoryIsExact has memory for hardly anything: bags are written after every page, and parts are read again
// when their window is decided, all of them or most.
func TestLittleMemoryIsExact(t *testing.T) {
	t.Parallel()
	for _, memory := range []int64{1, 20_000} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 3, exactly)
				random := rand.New(rand.NewPCG(3, 4))
				events := history(random, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 3000)
				for i := 0; i < len(events); i += 100 {
					w.broker.Produce(t, w.input, random.IntN(3), records(events[i:i+100]...)...)
				}
				s := w.start(func(s *stream.Service) { s.BagBytes = memory })
				for _, r := range w.await(7 * 2 * 7) {
					if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil ||
						r.Incomplete {
						t.Errorf("incomplete %v, %v", r.Incomplete, err)
					}
				}
				s.end(t)
				w.audit()
			})
		})
	}
}

func TestWindowsCloseOnTimeWithoutTraffic(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		start := time.Now().UTC().Truncate(2 * time.Second).Add(6 * time.Second)
		w := newWorld(t, b, 3, configtest.File(configtest.Stream("quiet", configtest.Window(2*time.Second, time.Second),
			configtest.Start(start), configtest.End(start.Add(6*time.Second)))))
		s := w.start()
		figures := w.await(3)
		for _, r := range figures {
			if r.Value.String() != "0" {
				t.Errorf("%s = %s, want 0", r.ID, r.Value)
			}
		}
		// What comes now is late, for whatever window.
		w.broker.Produce(t, w.input, 0, records(event{User: "a", Value: 1, Time: start.Add(time.Second)},
			event{User: "b", Value: 1, Time: start.Add(-time.Second)})...)
		kafkatest.Await(t, "both late events are counted",
			func() bool { return s.count(t, "louver_events_late_total") == 2 })
		s.end(t)
		for _, e := range w.audit() {
			if e.ReleasedAt.Before(e.DueAt) {
				t.Errorf("the window ending %s was released at %s, before it was due", e.WindowEnd, e.ReleasedAt)
			}
		}
	})
}

func TestRestartDrawsNothingTwice(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 3, exactly)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		random := rand.New(rand.NewPCG(3, 4))
		events := history(random, start, 300)
		w.scatter(random, events)
		// Each stage runs alone, one after another, so what one has left is all that the next can know.
		for _, step := range []struct {
			stage string
			done  func() bool
		}{
			// That the events are counted is not enough: no window is cut before the clock has been compared with the
			// broker's.
			{stream.Ingest, w.cut},
			{stream.Release, func() bool { return w.records(topics.Names{App: w.app}.Ledger()) >= 7 }},
			{stream.Publish, func() bool { return len(w.published()) >= 7*14 }},
		} {
			s := w.start(func(s *stream.Service) { s.Stages = []string{step.stage} })
			kafkatest.Await(t, "the work of stage "+step.stage, step.done)
			s.end(t)
		}
		before := w.await(7 * 14)
		// All of them again, with one more event for a window that is over.
		w.broker.Produce(t, w.input, 1, event{User: "late", Group: "eu", Value: 1, Time: start.Add(time.Hour)}.record())
		s := w.start()
		kafkatest.Await(t, "the late event is counted",
			func() bool { return s.count(t, "louver_events_late_total") >= 1 })
		s.end(t)
		if diff := cmp.Diff(before, w.await(7*14)); diff != "" {
			t.Errorf("the restart changed what was published: %s", diff)
		}
		for _, r := range w.await(7 * 14) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
				t.Error(err)
			}
		}
		w.audit()
	})
}
