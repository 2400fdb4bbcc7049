package decide

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

const totals = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: user}
    groups: [u0, u1, u2, u3, u4, u5]
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
func (c *capWorld) checkTotals(t rapid.TB, real testing.TB) (restarts int) {
	armed := map[string]int64{}
	for _, value := range c.ledger {
		e := c.decode(real, value)
		for _, s := range e.Continual {
			if s.Arms {
				if s.Instance != armed[s.Name]+1 {
					t.Fatalf("%s: instance %d follows %d", s.Name, s.Instance, armed[s.Name])
				}
				if armed[s.Name]++; armed[s.Name] > 1 && !s.Sums().Since.Equal(periodOf(c.p, s.Name, e)) {
					restarts++
				}
			}
			if !s.Looks() || !s.Sums().Finishes(s, e) {
				continue
			}
			for u := range capUsers {
				n := int64(0)
				for start := s.Sums().Since.UnixNano(); start < e.WindowEnd.UnixNano(); start += int64(
					c.p.Schedule.Every) {
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
func periodOf(p *program, name string, e ledger.Entry) time.Time {
	since, _ := totalOf(p, name).Period(windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()})
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
		p := programOf(t, strings.NewReplacer("UPDATE", rapid.SampledFrom([]string{"1h", "5h"}).Draw(r, "update"),
			"LIMIT", rapid.SampledFrom([]string{"1000000000", "5000000"}).Draw(r, "limit")).Replace(totals))
		c := &capWorld{p: p, came: map[int64][capUsers]bool{}, savedTotals: map[string][]byte{}}
		disturbed{capWorld: c, steps: 80, commits: 8, away: 1,
			save: func(d *decider) {
				for _, s := range d.attendance.Due(math.MaxInt) {
					if c.savedTotals[s.Key] = s.Text; s.Text == nil {
						delete(c.savedTotals, s.Key)
					} else {
						done.snapshots++
					}
					d.attendance.Keep([]attendance.Snapshot{s})
				}
			},
			spoil: func() {
				c.lost = true
				for key, text := range c.savedTotals {
					if rapid.Bool().Draw(r, "no more") {
						delete(c.savedTotals, key)
						continue
					}
					c.savedTotals[key] = slices.Clone(text)
					at := len(text) - rapid.IntRange(1, smallestFrame).Draw(r, "byte")
					c.savedTotals[key][at] ^= 1
				}
			},
		}.befall(r, t, &done)
		for _, value := range c.ledger {
			if bytes.Contains(value, []byte("budget_exhausted")) {
				withheld++
			}
		}
		restarts := c.checkTotals(r, t)
		if restarts > 0 && !c.lost && p.Stream.Budget.Epsilon.IntPart() > 1e8 {
			r.Fatalf("%d totals began anew although nothing was lost", restarts)
		}
		if c.lost {
			done.renewals += restarts
		}
	}
	for range 3 {
		rapid.Check(t, history)
	}
	if done.enough(t); withheld == 0 {
		t.Error("no entry is withheld: the test tests nothing")
	}
}

// TestFingerprintsOfTotals: a total is another one if users may have more in it, or count otherwise.
func TestFingerprintsOfTotals(t *testing.T) {
	text := strings.NewReplacer("UPDATE", "1h", "LIMIT", "1000000000").Replace(totals)
	first := programOf(t, text)
	second := programOf(t, strings.Replace(text, "0.001", "0.002", 1))
	if totalOf(first, "today").Definition != totalOf(second, "today").Definition {
		t.Fatal("another release changes the fingerprint of a total")
	}
	distribution := func(change ...string) string {
		of, ok := config.Of[*config.SoFar](programOf(t, strings.NewReplacer(change...).Replace(text)).Stream, "spread")
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
	for _, change := range [][2]string{{"max_total: 3", "max_total: 2"}, {"u5", "u6"}, {"upper: 10", "upper: 11"},
		{"grace: 10s", "grace: 11s"}, {"contribution: last", "contribution: max"}, {"since: monday", "since: month"}} {
		other := programOf(t, strings.Replace(text, change[0], change[1], 1))
		if totalOf(first, "visits").Definition == totalOf(other, "visits").Definition {
			t.Errorf("%s leaves the fingerprint of a total as it is", change[1])
		}
	}
}

// TestSnapshotsOfTotals: a snapshot of another instance, of a window to come, or that is damaged, is left out.
func TestSnapshotsOfTotals(t *testing.T) {
	p := programOf(t, strings.NewReplacer("UPDATE", "1h", "LIMIT", "1000000000").Replace(totals))
	c := &capWorld{p: p, came: map[int64][capUsers]bool{}}
	d := c.session(t)
	for range 18 {
		c.next([capUsers]bool{true, true}, 0)
	}
	d.read(c)
	snapshot := func() (key string, text []byte) { // of the first total
		first := d.attendance.Due(math.MaxInt)[0]
		return first.Key, first.Text
	}
	c.ledger = d.draws(11)
	_, former := snapshot() // of the last window but one of its day
	c.ledger = append(c.ledger, d.draws(4)...)
	key, last := snapshot()
	const head = attendance.SnapshotHead
	end := int64(binary.BigEndian.Uint64(last))
	of := func(end int64) []byte {
		return slices.Concat(binary.BigEndian.AppendUint64(nil, uint64(end)), last[head:])
	}
	later, between := of(end+int64(time.Hour)), of(end-int64(time.Minute))
	for name, row := range map[string]struct {
		text []byte
		fits bool
		err  bool
	}{
		"the last": {last, true, false}, "of a former instance": {former, false, false}, "of a window to come": {later,
			false, true}, "of no window": {between, false, true},
		"of a former instance with another window": {slices.Concat(last[:head], former[head:]), false, false},
		"half of it": {last[:len(last)/2], false, true}, "a header alone": {last[:head], false, true},
		"half of a header": {last[:head/2], false, true},
	} {
		c.savedTotals = nil
		before := c.session(t).attendance.Saved()[key]
		fresh := c.session(t)
		fresh.gather = windows.NewGathering(1 << 30)
		if err := fresh.take(p); err != nil {
			t.Fatal(err)
		}
		err := fresh.attendance.Restore(map[string][]byte{key: row.text})[key]
		known := fresh.attendance.Saved()[key]
		if (err != nil) != row.err || row.fits != (known == end) || !row.fits && known != before {
			t.Errorf("%s: %v, and the windows up to %d are known, want a fit: %v", name, err, known, row.fits)
		}
	}
}

// totalOf is a total of a program's stream.
func totalOf(p *program, name string) *config.Total {
	t, _ := config.Of[config.Adder](p.Stream, name)
	return t.Adds()
}
