package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// TestCheckpointIsTheState cuts a ledger anywhere. A state that goes on from a checkpoint is the same, to the byte, as
// one that has read every entry. It decides and reports alike.
func TestCheckpointIsTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ledgertest.History(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		n := rapid.IntRange(1, len(p.Entries)).Draw(t, "checkpoint")
		whole, restored := p.Cut(t, n)
		now := p.Entries[len(p.Entries)-1].WindowEnd
		if diff := cmp.Diff(ledger.NewReport(whole.Books, now), ledger.NewReport(restored.Books, now), wholeReport,
			sameDecimals); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range p.Entries {
			e.WindowStart, e.WindowEnd = now, now.Add(time.Minute)
			a, b := e, e
			if err := errors.Join(whole.Books.Settle(&a), restored.Books.Settle(&b)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(a, b, sameDecimals); diff != "" {
				t.Fatal(diff)
			}
			if a, b := whole.Books.Cap(e.Stream, e.Epoch, e.Lane), restored.Books.Cap(e.Stream, e.Epoch, e.Lane); a != b {
				t.Fatalf("%s has the cap %+v, and from the checkpoint %+v", e.Stream, a, b)
			}
			if a, b := whole.Recent(e.Stream), restored.Recent(e.Stream); !reflect.DeepEqual(a, b) {
				t.Fatalf("%s has published %v, and from the checkpoint %v", e.Stream, a, b)
			}
		}
	})
}

