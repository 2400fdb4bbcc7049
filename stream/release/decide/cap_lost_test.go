package decide

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
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
	return d.attendance, d.attendance.Restore(map[string][]byte{c.key(): snapshot})[c.key()]
}

// activeNow has a number of active users, in place of the totals.
var activeNow = strings.NewReplacer("LIMIT", "1000000000",
	totals[strings.Index(totals, "      - {name: today"):strings.Index(totals, "    output")],
	"      - {name: now, statistic: count, active: 3h, epsilon: 1000000}\n").Replace(totals)

// TestSnapshotsOfActiveUsers: a snapshot belongs to one window. Under the end of an earlier one it would have users be
// seen in windows that the session goes through again, and the mean would move on twice. Under that of a later one they
// would be gone too late. So it is left out, and so is one that nobody can read.
func TestSnapshotsOfActiveUsers(t *testing.T) {
	p := programOf(t, activeNow)
	c := &capWorld{p: p, came: map[int64][capUsers]bool{}}
	d := c.session(t)
	for range 6 {
		c.next([capUsers]bool{true, true}, 0)
	}
	d.read(c)
	c.ledger = d.draws(4)
	due := d.attendance.Due(math.MaxInt)[0]
	key, end := due.Key, p.lanes.Windows.Decided()
	c.ledger = append(c.ledger, d.draws(2)...)
	const head = attendance.SnapshotHead
	text := due.Text
	of := func(end int64) []byte {
		return slices.Concat(binary.BigEndian.AppendUint64(nil, uint64(end)), text[head:])
	}
	every := int64(time.Hour)
	for name, row := range map[string]struct {
		text []byte
		why  string // it is left out; "" if it fits
	}{
		"its window":           {text, ""},
		"an earlier window":    {of(end - every), "it is of the window that ends"},
		"a later window":       {of(end + every), "it is of the window that ends"},
		"a window to come":     {of(end + 3*every), "the last decided one ends"},
		"no window":            {of(end + every/2), "no end of a window"},
		"of a leaf to come":    {slices.Concat(text[:head+1], []byte{99}, text[head+2:]), "leaf 99; want 1 to 7"},
		"half of it":           {text[:len(text)/2], "EOF"},
		"a head and no tail":   {text[:head], "EOF"},
		"less than half of it": {text[:head/2], "bytes; want"},
	} {
		fresh := c.session(t)
		before := fresh.attendance.Saved()[key]
		fresh.gather = windows.NewGathering(1 << 30)
		if err := fresh.take(p); err != nil {
			t.Fatal(err)
		}
		err := fresh.attendance.Restore(map[string][]byte{key: row.text})[key]
		known := fresh.attendance.Saved()[key]
		if row.why == "" && (err != nil || known != end) ||
			row.why != "" && (err == nil || !strings.Contains(err.Error(), row.why) || known != before) {
			t.Errorf("%s: %v, and the windows up to %d are known", name, err, known)
		}
	}
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
	edition := p.Edition
	books := func(entries [][]byte) func(text []byte) (*attendance.Attendance, error) {
		all := ledger.NewBooks()
		for _, value := range entries {
			if err := all.Add(c.decode(f, value)); err != nil {
				f.Fatal(err)
			}
		}
		return func(text []byte) (*attendance.Attendance, error) {
			a := attendance.New([]config.Edition{edition}, nil, all, windows.NewGathering(1<<30))
			return a, a.Restore(map[string][]byte{c.key(): text})[c.key()]
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
