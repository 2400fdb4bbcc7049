package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

// TestCheckpointIsTheFold cuts a ledger anywhere: what goes on from a checkpoint is the same, to the byte, as what was read
// from the first entry, decides alike and reports alike.
func TestCheckpointIsTheFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := history(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		n := rapid.IntRange(1, len(p.entries)).Draw(t, "checkpoint")
		restored, err := Restore(write(t, p.fold(t, n)), "louver", 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.read(restored); err != nil {
			t.Fatal(err)
		}
		whole := p.fold(t, len(p.entries))
		if a, b := write(t, restored), write(t, whole); !bytes.Equal(a, b) {
			t.Fatalf("from the checkpoint after %d entries:\n%s\nfrom the first:\n%s", n, a, b)
		}
		now := p.entries[len(p.entries)-1].WindowEnd
		if diff := cmp.Diff(NewReport(whole.Books, now), NewReport(restored.Books, now), cmp.AllowUnexported(number{}), sameDecimals); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range p.entries {
			e.WindowStart, e.WindowEnd = now, now.Add(time.Minute)
			a, b := e, e
			if err := errors.Join(whole.Books.Settle(&a), restored.Books.Settle(&b)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(a, b, sameDecimals); diff != "" {
				t.Fatal(diff)
			}
			if a, b := whole.Books.Cap(e.Stream, e.Epoch), restored.Books.Cap(e.Stream, e.Epoch); a != b {
				t.Fatalf("%s has the cap %+v, and from the checkpoint %+v", e.Stream, a, b)
			}
			if a, b := whole.Recent(e.Stream), restored.Recent(e.Stream); len(a) != len(b) || len(a) > 0 && (a[0].End != b[0].End || a[0].text != b[0].text) {
				t.Fatalf("%s has published %v, and from the checkpoint %v", e.Stream, a, b)
			}
		}
	})
}

// TestWrongCheckpoints plants checkpoints that are wrong. None of them may make a fold forget a charge: each is refused, or
// found out by the entries behind it.
func TestWrongCheckpoints(t *testing.T) {
	p := steady(t, 30)
	good := string(write(t, p.fold(t, 20)))
	other := steady(t, 30, func(_ int, e *Entry) { e.ReleasedAt = e.ReleasedAt.Add(time.Hour) })
	replaced := func(old, new string) string {
		if strings.Count(good, old) != 1 {
			t.Fatalf("%q stands %d times in %s", old, strings.Count(good, old), good)
		}
		return strings.Replace(good, old, new, 1)
	}
	offset := fmt.Sprintf(`"offset":%d,`, p.offsets[19])
	first := epoch.Add(time.Minute).Unix()
	price := func(epsilon string) string {
		items, err := json.Marshal(plan{epsilon: epsilon}.entry(0).Price)
		if err != nil {
			t.Fatal(err)
		}
		return string(items)
	}
	charges := fmt.Sprintf(`"items":%s,"ends":[[%d,60,20]]`, price("0.5"), first) // of the account
	for name, c := range map[string]struct{ text, says string }{
		"cut off":                {good[:len(good)/2], "unexpected end"},
		"empty":                  {"", "unexpected end"},
		"of another version":     {replaced(`{"v":1,"app":"louver","p`, `{"v":4,"app":"louver","p`), "version 4"},
		"of no version":          {replaced(`{"v":1,"app":"louver","p`, `{"w":1,"app":"louver","p`), "version missing"},
		"of another partition":   {replaced(`"partition":3`, `"partition":4`), "partition 4"},
		"of another app":         {replaced(`{"v":1,"app":"louver","p`, `{"v":1,"app":"other","p`), `"other"`},
		"of another ledger":      {string(write(t, other.fold(t, 20))), "not the one that the checkpoint ends with"},
		"of a longer ledger":     {string(write(t, steady(t, 50).fold(t, 40))), "ends before"},
		"too early an offset":    {replaced(offset, fmt.Sprintf(`"offset":%d,`, p.offsets[15]+4)), "not the one that the checkpoint ends with"},
		"too late an offset":     {replaced(offset, fmt.Sprintf(`"offset":%d,`, p.offsets[25])), "not the one that the checkpoint ends with"},
		"a charge less":          {replaced(charges, strings.Replace(charges, "60,20", "60,19", 1)), "had spent 10 and"},
		"a smaller charge":       {replaced(charges, strings.Replace(charges, price("0.5"), price("0.25"), 1)), "had spent 10 and"},
		"no charge":              {replaced(`"charges":[{"stream":"s",`+charges+`}]`, `"charges":[]`), "had spent 10 and"},
		"another limit":          {replaced(`"budgets":[{"budget":"b","limit":{"epsilon":"1000000"`, `"budgets":[{"budget":"b","limit":{"epsilon":"0"`), "epsilon 0"},
		"a charge that is none":  {replaced(charges, strings.Replace(charges, `"0.5"`, `"-0.5"`, 1)), "epsilon -0.5"},
		"more than anybody has":  {replaced(charges, strings.Replace(charges, "60,20", "60,99999999999", 1)), "99999999999"},
		"windows twice":          {replaced(charges, strings.Replace(charges, fmt.Sprintf("[[%d,60,20]]", first), fmt.Sprintf("[[%d,60,20],[%d,60,20]]", first, first+1200), 1)), "at most 0"},
		"windows out of time":    {replaced(charges, strings.Replace(charges, "60,20", "9223372036854775807,20", 1)), "a step of 9223372036854775807 s"},
		"a stream twice":         {replaced(`"streams":[`, `"streams":[`+good[strings.Index(good, `"streams":[`)+len(`"streams":[`):len(good)-len(`]}`)]+","), "listed twice"},
		"a stream's budget gone": {replaced(`"stream":"s","budget":"b"`, `"stream":"s","budget":"x"`), `budget "x", which is not listed`},
		"a step of nothing":      {replaced(`"every":"1m","limit"`, `"every":"0s","limit"`), "every 0s"},
		"windows that run back":  {replaced(charges, strings.Replace(charges, "60,20", "-60,20", 1)), "step of -60"},
		"more entries than offs": {replaced(`"entries":20`, `"entries":9999`), "9999 entries"},
	} {
		restored, err := Restore([]byte(c.text), "louver", 3)
		if err == nil {
			err = p.read(restored)
		}
		if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want a checkpoint that does not fit, and %q", name, err, c.says)
		}
	}
}

