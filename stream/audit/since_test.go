package audit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
)

// auditFrom audits a run whose first entries checkpoints cover.
func (l *logs) auditFrom(t interface {
	Helper()
	Fatal(...any)
}, covered int) Findings {
	t.Helper()
	a, states := New(), map[string]*ledger.State{}
	for _, e := range l.entries[:covered] {
		if states[e.Budget] == nil {
			states[e.Budget] = ledger.NewState("louver", len(states))
		}
		value, err := e.Encode()
		if err == nil {
			err = states[e.Budget].Add(e, value, -1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []*ledger.State
	for _, f := range states {
		all = append(all, f)
	}
	a.Begin(all)
	for i, e := range l.entries[covered:] {
		value, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		a.Entry(Position{"ledger", 0, int64(i)}, e.Key(), value)
	}
	for i, r := range l.outputs {
		a.Output(Position{r.Topic, 0, int64(i)}, r.Key, r.Value)
	}
	return a.Findings()
}

// An audit that begins at checkpoints says ok of a healthy run, wherever they are, and compares exactly the outputs
// behind them. It finds a fault behind them and says nothing of one that they cover.
func TestAuditBeginsAtCheckpoints(t *testing.T) {
	whole := healthy(t)
	rapid.Check(t, func(t *rapid.T) {
		l := &logs{slices.Clone(whole.entries), whole.outputs}
		covered, wrong := rapid.IntRange(0, len(l.entries)).Draw(t, "entries that are covered"),
			rapid.IntRange(-1, len(l.entries)-1).Draw(t, "the wrong one")
		if wrong >= 0 {
			l.entries[wrong].Standing.WindowsLeft++
		}
		found := l.auditFrom(t, covered)
		seen := slices.ContainsFunc(found.Faults, func(f Fault) bool { return f.Kind == WrongSum })
		if seen != (wrong >= covered) || found.OK == seen {
			t.Fatalf("%d of %d entries are covered, and %d is wrong: %+v", covered, len(l.entries), wrong, found)
		}
		if !seen && (found.Entries != int64(len(l.entries)-covered) ||
			found.Matched+found.Earlier != int64(len(l.outputs)) ||
			(covered > 0) != (found.Earlier > 0)) {
			t.Fatalf("%d of %d entries are covered: %+v", covered, len(l.entries), found)
		}
	})
}
