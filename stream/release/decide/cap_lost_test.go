package decide

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

// TestDefinitionsThatBeginAtOnceAddUp: while the clock of a process is behind, it may replace a definition that has
// begun already by one that begins at the same time. Both choose users anew, so what their windows cost adds up.
func TestDefinitionsThatBeginAtOnceAddUp(t *testing.T) {
	old := cappedProgram(t, 1, "1000000000", windows.CapSpec{Count: 2, Per: 12 * time.Hour, Parts: 1})
	now := cappedProgram(t, 1, "1000000000", windows.CapSpec{Count: 2, Per: 12 * time.Hour, Parts: 1})
	now.epoch++
	all := [capUsers]bool{true, true, true, true, true, true}
	var values [][]byte
	for _, p := range []*program{old, now} {
		c := &capWorld{p: p, came: map[int64][capUsers]bool{}, ledger: values}
		d := c.session(t)
		for range 2 {
			c.next(all, 0)
		}
		d.read(c)
		if values = append(values, d.draws(1)...); len(values) == 2 { // a later session goes on in the same era
			c.ledger = values
			d = c.session(t)
			d.read(c)
			values = append(values, d.draws(1)...)
		}
	}
	var last ledger.Entry
	var eras []int64
	a := audit.New()
	for i, value := range values {
		var err error
		if last, err = ledger.Decode(value); err != nil {
			t.Fatal(err)
		}
		eras = append(eras, last.Cap.Era)
		a.Entry(audit.Position{Topic: "ledger", Offset: int64(i)}, last.Key(), value)
	}
	// Users count in one window of a block of 6 hours, and so in at most 2 of 12. Under each definition somebody may
	// have counted in the first window; under the second also in the next one, where a new block of theirs begins.
	if got := last.Standing.BudgetSpent.String(); got != "3000000" || eras[0] == eras[1] || eras[1] != eras[2] {
		t.Errorf("ε %s in all, eras %d; want 3000000, one era for the first window and another for both of the new "+
			"definition", got, eras)
	}
	if f := a.Findings(); slices.ContainsFunc(f.Faults, func(f audit.Fault) bool { return f.Kind == audit.WrongCap }) {
		t.Errorf("%+v, want no wrong cap", f.Faults)
	}
}

// TestAnUnreadablePartIsALostOne: the session that decides a window with an unreadable part knows who has counted. A
// later one does not know who was in that part, and counts anew.
func TestAnUnreadablePartIsALostOne(t *testing.T) {
	for _, readable := range []bool{true, false} {
		p := cappedProgram(t, 1, "1000000000", windows.CapSpec{Count: 4, Per: 12 * time.Hour, Parts: 1})
		c := &capWorld{p: p, came: map[int64][capUsers]bool{}}
		d := c.session(t)
		for slice := range 4 {
			came := [capUsers]bool{true, true, true, true, true, true}
			if slice == 1 && !readable {
				o := windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, From: 2, To: 3, Attempt: [16]byte{99}}
				c.log = append(c.log, windows.Part{Origin: o, Slice: windows.Window{Start: c.slice.End,
					End: c.slice.End + int64(time.Hour)}, Payload: []byte("damaged")}.Messages(1<<20)...)
			}
			c.next(came, 0)
			if slice == 2 {
				d.read(c)
				c.ledger = append(c.ledger, d.draws(4)...)
				d = c.session(t)
			}
		}
		d.read(c)
		c.ledger = append(c.ledger, d.draws(4)...)
		want := 1
		if !readable {
			want = 2
		}
		if eras := c.check(t, t); eras != want || len(c.ledger) != 4 {
			t.Errorf("readable %v: %d windows in %d eras, want 4 in %d", readable, len(c.ledger), eras, want)
		}
	}
}

// TestADecidedWindowThatIsNeverReadyIsALostOne: the input shrank to one partition after three windows, and the marks of
// the other one are lost. A later session waits for them in vain before it takes these windows through the cap. The
// next window waits for nothing, so it counts anew.
func TestADecidedWindowThatIsNeverReadyIsALostOne(t *testing.T) {
	p := cappedProgram(t, 1, "1000000000", windows.CapSpec{Count: 4, Per: 12 * time.Hour, Parts: 1})
	c := &capWorld{p: p, came: map[int64][capUsers]bool{}, inputs: 2}
	all := [capUsers]bool{true, true, true, true, true, true}
	other := windows.Mark{Origin: windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, Partition: 1, To: 1},
		Partitions: 2,
		After:      p.schedule.Start, Through: p.schedule.Start + 3*int64(time.Hour)}
	c.log = append(c.log, other.Message())
	d := c.session(t)
	for range 3 {
		c.next(all, 0)
	}
	d.read(c)
	c.ledger = d.draws(3)
	c.deleted, c.lost, c.inputs = 1, true, 1
	c.next(all, 0)
	d = c.session(t)
	d.read(c)
	c.ledger = append(c.ledger, d.draws(1)...)
	if eras := c.check(t, t); eras != 2 || len(c.ledger) != 4 {
		t.Errorf("%d windows in %d eras, want 4 in 2", len(c.ledger), eras)
	}
}

