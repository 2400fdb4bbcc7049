package audit

import (
	"slices"
	"testing"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// TestAuditOfTombstones: records that end a series are compared like all others, by their ids. Which groups left is
// computed again.
func TestAuditOfTombstones(t *testing.T) {
	entries := listed(t)
	ended := 0
	end := func(e *ledger.Entry, left []string) {
		if e.Discovery != nil && len(e.Discovery.Left) > 0 {
			e.Discovery.Tombstones = []string{"p50", "hourly"}
			ended++
		}
		if e.ListOf() != e.Stream && len(left) > 0 {
			e.List.Left, e.List.Tombstones = left, []string{"p50"}
			ended++
		}
	}
	// a and b leave at three o'clock. The follower has had them until then.
	for i := range entries {
		var left []string
		if entries[i].Stream == "follower" && i > 6 {
			left = []string{"a", "b"}
		}
		end(&entries[i], left)
	}
	if ended != 2 {
		t.Fatalf("series end with %d entries, want 2", ended)
	}
	audit := func(change func(all []record.Record) []record.Record, edit func(e *ledger.Entry)) Findings {
		a := New()
		var outputs []record.Record
		for i, e := range entries {
			if e.List != nil {
				e.List = new(*e.List)
			}
			edit(&e)
			a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
			outputs = append(outputs, ledgertest.Records(t, e)...)
		}
		for i, r := range change(outputs) {
			at := Position{r.Topic, 0, int64(i)}
			if r.Value == nil {
				a.Ended(at, r.Key, r.ID())
			} else {
				a.Output(at, r.Key, r.Value)
			}
		}
		return a.Findings()
	}
	same := func(*ledger.Entry) {}
	place := func(all []record.Record) int {
		return slices.IndexFunc(all, func(r record.Record) bool { return r.Value == nil })
	}
	for name, c := range map[string]struct {
		change func(all []record.Record) []record.Record
		edit   func(e *ledger.Entry)
		want   string
	}{
		"right": {func(all []record.Record) []record.Record { return all }, same, ""},
		"twice": {func(all []record.Record) []record.Record { return append(all, all[place(all)]) }, same, OutputTwice},
		"of nothing": {func(all []record.Record) []record.Record {
			return append(all, record.Left{Stream: "s", Group: "c", Release: "p50", End: ledgertest.Epoch}.Tombstone(
				record.Destination{App: "louver", Topic: "s.out"}))
		}, same, OutputUnknown},
		"another key": {func(all []record.Record) []record.Record {
			all[place(all)].Key = []byte("s/c/p50")
			return all
		}, same, OutputDiffers},
		"another id": {func(all []record.Record) []record.Record {
			i := place(all)
			all[i].Headers = []record.Header{{Key: record.HeaderID, Value: []byte("s/c")}}
			return all
		}, same, OutputUnreadable},
		"another group": {func(all []record.Record) []record.Record { return all }, func(e *ledger.Entry) {
			if e.List != nil && len(e.List.Left) > 0 {
				e.List.Left = []string{"a", "z"}
			}
		}, ListDiffers},
	} {
		f := audit(c.change, c.edit)
		if found := slices.ContainsFunc(f.Faults, func(f Fault) bool { return f.Kind == c.want }); found != (c.want != "") ||
			c.want == "" && f.FaultCount > 0 {
			t.Errorf("%s: %+v, want %q", name, f.Faults, c.want)
		}
		if c.want == "" && (f.Matched != f.Outputs || f.Pending+f.Absent > 0) {
			t.Errorf("%s: %d of %d outputs match, %d are pending and %d absent", name, f.Matched, f.Outputs,
				f.Pending, f.Absent)
		}
	}
	missing := audit(func(all []record.Record) []record.Record { i := place(all); return slices.Delete(all, i, i+1) },
		same)
	if !missing.OK || missing.Pending+missing.Absent != 1 {
		t.Errorf("without one of them %d are pending and %d absent, want one", missing.Pending, missing.Absent)
	}
}