// TestWrongCheckpoints plants checkpoints that are wrong. None of them may make a state forget a charge: each is
// refused, or found out by the entries behind it.
func TestWrongCheckpoints(t *testing.T) {
	p := ledgertest.Steady(t, 30)
	good := string(ledgertest.Checkpoint(t, p.State(t, 20)))
	other := ledgertest.Steady(t, 30, func(_ int, e *ledger.Entry) { e.ReleasedAt = e.ReleasedAt.Add(time.Hour) })
	replaced := func(old, new string) string {
		if strings.Count(good, old) != 1 {
			t.Fatalf("%q stands %d times in %s", old, strings.Count(good, old), good)
		}
		return strings.Replace(good, old, new, 1)
	}
	offset := fmt.Sprintf(`"offset":%d,`, p.Offsets[19])
	first := ledgertest.Epoch.Add(time.Minute).Unix()
	price := func(epsilon string) string {
		items, err := json.Marshal(ledgertest.Plan{Epsilon: epsilon}.Entry(0).Price)
		if err != nil {
			t.Fatal(err)
		}
		return string(items)
	}
	charges := fmt.Sprintf(`"items":%s,"ends":[[%d,60,20]]`, price("0.5"), first) // of the account
	for name, c := range map[string]struct{ text, says string }{
		"cut off":              {good[:len(good)/2], "unexpected EOF"},
		"empty":                {"", "EOF"},
		"twice":                {good + good, "more than one value"},
		"with a later part":    {replaced(`"partition":3,`, `"partition":3,"weather":[],`), `unknown field "weather"`},
		"with a later field":   {replaced(`"budget_windows_left":`, `"fair":1,"budget_windows_left":`), `unknown field "fair"`},
		"of another version":   {replaced(`{"v":5,"app":"louver","p`, `{"v":6,"app":"louver","p`), "version 6, want 5"},
		"of no version":        {replaced(`{"v":5,"app":"louver","p`, `{"app":"louver","p`), "version missing"},
		"of another partition": {replaced(`"partition":3`, `"partition":4`), "partition 4"},
		"of another app":       {replaced(`{"v":5,"app":"louver","p`, `{"v":5,"app":"other","p`), `"other"`},
		"of another ledger": {string(ledgertest.Checkpoint(t, other.State(t, 20))),
			"not the one that the checkpoint ends with"},
		"of a longer ledger": {string(ledgertest.Checkpoint(t, ledgertest.Steady(t, 50).State(t, 40))), "ends before"},
		"too early an offset": {replaced(offset, fmt.Sprintf(`"offset":%d,`, p.Offsets[15]+4)),
			"not the one that the checkpoint ends with"},
		"too late an offset": {replaced(offset, fmt.Sprintf(`"offset":%d,`, p.Offsets[25])),
			"not the one that the checkpoint ends with"},
		"a charge less": {replaced(charges, strings.Replace(charges, "60,20", "60,19", 1)), "had spent 10 and"},
		"a smaller charge": {replaced(charges, strings.Replace(charges, price("0.5"), price("0.25"), 1)),
			"had spent 10 and"},
		"no charge": {replaced(`"charges":[{"stream":"s",`+charges+`}]`, `"charges":[]`), "had spent 10 and"},
		"another limit": {replaced(`"budgets":[{"budget":"b","limit":{"epsilon":"1000000"`,
			`"budgets":[{"budget":"b","limit":{"epsilon":"0"`), "epsilon 0"},
		"a charge that is none": {replaced(charges, strings.Replace(charges, `"0.5"`, `"-0.5"`, 1)), "epsilon -0.5"},
		"more than anybody has": {replaced(charges, strings.Replace(charges, "60,20", "60,99999999999", 1)),
			"99999999999"},
		"windows twice": {replaced(charges, strings.Replace(charges, fmt.Sprintf("[[%d,60,20]]", first),
			fmt.Sprintf("[[%d,60,20],[%d,60,20]]", first, first+1200), 1)), "at most 0"},
		"an epoch without windows": {replaced(fmt.Sprintf(`"epochs":[{"epoch":0,"ends":[[%d,60,20]]}]`, first),
			`"epochs":[{"epoch":0,"ends":[]}]`), "epoch 0 has no windows"},
		"windows out of time": {replaced(charges, strings.Replace(charges, "60,20", "9223372036854775807,20", 1)),
			"a step of 9223372036854775807 s"},
		"a stream twice": {replaced(`"streams":[`,
			`"streams":[`+good[strings.Index(good, `"streams":[`)+len(`"streams":[`):len(good)-len(`]}`)]+","),
			"listed twice"},
		"a stream's budget gone": {replaced(`"stream":"s","budget":"b"`, `"stream":"s","budget":"x"`),
			`budget "x", which is not listed`},
		"a step of nothing":      {replaced(`"every":"1m","status"`, `"every":"0s","status"`), "every 0s"},
		"windows that run back":  {replaced(charges, strings.Replace(charges, "60,20", "-60,20", 1)), "step of -60"},
		"more entries than offs": {replaced(`"entries":20`, `"entries":9999`), "9999 entries"},
	} {
		restored, err := ledger.Restore([]byte(c.text), "louver", 3)
		if err == nil {
			err = p.Read(restored)
		}
		if !errors.Is(err, ledger.ErrCheckpoint) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want a checkpoint that does not fit, and %q", name, err, c.says)
		}
	}
}

