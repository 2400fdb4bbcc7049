package decide

import (
	"crypto/rand"
	"math"
	"os"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/windows"
)

// decider decides windows as a session does, from the parts of a window to its ledger entry.
type decider struct {
	*Core
	t      testing.TB
	offset int64 // of the next message of parts, and of the next record of the input
	paid   ledger.PaidElsewhere
	// messages are the messages of parts, by their offsets. Only a decider that remembers them has them.
	messages map[int64][]byte
	// again reads parts again. It returns those that are gone.
	again    func(parts []*windows.Held, take func(*windows.Held, []byte, error)) (gone []*windows.Held)
	log      *zap.Logger
	episodes *episode.Log
	entries  []ledger.Entry // that were said to be committed
}

// contribution is one record of a user.
type contribution struct {
	user  uint64
	group int
	value int64
}

// oneStream begins a file with a stream whose values are from 0 to 1000. What follows are its other keys.
const oneStream = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    bounds: {lower: 0, upper: 1000, step: 1}
    contribution: last
    output: {topic: out}`

// programOf is the program of the only stream in a configuration.
func programOf(t testing.TB, text string) *program {
	t.Helper()
	file, err := parse.File("streams.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s := file.Streams[0]
	return newProgram(config.Edition{Stream: s, Number: 1, Schedule: s.Window.Schedule(s.Window.Start)})
}

// newDecider opens the session of a program whose budget continues some others.
func newDecider(t testing.TB, p *program, log *zap.Logger, continued ...string) *decider {
	cfg := Config{App: "app", Hasher: windows.NewHasher([16]byte{}), WatchKey: make([]byte, 32), PartBytes: 1 << 30,
		MergeBytes: 1 << 20, NoteBytes: 1 << 20, CheckpointEvery: math.MaxInt64, Random: rand.Reader,
		Lineage: func(budget string) []string { return append([]string{budget}, continued...) },
		Place:   func(string) int { return 0 }}
	d := &decider{t: t, log: log, episodes: episode.New(log)}
	d.session(cfg, ledger.NewState("app", 0), p)
	return d
}

// session begins a session that knows the entries of a state.
func (d *decider) session(cfg Config, state *ledger.State, programs ...*program) {
	d.t.Helper()
	c, err := newCore(cfg, Charges{State: state}, map[int]*ledger.State{}, programs)
	if err != nil {
		d.t.Fatal(err)
	}
	d.Core = c
	d.Restored(nil)
}

// goesOn has a session that knows the same ledger decide for some programs, from the next parts on. It finds snapshots,
// and what earlier sessions recorded with their progress.
func (d *decider) goesOn(snapshots map[string][]byte, saved map[string]int64, programs ...*program) {
	d.t.Helper()
	seal := d.watches.seal
	d.gather = windows.NewGathering(d.PartBytes)
	if err := d.take(programs...); err != nil {
		d.t.Fatal(err)
	}
	d.watches.seal = seal
	d.Restored(snapshots, saved)
	d.told()
}

// told logs what people have to be told.
func (d *decider) told() {
	levels := map[Level]zapcore.Level{Info: zap.InfoLevel, Warn: zap.WarnLevel, Error: zap.ErrorLevel}
	for _, n := range d.Notices() {
		switch n := n.(type) {
		case Line:
			var fields []zap.Field
			for _, f := range n.Fields {
				fields = append(fields, zap.Any(f.Name, f.Value))
			}
			d.log.Log(levels[n.Level], n.Text, fields...)
		case Lasting:
			d.episodes.On(n.Key, episode.Rule{Every: n.Every}, n.Text)
		case Over:
			d.episodes.Over(n.Key, n.Text)
		case Decided:
			d.entries = append(d.entries, n.Entry)
		}
	}
}

// fill feeds what has begun, and reads parts again for it.
func (d *decider) fill() error {
	for d.feeding != nil {
		do, err := d.feedOn()
		if err != nil {
			return err
		}
		if again, ok := do.(Again); ok {
			d.reread(again.Parts)
		}
	}
	return nil
}

func (d *decider) reread(parts []*windows.Held) {
	for _, h := range d.again(parts, d.Part) {
		d.Part(h, nil, ErrGone)
	}
}

// rebuild takes decided windows through their trackers again.
func (d *decider) rebuild() {
	d.t.Helper()
	for d.behind = true; d.behind; {
		err := d.goAgain()
		if err == nil {
			err = d.fill()
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
	d.told()
}

// draw begins a turn, and feeds what it draws from.
func (d *decider) draw(t turn) error {
	t.state, t.paid = d.gather.State(t.lane.Stream.Name, t.lane.Number, t.window), d.paid
	d.now = time.Now()
	err := d.begin(t)
	if err == nil {
		err = d.fill()
	}
	return err
}

// record decides a turn as [Core.Next] does, in a transaction of its own.
func (d *decider) record(t turn) ledger.Entry {
	d.t.Helper()
	err := d.draw(t)
	if err == nil {
		err = d.finish()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	e := d.batch.drawn[0].Entry
	d.batch = batch{}
	d.told()
	return e
}

// give hands over the part and the mark of a window in which the users sent these records; lost says that some records
// of the window's input were gone before they could be read.
func (d *decider) give(w windows.Window, records []contribution, lost int64) {
	d.t.Helper()
	p := d.programs[0]
	bag := windows.NewBag(windows.BagSpec{Groups: p.Stream.Groups, MaxGroups: p.Stream.MaxGroups,
		Policy: p.Stream.Contribution, Window: w, Hasher: d.Hasher})
	for _, r := range records {
		bag.Add(spread(r.user), r.group, w.Start, r.value)
	}
	// where the next one begins
	o := windows.Origin{Stream: p.Stream.Name, Epoch: p.Number, From: d.offset, To: d.offset + 3}
	part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
	mark := windows.Mark{Origin: o, Partitions: 2, Slices: []int64{w.Start}, After: w.Start, Through: w.End}
	o.Partition = 1 // nobody is in there, and something may be lost
	other := windows.Mark{Origin: o, Partitions: 2, Lost: lost, After: w.Start, Through: w.End}
	for _, message := range append(part.Messages(1<<20), mark.Message(), other.Message()) {
		if err := d.gather.Add(message, d.offset, time.Unix(0, w.End)); err != nil {
			d.t.Fatal(err)
		}
		d.offset++
	}
}

// windowTurn is the turn of a window whose parts are all here.
func (d *decider) windowTurn(w windows.Window) turn {
	d.t.Helper()
	p := d.programs[0]
	if state := d.gather.State(p.Stream.Name, p.Number, w); !state.Ready {
		d.t.Fatalf("the window still waits for partitions %v", state.Waiting)
	}
	return turn{lane: p.lanes.Windows, window: w}
}

// decide makes the entry of a window.
func (d *decider) decide(w windows.Window) ledger.Entry {
	d.t.Helper()
	return d.record(d.windowTurn(w))
}

// unrecorded makes an entry of a window that nobody commits or learns, so that the window can be drawn again.
func (d *decider) unrecorded(w windows.Window) ledger.Entry {
	d.t.Helper()
	err := d.draw(d.windowTurn(w))
	of := d.decision
	d.decision, d.feeding = nil, nil
	if err == nil {
		err = d.own.Finish(&of.entry)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.told()
	return of.entry
}

// spread stands for the hash of a user. Tables need hashes that are spread as keyed ones are.
func spread(user uint64) windows.UserHash {
	return windows.UserHash{user * 0x9e3779b97f4a7c15, user * 0xc2b2ae3d27d4eb4f}
}
