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

// knowing returns the attendance of a session that finds some entries in the ledger and a snapshot under a key, and why
// the snapshot is left out.
func knowing(t testing.TB, of config.Edition, entries []ledger.Entry, key string, snapshot []byte) (
	*attendance.Attendance, error) {
	t.Helper()
	books := ledger.NewBooks()
	for _, e := range entries {
		if err := books.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	a := attendance.New([]config.Edition{of}, nil, books, windows.NewGathering(1<<30))
	return a, a.Restore(map[string][]byte{key: snapshot})[key]
}

// found is a snapshot that a session finds.
type foundText struct {
	text    []byte
	entries int    // of the ledger that the session knows
	why     string // it is left out; "" if it fits
}

// silently says that a snapshot is left out without a word, because it is of something that is over.
const silently = "silently"

const head = attendance.SnapshotHead

// headed puts another end of a window in front of a snapshot.
func headed(end int64, text []byte) []byte {
	return slices.Concat(binary.BigEndian.AppendUint64(nil, uint64(end)), text[head:])
}

// fitOrNot checks which snapshots of a key fit. Those that do are of the window that ends then.
func (c *capWorld) fitOrNot(t *testing.T, key string, end int64, rows map[string]foundText) {
	t.Helper()
	for name, row := range rows {
		none, _ := knowing(t, c.of, c.entries[:row.entries], key, nil)
		known, err := knowing(t, c.of, c.entries[:row.entries], key, row.text)
		want := none.Saved()[key]
		if row.why == "" {
			want = end
		}
		if (err == nil) != (row.why == "" || row.why == silently) ||
			err != nil && !strings.Contains(err.Error(), row.why) || known.Saved()[key] != want {
			t.Errorf("%s: %v, and the windows up to %d are known; want %d, %s", name, err, known.Saved()[key], want,
				row.why)
		}
	}
}

// sends adds n slices in which the same users come, and decides them.
func (c *capWorld) sends(n int, came ...bool) {
	var who [capUsers]bool
	copy(who[:], came)
	for range n {
		c.slice(who, [capUsers]bool{}, 0)
	}
	c.decide(n, "", false)
}

// TestSnapshotsThatDoNotFit: a snapshot of windows that the ledger does not have would let users count too often in
// them.
func TestSnapshotsThatDoNotFit(t *testing.T) {
	c := newCapWorld(t, cappedStream(t, 1, time.Hour, "1000000000", windows.CapSpec{Count: 4, Per: 12 * time.Hour, Parts: 1}))
	c.sends(3, true)
	text, every := c.texts[c.key()], int64(time.Hour)
	end := c.entries[2].WindowEnd.UnixNano()
	c.fitOrNot(t, c.key(), end, map[string]foundText{
		"the last window":     {text, 3, ""},
		"a window to come":    {text, 2, "the last decided one ends"},
		"a header that lies":  {headed(end+every, text), 3, "the last decided one ends"},
		"a header of before":  {headed(end-every, text), 3, "it is of the window that ends"},
		"half of a header":    {text[:head/2], 3, "4 bytes; want 8"},
		"a header alone":      {text[:head], 3, "empty"},
		"a byte that differs": {slices.Concat(text[:head+9], []byte{text[head+9] ^ 1}, text[head+10:]), 3, " "},
	})
}

// activeNow has a number of active users, in place of the totals.
var activeNow = strings.NewReplacer("LIMIT", "1000000000",
	totals[strings.Index(totals, "      - {name: today"):strings.Index(totals, "    output")],
	"      - {name: now, statistic: count, active: 3h, epsilon: 1000000}\n").Replace(totals)

// TestSnapshotsOfActiveUsers: a snapshot belongs to one window. Under the end of an earlier one it would have users be
// seen in windows that the session goes through again, and the mean would move on twice. Under that of a later one they
// would be gone too late. So it is left out, and so is one that nobody can read.
func TestSnapshotsOfActiveUsers(t *testing.T) {
	c := newCapWorld(t, editionsOf(t, activeNow)[0])
	c.sends(4, true, true)
	key := c.attendance.Keys()[0]
	text, end, every := c.texts[key], c.entries[3].WindowEnd.UnixNano(), int64(time.Hour)
	c.sends(2, true, true)
	c.fitOrNot(t, key, end, map[string]foundText{
		"its window":           {text, 6, ""},
		"an earlier window":    {headed(end-every, text), 6, "it is of the window that ends"},
		"a later window":       {headed(end+every, text), 6, "it is of the window that ends"},
		"a window to come":     {headed(end+3*every, text), 6, "the last decided one ends"},
		"no window":            {headed(end+every/2, text), 6, "no end of a window"},
		"of a leaf to come":    {slices.Concat(text[:head+1], []byte{99}, text[head+2:]), 6, "leaf 99; want 1 to 7"},
		"half of it":           {text[:len(text)/2], 6, "EOF"},
		"a head and no tail":   {text[:head], 6, "EOF"},
		"less than half of it": {text[:head/2], 6, "bytes; want"},
	})
}

// TestSnapshotsOfTotals: a snapshot of another instance, of a window to come, or that is damaged, is left out.
func TestSnapshotsOfTotals(t *testing.T) {
	text := strings.NewReplacer("UPDATE", "1h", "LIMIT", "1000000000").Replace(totals)
	c := newCapWorld(t, editionsOf(t, text)[0])
	key := c.attendance.Keys()[0]
	c.sends(11, true, true)
	former := c.texts[key] // of the last window but one of its day
	c.sends(4, true, true)
	last, end := c.texts[key], c.entries[14].WindowEnd.UnixNano()
	c.fitOrNot(t, key, end, map[string]foundText{
		"the last":             {last, 15, ""},
		"of a former instance": {former, 15, silently},
		"of a window to come":  {headed(end+int64(time.Hour), last), 15, "the last decided one ends"},
		"of no window":         {headed(end-int64(time.Minute), last), 15, "no end of a window"},
		"of a former instance with another window": {slices.Concat(last[:head], former[head:]), 15, silently},
		"half of it":       {last[:len(last)/2], 15, "EOF"},
		"a header alone":   {last[:head], 15, "EOF"},
		"half of a header": {last[:head/2], 15, "bytes; want"},
	})
}

// FuzzSnapshot: whatever a snapshot says, it is left out and changes nothing, or the cap goes on with a window that
// follows a decided one. Written down and restored again, the cap is the same.
func FuzzSnapshot(f *testing.F) {
	c := newCapWorld(f, cappedStream(f, 2, time.Hour, "1000000000", windows.CapSpec{Count: 8, Per: 12 * time.Hour, Parts: 1}))
	for slice := range 10 {
		if c.sends(1, slice%2 == 0, slice%3 == 1, true); slice > 0 {
			f.Add(c.texts[c.key()])
		}
	}
	n := len(c.entries)
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := knowing(t, c.of, c.entries[:n-1], c.key(), text)
		fresh, _ := knowing(t, c.of, c.entries[:n-1], c.key(), nil)
		known := a.Saved()[c.key()]
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
		back, err := knowing(t, c.of, c.entries, c.key(), written)
		if err != nil || back.Saved()[c.key()] != w.End {
			t.Fatalf("what was restored does not come back (%v)", err)
		}
	})
}
