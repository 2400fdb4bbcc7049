package decide

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

const totals = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: user}
    groups: [a, b, c, d, e, f]
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 10s, start: 2026-01-01T12:00:00Z}
    contribution: last
    releases:
      - {name: users, statistic: count, epsilon: 0.001}
      - {name: today, statistic: count, since: midnight, update: UPDATE, epsilon: 1000000}
      - {name: visits, statistic: count, since: monday, max_total: 3, epsilon: 1000000}
      - {name: amount, statistic: sum, since: midnight, update: UPDATE, max_total: 12, epsilon: 1000000}
      - {name: spread, statistic: histogram, since: midnight, update: UPDATE, buckets: [3, 5], epsilon: 1000000}
      - {name: p50, statistic: median, from: spread}
    output: {topic: out}
    budget: {epsilon: LIMIT, per: 24h}
    on_exhausted: withhold
`

// checkTotals compares all totals in the ledger with the users who came since they began. It returns how many instances
// began within a period, beside the first.
func (c *capWorld) checkTotals(t rapid.TB) (restarts int) {
	armed := map[string]int64{}
	for _, e := range c.entries {
		for _, s := range e.Continual {
			if s.Arms {
				if s.Instance != armed[s.Name]+1 {
					t.Fatalf("%s: instance %d follows %d", s.Name, s.Instance, armed[s.Name])
				}
				if armed[s.Name]++; armed[s.Name] > 1 && !s.Sums().Since.Equal(periodOf(c.of.Stream, s.Name, e)) {
					restarts++
				}
			}
			if !s.Looks() || !s.Sums().Finishes(s, e) {
				continue
			}
			for u := range capUsers {
				n := int64(0)
				for start := s.Sums().Since.UnixNano(); start < e.WindowEnd.UnixNano(); start += int64(
					c.of.Schedule.Every) {
					if c.came[start][u] {
						n++
					}
				}
				want := map[string]int64{"today": min(n, 1), "visits": min(n, 3), "amount": min(5*n, 12)}[s.Name]
				if s.SoFar != nil {
					c.checkDistribution(t, s, e, u, min(n, 1))
					continue
				}
				if got := s.Total.Groups[u].Value; got.IntPart() != want {
					t.Fatalf("%s at %s, since %s: user %d counts %s, want %d", s.Name, e.WindowEnd, s.Total.Since,
						u, got, want)
				}
			}
		}
	}
	return restarts
}

// checkDistribution compares a distribution so far with the users of a group: all values are 5, the end of the second
// of four buckets.
func (c *capWorld) checkDistribution(t rapid.TB, s ledger.Continual, e ledger.Entry, u int, want int64) {
	values := s.SoFar.Groups[u].Values
	if n := values[0].Numbers.Raw; !slices.Equal(n, []int64{0, want, 0, 0}) || values[0].Value.IntPart() != want {
		t.Fatalf("%s at %s, since %s: user %d counts %v, want %d", s.Name, e.WindowEnd, s.SoFar.Since, u, n, want)
	}
	if v := values[1].Value; (v != nil) != (want > 0) || v != nil && (v.IntPart() < 4 || v.IntPart() > 5) {
		t.Fatalf("the median of %d users with the value 5 is %s", want, v)
	}
}

// periodOf is the start of the calendar's period that holds the window of an entry.
func periodOf(of *config.Stream, name string, e ledger.Entry) time.Time {
	since, _ := totalOf(of, name).Period(windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()})
	return time.Unix(0, since)
}

// smallestFrame is how long the frame of users is at least, at the end of a snapshot: the headers of a zstd frame and
// of a block, and a checksum. What precedes it has none of its own. A damaged text as a whole is never handed on,
// because its records hold its hash: see [progress.Log.ReadTexts].
const smallestFrame = 12

// TestTheSameUsersAreInTotals disturbs sessions as TestTheSameUsersCountWhateverHappens does. With an ε of a million
// the totals are exact: seen from outside, each user counts once since the total began, whatever happens. Where nobody
// can know who has counted, another instance begins and is charged.
func TestTheSameUsersAreInTotals(t *testing.T) {
	var done happened
	withheld := 0
	history := func(r *rapid.T) {
		text := totals
		if units.Draw(r, "slice") == time.Minute {
			text = strings.NewReplacer("size: 1h", "size: 1m", "12:00:00Z", "11:48:00Z", "midnight", "hour", "monday",
				"midnight", "UPDATE", "UPDATEm").Replace(text)
		}
		c := newCapWorld(t, editionsOf(t, strings.NewReplacer("UPDATEm",
			rapid.SampledFrom([]string{"1m", "5m"}).Draw(r, "update"), "UPDATE",
			rapid.SampledFrom([]string{"1h", "5h"}).Draw(r, "update"), "LIMIT",
			rapid.SampledFrom([]string{"1000000000", "5000000"}).Draw(r, "limit")).Replace(text))[0])
		losses := c.befall(r, steps{most: 80, commits: 8, away: 1}, c.spoilTotals)
		for _, e := range c.entries {
			if slices.ContainsFunc(e.Continual, func(s ledger.Continual) bool { return s.Reason == record.BudgetExhausted }) {
				withheld++
			}
		}
		restarts := c.checkTotals(r)
		if restarts > 0 && !c.lost && c.of.Stream.Budget.Epsilon.IntPart() > 1e8 {
			r.Fatalf("%d totals began anew although nothing was lost", restarts)
		}
		if !c.lost {
			restarts = 0
		}
		done.add(c, losses, restarts)
	}
	for range 3 {
		rapid.Check(t, history)
	}
	if done.enough(t); withheld == 0 {
		t.Error("no entry is withheld: the test tests nothing")
	}
}

// spoilTotals spoils the snapshots of totals, or has them gone.
func (c *capWorld) spoilTotals(r *rapid.T) {
	c.lost = true
	for _, key := range slices.Sorted(maps.Keys(c.texts)) {
		text := slices.Clone(c.texts[key])
		switch {
		case strings.HasPrefix(key, "ledger/"):
		case rapid.Bool().Draw(r, "no more"):
			delete(c.texts, key)
		default:
			text[len(text)-rapid.IntRange(1, smallestFrame).Draw(r, "byte")] ^= 1
			c.texts[key] = text
		}
	}
}

// TestFingerprintsOfTotals: a total is another one if users may have more in it, or count otherwise.
func TestFingerprintsOfTotals(t *testing.T) {
	text := strings.NewReplacer("UPDATE", "1h", "LIMIT", "1000000000").Replace(totals)
	first := editionsOf(t, text)[0].Stream
	second := editionsOf(t, strings.Replace(text, "0.001", "0.002", 1))[0].Stream
	if totalOf(first, "today").Definition != totalOf(second, "today").Definition {
		t.Fatal("another release changes the fingerprint of a total")
	}
	distribution := func(change ...string) string {
		of, ok := config.Of[*config.SoFar](editionsOf(t, strings.NewReplacer(change...).Replace(text))[0].Stream, "spread")
		if !ok {
			t.Fatal("no distribution")
		}
		return of.Definition
	}
	if distribution() != distribution("{name: p50, statistic: median, from: spread}", "{name: p9, statistic: quantile, "+
		"p: 0.9, from: spread}") {
		t.Error("another quantile changes the fingerprint of a distribution")
	}
	for _, change := range [][2]string{{"[3, 5]", "[3, 6]"}, {"buckets: [3, 5]", "levels: 2, buckets: [3, 5]"},
		{"{name: p50, statistic: median, from: spread}", "{name: p50, statistic: count, above: 7, from: spread}"}} {
		if distribution() == distribution(change[0], change[1]) {
			t.Errorf("%s leaves the fingerprint of a distribution as it is", change[1])
		}
	}
	for _, change := range [][2]string{{"max_total: 3", "max_total: 2"}, {", f]", ", g]"}, {"upper: 10", "upper: 11"},
		{"grace: 10s", "grace: 11s"}, {"contribution: last", "contribution: max"}, {"since: monday", "since: month"}} {
		other := editionsOf(t, strings.Replace(text, change[0], change[1], 1))[0].Stream
		if totalOf(first, "visits").Definition == totalOf(other, "visits").Definition {
			t.Errorf("%s leaves the fingerprint of a total as it is", change[1])
		}
	}
}

// totalOf is a total of a stream.
func totalOf(s *config.Stream, name string) *config.Total {
	t, _ := config.Of[config.Adder](s, name)
	return t.Adds()
}
