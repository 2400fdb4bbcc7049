package stream_test

import (
	"encoding/csv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/kafkatest"
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

// TestRealRequests counts real events, spread over partitions at random, and compares every figure of 84 hours and 7
// sections with the values themselves.
func TestRealRequests(t *testing.T) {
	dir := os.Getenv("LOUVER_TEST_DATA")
	if dir == "" {
		t.Skip("LOUVER_TEST_DATA does not name the folder of web_requests.csv")
	}
	f, err := os.Open(filepath.Join(dir, "web_requests.csv"))
	if os.IsNotExist(err) {
		t.Skipf("no web_requests.csv in LOUVER_TEST_DATA=%s", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var events []event
	for _, row := range rows[1:] { // time, client, section, status, bytes
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
	groups := []string{"assets", "blog", "presentations", "projects", "articles", "other", "files"}
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 3, strings.Replace(requests, "GROUPS", strings.Join(groups, ", "), 1))
		random := rand.New(rand.NewPCG(11, 12))
		byPartition := map[int][]event{}
		for _, e := range events {
			p := random.IntN(3)
			byPartition[p] = append(byPartition[p], e)
		}
		for p, e := range byPartition {
			b.Produce(t, w.input, p, recent(e)...)
		}
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
