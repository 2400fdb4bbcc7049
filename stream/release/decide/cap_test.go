package decide

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// capUsers have a group each, so that exact counts show who counts in a window.
const capUsers = 6

const capped = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: user}
    groups: [u0, u1, u2, u3, u4, u5]
    max_windows: {count: COUNT, per: PER, parts: PARTS}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: SIZE, every: 1h, grace: 10s, start: 2026-01-01T00:00:00Z}
    contribution: last
    releases: [{name: users, statistic: count, epsilon: 1000000}]
    output: {topic: out}
    budget: {epsilon: LIMIT, per: 24h}
    on_exhausted: withhold
`

// cappedProgram is that of a stream with a cap, whose windows hold some hours.
func cappedProgram(t testing.TB, hours int64, limit string, c windows.CapSpec) *program {
	t.Helper()
	return programOf(t, strings.NewReplacer("SIZE", fmt.Sprintf("%dh", hours), "LIMIT", limit,
		"COUNT", fmt.Sprint(c.Count), "PARTS", fmt.Sprint(c.Parts), "PER", c.Per.String()).Replace(capped))
}

// capWorld is what outlives a session: the log of parts, the last snapshot, and the ledger.
type capWorld struct {
	p       *program
	row     int // of the cap that is looked at: 0 for windows, 1 for the first discovery
	log     [][]byte
	deleted int64  // messages below are gone
	lost    bool   // some of them were still needed, or the snapshot was
	saved   []byte // the last snapshot
	// savedTotals are the last snapshots of totals, by their keys.
	savedTotals map[string][]byte
	// kept are the windows on which the deletion of messages relied.
	kept    map[string]int64
	ledger  [][]byte // committed entries
	aborted [][]byte
	decoded map[string]ledger.Entry  // what was decoded before, by the text
	came    map[int64][capUsers]bool // who has a record in the slice that starts then
	hides   [capUsers]bool           // who sends only a name in the next slice that cannot be found
	hidden  map[int64][capUsers]bool // … and who did in the slice that starts then
	slice   windows.Window           // the last one that is in the log
	inputs  int                      // from how many partitions the windows are made that are cut next; 0 is 1
}

// next adds the part and the mark of the next slice, before which so many records of the input were lost.
func (c *capWorld) next(came [capUsers]bool, lost int64) {
	every := int64(c.p.Schedule.Every)
	if c.slice == (windows.Window{}) {
		c.slice = windows.Window{Start: c.p.Schedule.Start - every, End: c.p.Schedule.Start}
	}
	c.slice = windows.Window{Start: c.slice.End, End: c.slice.End + every}
	c.came[c.slice.Start] = came
	if c.hidden == nil {
		c.hidden = map[int64][capUsers]bool{}
	}
	c.hidden[c.slice.Start] = c.hides
	bag := windows.NewBag(windows.BagSpec{Groups: c.p.Stream.Groups, MaxGroups: 1, Policy: c.p.Stream.Contribution,
		Window: c.slice, Hasher: windows.NewHasher([16]byte{}), Open: c.p.Stream.Found != nil})
	for u, here := range came {
		switch {
		case here && c.p.Stream.Found != nil:
			name := capName(u)
			if c.hides[u] {
				name = hiddenName
			}
			for _, user := range twins(u) {
				bag.PutName(user, []byte(name), c.slice.Start, 5)
			}
		case here:
			bag.Add(capUser(u), u, c.slice.Start, 5)
		}
	}
	n := int64(len(c.came))
	o := windows.Origin{Stream: c.p.Stream.Name, Epoch: c.p.Number, From: n, To: n + 1,
		Attempt: [16]byte{byte(n), byte(n >> 8)}}
	part := windows.Part{Origin: o, Slice: c.slice, Payload: bag.Seal()}
	mark := windows.Mark{Origin: o, Partitions: max(1, c.inputs), Lost: lost, Slices: []int64{c.slice.Start},
		After: c.slice.Start, Through: c.slice.End}
	c.log = append(c.log, append(part.Messages(1<<20), mark.Message())...)
}

// capUser is the hash of a user. Hashes are spread over all numbers.
func capUser(u int) windows.UserHash {
	return spread(uint64(u + 1))
}

// session begins one, as after a crash: it knows the ledger and what is left of the log.
func (c *capWorld) session(t testing.TB) *decider {
	t.Helper()
	d := newDecider(t, c.p, zap.NewNop())
	d.MergeBytes = 1 // as many passes as there can be
	d.again = c.again
	for _, value := range c.aborted {
		e := c.decode(t, value)
		if !slices.ContainsFunc(c.ledger, func(v []byte) bool {
			have := c.decode(t, v)
			return have.WindowEnd.Equal(e.WindowEnd) && have.Lane == e.Lane
		}) {
			c.ledger = append(c.ledger, value)
		}
	}
	c.aborted = nil
	for _, value := range c.ledger {
		if err := d.enter(c.decode(t, value), value); err != nil {
			t.Fatal(err)
		}
	}
	snapshots := maps.Clone(c.savedTotals)
	if c.saved != nil {
		snapshots = map[string][]byte{c.key(): c.saved}
	}
	d.goesOn(snapshots, c.kept, c.p)
	d.offset = c.deleted
	if c.lost {
		d.gather.Lose(0, time.Unix(0, c.slice.Start))
	}
	return d
}

// decode decodes each entry once. Nobody changes what is behind its pointers.
func (c *capWorld) decode(t testing.TB, value []byte) ledger.Entry {
	t.Helper()
	if e, known := c.decoded[string(value)]; known {
		return e
	}
	e, err := ledger.Decode(value)
	if err != nil {
		t.Fatal(err)
	}
	if c.decoded == nil {
		c.decoded = map[string]ledger.Entry{}
	}
	c.decoded[string(value)] = e
	return e
}

// key is that of the snapshots of the cap that is looked at.
func (c *capWorld) key() string {
	key := config.EditionKey(c.p.Stream.Name, c.p.Number)
	if c.row > 0 {
		key = "row/" + config.All[*config.Discovery](c.p.Stream)[c.row-1].Name + "/" + key
	}
	return key
}

// due has the snapshot of that cap, if it is due.
func (c *capWorld) due(d *decider) []attendance.Snapshot {
	return slices.DeleteFunc(d.attendance.Due(math.MaxInt), func(s attendance.Snapshot) bool { return s.Key != c.key() })
}

// read hands over the rest of the log.
func (d *decider) read(c *capWorld) {
	for ; d.offset < int64(len(c.log)); d.offset++ {
		if err := d.gather.Add(bytes.Clone(c.log[d.offset]), d.offset, time.Unix(0, c.slice.End)); err != nil {
			d.t.Fatal(err)
		}
	}
}

// draws decides up to n windows and periods, and gives their entries.
func (d *decider) draws(n int) (values [][]byte) {
	d.t.Helper()
	d.rebuild()
	for _, e := range d.turnsUpTo(n) {
		value, err := e.Encode()
		if err != nil {
			d.t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

// check compares who counts in the windows of the ledger with a cap that is never disturbed and begins with each era.
// It returns how many eras there are.
func (c *capWorld) check(t rapid.TB, real testing.TB) (eras int) {
	var whole *windows.Cap
	era := int64(-1)
	counted := [capUsers][]time.Time{} // the ends of the windows in which each user has counted
	next, _ := c.p.Schedule.After(0)
	for _, value := range c.ledger {
		e := c.decode(real, value)
		w := windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()}
		if w != next {
			t.Fatalf("window %v, want %v", w, next)
		}
		next, _ = c.p.Schedule.Next(w)
		if e.Cap.Era != era {
			if e.Cap.Era != e.WindowStart.Unix() || e.Cap != c.p.Stream.Cap(e.Cap.Era) {
				t.Fatalf("a window that starts at %d has the cap %+v", e.WindowStart.Unix(), e.Cap)
			}
			whole, era = windows.NewCap(c.p.Stream.MaxWindows.By), e.Cap.Era
			eras++
		}
		if err := whole.Begin(w); err != nil {
			t.Fatal(err)
		}
		for u := range capUsers {
			came := false
			for start := w.Start; start < w.End; start += int64(c.p.Schedule.Every) {
				came = came || c.came[start][u]
			}
			want := "0"
			if came && whole.Counts(capUser(u)) {
				want = "1"
			}
			if e.Reason != "" {
				continue // who came has used a turn
			}
			if got := e.Groups[u].Values[0].Value.String(); got != want {
				t.Fatalf("window %v, era %d: user %d counts %s times, want %s", e.WindowStart, era, u, got, want)
			}
			if want == "1" {
				counted[u] = append(counted[u], e.WindowEnd)
			}
		}
		for u, ends := range counted { // by whatever eras
			n := int64(0)
			for _, end := range ends {
				if end.After(e.WindowEnd.Add(-e.Limit.Per)) {
					n++
				}
			}
			if lost := cost.Of(c.p.Stream.Budget.Limit, budget.Times(c.p.Stream.Price(), n)).Epsilon; n > 0 &&
				lost.GreaterThan(*e.Standing.BudgetSpent) {
				t.Fatalf("window %v: user %d has lost ε %s in the period, and ε %s is charged", e.WindowStart, u, lost,
					e.Standing.BudgetSpent)
			}
		}
	}
	return eras
}

// TestTheSameUsersCountWhateverHappens disturbs sessions at any moment. In every window those users count that would
// have counted without that. Where nobody can know who they are, a new era begins.
func TestTheSameUsersCountWhateverHappens(t *testing.T) {
	var done happened
	history := func(r *rapid.T) {
		overlap := rapid.Int64Range(1, 3).Draw(r, "slices of a window")
		spec := windows.CapSpec{Parts: rapid.Int64Range(1, 3).Draw(r, "parts"),
			Per: time.Duration(rapid.Int64Range(overlap, 12).Draw(r, "period")) * time.Hour}
		spec.Count = overlap*(spec.Parts+1) + rapid.Int64Range(0, 6).Draw(r, "more")
		p := cappedProgram(t, overlap, rapid.SampledFrom([]string{"1000000000", "3000000"}).Draw(r, "limit"), spec)
		c := &capWorld{p: p, came: map[int64][capUsers]bool{}}
		c.happen(r, t, &done, c.check)
	}
	const series = 4 // of a hundred histories each: one alone misses some faults of the cap one time in ten
	for range series {
		rapid.Check(t, history)
	}
	done.enough(t)
}

// happen lets a history befall the world, and checks the ledger in the end. check returns how many eras of the cap
// there are.
func (c *capWorld) happen(r *rapid.T, t *testing.T, done *happened, check func(rapid.TB, testing.TB) int) {
	var before []byte
	disturbed{capWorld: c, steps: 60, commits: 4,
		save: func(d *decider) {
			for _, s := range c.due(d) {
				before, c.saved = c.saved, s.Text
				d.attendance.Keep([]attendance.Snapshot{s})
				done.snapshots++
			}
		},
		spoil: func() { // a snapshot that nobody can use, or one of before
			if len(c.saved) == 0 {
				return
			}
			c.lost = true
			switch rapid.SampledFrom([]string{"no more", "damaged", "of before", "of later"}).Draw(r, "spoilt") {
			case "no more":
				c.saved = nil
			case "damaged":
				c.saved = slices.Clone(c.saved)
				c.saved[rapid.IntRange(attendance.SnapshotHead, len(c.saved)-1).Draw(r, "byte")] ^= 1
			case "of before":
				c.saved = before
			case "of later":
				c.saved = slices.Concat(binary.BigEndian.AppendUint64(nil, math.MaxInt64), c.saved[attendance.SnapshotHead:])
			}
		},
	}.befall(r, t, done)
	eras := check(r, t)
	if eras > 1 && !c.lost {
		r.Fatalf("%d eras although nothing was lost", eras)
	}
	done.renewals += max(0, eras-1)
}