// TestWrongCheckpointOfAQuietBudget plants too small a sum for a budget whose entry is not the last one. The budget's
// next entry gives it away.
func TestWrongCheckpointOfAQuietBudget(t *testing.T) {
	p := ledgertest.Steady(t, 30, func(i int, e *ledger.Entry) {
		if i < 10 || i == 25 {
			e.Stream, e.Budget = "quiet", "q"
		}
	})
	text := string(ledgertest.Checkpoint(t, p.State(t, 20)))
	charges := fmt.Sprintf(`"ends":[[%d,60,10]]`, ledgertest.Epoch.Unix()+60)
	wrong := strings.Replace(text, charges, strings.Replace(charges, "60,10", "60,9", 1), 1)
	if wrong == text {
		t.Fatal(text)
	}
	restored, err := ledger.Restore([]byte(wrong), "louver", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Read(restored); !errors.Is(err, ledger.ErrCheckpoint) ||
		!strings.Contains(err.Error(), "has spent 5.5") {
		t.Errorf("%v, want a checkpoint that does not fit", err)
	}
}

// TestLedgerWithoutACheckpointsEntriesIsAPrivacyStop reads ledgers from the first entry because their checkpoint does
// not fit. If the entries that it tells of are all there, nothing is forgotten. If not, nobody knows what they charged.
func TestLedgerWithoutACheckpointsEntriesIsAPrivacyStop(t *testing.T) {
	p := ledgertest.Steady(t, 30)
	told, err := ledger.Restore(ledgertest.Checkpoint(t, p.State(t, 20)), "louver", 3)
	if err != nil {
		t.Fatal(err)
	}
	moved := ledgertest.Steady(t, 30) // the same entries at other offsets, as in a copy of the topic
	for i := range moved.Offsets {
		moved.Offsets[i] = int64(i)
	}
	for name, c := range map[string]struct {
		ledger *ledgertest.Partition
		stop   bool
	}{
		"the same":      {p, false},
		"other offsets": {moved, false},
		"shorter":       {ledgertest.Steady(t, 19), true},
		"empty":         {ledgertest.Steady(t, 0), true},
		"made anew": {ledgertest.Steady(t, 30,
			func(_ int, e *ledger.Entry) { e.ReleasedAt = e.ReleasedAt.Add(time.Hour) }), true},
		"one entry replaced": {ledgertest.Steady(t, 30, func(i int, e *ledger.Entry) { e.Incomplete = i == 7 }), true},
	} {
		f := ledger.NewState("louver", 3)
		f.Instead(told)
		if err := c.ledger.Read(f); errors.Is(err, ledger.ErrUnreadable) != c.stop || err != nil && !c.stop {
			t.Errorf("%s: %v, want a privacy stop: %t", name, err, c.stop)
		}
	}
}

// TestCheckpointStaysSmall adds many windows, and then streams that have ended.
func TestCheckpointStaysSmall(t *testing.T) {
	plain := ledgertest.Steady(t, 3000, func(_ int, e *ledger.Entry) { e.Prior = nil })
	if short, long := ledgertest.Checkpoint(t, plain.State(t, 10)), ledgertest.Checkpoint(t,
		plain.State(t, 3000)); len(long) > len(short)+100 {
		t.Errorf("%d bytes after 10 windows and %d after 3000", len(short), len(long))
	}
	const forgetAfter, priorWindows = 30 * 24 * time.Hour, 512
	ended := ledgertest.Steady(t, 3000, func(i int, e *ledger.Entry) {
		if i < 1000 {
			e.Stream = "ended"
		} else if i >= 2000 {
			e.ReleasedAt = e.ReleasedAt.Add(forgetAfter)
		}
	})
	if f := ended.State(t, 2000); len(f.Recent("ended")) < priorWindows {
		t.Errorf("%d windows are kept of a stream that may only be late", len(f.Recent("ended")))
	}
	if f := ended.State(t, 1000); len(f.Recent("ended")) < priorWindows {
		t.Errorf("%d windows are kept of 1000", len(f.Recent("ended")))
	}
	if f := ended.State(t, 3000); len(f.Recent("ended")) != 0 || len(f.Recent("s")) < priorWindows {
		t.Errorf("%d windows are kept of a stream that has ended, and %d of the other", len(f.Recent("ended")),
			len(f.Recent("s")))
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
		f := ledger.NewState("louver", 0)
		n := 0
		b.ReportAllocs()
		for b.Loop() {
			e, err := ledger.Decode(value)
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
	f := ledger.NewState("louver", 0)
	for n := range 1_000_000 {
		e := e
		e.Standing = ledger.Standing{StreamSpent: &decimal.Zero, BudgetSpent: &decimal.Zero}
		e.WindowStart = e.WindowStart.Add(time.Duration(n) * e.Every)
		e.WindowEnd = e.WindowEnd.Add(time.Duration(n) * e.Every)
		if err := f.Add(e, value, int64(n)); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	text := ledgertest.Checkpoint(b, f)
	b.Run("write a million entries", func(b *testing.B) {
		for b.Loop() {
			ledgertest.Checkpoint(b, f)
		}
		b.ReportMetric(float64(len(text)), "bytes/checkpoint")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "bytes/state")
	})
	b.Run("restore a million entries", func(b *testing.B) {
		for b.Loop() {
			if _, err := ledger.Restore(text, "louver", 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
