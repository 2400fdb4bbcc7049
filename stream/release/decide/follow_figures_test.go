package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
)

// These tests give a stream that follows another one's list what has a state of its own: watches, roll-ups and draws
// that learn. The two streams have other records, other figures and another max_groups. So each test fails if the
// follower has the names that it would have found itself, or if it takes state, sensitivity or price from its source.

// relay decides the windows of two streams in sessions that end after each quarter. Each goes on from a checkpoint of
// the ledger and from the parts that are in the log.
type relay struct {
	t        *testing.T
	editions []config.Edition
	fold     *ledger.State // of all entries
	all      []ledger.Entry
	messages [][]byte
	written  []time.Time
}

// followerOf is following, whose follower has these figures, with further keys.
func followerOf(grace, releases, keys string) string {
	text := strings.Replace(following("15m", grace), "      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}\n",
		releases, 1)
	return strings.Replace(text, "    output:", keys+"    output:", 1)
}

func newRelay(t *testing.T, text string) *relay {
	streams := streamsOf(t, text)
	return &relay{t: t, editions: []config.Edition{editionOf(streams[0]), editionOf(streams[1])},
		fold: ledger.NewState("app", 0)}
}

// begins opens a session.
func (r *relay) begins() *decider {
	r.t.Helper()
	fold := ledger.NewState("app", 0)
	if n := len(r.all); n > 0 {
		text, err := r.fold.Checkpoint()
		if err == nil {
			fold, err = ledger.Restore(text, "app", 0)
		}
		if err == nil {
			err = fold.Add(r.all[n-1], r.value(r.all[n-1]), fold.From())
		}
		if err == nil {
			err = fold.Done()
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	d := decidingFrom(r.t, fold, r.editions...)
	for i, m := range r.messages {
		if d.messages[d.offset] = m; d.offset != int64(i) {
			r.t.Fatal("offsets have gaps")
		}
		if err := d.gather.Add(m, d.offset, r.written[i]); err != nil {
			r.t.Fatal(err)
		}
		d.offset++
	}
	return d
}

func (r *relay) value(e ledger.Entry) []byte {
	r.t.Helper()
	value, err := e.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	return value
}

// quarters has a session for each of the first quarters, in which streams have sent records, and decides what is ready
// then.
func (r *relay) quarters(until int, sends func(stream string, n int) []sent) {
	r.t.Helper()
	for n := range until {
		d := r.begins()
		for _, p := range d.programs {
			if w := quarter(n); p.schedule.Start <= w.Start && (p.schedule.End == 0 || w.End <= p.schedule.End) {
				d.giveNames(p, w, sends(p.stream.Name, n))
			}
		}
		for i := int64(len(r.messages)); i < d.offset; i++ {
			r.messages, r.written = append(r.messages, d.messages[i]), append(r.written, time.Unix(0, quarter(n).End))
		}
		for _, e := range d.turns() {
			if err := r.fold.Add(e, r.value(e), int64(len(r.all))); err != nil {
				r.t.Fatal(err)
			}
			r.all = append(r.all, e)
		}
	}
}

// of lists the windows of a stream.
func (r *relay) of(stream string) (all []ledger.Entry) {
	for _, e := range r.all {
		if e.Stream == stream && e.Discovery == nil {
			all = append(all, e)
		}
	}
	return all
}

// audited audits the entries.
func (r *relay) audited() audit.Findings {
	r.t.Helper()
	a := audit.New()
	a.Learner = NewMeasures(r.editions)
	for i, e := range r.all {
		a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, e.Key(), r.value(e))
	}
	return a.Findings()
}

// charged checks what each window of a stream is charged, and that the stream has spent so much in all.
func (r *relay) charged(stream string, price budget.Item, spent int64) {
	r.t.Helper()
	var last ledger.Entry
	for _, last = range r.of(stream) {
		if len(last.Price) != 1 || last.Price[0].Times != price.Times || !last.Price[0].Epsilon.Equal(price.Epsilon) {
			r.t.Fatalf("%s costs %+v, want %+v", last.Name(), last.Price, price)
		}
	}
	if got := last.Standing.StreamSpent; got == nil || !got.Equal(decimal.NewFromInt(spent)) {
		r.t.Errorf("stream %s has spent %v, want %d", stream, got, spent)
	}
	if f := r.audited(); !f.OK {
		r.t.Errorf("audit: %+v", f.Faults)
	}
}

func pure(epsilon, times int64) budget.Item {
	return budget.Item{Promise: privacy.NewPure(decimal.NewFromInt(epsilon)), Times: times}
}

// twoWatches are those of watching: they follow their conditions exactly, except with a probability of less than 10⁻⁹ for
// all tests.
const twoWatches = `    max_groups: 2
    watches:
      - {name: many, above: 50, users: 3, epsilon: 1000, false_alarms: {at_most: 0.05, per: 30d}, hold: 5h, at_most: 2}
      - {name: gone, users_below: 3, epsilon: 1000, false_alarms: {at_most: 0.05, per: 30d}, hold: 1h, at_most: 2}
`

const countUsers = "      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}\n"

// TestWatchesOfAFollower: they look at the list of each of its windows, which another stream has found, in the order of
// the follower's own due times. An instance goes on in the next session, and when the list moves.
func TestWatchesOfAFollower(t *testing.T) {
	for grace, c := range map[string]struct {
		want    [2]map[string]string // of each watch
		windows int64                // the follower's that are decided
	}{
		"1s": {[2]map[string]string{{
			"15m0s":   "15m0s 1 armed home:0",
			"45m0s":   "45m0s 1 home:0",
			"1h0m0s":  "1h0m0s 1 fired in shoes at 1h0m0s coats:0 home:0 shoes:1",
			"1h15m0s": "1h15m0s 1 fired in shoes at 1h0m0s coats:- home:- shoes:1",
			"4h45m0s": "4h45m0s 1 fired in shoes at 1h0m0s coats:- home:- shoes:1",
			"5h0m0s":  "5h0m0s 1 fired in shoes at 1h0m0s home:-", // both have left the list
			"6h0m0s":  "6h0m0s 1 fired in shoes at 1h0m0s home:-",
			"6h15m0s": "6h15m0s 2 armed home:0",
			"6h45m0s": "6h45m0s 2 home:0",
			"7h0m0s":  "7h0m0s 2 fired in shoes at 7h0m0s coats:0 home:0 shoes:1",
		}, {
			"15m0s":   "15m0s 1 armed home:0",
			"1h0m0s":  "1h0m0s 1 home:0", // nobody of the follower sends coats
			"7h0m0s":  "7h0m0s 1 home:0",
			"7h15m0s": "7h15m0s 1 fired in home at 7h15m0s home:1",
		}}, 32},
		// Its window of 0:45 is due after the discovery of the hour, and the last one after the next of its source.
		"20m": {[2]map[string]string{{
			"30m0s":   "30m0s 1 home:0",
			"45m0s":   "45m0s 1 fired in shoes at 45m0s coats:0 home:0 shoes:1",
			"4h30m0s": "4h30m0s 1 fired in shoes at 45m0s coats:- home:- shoes:1",
			"4h45m0s": "4h45m0s 1 fired in shoes at 45m0s home:-",
			"5h45m0s": "5h45m0s 1 fired in shoes at 45m0s home:-",
			"6h0m0s":  "6h0m0s 2 armed home:0",
			"6h45m0s": "6h45m0s 2 fired in shoes at 6h45m0s coats:0 home:0 shoes:1",
		}, {
			"45m0s":   "45m0s 1 home:0",
			"7h15m0s": "7h15m0s 1 fired in home at 7h15m0s home:1",
		}}, 31},
	} {
		r := newRelay(t, strings.Replace(followerOf(grace, countUsers, twoWatches), "      other: rest\n", "", 1))
		r.quarters(32, func(stream string, n int) []sent {
			if stream == "s" {
				var records []sent
				if n < 4 {
					records = sentBy(1, 5, "coats", "shoes")
				}
				if n >= 24 {
					records = sentBy(1, 5, "coats", "shoes")
				}
				return records
			}
			records := sentBy(1, 5, "shoes")
			records = append(records, sentBy(20, 5, "hats")...) // which the other stream does not have
			if n < 28 {
				return append(records, sentBy(50, 3, "home")...)
			}
			return append(records, sentBy(50, 2, "home")...)
		})
		got := [2]map[string]string{{}, {}}
		for _, e := range r.of("f") {
			if len(e.Continual) != 2 || e.Continual[0].Watch.Always || !e.Continual[1].Watch.Always {
				t.Fatalf("%s has the watches %+v", e.Name(), e.Continual)
			}
			for i, s := range e.Continual {
				got[i][e.WindowEnd.Sub(newYear).String()] = watchedBy(t, e, i)
				if len(s.Cost) != 1 || s.Cost[0].Times != 1 || s.Cost[0].Epsilon.IntPart() != 1000 {
					t.Errorf("watch %s costs %+v, want 1000 once", s.Name, s.Cost)
				}
			}
		}
		for i, want := range c.want {
			for at, want := range want {
				if got[i][at] != want {
					t.Errorf("grace %s, watch %d at %s: %q, want %q", grace, i, at, got[i][at], want)
				}
			}
		}
		// A user may be in two groups of the follower, and in one of its source.
		if n := int64(len(r.of("f"))); n != c.windows {
			t.Errorf("%d windows are decided, want %d", n, c.windows)
		}
		r.charged("f", pure(30, 2), c.windows*60+3*1000)
		r.charged("s", pure(30, 1), 32*30+(8+2*4)*24)
	}
}

// TestAnEditOfTheListReachesItsFollowers: a name that is excluded in the definition of the source is off the follower's
// list at once. An instance that is armed goes on, and a name that was listed before does not fire it.
func TestAnEditOfTheListReachesItsFollowers(t *testing.T) {
	text := strings.Replace(followerOf("1s", countUsers, twoWatches), "      other: rest\n", "", 1)
	r := newRelay(t, text)
	edited := streamsOf(t, strings.Replace(text, "keep: 3h", "keep: 3h\n      except: [shoes]", 1))
	for i, s := range edited {
		r.editions[i].Schedule.End = quarter(5).End
		r.editions = append(r.editions, config.Edition{Stream: s, Number: 2, Schedule: s.Window.Schedule(quarter(6).Start)})
	}
	r.quarters(12, func(stream string, n int) []sent {
		if stream == "f" && n < 6 {
			return sentBy(1, 2, "shoes", "coats") // too few to fire
		}
		return sentBy(1, 5, "shoes", "coats")
	})
	var got []string
	for _, e := range r.of("f") {
		got = append(got, watchedBy(t, e, 0))
	}
	want := []string{"15m0s 1 armed home:0", "30m0s 1 home:0", "45m0s 1 home:0", "1h0m0s 1 coats:0 home:0 shoes:0",
		"1h15m0s 1 coats:0 home:0 shoes:0", "1h30m0s 1 coats:0 home:0 shoes:0",
		"1h45m0s 1 fired in coats at 1h45m0s coats:1 home:-"}
	if len(got) != 12 || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, e := range r.of("f") {
		if in := slices.Contains(e.GroupNames(), "shoes"); in != (e.Epoch == 1 && !e.WindowEnd.Before(newYear.Add(time.Hour))) {
			t.Errorf("%s has the groups %q", e.Name(), e.GroupNames())
		}
	}
	if f := r.audited(); !f.OK {
		t.Errorf("audit: %+v", f.Faults)
	}
}

// TestRollupsOfAFollower: its roll-ups have its own counts, of the windows since a name came to the list of the other
// stream. So has that of a day in which names come, go, and come back.
func TestRollupsOfAFollower(t *testing.T) {
	r := newRelay(t, followerOf("1s", "      - {name: shape, statistic: histogram, mechanism: histogram, buckets: [100, 500], "+
		"epsilon: 40, rollup: [2h, 1d]}\n", ""))
	r.quarters(96, func(stream string, n int) (records []sent) {
		if stream == "s" {
			if n < 4 || n >= 84 && n < 88 {
				records = sentBy(1, 5, "shoes")
			}
			if n >= 4 && n < 8 {
				records = append(records, sentBy(20, 5, "hats")...)
			}
			return records
		}
		return slices.Concat(sentBy(50, 3, "home"), sentBy(1, 4, "shoes"), sentBy(20, 2, "hats"), sentBy(30, 6, "boots"))
	})
	var got []string
	for _, e := range r.of("f") {
		got = append(got, rolled(e)...)
	}
	want := []string{
		// Before they are listed, the four of shoes and the two of hats are among the rest, like the six of boots.
		"2h0m0s 2h 8/8: hats 2 of 1 windows home 24 of 8 windows shoes 20 of 5 windows rest 74 of 8 windows",
		"4h0m0s 2h 8/8: hats 16 of 8 windows home 24 of 8 windows shoes 32 of 8 windows rest 48 of 8 windows",
		"6h0m0s 2h 8/8: home 24 of 8 windows rest 78 of 8 windows", // both have left at five o'clock
	}
	for hour := 8; hour <= 20; hour += 2 {
		want = append(want, fmt.Sprintf("%dh0m0s 2h 8/8: home 24 of 8 windows rest 96 of 8 windows", hour))
	}
	want = append(want, "22h0m0s 2h 8/8: home 24 of 8 windows shoes 4 of 1 windows rest 92 of 8 windows",
		"24h0m0s 2h 8/8: home 24 of 8 windows shoes 32 of 8 windows rest 64 of 8 windows",
		"24h0m0s 1d 96/96: home 288 of 96 windows shoes 36 of 9 windows rest 1028 of 96 windows")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r.charged("f", pure(40, 1), 96*40)
	all := r.all
	i := slices.IndexFunc(all, func(e ledger.Entry) bool { return len(e.Rollups) > 1 })
	forged, err := ledger.Decode(r.value(all[i]))
	if err != nil {
		t.Fatal(err)
	}
	forged.Rollups[1].Groups[1].Values[0].Numbers.Raw[0]++ // somebody of before
	all[i] = forged
	if f := r.audited(); !slices.ContainsFunc(f.Faults, func(f audit.Fault) bool { return f.Kind == audit.RollupDiffers }) {
		t.Errorf("%+v, want a roll-up that differs", f.Faults)
	}
}

// TestWhatAFollowerLearns: each draw of a follower has learnt from what the follower itself has published of the group
// since that came to the list, and from nothing of its source.
func TestWhatAFollowerLearns(t *testing.T) {
	const median = "      - {name: p50, statistic: median, epsilon: 0.5}\n"
	text := strings.ReplaceAll(followerOf("20m", countUsers, ""), countUsers, median)
	r := newRelay(t, strings.ReplaceAll(text, "step: 1}", "step: 1, prior: adaptive}"))
	words := strings.Split("abcdef", "")
	r.quarters(64, func(stream string, n int) (records []sent) {
		hour := n / 4
		for i, name := range words { // some names in some hours: they come to the list, and leave it
			if stream == "f" || (hour/(i+1))%3 == i%3 {
				records = append(records, sentBy(uint64(10*i+1), 3, name)...)
			}
		}
		return records
	})
	query := newDraw(config.All[*config.Release](r.editions[0].Stream)[0], 0).query
	since := map[string][]int64{} // what each group has published since it came to the list
	joined, returned := 0, map[string]bool{}
	for _, e := range r.of("f") {
		if names, _ := listByHand(r.all, e.DueAt); !slices.Equal(e.GroupNames(), names) {
			t.Fatalf("%s has the groups %q, want %q", e.Name(), e.GroupNames(), names)
		}
		for name := range since {
			if !slices.Contains(e.GroupNames(), name) {
				delete(since, name)
				returned[name] = true
			}
		}
		sum := sha256.New()
		for _, g := range e.Groups {
			alone, err := mechanisms.NewFilter(query)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range since[g.Name] {
				alone.Update(x, nil)
				alone.Predict()
			}
			b, err := alone.Measure().AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			sum.Write(b)
			if since[g.Name] == nil {
				joined++
			}
			since[g.Name] = append(since[g.Name], g.Values[0].Value.IntPart())
		}
		if want := hex.EncodeToString(sum.Sum(nil)[:16]); e.Prior == nil || e.Prior.Hash != want {
			t.Fatalf("%s has learnt %+v, want %s", e.Name(), e.Prior, want)
		}
	}
	if joined < 10 || len(returned) < 3 {
		t.Errorf("%d groups have come, and %d have left; want more", joined, len(returned))
	}
	if f := r.audited(); !f.OK || f.Priors != 64+63 { // the last one of the follower is due after the next of its source
		t.Errorf("audit of %d windows that learn, want 127: %+v", f.Priors, f.Faults)
	}
	// Another value of the follower's, and only its own later windows have learnt something else.
	for i, e := range r.all {
		if e.Stream == "f" && len(e.Groups) > 3 {
			v := &r.all[i].Groups[0].Values[0]
			v.Value = new(v.Value.Add(decimal.NewFromInt(400)).Mod(decimal.NewFromInt(1000)))
			break
		}
	}
	f := r.audited()
	if f.OK || f.FaultCount < 3 {
		t.Errorf("another value: %+v", f)
	}
	for i, x := range f.Faults {
		want := audit.PriorDiffers
		if i == 0 {
			want = audit.BandDiffers // of the value itself
		}
		if x.Kind != want || !strings.Contains(x.What, `stream "f"`) {
			t.Errorf("another value of the follower: %v", x)
		}
	}
}

// TestSeriesOfAFollowerEndWithItsList: once nothing is on the list, its next window ends the series of all groups that it
// has had, and is free. They end once, and begin again with the list.
func TestSeriesOfAFollowerEndWithItsList(t *testing.T) {
	r := newRelay(t, strings.NewReplacer("      other: rest\n", "", "      always: [home]\n", "").Replace(
		followerOf("1s", countUsers, "")))
	r.quarters(32, func(_ string, n int) []sent {
		if n < 4 || n >= 24 && n < 28 {
			return sentBy(1, 5, "coats", "shoes")
		}
		return nil
	})
	var got []string
	for _, e := range r.of("f") {
		records, err := e.Records()
		if err != nil || len(records) != e.Size() {
			t.Fatalf("%d records, want %d (%v)", len(records), e.Size(), err)
		}
		for _, of := range records {
			if of.Value == nil {
				got = append(got, of.ID())
			}
		}
		if at := e.WindowEnd.Sub(newYear); len(e.Groups) > 0 != (at >= time.Hour && at < 5*time.Hour || at >= 7*time.Hour) ||
			len(e.Price) != min(1, len(e.Groups)) {
			t.Errorf("%s has the groups %q and costs %+v", e.Name(), e.GroupNames(), e.Price)
		}
	}
	want := []string{"f/coats/2026-01-01T05:00:00Z/users/left", "f/shoes/2026-01-01T05:00:00Z/users/left"}
	if !slices.Equal(got, want) {
		t.Errorf("%q end, want %q", got, want)
	}
	if last := r.of("f")[31]; last.Standing.StreamSpent.IntPart() != (16+5)*30 {
		t.Errorf("the follower has spent %s, want 21 windows of 30", last.Standing.StreamSpent)
	}
	if f := r.audited(); !f.OK {
		t.Errorf("audit: %+v", f.Faults)
	}
}
