package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// bucketed is a run of a stream with a histogram, a quantile from it and roll-ups of three minutes. One window in four
// is withheld.
func bucketed(t *testing.T, windows int) *logs {
	return bucketedBy(t, windows, func(*ledger.Entry) {})
}

func bucketedBy(t *testing.T, windows int, change func(e *ledger.Entry)) *logs {
	t.Helper()
	l, s := &logs{}, ledger.NewState("louver", 0)
	for n := range windows {
		e := ledgertest.Plan{Stream: "h", Budget: "h", Epsilon: "0.5",
			Limit: ledgertest.Limit("1.5", 4*time.Minute)}.Entry(n)
		e.Releases = []record.Series{{Name: "latency", Statistic: "histogram", Mechanism: "histogram", Unit: "users",
			Epsilon: ledgertest.Dec("0.5"), Rollups: []string{"3m"},
			Buckets: &record.Buckets{Lower: ledgertest.Dec("0"), Upper: ledgertest.Dec("100"),
				Step: ledgertest.Dec("1"), Levels: 1, Ends: []decimal.Decimal{ledgertest.Dec("20"),
					ledgertest.Dec("100")}}},
			{Name: "p50", Statistic: "median", P: ledgertest.Some("0.5"), Mechanism: "histogram", Unit: "ms",
				From: "latency"}}
		change(&e)
		if err := s.Settle(&e); err != nil {
			t.Fatal(err)
		}
		if e.Reason == "" {
			e.Groups = []ledger.Group{{Values: []ledger.Value{
				{Numbers: &ledger.Numbers{Raw: []int64{int64(60 + n), 45, -5}}}, {}}}}
		}
		if err := s.Finish(&e); err != nil {
			t.Fatal(err)
		}
		if err := s.Add(e, ledgertest.Encode(t, e), int64(n)); err != nil {
			t.Fatal(err)
		}
		l.entries = append(l.entries, e)
		l.outputs = append(l.outputs, ledgertest.Records(t, e)...)
	}
	return l
}

// auditOf audits a run whose outputs are what the entries say.
func auditOf(t *testing.T, l *logs) Findings {
	t.Helper()
	return auditBy(t, l, nil)
}

func auditBy(t *testing.T, l *logs, by Calendar) Findings {
	t.Helper()
	a := New()
	a.Calendar = by
	for i, e := range l.entries {
		a.Entry(Position{Topic: "ledger", Offset: int64(i)}, e.Key(), ledgertest.Encode(t, e))
		for _, r := range ledgertest.Records(t, e) {
			a.Output(Position{Topic: r.Topic}, r.Key, r.Value)
		}
	}
	return a.Findings()
}

func TestAuditOfHistograms(t *testing.T) {
	if found := auditOf(t, bucketed(t, 9)); !found.OK || found.Entries != 9 || found.Outputs != 9*2+3*2 {
		t.Fatalf("%+v", found)
	}
	for kind, change := range map[string]func(e []ledger.Entry){
		FigureDiffers: func(e []ledger.Entry) { e[1].Groups[0].Values[1].Value = ledgertest.Some("3") },
		// The window says what its own numbers give, but the roll-up was made of others.
		RollupDiffers: func(e []ledger.Entry) {
			e[1].Groups[0].Values[0].Numbers.Raw[0]++
			e[1].Groups[0].Values[0].Value = new(e[1].Groups[0].Values[0].Value.Add(decimal.NewFromInt(1)))
			if err := e[1].Compute(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		l := bucketed(t, 9)
		change(l.entries)
		found := auditOf(t, l)
		if found.OK || found.FaultCount != 1 || found.Faults[0].Kind != kind {
			t.Errorf("%s: %+v", kind, found)
		}
	}
	missing := bucketed(t, 9)
	missing.entries[2].Rollups = nil
	if found := auditOf(t, missing); found.OK || !strings.Contains(found.Faults[0].String(), RollupDiffers) {
		t.Errorf("a roll-up is missing: %+v", found)
	}
}

// inFours gives entries roll-ups of four windows since the first of them.
func inFours(begin *time.Time) func(e *ledger.Entry) {
	return func(e *ledger.Entry) {
		if begin.IsZero() {
			*begin = e.WindowStart
		}
		since := begin.Add(e.WindowStart.Sub(*begin) / (4 * time.Minute) * (4 * time.Minute))
		e.Periods = []ledger.Period{{Release: "latency", Period: "3m", Since: record.Whole(since),
			Until: record.Whole(since.Add(4 * time.Minute))}}
	}
}

// fours are periods of four minutes since a moment.
type fours struct{ since time.Time }

func (c fours) Period(e ledger.Entry, release, rollup string) (since, until int64, known bool) {
	begin := c.since.Add(e.WindowStart.Sub(c.since) / (4 * time.Minute) * (4 * time.Minute))
	return begin.UnixNano(), begin.Add(4 * time.Minute).UnixNano(), release == "latency" && rollup == "3m"
}

// TestAuditNotesLocalDays: a period of a roll-up that this program's time zones do not have is a note, once, and no
// fault.
func TestAuditNotesLocalDays(t *testing.T) {
	var begin time.Time
	l := bucketedBy(t, 9, inFours(&begin))
	for off, want := range map[time.Duration]int{0: 0, -time.Minute: 3} {
		found := auditBy(t, l, fours{begin.Add(off)})
		if !found.OK || len(found.Notes) != want {
			t.Errorf("%s apart: %+v, want %d notes", off, found, want)
		}
		for i, note := range found.Notes {
			if note.Kind != PeriodDiffers || note.At.Offset != int64(4*i) ||
				!strings.Contains(note.What, `roll-up "latency.3m" adds up windows from `) {
				t.Errorf("%s apart: %+v", off, note)
			}
		}
	}
}

// TestAuditOfLocalDays: a roll-up has the period of which its first entry says it is, and no other one.
func TestAuditOfLocalDays(t *testing.T) {
	l := bucketedBy(t, 9, inFours(new(time.Time)))
	if found := auditOf(t, l); !found.OK || len(l.entries[3].Rollups) != 1 || l.entries[3].Rollups[0].Windows.Of != 4 {
		t.Fatalf("%+v", found)
	}
	l.entries[4].Periods[0].Until = record.Whole(l.entries[4].WindowEnd.Add(time.Minute))
	if found := auditOf(t, l); found.OK || found.Faults[0].Kind != RollupDiffers {
		t.Errorf("%+v", found)
	}
}