// TestWrongCheckpointOfAQuietBudget plants too small a sum for a budget whose entry is not the last one. The budget's next
// entry gives it away.
func TestWrongCheckpointOfAQuietBudget(t *testing.T) {
	p := steady(t, 30, func(i int, e *Entry) {
		if i < 10 || i == 25 {
			e.Stream, e.Budget = "quiet", "q"
		}
	})
	text := string(write(t, p.fold(t, 20)))
	charges := fmt.Sprintf(`"ends":[[%d,60,10]]`, epoch.Unix()+60)
	wrong := strings.Replace(text, charges, strings.Replace(charges, "60,10", "60,9", 1), 1)
	if wrong == text {
		t.Fatal(text)
	}
	restored, err := Restore([]byte(wrong), "louver", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.read(restored); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), "has spent 5.5") {
		t.Errorf("%v, want a checkpoint that does not fit", err)
	}
}

// TestLedgerWithoutACheckpointsEntriesIsAPrivacyStop reads ledgers from the first entry because their checkpoint does not
// fit. If the entries that it tells of are all there, nothing is forgotten. If not, nobody knows what they charged.
func TestLedgerWithoutACheckpointsEntriesIsAPrivacyStop(t *testing.T) {
	p := steady(t, 30)
	told, err := Restore(write(t, p.fold(t, 20)), "louver", 3)
	if err != nil {
		t.Fatal(err)
	}
	moved := steady(t, 30) // the same entries at other offsets, as in a copy of the topic
	for i := range moved.offsets {
		moved.offsets[i] = int64(i)
	}
	for name, c := range map[string]struct {
		ledger *partition
		stop   bool
	}{
		"the same":           {p, false},
		"other offsets":      {moved, false},
		"shorter":            {steady(t, 19), true},
		"empty":              {steady(t, 0), true},
		"made anew":          {steady(t, 30, func(_ int, e *Entry) { e.ReleasedAt = e.ReleasedAt.Add(time.Hour) }), true},
		"one entry replaced": {steady(t, 30, func(i int, e *Entry) { e.Incomplete = i == 7 }), true},
	} {
		f := NewFold("louver", 3)
		f.Instead(told)
		if err := c.ledger.read(f); errors.Is(err, ErrUnreadable) != c.stop || err != nil && !c.stop {
			t.Errorf("%s: %v, want a privacy stop: %t", name, err, c.stop)
		}
	}
}

// TestCheckpointStaysSmall folds many windows, and then streams that have ended.
func TestCheckpointStaysSmall(t *testing.T) {
	plain := steady(t, 3000, func(_ int, e *Entry) { e.Prior = nil })
	if short, long := write(t, plain.fold(t, 10)), write(t, plain.fold(t, 3000)); len(long) > len(short)+100 {
		t.Errorf("%d bytes after 10 windows and %d after 3000", len(short), len(long))
	}
	ended := steady(t, 3000, func(i int, e *Entry) {
		if i < 1000 {
			e.Stream = "ended"
		} else if i >= 2000 {
			e.ReleasedAt = e.ReleasedAt.Add(forgetAfter)
		}
	})
	if f := ended.fold(t, 2000); len(f.Recent("ended")) < priorWindows {
		t.Errorf("%d windows are kept of a stream that may only be late", len(f.Recent("ended")))
	}
	if f := ended.fold(t, 1000); len(f.Recent("ended")) < priorWindows {
		t.Errorf("%d windows are kept of 1000", len(f.Recent("ended")))
	}
	if f := ended.fold(t, 3000); len(f.Recent("ended")) != 0 || len(f.Recent("s")) < priorWindows {
		t.Errorf("%d windows are kept of a stream that has ended, and %d of the other", len(f.Recent("ended")), len(f.Recent("s")))
	}
}

