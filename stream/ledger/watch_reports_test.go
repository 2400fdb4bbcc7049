package ledger

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
)

// TestAnAuditSeesANeedlessInstance: the law of a watch holds for one secret from arming to firing. An entry that arms another
// instance although one is armed is a fault, even if it is charged.
func TestAnAuditSeesANeedlessInstance(t *testing.T) {
	all := quiet(t, 2)
	all[1].Watches[0].Arms, all[1].Watches[0].Instance, all[1].Watches[0].Sealed = true, 2, []byte("s/slow/2")
	a := NewAudit()
	for i, e := range all {
		a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), encode(t, e))
	}
	if f := a.Findings(); !slices.ContainsFunc(f.Faults, func(f Fault) bool {
		return f.Kind == WatchDiffers && strings.Contains(f.What, `watch "slow" has instance 2 (armed); the entries before it give 1 (looks)`)
	}) {
		t.Errorf("%v, want %s", f.Faults, WatchDiffers)
	}
}

// TestWatchRecords follows one instance: silent, firing in the second of three groups, held, and then at its most.
func TestWatchRecords(t *testing.T) {
	s := recordtest.Compile(t)
	var got []string
	for _, e := range quiet(t, 6) {
		line := ""
		for _, r := range records(t, e) {
			if f := s.Follows(t, e.name(), r.Value); f["statistic"] == record.StatisticWatch {
				line += fmt.Sprintf("%v %v %v %v %v %v; ", f["group"], f["value"], f["reason"], f["since"], f["instance"], f["epsilon"])
			}
		}
		got = append(got, line)
	}
	want := []string{
		"eu 0 <nil> <nil> 1 1; us 0 <nil> <nil> 1 1; ap 0 <nil> <nil> 1 1; ",
		"eu 0 <nil> <nil> 1 1; us 0 <nil> <nil> 1 1; ap 0 <nil> <nil> 1 1; ",
		"eu 0 <nil> <nil> 1 1; us 1 <nil> 2026-11-20T08:03:00Z 1 1; ap <nil> not_armed <nil> 1 1; ",
		"eu <nil> not_armed <nil> 1 1; us 1 <nil> 2026-11-20T08:03:00Z 1 1; ap <nil> not_armed <nil> 1 1; ",
		"eu <nil> not_armed <nil> 1 1; us 1 <nil> 2026-11-20T08:03:00Z 1 1; ap <nil> not_armed <nil> 1 1; ",
		"eu <nil> budget_exhausted <nil> 1 0; us <nil> budget_exhausted <nil> 1 0; ap <nil> budget_exhausted <nil> 1 0; ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReportOfWatches: each instance is counted, and what it holds counts in the budget. It fires in the third window. In the
// sixth its hold is over, and at_most allows no other.
func TestReportOfWatches(t *testing.T) {
	for windows, want := range map[int]struct{ state, spent string }{5: {"fired", "1.25"}, 6: {"withheld", "1.3"}} {
		b := NewBooks()
		for _, e := range quiet(t, windows) {
			if err := b.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		r := NewReport(b, epoch.Add(6*time.Minute))
		if len(r.Watches) != 1 {
			t.Fatalf("%+v, want one watch", r.Watches)
		}
		if w := r.Watches[0]; w.Instances != 1 || w.State != want.state || !w.From.Equal(epoch.Add(time.Minute)) || !w.To.Equal(epoch.Add(3*time.Minute)) || w.EpsilonTotal.String() != "1" {
			t.Errorf("after %d windows: %+v, want %s", windows, w, want.state)
		}
		if spent := r.Budgets[0].EpsilonSpent.String(); spent != want.spent { // the windows and an instance
			t.Errorf("the budget has spent %s, want %s", spent, want.spent)
		}
	}
}

// TestEarlierReleasesRefuseWatches: a reader that knows no watches would miss their charges, so the version stops it.
func TestEarlierReleasesRefuseWatches(t *testing.T) {
	e := quiet(t, 1)[0]
	if value := encode(t, e); !bytes.HasPrefix(value, []byte(`{"v":3,`)) {
		t.Errorf("the entry is %s, want version 3", value)
	}
	e.Watches = nil
	if value := encode(t, e); !bytes.HasPrefix(value, []byte(`{"v":1,`)) {
		t.Errorf("the entry is %s, want version 1 without watches", value)
	}
	p := &partition{}
	p.add(t, quiet(t, 1)[0])
	if text := write(t, p.fold(t, 1)); !bytes.HasPrefix(text, []byte(`{"v":2,`)) {
		t.Errorf("the checkpoint is %s, want version 2", text)
	}
}

// TestAuditOfWatches plants what only an audit can find: an instance that the rules did not allow, and one that was
// denied.
func TestAuditOfWatches(t *testing.T) {
	for name, change := range map[string]func(all []Entry){
		"armed beyond at_most": func(all []Entry) {
			w := &all[5].Watches[0]
			w.Reason, w.Arms, w.Instance, w.Sealed = "", true, 2, []byte("x")
		},
		"another group while it holds": func(all []Entry) { all[3].Watches[0].Fired = ptr("ap") },
		"another time while it holds":  func(all []Entry) { all[4].Watches[0].Since = ptr(all[1].WindowEnd) },
		"denied": func(all []Entry) {
			w := &all[0].Watches[0]
			w.Reason, w.Arms, w.Instance, w.Sealed = record.BudgetExhausted, false, 0, nil
		},
	} {
		all := quiet(t, 6)
		if name == "denied" {
			all = all[:1]
		}
		change(all)
		a := NewAudit()
		for i, e := range all {
			a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), encode(t, e))
		}
		f := a.Findings()
		if !slices.ContainsFunc(f.Faults, func(f Fault) bool { return f.Kind == WatchDiffers }) {
			t.Errorf("%s: %+v, want a watch that differs", name, f.Faults)
		}
	}
}
