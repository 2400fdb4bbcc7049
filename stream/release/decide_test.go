package release

import (
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// decider decides windows as the stage does, from the parts of a window to its ledger entry, without Kafka.
type decider struct {
	*decisions
	t      testing.TB
	offset int64 // of the next message of parts, and of the next record of the input
	before ledger.Before
	// messages are the messages of parts, by their offsets. Only a decider that remembers them has them.
	messages map[int64][]byte
}

// contribution is one record of a user.
type contribution struct {
	user  uint64
	group int
	value int64
}

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
	stage := &Release{
		Env: stage.Env{Names: topics.Names{App: "app"}, Metrics: metrics.New(prometheus.NewRegistry(), nil, nil),
			Monitor: health.New(log, "release"), Log: log},
		Hasher:     windows.NewHasher([16]byte{}),
		MergeBytes: 1 << 20,
		PartBytes:  1 << 30,
		NoteBytes:  1 << 20,
		WatchKey:   make([]byte, 32),
		Lineage:    func(budget string) []string { return append([]string{budget}, continued...) },
	}
	w := &worker{Release: stage}
	w.takes(p)
	s, err := newDecisions(w)
	if err != nil {
		t.Fatal(err)
	}
	s.charges.own.fold = ledger.NewState("app", 0)
	s.attend()
	s.beginAttendance(nil)
	return &decider{decisions: s, t: t}
}

// goesOn has a session that knows the same ledger decide for other programs, from the next parts on.
func (d *decider) goesOn(programs ...*program) {
	d.takes(programs...)
	d.attend()
	d.beginAttendance(nil)
}

// give hands over the part and the mark of a window in which the users sent these records; lost says that some records
// of the window's input were gone before they could be read.
func (d *decider) give(w windows.Window, records []contribution, lost int64) {
	d.t.Helper()
	p := d.programs[0]
	bag := windows.NewBag(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: p.stream.MaxGroups,
		Policy: p.stream.Contribution, Window: w, Hasher: d.Hasher})
	for _, r := range records {
		bag.Add(spread(r.user), r.group, w.Start, r.value)
	}
	// where the next one begins
	o := windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, From: d.offset, To: d.offset + 3}
	part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
	mark := windows.Mark{Origin: o, Partitions: 2, Slices: []int64{w.Start}, After: w.Start, Through: w.End}
	o.Partition = 1 // nobody is in there, and something may be lost
	other := windows.Mark{Origin: o, Partitions: 2, Lost: lost, After: w.Start, Through: w.End}
	for _, message := range append(part.Messages(1<<20), mark.Message(), other.Message()) {
		if err := d.parts.gather.Add(message, d.offset, time.Unix(0, w.End)); err != nil {
			d.t.Fatal(err)
		}
		d.offset++
	}
}

// decide makes the entry of a window and does not record it.
func (d *decider) decide(w windows.Window) ledger.Entry {
	d.t.Helper()
	p := d.programs[0]
	state := d.parts.gather.State(p.stream.Name, p.epoch, w)
	if !state.Ready {
		d.t.Fatalf("the window still waits for partitions %v", state.Waiting)
	}
	e, err := d.entry(d.t.Context(), turn{lane: p.lanes.Windows, window: w}, state, d.before)
	if err != nil {
		d.t.Fatal(err)
	}
	return e
}

// learnt takes an entry into the books.
func (d *decider) learnt(w windows.Window, e ledger.Entry) {
	d.t.Helper()
	value, err := e.Encode()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.learn(e, value); err != nil {
		d.t.Fatal(err)
	}
	d.attendance.Passed(d.programs[0].lanes.Windows, w)
}

// spread stands for the hash of a user. Tables need hashes that are spread as keyed ones are.
func spread(user uint64) windows.UserHash {
	return windows.UserHash{user * 0x9e3779b97f4a7c15, user * 0xc2b2ae3d27d4eb4f}
}
