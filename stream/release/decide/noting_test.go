package decide

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// finding has windows of a quarter, and discoveries whose noise is nearly always 0: K is 1, so the threshold is 2, and
// P(Z ≠ 0) less than 10⁻¹⁰ for each of some hundred names in all tests.
const finding = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups:
      discover:
        - {name: hourly, every: 1h, epsilon: 24, delta: 0.00001}
        - {name: twice, every: 2h, epsilon: 24, delta: 0.00001, max_groups: 2}
      keep: 3h
      max: 3
      other: rest
      always: [home]
      match: '^[a-z/]*$'
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 15m, every: 15m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-02T00:00:00Z}
    releases:
      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}
    output: {topic: out}
    budget: {epsilon: 10000, delta: 0.09, per: 24h}
    on_exhausted: withhold
`

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func quarter(n int) windows.Window {
	start := newYear.Add(time.Duration(n) * 15 * time.Minute).UnixNano()
	return windows.Window{Start: start, End: start + int64(15*time.Minute)}
}

// plan is a log of parts and marks of two partitions, in steps of a quarter, and the definitions that they belong to.
type plan struct {
	editions []config.Edition
	messages []messageLine
	steps    []int64 // where each step ends
}

// drawPlan draws a stream whose names come and go, and whose parts overlap, repeat, and come late for some windows.
func drawPlan(t *rapid.T, real testing.TB) plan {
	text := finding
	hops := rapid.Bool().Draw(t, "windows overlap")
	if hops {
		text = strings.Replace(text, "size: 15m, every: 15m", "size: 30m, every: 15m", 1)
	}
	if rapid.Bool().Draw(t, "no name is always listed") {
		text = strings.NewReplacer("      other: rest\n", "", "      always: [home]\n", "").Replace(text)
	}
	var pl plan
	for i, text := range []string{text, strings.Replace(text, "keep: 3h", "keep: 2h\n      except: [hats]", 1)} {
		pl.editions = append(pl.editions, editionsOf(real, text)...)
		pl.editions[i].Number = uint32(i + 1)
	}
	edited := rapid.IntRange(3, 18).Draw(t, "edited at")
	if edited > 16 {
		pl.editions = pl.editions[:1]
	} else {
		pl.editions[0].Schedule.End = quarter(edited).Start
		pl.editions[1].Schedule.Start = quarter(edited).Start
	}
	names := []string{"home", "shoes", "hats", "a", "b", "c", "NO"}
	hasher := windows.NewHasher([16]byte{})
	offsets := [2]int64{}
	for n := range 16 {
		e := &pl.editions[0]
		if n >= edited && len(pl.editions) > 1 {
			e = &pl.editions[1]
		}
		for partition := range 2 {
			for flush := rapid.IntRange(1, 2).Draw(t, "flushes"); flush > 0; flush-- {
				o := windows.Origin{Stream: "s", Epoch: e.Number, Partition: partition, From: offsets[partition],
					To: offsets[partition] + 1}
				offsets[partition]++
				binary.BigEndian.PutUint64(o.Attempt[:], uint64(n*100+partition*10+flush))
				m := windows.Mark{Origin: o, Partitions: 2, After: quarter(n).Start, Through: quarter(n).Start}
				if flush == 1 {
					m.Through = quarter(n).End
				}
				var messages [][]byte
				for slice := max(n-1, 0); slice <= n; slice++ {
					if w := quarter(slice); w.Start < e.Schedule.Start || slice < n && !hops {
						continue
					}
					part := windows.Part{Origin: o, Slice: quarter(slice)}
					bag := windows.NewBag(windows.BagSpec{Open: true, Policy: e.Stream.Contribution, Window: part.Slice,
						Hasher: hasher})
					for range rapid.IntRange(0, 12).Draw(t, "records") {
						user, name := rapid.Uint64Range(1, 12).Draw(t, "user"), rapid.SampledFrom(names).Draw(t, "name")
						bag.PutName(spread(user), []byte(name), part.Slice.Start, 100)
					}
					part.Payload = bag.Seal()
					messages, m.Slices = append(messages, part.Messages(1<<20)...), append(m.Slices, part.Slice.Start)
				}
				if rapid.IntRange(0, 5).Draw(t, "written twice") == 0 {
					messages = append(messages, messages...)
				}
				for _, data := range append(messages, m.Message()) {
					pl.messages = append(pl.messages, messageLine{At: quarter(n).End / 1e9, Data: data})
				}
			}
		}
		pl.steps = append(pl.steps, int64(len(pl.messages)))
	}
	return pl
}

// planned is a worker that follows a plan, over several sessions.
type planned struct {
	*player
	plan plan
}

// follow returns a worker that has read nothing. Each of its sessions reads the log from its beginning.
func (pl plan) follow(t testing.TB) *planned {
	p := &planned{newPlayer(t), pl}
	p.editions, p.messages = pl.editions, pl.messages
	return p
}

// step has the session read up to the end of a step and decide. idle says that there is time for notes.
func (p *planned) step(n int, idle bool) {
	p.t.Helper()
	p.idle = func() bool { return idle }
	if err := p.decideUpTo(p.plan.steps[n], decideLine{Now: quarter(n).End/1e9 + 30, Unkept: true}); err != nil {
		p.t.Fatal(err)
	}
}

// begins opens a session that holds so many bytes of parts and of notes.
func (p *planned) begins(parts, notes int64) {
	p.t.Helper()
	p.session(sessionLine{PartBytes: parts, MergeBytes: 1 << 20, NoteBytes: notes})
}

// knows checks that all parts of decided windows are noted.
func (p *planned) knows() {
	for of, n := range p.notes.of {
		decided := p.programs[of.Place].lanes.Windows.Decided()
		if decided <= n.period.Start || decided < of.Schedule.First().End {
			continue
		}
		for _, h := range p.gather.Parts("s", of.Number,
			windows.Window{Start: n.period.Start, End: decided}) {
			if n.misses(h) {
				p.t.Errorf("a part of %s is not noted by %s", time.Unix(0, h.Slice.Start), time.Unix(0, decided))
			}
		}
	}
}

// TestNotesChangeNothing: whatever is noted while a period lasts, and in however many sessions, the discovery counts
// the same users for the same names as one that reads all parts at the end. Noise is nearly always 0, so what is found
// shows the counts. Some parts overlap, some come twice, windows hop, memory is narrow, and the definition is edited
// meanwhile.
func TestNotesChangeNothing(t *testing.T) {
	found, noted := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		pl := drawPlan(r, t)
		without, p := pl.follow(t), pl.follow(t)
		for step := range pl.steps { // a session for each has no notes
			without.begins(0, 1<<20)
			without.step(step, false)
		}
		sizes := rapid.SampledFrom([]int64{0, 2000, 1 << 20})
		p.begins(sizes.Draw(r, "bytes of parts"), sizes.Draw(r, "bytes of notes"))
		for step := range pl.steps {
			if rapid.IntRange(0, 4).Draw(r, "killed") == 0 {
				p.begins(sizes.Draw(r, "bytes of parts"), sizes.Draw(r, "bytes of notes"))
				idle := rapid.IntRange(-1, step).Draw(r, "idle at")
				for at := range step {
					p.step(at, at == idle)
				}
			}
			p.step(step, false)
			if rapid.Bool().Draw(r, "idle") {
				p.step(step, true)
				p.knows()
			}
			for _, n := range p.notes.of {
				noted += min(len(n.noted), 1)
			}
		}
		for i, e := range p.entries {
			if got, want := p.ledger[i].value, without.ledger[i].value; !bytes.Equal(got, want) {
				r.Fatalf("with notes (+), and without (-):\n%s", firstDifference(want, got))
			}
			if e.Discovery != nil {
				found += len(e.Discovery.Found)
			}
		}
		if len(p.entries) != len(without.entries) {
			r.Fatalf("%d entries with notes, %d without", len(p.entries), len(without.entries))
		}
	})
	if found < 100 || noted < 500 {
		t.Errorf("%d names are found, notes are there %d times: too few for this test", found, noted)
	}
}

// TestNotesBeginAnew: notes are used only if they are about the period's parts and were made with the names that come
// last at its end.
func TestNotesBeginAnew(t *testing.T) {
	end := quarter(7)
	for name, change := range map[string]func(d *player, parts []*windows.Held) []*windows.Held{
		"nothing":             func(_ *player, parts []*windows.Held) []*windows.Held { return parts },
		"a part is not of it": func(_ *player, parts []*windows.Held) []*windows.Held { return parts[1:] },
		"other names come last": func(d *player, parts []*windows.Held) []*windows.Held {
			e := d.programs[0].blank("app", quarter(6)) // as of a former definition whose grace is longer
			e.Lane, e.Discovery = "hourly", &ledger.Discovery{Rules: d.programs[0].rules,
				Found: []ledger.Finding{{Name: "socks", Value: 9}}}
			if err := d.own.Lists().Add(e); err != nil {
				t.Fatal(err)
			}
			return parts
		},
	} {
		d := playing(t, editionsOf(t, finding))
		for range 7 {
			d.next(sentBy(1, 5, "shoes", "hats"))
		}
		d.give(d.editions[0], sentBy(1, 5, "shoes", "hats"), trouble{})
		for ; d.at < int64(len(d.messages)); d.at++ {
			if err := d.Message(d.messages[d.at].Data, d.at, time.Unix(0, end.End)); err != nil {
				t.Fatal(err)
			}
		}
		period := windows.Window{Start: quarter(4).Start, End: end.End}
		parts := change(d, d.gather.Parts("s", 1, period))
		n := d.notes.take(d.programs[0].lanes.Periods[0], period, parts)
		if want := map[bool]int{true: 3}[name == "nothing"]; len(n.noted) != want || n.period != period {
			t.Errorf("%s: %d parts are noted, want %d", name, len(n.noted), want)
		}
		if n.last["socks"] != (name == "other names come last") || !n.last["shoes"] {
			t.Errorf("%s: %v come last", name, n.last)
		}
	}
}

// TestNotesOfAWithheldPeriodAreNoUse in the next one.
func TestNotesOfAWithheldPeriodAreNoUse(t *testing.T) {
	d := playing(t, editionsOf(t, strings.NewReplacer("epsilon: 10000, delta", "epsilon: 120, delta", "epsilon: 30",
		"epsilon: 0.1").Replace(finding)))
	withheld := 0
	for n := range 12 {
		d.give(d.editions[0], sentBy(1, 5, "shoes"), trouble{})
		for _, e := range d.decided() {
			if e.Discovery != nil && e.Reason != "" {
				withheld++
			}
		}
		for _, l := range d.programs[0].lanes.Periods {
			if period, _ := l.Next(); d.notes.now(l).period != period {
				t.Errorf("after quarter %d the notes of %s are of another period than the next one", n, l.Of.Name)
			}
		}
	}
	if withheld != 1 {
		t.Errorf("%d discoveries are withheld, want that of the third hour", withheld)
	}
}
