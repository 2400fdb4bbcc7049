package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// TestAuditOfTotals: the audit computes each total again from the draws, and sees periods that are not those that the
// entries before give.
func TestAuditOfTotals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(all []ledger.Entry)
		want   string // "": no fault
	}{
		"right": {func([]ledger.Entry) {}, ""},
		"a total that does not follow": {func(all []ledger.Entry) {
			all[7].Continual[0].Total.Groups[1].Value = ledgertest.Dec("99")
		}, `steps["today"].total.groups[1].value has 99`},
		"a smoothed one": {func(all []ledger.Entry) {
			all[7].Continual[0].Total.Groups[0].Smoothed = ledgertest.Dec("0.5")
		}, `steps["today"].total.groups[0].smoothed has 0.5`},
		"an error that is too small": {func(all []ledger.Entry) {
			all[7].Continual[0].Total.Error95 = ledgertest.Some("2")
		}, "total.error_95 has 2; the entries before it give"},
		"a period that goes on too long": {func(all []ledger.Entry) {
			of := all[7].Continual[0].Total
			of.Until = record.Whole(of.Until.Add(time.Hour))
		}, `total.until has 2026-11-20T09:20:00Z; the entries before it give 2026-11-20T08:20:00Z`},
	} {
		for _, mechanism := range []string{"tree", "square_root"} {
			all := ledgertest.Totalled(t, 8, mechanism)
			c.change(all)
			a := New()
			for i, e := range all {
				a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
			}
			f := a.Findings()
			found := slices.ContainsFunc(f.Faults,
				func(f Fault) bool { return f.Kind == WatchDiffers && strings.Contains(f.What, c.want) })
			if found != (c.want != "") || c.want == "" && f.FaultCount > 0 {
				t.Errorf("%s by %s: %+v, want %q", name, mechanism, f.Faults, c.want)
			}
			if f.Instances != 2 {
				t.Errorf("%s: %d instances, want 2", name, f.Instances)
			}
		}
	}
}

// tens are periods of ten minutes, by clocks that are wrong by off.
type tens struct {
	off     time.Duration
	unknown bool
}

func (c tens) Period(e ledger.Entry, _, _ string) (since, until int64, known bool) {
	const length = int64(10 * time.Minute)
	begin := (e.WindowStart.UnixNano()+int64(c.off))/length*length - int64(c.off)
	return begin, begin + length, !c.unknown
}

// TestAuditNotesPeriods: a period that this program's time zones do not have is a note, once, and no fault. There is
// none where an instance begins within a period, as the first one here, and none where the definition is unknown.
func TestAuditNotesPeriods(t *testing.T) {
	all := ledgertest.Totalled(t, 8, "tree")
	for name, c := range map[string]struct {
		by   Calendar
		want []int64 // the entries that have a note
	}{
		"same":    {tens{}, nil},
		"other":   {tens{off: 5 * time.Minute}, []int64{0, 6}},
		"unknown": {tens{off: 5 * time.Minute, unknown: true}, nil},
		"none":    {nil, nil},
	} {
		a := New()
		a.Calendar = c.by
		for i, e := range all {
			a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
		}
		f := a.Findings()
		if !f.OK || f.FaultCount > 0 {
			t.Errorf("%s: %+v, want no faults", name, f.Faults)
		}
		var at []int64
		for _, note := range f.Notes {
			at = append(at, note.At.Offset)
			if note.Kind != PeriodDiffers || !strings.Contains(note.What, `total "today" counts from 2026-11-20T08:`) {
				t.Errorf("%s: %+v", name, note)
			}
		}
		if !slices.Equal(at, c.want) {
			t.Errorf("%s: notes about the entries %d, want %d: %v", name, at, c.want, f.Notes)
		}
	}
}
