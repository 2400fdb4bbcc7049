package decide

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// logged is a message of the log, and when it was written.
type logged struct {
	data    []byte
	written time.Time
}

// plan is a log of parts and marks of two partitions, in steps of a quarter, and the definitions that they belong to.
type plan struct {
	editions []config.Edition
	steps    [][]logged
}

// drawPlan draws a stream whose names come and go, and whose parts overlap, repeat, and come late for some windows.
func drawPlan(t *rapid.T) plan {
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
		file, err := parse.File("streams.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := file.Streams[0]
		pl.editions = append(pl.editions, config.Edition{Stream: s, Number: uint32(i + 1),
			Schedule: s.Window.Schedule(s.Window.Start)})
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
		var step []logged
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
					step = append(step, logged{data, time.Unix(0, quarter(n).End)})
				}
			}
		}
		pl.steps = append(pl.steps, step)
	}
	return pl
}

// planned is a worker that follows a plan, over several sessions.
type planned struct {
	plan
	t    testing.TB
	fold *ledger.State
	at   int // steps that the session has read
	log  int // messages
	*decider
}

// begin opens a session that holds so many bytes of parts and of notes, and reads the first steps.
func (p *planned) begin(steps int, parts, notes int64) {
	var programs []*program
	for _, e := range p.editions {
		programs = append(programs, newProgram(e))
	}
	p.decider = newDecider(p.t, programs[0], zap.NewNop())
	p.Editions, p.PartBytes, p.NoteBytes = p.editions, parts, notes
	p.session(p.Config, p.fold, programs...)
	p.at, p.log = 0, 0
	p.messages = p.remembering()
	for p.at < steps {
		p.read()
	}
}

// read reads the next step.
func (p *planned) read() {
	for _, m := range p.steps[p.at] {
		p.messages[int64(p.log)] = m.data
		if err := p.gather.Add(m.data, int64(p.log), m.written); err != nil {
			p.t.Fatal(err)
		}
		p.log++
	}
	p.at++
}

// catchUp notes what the session has read, as far as it is decided.
func (d *decider) catchUp() {
	for some := d.notes.catchUp(); len(some) > 0; some = d.notes.catchUp() {
		d.reread(some)
	}
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
		pl := drawPlan(r)
		var want []string
		without := &planned{plan: pl, t: t, fold: ledger.NewState("app", 0)}
		for step := range pl.steps { // a session for each has no notes
			without.begin(step+1, 0, 1<<20)
			for _, e := range without.turns() {
				want = append(want, fmt.Sprintf("%d: %s", e.Epoch, toldNames(e)))
			}
		}
		bytes := rapid.SampledFrom([]int64{0, 2000, 1 << 20})
		p := &planned{plan: pl, t: t, fold: ledger.NewState("app", 0)}
		var got []string
		p.begin(0, bytes.Draw(r, "bytes of parts"), bytes.Draw(r, "bytes of notes"))
		for step := range pl.steps {
			if rapid.IntRange(0, 4).Draw(r, "killed") == 0 {
				p.begin(0, bytes.Draw(r, "bytes of parts"), bytes.Draw(r, "bytes of notes"))
				for idle := rapid.IntRange(-1, step).Draw(r, "idle at"); p.at < step; p.read() {
					if p.at == idle {
						p.catchUp()
					}
				}
			}
			if rapid.Bool().Draw(r, "idle") {
				p.catchUp()
				p.knows()
			}
			for _, n := range p.notes.of {
				noted += min(len(n.noted), 1)
			}
			p.read()
			for _, e := range p.turns() {
				got = append(got, fmt.Sprintf("%d: %s", e.Epoch, toldNames(e)))
				if e.Discovery != nil {
					found += len(e.Discovery.Found)
				}
			}
		}
		if !slices.Equal(got, want) {
			r.Fatalf("with notes:\n%s\nwithout:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
	if found < 100 || noted < 500 {
		t.Errorf("%d names are found, notes are there %d times: too few for this test", found, noted)
	}
}

// TestNotesBeginAnew: notes are used only if they are about the period's parts and were made with the names that come
// last at its end.
func TestNotesBeginAnew(t *testing.T) {
	p := programOf(t, finding)
	end := quarter(7)
	for name, change := range map[string]func(d *decider, parts []*windows.Held) []*windows.Held{
		"nothing":             func(_ *decider, parts []*windows.Held) []*windows.Held { return parts },
		"a part is not of it": func(_ *decider, parts []*windows.Held) []*windows.Held { return parts[1:] },
		"other names come last": func(d *decider, parts []*windows.Held) []*windows.Held {
			e := p.blank("app", quarter(6)) // as of a former definition whose grace is longer
			e.Lane, e.Discovery = "hourly", &ledger.Discovery{Rules: p.rules,
				Found: []ledger.Finding{{Name: "socks", Value: 9}}}
			if err := d.own.Lists().Add(e); err != nil {
				t.Fatal(err)
			}
			return parts
		},
	} {
		d := newDecider(t, p, zap.NewNop())
		d.messages = d.remembering()
		for n := range 8 {
			d.giveNames(p, quarter(n), sentBy(1, 5, "shoes", "hats"))
			if n < 7 {
				d.turns()
			}
		}
		period := windows.Window{Start: quarter(4).Start, End: end.End}
		parts := change(d, d.gather.Parts("s", 1, period))
		n := d.notes.take(p.lanes.Periods[0], period, parts)
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
	p := programOf(t, strings.NewReplacer("epsilon: 10000, delta", "epsilon: 120, delta", "epsilon: 30",
		"epsilon: 0.1").Replace(finding))
	d := newDecider(t, p, zap.NewNop())
	d.messages = d.remembering()
	withheld := 0
	for n := range 12 {
		d.giveNames(p, quarter(n), sentBy(1, 5, "shoes"))
		for _, e := range d.turns() {
			if e.Discovery != nil && e.Reason != "" {
				withheld++
			}
		}
		for _, l := range p.lanes.Periods {
			if period, _ := l.Next(); d.notes.now(l).period != period {
				t.Errorf("after quarter %d the notes of %s are of another period than the next one", n, l.Of.Name)
			}
		}
	}
	if withheld != 1 {
		t.Errorf("%d discoveries are withheld, want that of the third hour", withheld)
	}
}