// TestSnapshotsThatDoNotFit: a snapshot of windows that the ledger does not have would let users count too often in
// them.
func TestSnapshotsThatDoNotFit(t *testing.T) {
	p := cappedProgram(t, 1, "1000000000", windows.CapSpec{Count: 4, Per: 12 * time.Hour, Parts: 1})
	c := &capWorld{p: p, came: map[int64][capUsers]bool{}}
	d := c.session(t)
	for range 3 {
		c.next([capUsers]bool{true}, 0)
	}
	d.read(c)
	all := d.draws(3)
	text, decided, every := c.due(d)[0].Text, p.lanes.Windows.Decided(), int64(time.Hour)
	const head = attendance.SnapshotHead
	for name, row := range map[string]struct {
		text    []byte
		windows int // in the ledger
		fits    bool
	}{
		"the last window":  {text, 3, true},
		"a window to come": {text, 2, false},
		"a header that lies": {slices.Concat(binary.BigEndian.AppendUint64(nil, uint64(decided+every)), text[head:]), 3,
			false},
		"a header of before": {slices.Concat(binary.BigEndian.AppendUint64(nil, uint64(decided-every)), text[head:]), 3,
			false},
		"half of a header":    {text[:head/2], 3, false},
		"a header alone":      {text[:head], 3, false},
		"a byte that differs": {slices.Concat(text[:head+9], []byte{text[head+9] ^ 1}, text[head+10:]), 3, false},
	} {
		c.saved, c.ledger = nil, all[:row.windows]
		without := c.session(t).attendance.Saved()["s#1"]
		known, err := c.opened(t, row.text)
		if (err == nil) != row.fits || row.fits != (known.Saved()["s#1"] == decided) ||
			!row.fits && known.Saved()["s#1"] != without {
			t.Errorf("%s: error %v, and the windows up to %v are known; want a fit: %v", name, err, known.Saved(), row.fits)
		}
	}
}

// opened is the attendance of a session that finds a snapshot, and why the snapshot is left out.
func (c *capWorld) opened(t testing.TB, snapshot []byte) (*attendance.Attendance, error) {
	c.saved = nil
	d := c.session(t)
	d.gather = windows.NewGathering(1 << 30)
	if err := d.take(c.p); err != nil {
		t.Fatal(err)
	}
	return d.attendance, d.attendance.Open(map[string][]byte{c.key(): snapshot})[c.key()]
}

// FuzzSnapshot: whatever a snapshot says, it is left out and changes nothing, or the cap goes on with a window that
// follows a decided one. Written down and restored again, the cap is the same.
func FuzzSnapshot(f *testing.F) {
	p := cappedProgram(f, 2, "1000000000", windows.CapSpec{Count: 8, Per: 12 * time.Hour, Parts: 1})
	c := &capWorld{p: p, came: map[int64][capUsers]bool{}}
	d := c.session(f)
	for slice := range 10 {
		c.next([capUsers]bool{slice%2 == 0, slice%3 == 1, true}, 0)
		d.read(c)
		if c.ledger = append(c.ledger, d.draws(1)...); slice > 0 {
			f.Add(c.due(d)[0].Text)
		}
	}
	// Sessions that know all windows of the ledger, and all but the last.
	edition := config.Edition{Stream: p.stream, Number: p.epoch, Schedule: p.schedule}
	books := func(entries [][]byte) func(text []byte) (*attendance.Attendance, error) {
		all := ledger.NewBooks()
		for _, value := range entries {
			if err := all.Add(c.decode(f, value)); err != nil {
				f.Fatal(err)
			}
		}
		return func(text []byte) (*attendance.Attendance, error) {
			a := attendance.New([]config.Edition{edition}, nil, all, windows.NewGathering(1<<30))
			return a, a.Open(map[string][]byte{c.key(): text})[c.key()]
		}
	}
	earlier, later := books(c.ledger[:len(c.ledger)-1]), books(c.ledger)
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := earlier(text)
		known, fresh := a.Saved()[c.key()], earlierWithout(earlier)
		if err != nil || known == fresh.Saved()[c.key()] {
			if known != fresh.Saved()[c.key()] || a.Bytes() != fresh.Bytes() {
				t.Fatalf("%v, and the windows up to %d are known", err, known)
			}
			return
		}
		lane := a.Lanes[0].Windows
		w, ok := lane.Next()
		r := a.Round(lane, w, nil)
		if err := r.Begin(); err != nil || !ok || known > lane.Decided() {
			t.Fatalf("the window after %d cannot begin: %v", known, err)
		}
		r.End(false)
		written := a.Due(math.MaxInt)[0].Text
		back, err := later(written)
		if err != nil || back.Saved()[c.key()] != w.End {
			t.Fatalf("what was restored does not come back (%v)", err)
		}
	})
}

// earlierWithout opens a session that finds no snapshot.
func earlierWithout(open func([]byte) (*attendance.Attendance, error)) *attendance.Attendance {
	a, _ := open(binary.BigEndian.AppendUint64(nil, 0)) // of long ago, so it is not looked at
	return a
}
