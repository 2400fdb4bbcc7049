package decide

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
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
				if armed[s.Name]++; armed[s.Name] > 1 && !s.Total.Since.Equal(periodOf(c.p, s.Name, e)) {
					restarts++
				}
			}
			if !s.Looks() || len(s.Total.Groups) == 0 {
				continue
			}
			for u := range capUsers {
				n := int64(0)
				for start := s.Total.Since.UnixNano(); start < e.WindowEnd.UnixNano(); start += int64(
					c.p.schedule.Every) {
					if c.came[start][u] {
						n++
					}
				}
				want := map[string]int64{"today": min(n, 1), "visits": min(n, 3), "amount": min(5*n, 12)}[s.Name]
				if got := s.Total.Groups[u].Value; got.IntPart() != want {
					t.Fatalf("%s at %s, since %s: user %d counts %s, want %d", s.Name, e.WindowEnd, s.Total.Since,
						u, got, want)
				}
			}
		}
	}
	return restarts
}

// periodOf is the start of the calendar's period that holds the window of an entry.
func periodOf(p *program, name string, e ledger.Entry) time.Time {
	since, _ := totalOf(p, name).Period(windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()})
	return time.Unix(0, since)
}

// TestTheSameUsersAreInTotals disturbs sessions as TestTheSameUsersCountWhateverHappens does. With an ε of a million
// the totals are exact: seen from outside, each user counts once since the total began, whatever happens. Where nobody
// can know who has counted, another instance begins and is charged.
func TestTheSameUsersAreInTotals(t *testing.T) {
	var done happened
	withheld := 0
	history := func(r *rapid.T) {
		p := programOf(t, strings.NewReplacer("UPDATE", rapid.SampledFrom([]string{"1h", "5h"}).Draw(r, "update"),
			"LIMIT", rapid.SampledFrom([]string{"1000000000", "4000000"}).Draw(r, "limit")).Replace(totals))
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
					at := len(text) - rapid.IntRange(1, min(60, len(text)-attendance.SnapshotHead)).Draw(r, "byte")
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
		if restarts > 0 && !c.lost && p.stream.Budget.Epsilon.IntPart() > 1e8 {
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

// TestTotalsOfADay takes a stream through a day and a half without disturbance: a total begins in the middle of a day,
// ends with it, and costs its ε once for each of the max_groups.
func TestTotalsOfADay(t *testing.T) {
	p := programOf(t, strings.NewReplacer("UPDATE", "5h", "LIMIT", "1000000000").Replace(totals))
	c := &capWorld{p: p, came: map[int64][capUsers]bool{}}
	d := c.session(t)
	for i := range 36 {
		c.next([capUsers]bool{true, i%2 == 0, i%7 == 0, i > 20}, 0)
	}
	d.read(c)
	c.ledger = d.draws(36)
	if c.checkTotals(t, t); len(c.ledger) != 36 {
		t.Fatalf("%d windows", len(c.ledger))
	}
	var ends []string
	for _, value := range c.ledger {
		e := c.decode(t, value)
		for _, s := range e.Continual {
			if s.Name == "today" && s.Publishes(e) {
				ends = append(ends, fmt.Sprintf("%d %s", s.Instance, e.WindowEnd.Format("15:04")))
			}
		}
	}
	want := "1 17:00,1 22:00,1 00:00,2 05:00,2 10:00,2 15:00,2 20:00,2 00:00"
	if got := strings.Join(ends, ","); got != want {
		t.Errorf("records at %s, want %s", got, want)
	}
	last := c.decode(t, c.ledger[35])
	// Two days of two totals and a week, and 36 windows.
	if spent := last.Standing.StreamSpent.String(); spent != "5000000.036" {
		t.Errorf("ε %s in all, want 5000000.036", spent)
	}
	records, err := last.Records()
	if err != nil || len(records) != 6*4 || last.Size() != len(records) {
		t.Errorf("%d records, %v", len(records), err)
	}
	if saved := d.attendance.Saved(); len(saved) != 1 {
		t.Errorf("totals of %v are going on, want that of a week alone", saved)
	}
}

// TestATotalGoesOnUnderANewDefinition: another definition of the stream with the same total goes on with its instance,
// and a session that begins after the change reads the windows of both again.
func TestATotalGoesOnUnderANewDefinition(t *testing.T) {
	text := strings.NewReplacer("UPDATE", "1h", "LIMIT", "1000000000").Replace(totals)
	first := programOf(t, text)
	second := programOf(t, strings.Replace(text, "0.001", "0.002", 1))
	if totalOf(first, "today").Definition != totalOf(second, "today").Definition {
		t.Fatal("another release changes the fingerprint of a total")
	}
	for _, change := range [][2]string{{"max_total: 3", "max_total: 2"}, {"u5", "u6"}, {"upper: 10", "upper: 11"},
		{"grace: 10s", "grace: 11s"}, {"contribution: last", "contribution: max"}, {"since: monday", "since: month"}} {
		other := programOf(t, strings.Replace(text, change[0], change[1], 1))
		if totalOf(first, "visits").Definition == totalOf(other, "visits").Definition {
			t.Errorf("%s leaves the fingerprint of a total as it is", change[1])
		}
	}

	boundary := first.schedule.Start + 10*int64(time.Hour)
	first.schedule.End, second.schedule.Start, second.epoch = boundary, boundary, 2
	c := &capWorld{p: first, came: map[int64][capUsers]bool{}, savedTotals: map[string][]byte{}}
	var all [][]byte
	session := func() *decider {
		d := newDecider(t, first, zap.NewNop())
		for _, value := range all {
			if err := d.Core.learn(c.decode(t, value), value); err != nil {
				t.Fatal(err)
			}
		}
		d.goesOn(c.savedTotals, c.kept, first, second)
		d.offset = c.deleted
		return d
	}
	for i := range 20 {
		if i == 10 {
			c.p = second
		}
		c.next([capUsers]bool{true, i%2 == 0, i%7 == 0, i > 14}, 0)
		d := session() // anew for each window
		d.read(c)
		d.rebuild()
		of, _ := firstDue(d.turnsOf("s"))
		program, w := of.lane.Place, of.window
		if program != i/10 {
			t.Fatalf("window %d is of program %d", i, program)
		}
		e, err := d.entry(of, nil)
		if err != nil {
			t.Fatal(err)
		}
		value, err := e.Encode()
		if err == nil {
			err = d.Core.learn(e, value)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.attendance.Passed(of.lane, w)
		all = append(all, value)
		if i%4 == 3 { // once before the change, and again after it
			for _, s := range d.attendance.Due(math.MaxInt) {
				c.savedTotals[s.Key] = s.Text
				d.attendance.Keep([]attendance.Snapshot{s})
			}
		}
		c.deleted, c.kept = max(c.deleted, min(d.gather.Needs(d.offset), d.attendance.Needs())), d.attendance.Saved()
	}
	c.ledger = all
	c.checkTotals(t, t)
	last := c.decode(t, all[19])
	for i, want := range map[int]int64{0: 2, 1: 1, 2: 2} { // days, a week, days
		if s := last.Continual[i]; s.Instance != want || !s.Looks() {
			t.Errorf("%s has instance %d (%s), want %d", s.Name, s.Instance, s.Reason, want)
		}
	}
}

const totalsOfTwoGroups = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b, c]
    max_groups: 2
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 10s, start: 2026-01-01T00:00:00Z}
    contribution: last
    max_windows: {count: 4, per: 24h}
    releases:
      - {name: users, statistic: count, epsilon: 1000000}
      - {name: today, statistic: count, since: midnight, epsilon: 1000000}
      - {name: high, statistic: count, above: 5, since: midnight, epsilon: 1000000}
    output: {topic: out}
    budget: {epsilon: 1000000000, per: 24h}
    on_exhausted: withhold
`

// TestTotalsOfTwoGroups: a user counts in the first two groups of the day in which they appear, whatever max_windows
// leaves out, and costs two groups. With above, a group counts once a value is high enough.
func TestTotalsOfTwoGroups(t *testing.T) {
	p := programOf(t, totalsOfTwoGroups)
	if price := config.All[*config.Total](p.stream)[0].Cost().Items; price[0].Times != 2 {
		t.Fatalf("a period costs %+v", price)
	}
	d := newDecider(t, p, zap.NewNop())
	w := p.schedule.First()
	for i, c := range []struct {
		sent        []contribution
		today, high [3]int64
	}{
		{[]contribution{{1, 2, 3}}, [3]int64{0, 0, 1}, [3]int64{}},
		{[]contribution{{1, 2, 9}, {2, 0, 9}}, [3]int64{1, 0, 1}, [3]int64{1, 0, 1}},
		{[]contribution{{1, 1, 9}}, [3]int64{1, 1, 1}, [3]int64{1, 1, 1}},
		{[]contribution{{1, 0, 9}, {2, 0, 9}}, [3]int64{1, 1, 1}, [3]int64{1, 1, 1}}, // the third group of user 1
		{[]contribution{{1, 1, 9}, {3, 1, 1}}, [3]int64{1, 2, 1}, [3]int64{1, 1, 1}},
		{[]contribution{{3, 1, 7}}, [3]int64{1, 2, 1}, [3]int64{1, 2, 1}},
	} {
		d.give(w, c.sent, 0)
		e := d.decide(w)
		d.learnt(w, e)
		for at, want := range [][3]int64{c.today, c.high} {
			var got [3]int64
			for g, of := range e.Continual[at].Total.Groups {
				got[g] = of.Value.IntPart()
			}
			if got != want {
				t.Errorf("window %d: %s is %d, want %d", i, e.Continual[at].Name, got, want)
			}
		}
		w, _ = p.schedule.Next(w)
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
	later := slices.Concat(binary.BigEndian.AppendUint64(nil, uint64(end)+uint64(time.Hour)), last[head:])
	for name, row := range map[string]struct {
		text []byte
		fits bool
		err  bool
	}{
		"the last": {last, true, false}, "of a former instance": {former, false, false}, "of a window to come": {later,
			false, true},
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
		err := fresh.attendance.Open(map[string][]byte{key: row.text})[key]
		known := fresh.attendance.Saved()[key]
		if (err != nil) != row.err || row.fits != (known == end) || !row.fits && known != before {
			t.Errorf("%s: %v, and the windows up to %d are known, want a fit: %v", name, err, known, row.fits)
		}
	}
}

// TestADayOf23Hours: 24 hours around a day of 23 hours touch three days. A budget for two days pays for the day after
// it from the window that ends at 01:00 on, and says so. A budget for three pays from the beginning of that day.
func TestADayOf23Hours(t *testing.T) {
	for limit, want := range map[string]string{"2000": "2026-03-29T22:45:00Z", "3000": "2026-03-29T22:00:00Z"} {
		p := programOf(t, strings.NewReplacer("LIMIT", limit, "start: 2026-01-01", "start: 2026-03-27",
			"since: midnight", "since: midnight, zone: Europe/Berlin", "size: 1h, every: 1h",
			"size: 15m, every: 15m").Replace(daily))
		d := newDecider(t, p, zap.NewNop())
		var since []string
		for range 5 * 96 {
			if s := d.next(nil).Continual[0]; s.Arms {
				since = append(since, s.Total.Since.Format(time.RFC3339))
			}
		}
		if days := []string{"2026-03-27T00:00:00Z", "2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z", want,
			"2026-03-30T22:00:00Z"}; !slices.Equal(since[:5], days) {
			t.Errorf("with ε %s the days begin at %s, want %s", limit, since, days)
		}
	}
}

// TestMinUsersWithholdsNoTotal: a total is about a whole period, so it has its value even if a window has few users.
func TestMinUsersWithholdsNoTotal(t *testing.T) {
	d := newDecider(t,
		programOf(t, strings.NewReplacer("    max_windows: {count: 4, per: 24h}\n",
			"    min_users: {count: 50, release: users}\n", "    output:",
			"      - {name: p50, statistic: median, epsilon: 1}\n    output:").Replace(totalsOfTwoGroups)),
		zap.NewNop())
	e := d.next([]contribution{{1, 0, 3}, {2, 0, 4}})
	if g := e.Groups[0]; g.Reason != record.TooFewUsers || g.Values[1].Value != nil {
		t.Errorf("the median of 2 users: %+v", g)
	}
	if s := e.Continual[0]; !s.Looks() || s.Total.Groups[0].Value.IntPart() != 2 {
		t.Errorf("the total of 2 users: %+v", s.Total)
	}
}

// totalOf is a total of a program's stream.
func totalOf(p *program, name string) *config.Total {
	t, _ := config.Of[*config.Total](p.stream, name)
	return t
}
