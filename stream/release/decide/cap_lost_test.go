package decide

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/release/attendance"
	"github.com/louver/louver/windows"
)

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
