package stream_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/replay/replaytest"
)

// requests are hours of real web requests: who asked for how many bytes, of which section.
const requests = `
version: 1
streams:
  - name: web
    input: {topic: INPUT, user: user, value: value, time: time, group: group}
    unit: bytes
    groups: [GROUPS]
    max_groups: 7
    bounds: {lower: 0, upper: 1000000, step: 1}
    window: {size: 1h, every: 1h, grace: 30s, start: 2015-05-17T10:00:00Z, end: 2015-05-20T22:00:00Z}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 1000000}
      - {name: typical, statistic: trimmed_mean, trim: 0.1, epsilon: 1000000}
      - {name: top, statistic: mode, epsilon: 1000000}
      - {name: users, statistic: count, epsilon: 1000000}
    output: {topic: OUTPUT}
    budget: {epsilon: 100000000000, per: forever}
`

// requestEvents returns the requests of web_requests.csv, or skips the test where the file is absent.
func requestEvents(t *testing.T) (events []event) {
	t.Helper()
	for _, row := range replaytest.Requests(t) { // time, client, section, status, bytes
		at, err := time.Parse(time.RFC3339, row[0])
		if err != nil {
			t.Fatal(err)
		}
		size, err := strconv.Atoi(row[4])
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event{User: row[1], Value: size, Time: at, Group: row[2]})
	}
	return events
}

// produceAnywhere spreads events over the partitions of the input at random.
func (w *world) produceAnywhere(b *kafkatest.Broker, events []event) {
	w.t.Helper()
	random := rand.New(rand.NewPCG(11, 12))
	byPartition := map[int][]event{}
	for _, e := range events {
		p := random.IntN(3)
		byPartition[p] = append(byPartition[p], e)
	}
	for p, e := range byPartition {
		b.Produce(w.t, w.input, p, recent(e)...)
	}
}

// TestRealRequests counts real events, spread over partitions at random, and compares every figure of 84 hours and 7
// sections with the values themselves.
func TestRealRequests(t *testing.T) {
	events := requestEvents(t)
	groups := []string{"assets", "blog", "presentations", "projects", "articles", "other", "files"}
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 3, strings.Replace(requests, "GROUPS", strings.Join(groups, ", "), 1))
		w.produceAnywhere(b, events)
		s := w.start()
		for _, r := range w.await(84 * len(groups) * 4) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1_000_000); err != nil {
				t.Error(err)
			}
		}
		s.end(t)
		if entries := w.audit(); len(entries) != 84 {
			t.Errorf("%d ledger entries, want 84", len(entries))
		}
	})
}

// requestSizes are the same hours with a histogram of bytes, figures from it, and its days.
const requestSizes = `
version: 1
streams:
  - name: web
    input: {topic: INPUT, user: user, value: value, time: time}
    unit: bytes
    bounds: {lower: 0, upper: 1000000, step: 1}
    window: {size: 1h, every: 1h, grace: 30s, start: 2015-05-17T10:00:00Z, end: 2015-05-20T22:00:00Z}
    contribution: last
    releases:
      - {name: size, statistic: histogram, buckets: {scale: 3}, epsilon: 1000000, rollup: [1d]}
      - {name: p90, statistic: quantile, p: 0.9, from: size}
      - {name: large, statistic: share, above: 50000, from: size}
    output: {topic: OUTPUT}
    budget: {epsilon: 100000000000, per: forever}
`

// TestRealHistograms compares the histogram of every hour, and those of the three whole days, with the values
// themselves: the sums of hours are those of the day, and figures from them lie in the right bucket.
func TestRealHistograms(t *testing.T) {
	events := requestEvents(t)
	for i := range events {
		events[i].Group = ""
	}
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 3, requestSizes)
		w.produceAnywhere(b, events)
		s := w.start()
		days := 0
		for _, r := range w.await(84*3 + 3*3) {
			var values []int
			for hour := r.WindowStart; hour.Before(r.WindowEnd); hour = hour.Add(time.Hour) {
				values = append(values, naive(events, hour, hour.Add(time.Hour), "")...)
			}
			slices.Sort(values)
			if err := rightOfHistogram(r, values); err != nil {
				t.Errorf("%s: %v", r.ID, err)
			}
			if r.Windows != nil {
				days++
				// The stream begins at ten o'clock of its first day.
				if want := int64(r.WindowEnd.Sub(r.WindowStart) / time.Hour); r.Windows.Released != want &&
					r.Windows.Released != 14 {
					t.Errorf("%s: %d of %d windows", r.ID, r.Windows.Released, want)
				}
			}
		}
		if days != 9 {
			t.Errorf("%d figures of days, want 9", days)
		}
		s.end(t)
		if entries := w.audit(); len(entries) != 84 {
			t.Errorf("%d ledger entries, want 84", len(entries))
		}
	})
}

// rightOfHistogram says whether a figure is what sorted values give without noise.
func rightOfHistogram(r outputs.Record, values []int) error {
	const upper = 1_000_000
	got, err := r.Value.Float64()
	if err != nil {
		return err
	}
	n := len(values)
	upTo := func(end float64) (c int64) {
		for _, v := range values {
			if float64(v) <= end {
				c++
			}
		}
		return c
	}
	switch name, _, _ := strings.Cut(r.Release, "."); name {
	case "size":
		before := int64(0)
		for i, c := range r.Buckets.Count {
			all := int64(n)
			if i < len(r.Buckets.Ends) && r.Buckets.Ends[i] != nil {
				end, err := r.Buckets.Ends[i].Float64()
				if err != nil {
					return err
				}
				all = upTo(end)
			}
			if c != all-before {
				return fmt.Errorf("%d users in bucket %d, want %d", c, i, all-before)
			}
			before = all
		}
		if got != float64(n) {
			return fmt.Errorf("%v users, want %d", got, n)
		}
	case "p90":
		// A bucket is 1.09 times as wide as its lower end at most.
		if true90 := min(values[max(0, (9*n+9)/10-1)], upper); got < float64(true90)/1.1-1 ||
			got > float64(true90)*1.1+1 {
			return fmt.Errorf("%v, want about %d", got, true90)
		}
	case "large":
		if want := 1 - float64(upTo(50_000))/float64(n); math.Abs(got-want) > 1e-6 {
			return fmt.Errorf("%v, want %v", got, want)
		}
	}
	return nil
}
