package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// TestAnAuditSeesANeedlessInstance: the law of a watch holds for one secret from arming to firing. An entry that arms
// another instance although one is armed is a fault, even if it is charged.
func TestAnAuditSeesANeedlessInstance(t *testing.T) {
	all := ledgertest.Watched(t, 2)
	all[1].Continual[0].Arms, all[1].Continual[0].Instance, all[1].Continual[0].Sealed = true, 2, []byte("s/slow/2")
	a := New()
	for i, e := range all {
		a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
	}
	if f := a.Findings(); !slices.ContainsFunc(f.Faults, func(f Fault) bool {
		return f.Kind == WatchDiffers &&
			strings.Contains(f.What, `steps["slow"].arms has true; the entries before it give nothing`)
	}) {
		t.Errorf("%v, want %s", f.Faults, WatchDiffers)
	}
}

// TestAuditOfWatches plants what only an audit can find: an instance that the rules did not allow, and one that was
// denied.
func TestAuditOfWatches(t *testing.T) {
	for name, change := range map[string]func(all []ledger.Entry){
		"armed beyond at_most": func(all []ledger.Entry) {
			w := &all[5].Continual[0]
			w.Reason, w.Arms, w.Instance, w.Sealed = "", true, 2, []byte("x")
		},
		"another group while it holds": func(all []ledger.Entry) { all[3].Continual[0].Watch.Fired = new("ap") },
		"another time while it holds": func(
			all []ledger.Entry) {
			all[4].Continual[0].Watch.Since = new(all[1].WindowEnd)
		},
		"denied": func(all []ledger.Entry) {
			w := &all[0].Continual[0]
			w.Reason, w.Arms, w.Instance, w.Sealed = record.BudgetExhausted, false, 0, nil
		},
	} {
		all := ledgertest.Watched(t, 6)
		if name == "denied" {
			all = all[:1]
		}
		change(all)
		a := New()
		for i, e := range all {
			a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
		}
		f := a.Findings()
		if !slices.ContainsFunc(f.Faults, func(f Fault) bool { return f.Kind == WatchDiffers }) {
			t.Errorf("%s: %+v, want a watch that differs", name, f.Faults)
		}
	}
}

// TestAuditOfOnChange plants what only an audit can find: a value that changes without a draw, first values that nobody
// paid, and a second payment.
func TestAuditOfOnChange(t *testing.T) {
	for name, change := range map[string]func(all []ledger.Entry){
		"nothing": nil,
		"another value": func(all []ledger.Entry) {
			all[1].Continual[0].Change.Values[1].Figure.Value = ledgertest.Some("7")
		},
		"another error": func(all []ledger.Entry) {
			all[3].Continual[0].Change.Values[0].Figure.Quality = "noise"
		},
		"first values are free": func(all []ledger.Entry) {
			all[0].Continual[0].Change.Begins = false
			all[1].Continual[0].Change.Begins = false
			all[2].Continual[0].Change.Begins = false
		},
		"first values again": func(all []ledger.Entry) {
			all[3].Continual[0].Change.Begins = true
			for g := range all[3].Continual[0].Change.Values {
				all[3].Continual[0].Change.Values[g].Since = all[3].WindowEnd
			}
		},
	} {
		all := ledgertest.Changing(t, 4)
		if change != nil {
			change(all)
		}
		a := New()
		for i, e := range all {
			a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
		}
		f := a.Findings()
		if found := slices.ContainsFunc(f.Faults, func(f Fault) bool { return f.Kind == WatchDiffers }); found != (change != nil) {
			t.Errorf("%s: %+v", name, f.Faults)
		}
	}
}
