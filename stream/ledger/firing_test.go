package ledger_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// TestValuesOnlyChangeWhereOneFires looks at the entries alone: a value is another one only where its group was drawn,
// an instance draws one group after it was armed, and only the first of a definition draws all.
func TestValuesOnlyChangeWhereOneFires(t *testing.T) {
	redrawn, resumed := false, false
	rapid.Check(t, func(t *rapid.T) {
		p := ledgertest.Watchful(t, rapid.IntRange(1, 60).Draw(t, "entries"))
		last, began, draws := map[string][]ledger.Drawn{}, map[string]bool{}, map[ledger.Instance]int{}
		for _, value := range p.Values {
			e, err := ledger.Decode(value)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range e.Continual {
				c := w.Change
				if c == nil || !w.Looks() {
					continue
				}
				of := e.Stream + w.Name + w.Definition
				if c.DrawsAll(w) {
					if began[of] {
						t.Fatalf("%s begins twice", of)
					}
					began[of], last[of] = true, c.Values
					continue
				}
				for g, v := range c.Values {
					if v.Equal(last[of][g]) {
						continue
					}
					if c.Fired == nil || *c.Fired != e.Groups[g].Name {
						t.Fatalf("the value of %s in group %s changes in the window ending %s, and none was drawn", of,
							e.Groups[g].Name, e.WindowEnd)
					}
					draws[ledger.Instance{e.Stream, w.Name, w.Instance}]++
					redrawn, resumed = true, resumed || w.Instance > 1
				}
				last[of] = c.Values
			}
		}
		for i, n := range draws {
			if n > 1 {
				t.Fatalf("%s draws %d groups anew", i, n)
			}
		}
	})
	if !redrawn || !resumed {
		t.Errorf("some value is drawn anew: %v, by a later instance: %v; want both in some case", redrawn, resumed)
	}
}

// TestEntriesThatContradictOnChange has entries that nobody writes.
func TestEntriesThatContradictOnChange(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *ledger.Continual)
		says   string
	}{
		"no values": {func(w *ledger.Continual) { w.Change.Values = nil }, "0 values; want 3"},
		"a value missing": {func(w *ledger.Continual) { w.Change.Values[1].Figure.Value = nil },
			`group "us" has no value`},
		"a later value": {func(
			w *ledger.Continual) {
			w.Change.Values[1].Since = w.Change.Values[1].Since.Add(time.Hour)
		},
			`group "us" has no value, or one of`},
		"drawn before": {func(
			w *ledger.Continual) {
			w.Change.Values[0].Since = w.Change.Values[0].Since.Add(-time.Minute)
		},
			`group "eu" has no value, or one of`},
		"an alarm": {func(w *ledger.Continual) {
			w.Change, w.Watch = nil,
				ledgertest.Watch("calm", "d", "1", 1, 0).Watch
		}, "0 releases and 3 groups"},
		"another's": {func(w *ledger.Continual) { w.Change.Release.Name = "p50" }, `describes release "p50"`},
		"free first draws": {func(w *ledger.Continual) { w.Change.First = nil },
			"want its own, with the cost of its first values"},
		"fires at once": {func(w *ledger.Continual) { w.Change.Fired = new("eu") }, "in which its values are drawn first"},
		"two kinds":     {func(w *ledger.Continual) { w.Watch = &ledger.Watch{} }, "of no kind"},
		"costs nothing": {func(w *ledger.Continual) { w.Change.First[0].Epsilon = ledgertest.Dec("0") }, "epsilon"},
	} {
		e := ledgertest.Changing(t, 1)[0]
		c.change(&e.Continual[0])
		if _, err := e.Encode(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	e := ledgertest.Changing(t, 1)[0]
	e.Continual = nil
	if _, err := e.Encode(); err == nil {
		t.Error("an entry with neither releases nor watches is taken")
	}
	// the second entry says that the instance has drawn nothing at first, so that it cost less
	all := ledgertest.Changing(t, 2)
	all[1].Continual[0].Change.Begins = false
	b := ledger.NewBooks()
	if err := b.Add(all[0]); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(all[1]); err == nil {
		t.Error("the instance costs less than before")
	}
}
