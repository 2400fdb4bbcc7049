package release

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/windows"
)

const adaptive = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b]
    bounds: {lower: 0, upper: 60000, step: 1, prior: adaptive}
    window: {size: 1m, every: 1m, grace: 1s, start: 2026-01-01T00:00:00Z}
    contribution: last
    releases:
      - {name: p50, statistic: median, epsilon: 0.5}
      - {name: users, statistic: count, epsilon: 0.5}
      - {name: p99, statistic: quantile, p: 0.99, epsilon: 0.5}
    min_users: {count: 60, release: users}
    output: {topic: out}
    budget: {epsilon: 10000, per: 24h}
`

func adaptiveProgram(t testing.TB) *program {
	t.Helper()
	file, err := config.Parse("streams.yaml", []byte(adaptive), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return newProgram(control.Edition{Stream: file.Streams[0], Schedule: file.Streams[0].Window.Schedule(file.Streams[0].Window.Start)})
}

// TestMeasuresAreAFunctionOfTheLedger draws windows one after another, and at random moments computes the measures anew
// from the encoded entries, as a worker does that takes over: the same bits, also beyond epochs, gaps and withheld
// windows.
func TestMeasuresAreAFunctionOfTheLedger(t *testing.T) {
	p := adaptiveProgram(t)
	random := rand.New(rand.NewPCG(1, 2))
	operator := metrics.New(prometheus.NewRegistry(), nil, nil)
	hasher := windows.NewHasher([16]byte{})
	running := newPrior(p)
	var log [][]byte
	anew := func() *prior {
		a := newPrior(p)
		for _, value := range log {
			e, err := ledger.Decode(value)
			if err != nil {
				t.Fatal(err)
			}
			a.learn(e)
		}
		return a
	}
	window, compared, smoothed := p.schedule.First(), 0, 0
	for i := range 3*epoch/2 + 100 {
		entry := p.entry("app", window)
		entry.ReleasedAt = entry.DueAt
		entry.Standing = ledger.Standing{StreamSpent: &decimal.Zero, BudgetSpent: &decimal.Zero}
		if random.IntN(10) == 0 {
			entry.Reason = ledger.BudgetExhausted
		} else {
			var err error
			if entry.Prior, err = running.before(window); err != nil {
				t.Fatal(err)
			}
			if random.IntN(30) == 0 || i >= 3*epoch/2+90 {
				again, err := anew().before(window)
				if err != nil {
					t.Fatal(err)
				}
				if *again != *entry.Prior {
					t.Fatalf("window %d: a new worker has %+v, the old one %+v", i, again, entry.Prior)
				}
				compared++
			}
			merger := windows.NewMerger(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: 1, Policy: windows.Last, Window: window, Hasher: hasher})
			bag := windows.NewBag(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: 1, Policy: windows.Last, Window: window, Hasher: hasher})
			for range 200 {
				bag.Add(windows.UserHash{random.Uint64(), random.Uint64()}, random.IntN(4)/3, window.Start, int64(random.ExpFloat64()*120))
			}
			if err := merger.Add(bag.Seal(false), window); err != nil {
				t.Fatal(err)
			}
			if err := p.draw(&entry, merger, running, operator); err != nil {
				t.Fatal(err)
			}
			running.smooth(&entry)
			if entry.Groups[0].Values[0].Smoothed != nil {
				smoothed++
			}
		}
		running.learn(entry)
		value, err := entry.Encode()
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, value)
		next, _ := p.schedule.Next(window)
		if random.IntN(50) == 0 { // windows that nobody decided
			next, _ = p.schedule.After(next.End + random.Int64N(40)*int64(time.Minute))
		}
		window = next
	}
	if compared < 20 || smoothed == 0 {
		t.Errorf("only %d comparisons, %d smoothed values", compared, smoothed)
	}
}