func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := rapid.SliceOf(rapid.Map(rapid.Int64Range(0, 30), func(s int64) int64 { return s * int64(time.Second) })).Draw(t, "ends")
		slices.Sort(ends)
		left := int64(len(ends))
		got, err := runsOf(ends).ends(&left)
		if err != nil || !slices.Equal(got, ends) || left != 0 {
			t.Fatalf("%v (%v), %d left, want %v", got, err, left, ends)
		}
	})
}

// TestAuditProvesCheckpoints compares checkpoints with the entries, among them wrong ones that no restart would notice.
func TestAuditProvesCheckpoints(t *testing.T) {
	p := steady(t, 30, func(i int, e *Entry) {
		if i < 10 {
			e.Stream, e.Budget = "quiet", "q"
		}
	})
	text := string(write(t, p.fold(t, 20)))
	for name, c := range map[string]struct{ old, new, kind, says string }{
		"right":              {"", "", "", ""},
		"a charge less":      {`[[1795161660,60,10]]`, `[[1795161660,60,9]]`, CheckpointDiffers, "spent epsilon 4.5 in all, the entries give 5"},
		"another figure":     {`"figures":[",1"`, `"figures":[",2"`, CheckpointDiffers, "figures differ"},
		"more entries":       {`"entries":20`, `"entries":31`, CheckpointDiffers, "entries of the ledger are gone"},
		"an entry more":      {`"entries":20`, `"entries":21`, CheckpointDiffers, "made of other entries"},
		"fewer entries":      {`"entries":20`, `"entries":19`, CheckpointUnreadable, "10 windows with a step of 60 s from 1795161660 on; want at most 9"},
		"of another version": {`{"v":1,"app"`, `{"v":7,"app"`, CheckpointUnreadable, "version 7"},
	} {
		a := NewAudit()
		wrong := strings.Replace(text, c.old, c.new, 1)
		if c.old != "" && wrong == text {
			t.Fatalf("%s: %s", name, text)
		}
		a.Checkpoint(Position{"louver.progress", 1, 5}, "louver", 3, []byte(wrong))
		for i, e := range p.entries {
			a.Entry(Position{"louver.ledger", 3, p.offsets[i]}, e.Key(), p.values[i])
		}
		f := a.Findings()
		if c.kind == "" {
			if !f.OK || f.Checkpoints != 1 {
				t.Errorf("%s: %+v", name, f)
			}
			continue
		}
		if len(f.Faults) != 1 || f.Faults[0].Kind != c.kind || !strings.Contains(f.Faults[0].What, c.says) || f.Checkpoints != 0 {
			t.Errorf("%s: %v, want one %s that says %q", name, f.Faults, c.kind, c.says)
		}
	}
}

// A ledger of a million entries of one adaptive stream: what a worker reads when it gets a partition.
func BenchmarkFold(b *testing.B) {
	e := exampleEntry()
	e.Continues = nil
	value, err := e.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("entry", func(b *testing.B) {
		f := NewFold("louver", 0)
		n := 0
		b.ReportAllocs()
		for b.Loop() {
			e, err := Decode(value)
			if err != nil {
				b.Fatal(err)
			}
			e.WindowStart = e.WindowStart.Add(time.Duration(n) * e.Every)
			e.WindowEnd = e.WindowEnd.Add(time.Duration(n) * e.Every)
			if err := f.Add(e, value, int64(n)); err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := NewFold("louver", 0)
	for n := range 1_000_000 {
		e := e
		e.Standing = Standing{StreamSpent: &decimal.Zero, BudgetSpent: &decimal.Zero}
		e.WindowStart = e.WindowStart.Add(time.Duration(n) * e.Every)
		e.WindowEnd = e.WindowEnd.Add(time.Duration(n) * e.Every)
		if err := f.Add(e, value, int64(n)); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	text := write(b, f)
	b.Run("write a million entries", func(b *testing.B) {
		for b.Loop() {
			write(b, f)
		}
		b.ReportMetric(float64(len(text)), "bytes/checkpoint")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "bytes/fold")
	})
	b.Run("restore a million entries", func(b *testing.B) {
		for b.Loop() {
			if _, err := Restore(text, "louver", 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
