package decide

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
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
    groups: [a, b, c, d, e, f]
    max_windows: {count: COUNT, per: PER, parts: PARTS}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: SIZE, every: EVERY, grace: 10s, start: 2026-01-01T00:00:00Z}
    contribution: last
    releases: [{name: users, statistic: count, epsilon: 1000000}]
    output: {topic: out}
    budget: {epsilon: LIMIT, per: 24h}
    on_exhausted: withhold
`

// cappedStream is a stream with a cap, whose windows hold some slices.
func cappedStream(t testing.TB, slices int64, every time.Duration, limit string, c windows.CapSpec) config.Edition {
	t.Helper()
	return editionsOf(t, strings.NewReplacer("SIZE", (time.Duration(slices)*every).String(), "EVERY", every.String(),
		"LIMIT", limit, "COUNT", fmt.Sprint(c.Count), "PARTS", fmt.Sprint(c.Parts), "PER", c.Per.String()).
		Replace(capped))[0]
}

// units are the length of a slice. Where it is a minute, a snapshot is due only after some slices.
var units = rapid.SampledFrom([]time.Duration{time.Minute, time.Hour})

// capWorld is a stream that is disturbed, and who came.
type capWorld struct {
	*player
	of     config.Edition
	narrow bool                     // a window takes as many passes as there can be
	row    int                      // of the cap that is looked at: 0 for windows, 1 for the first discovery
	lost   bool                     // parts were lost that were still needed, or a snapshot was
	came   map[int64][capUsers]bool // who has a record in the slice that starts then
	hides  map[int64][capUsers]bool // … and sends only a name that cannot be found
	old    map[string]text          // snapshots that were followed by others
}

func newCapWorld(t testing.TB, of config.Edition) *capWorld {
	c := &capWorld{player: newPlayer(t), of: of, came: map[int64][capUsers]bool{},
		hides: map[int64][capUsers]bool{}, old: map[string]text{}}
	c.editions = []config.Edition{of}
	c.restart()
	return c
}

// restart begins another session.
func (c *capWorld) restart() {
	settings := spacious
	if c.narrow {
		settings.MergeBytes = 1
	}
	c.session(settings)
}

// slice adds the parts of the next slice, before which so many records of the input were lost.
func (c *capWorld) slice(came, hides [capUsers]bool, lost int64) {
	start := c.of.Schedule.Start + int64(len(c.came))*int64(c.of.Schedule.Every)
	c.came[start], c.hides[start] = came, hides
	var visits []userVisit
	for u, here := range came {
		if !here {
			continue
		}
		v := userVisit{user: uint64(u + 1), group: capName(u), value: 5}
		if hides[u] {
			v.group = hiddenName
		}
		if visits = append(visits, v); c.of.Stream.Found != nil { // a name is found if both twins count
			v.twin = true
			visits = append(visits, v)
		}
	}
	c.give(c.of, visits, trouble{lost: lost})
}

// decide has up to n windows decided, beside those that an earlier session drew.
func (c *capWorld) decide(n int, fate string, unkept bool) {
	c.t.Helper()
	before := maps.Clone(c.texts)
	if c.Core == nil {
		c.restart()
	}
	windows := 0
	for _, e := range c.entries {
		if e.Lane == "" {
			windows++
		}
	}
	overlap := int(c.of.Schedule.Size / c.of.Schedule.Every)
	if err := c.decideUpTo(int64(2*(windows+n+overlap-1)), decideLine{Now: c.now, Fate: fate, Unkept: unkept}); err != nil {
		c.t.Fatal(err)
	}
	for key, text := range before {
		if string(c.texts[key]) != string(text) {
			c.old[key] = text
		}
	}
}

// key is that of the snapshots of the cap that is looked at.
func (c *capWorld) key() string {
	key := config.EditionKey(c.of.Stream.Name, c.of.Number)
	if c.row > 0 {
		key = "row/" + config.All[*config.Discovery](c.of.Stream)[c.row-1].Name + "/" + key
	}
	return key
}

// check compares who counts in the windows of the ledger with a cap that is never disturbed and begins with each era.
// It returns how many eras there are.
func (c *capWorld) check(t rapid.TB) (eras int) {
	var whole *windows.Cap
	era := int64(-1)
	counted := [capUsers][]time.Time{} // the ends of the windows in which each user has counted
	next, _ := c.of.Schedule.After(0)
	for _, e := range c.entries {
		w := windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()}
		if w != next {
			t.Fatalf("window %v, want %v", w, next)
		}
		next, _ = c.of.Schedule.Next(w)
		if e.Cap.Era != era {
			if e.Cap.Era != e.WindowStart.Unix() || e.Cap != c.of.Stream.Cap(e.Cap.Era) {
				t.Fatalf("a window that starts at %d has the cap %+v", e.WindowStart.Unix(), e.Cap)
			}
			whole, era = windows.NewCap(c.of.Stream.MaxWindows.By), e.Cap.Era
			eras++
		}
		if err := whole.Begin(w); err != nil {
			t.Fatal(err)
		}
		for u := range capUsers {
			came := false
			for start := w.Start; start < w.End; start += int64(c.of.Schedule.Every) {
				came = came || c.came[start][u]
			}
			want := "0"
			if came && whole.Counts(spread(uint64(u+1))) {
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
			if lost := cost.Of(c.of.Stream.Budget.Limit, budget.Times(c.of.Stream.Price(), n)).Epsilon; n > 0 &&
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
		every := units.Draw(r, "slice")
		spec := windows.CapSpec{Parts: rapid.Int64Range(1, 3).Draw(r, "parts"),
			Per: time.Duration(rapid.Int64Range(overlap, 24).Draw(r, "period")) * every}
		spec.Count = overlap*(spec.Parts+1) + rapid.Int64Range(0, 6).Draw(r, "more")
		c := newCapWorld(t, cappedStream(t, overlap, every,
			rapid.SampledFrom([]string{"1000000000", "3000000"}).Draw(r, "limit"), spec))
		losses := c.befall(r, capSteps, c.spoilCap)
		done.eras(r, c, losses, c.check(r))
	}
	const series = 4 // of a hundred histories each: one alone misses some faults of the cap one time in ten
	for range series {
		rapid.Check(t, history)
	}
	done.enough(t)
}

// happened counts what has befallen worlds.
type happened struct{ losses, renewals, snapshots int }

func (h *happened) enough(t *testing.T) {
	t.Helper()
	if h.losses == 0 || h.renewals == 0 || h.snapshots == 0 {
		t.Errorf("parts were lost %d times, %d snapshots were made and users were forgotten %d times: the test tests "+
			"nothing", h.losses, h.snapshots, h.renewals)
	}
}

// add adds what has befallen a world in which users were forgotten so often.
func (h *happened) add(c *capWorld, losses, renewals int) {
	h.losses, h.renewals = h.losses+losses, h.renewals+renewals
	for _, l := range c.out {
		if l.Text != nil && l.Text.Bytes > 0 && !strings.HasPrefix(l.Text.Key, "ledger/") {
			h.snapshots++
		}
	}
}

// eras adds what has befallen a world whose cap has so many eras.
func (h *happened) eras(r *rapid.T, c *capWorld, losses, eras int) {
	if eras > 1 && !c.lost {
		r.Fatalf("%d eras although nothing was lost", eras)
	}
	h.add(c, losses, max(0, eras-1))
}

// steps are what may happen to a world.
type steps struct {
	most    int // steps of a history
	commits int // windows of a commit
	away    int // of the numbers 0 to 3, those up to this one mean that a user has no record in a slice
}

var capSteps = steps{most: 60, commits: 4}

// befall lets a history befall the world: sessions stop before a transaction, between several, after an abort that is
// adopted, after one that left nothing, and before they have saved who has counted. In half of the histories snapshots
// are spoilt, and parts are lost that are still needed: losses says how often.
func (c *capWorld) befall(r *rapid.T, of steps, spoil func(*rapid.T)) (losses int) {
	loses := rapid.Bool().Draw(r, "parts are lost")
	c.narrow = rapid.IntRange(0, 3).Draw(r, "memory") == 0
	for range rapid.IntRange(10, of.most).Draw(r, "steps") {
		switch rapid.SampledFrom([]string{"slice", "slice", "slice", "commit", "commit", "commit", "abort", "nothing",
			"stop", "lose", "spoil"}).Draw(r, "step") {
		case "slice":
			var came, hides [capUsers]bool
			for u := range came {
				came[u] = rapid.IntRange(0, 3).Draw(r, "comes") > of.away
				hides[u] = c.row > 0 && came[u] && rapid.IntRange(0, 3).Draw(r, "hides") == 0
			}
			c.slice(came, hides, max(0, rapid.Int64Range(-9, 1).Draw(r, "lost of the input")))
		case "commit":
			c.decide(rapid.IntRange(1, of.commits).Draw(r, "windows"),
				rapid.SampledFrom([]string{"", unsaved}).Draw(r, "fate"), rapid.Bool().Draw(r, "progress is not kept"))
		case "abort": // others may have seen it
			c.decide(rapid.IntRange(1, 4).Draw(r, "windows"), aborted, true)
			c.restart()
		case "nothing": // nobody has
			c.decide(2, unsent, true)
			c.restart()
		case "stop":
			c.restart()
		case "spoil":
			if loses {
				spoil(r)
			}
		case "lose": // what only trackers need
			if c.decide(0, "", true); loses {
				losses++
				c.deleted, c.lost = max(c.deleted, c.gather.Needs(c.at)), true
				c.restart()
			}
		}
	}
	return losses
}

// spoilCap spoils the snapshot of the cap, so that nobody can use it, or puts an earlier one in its place.
func (c *capWorld) spoilCap(r *rapid.T) {
	saved := slices.Clone(c.texts[c.key()])
	if len(saved) == 0 {
		return
	}
	c.lost = true
	switch rapid.SampledFrom([]string{"no more", "damaged", "of before", "of later"}).Draw(r, "spoilt") {
	case "no more":
		saved = nil
	case "damaged":
		saved[rapid.IntRange(attendance.SnapshotHead, len(saved)-1).Draw(r, "byte")] ^= 1
	case "of before":
		saved = c.old[c.key()]
	case "of later":
		binary.BigEndian.PutUint64(saved, math.MaxInt64)
	}
	if c.texts[c.key()] = saved; saved == nil {
		delete(c.texts, c.key())
	}
}
