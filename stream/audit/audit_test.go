package audit

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// logs are a ledger and its outputs as they lie in Kafka.
type logs struct {
	entries []ledger.Entry
	outputs []record.Record
}

// healthy is a run of two streams in one budget and one in another that continues a third: paid, withheld for the
// budget, withheld for too few users; everything is published.
func healthy(t *testing.T) *logs {
	l := &logs{}
	b := ledger.NewBooks()
	add := func(e ledger.Entry) {
		e = ledgertest.Settle(t, b, e)
		if e.Stream == "u" && e.Reason == "" {
			e.Groups[0] = ledger.Group{Reason: record.TooFewUsers, Values: []ledger.Value{{}}}
		}
		l.entries = append(l.entries, e)
		l.outputs = append(l.outputs, ledgertest.Records(t, e)...)
	}
	shared := ledgertest.Limit("1", 4*time.Minute)
	for n := range 6 {
		add(ledgertest.Plan{Stream: "old", Budget: "old", Epsilon: "0.2", Limit: ledgertest.Limit("5", 0)}.Entry(n))
		add(ledgertest.Plan{Stream: "s", Budget: "shared", Epsilon: "0.2", Limit: shared}.Entry(n))
		add(ledgertest.Plan{Stream: "u", Budget: "shared", Epsilon: "0.3", Limit: shared}.Entry(n))
	}
	// two windows of four cost something, so its limit pays for all
	capped := budget.Cap{Count: 2, Per: 4 * time.Minute, Era: ledgertest.Epoch.Unix()}
	for n := range 8 {
		e := ledgertest.Plan{Stream: "capped", Budget: "capped", Epsilon: "0.5",
			Limit: ledgertest.Limit("1", 4*time.Minute),
			Cap:   capped}.Entry(n)
		add(e)
	}
	for n := range 3 {
		add(ledgertest.Plan{Stream: "new", Budget: "new", Epsilon: "0.3", Limit: ledgertest.Limit("2", 0),
			Continues: "old"}.Entry(6 + n))
	}
	return l
}

func (l *logs) entry(stream string, n int) *ledger.Entry {
	for i := range l.entries {
		if e := &l.entries[i]; e.Stream == stream {
			if n--; n < 0 {
				return e
			}
		}
	}
	panic("no such entry")
}

// output finds the index of the n-th output of a stream.
func (l *logs) output(stream string, n int) int {
	for i, r := range l.outputs {
		if strings.HasPrefix(string(r.Key), stream+"/") {
			if n--; n < 0 {
				return i
			}
		}
	}
	panic("no such output")
}

func (l *logs) audit(t *testing.T, outputsFirst bool) Findings {
	t.Helper()
	a := New()
	outputs := func() {
		for i, r := range l.outputs {
			a.Output(Position{r.Topic, 0, int64(i)}, r.Key, r.Value)
		}
	}
	if outputsFirst {
		outputs()
	}
	for i, e := range l.entries {
		a.Entry(Position{"louver.ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
	}
	if !outputsFirst {
		outputs()
	}
	return a.Findings()
}

func TestAuditOfAHealthyRun(t *testing.T) {
	l := healthy(t)
	if l.entry("u", 1).Reason != "" || l.entry("u", 3).Reason != record.BudgetExhausted ||
		l.entry("new", 2).Reason != record.BudgetExhausted || l.entry("capped", 7).Reason != "" {
		t.Fatal("the run does not hold what it should")
	}
	n := int64(len(l.entries))
	want := Findings{OK: true, Entries: n, Outputs: n, Matched: n, Faults: []Fault{}}
	for _, outputsFirst := range []bool{false, true} {
		if diff := cmp.Diff(want, l.audit(t, outputsFirst)); diff != "" {
			t.Errorf("outputs first: %t: %s", outputsFirst, diff)
		}
	}
}

func TestAuditReadsPartitionsInAnyOrder(t *testing.T) {
	l := healthy(t)
	// new before old
	slices.SortStableFunc(l.entries, func(a, b ledger.Entry) int { return strings.Compare(a.Budget, b.Budget) })
	rand.Shuffle(len(l.outputs), func(i, j int) { l.outputs[i], l.outputs[j] = l.outputs[j], l.outputs[i] })
	if f := l.audit(t, false); !f.OK {
		t.Errorf("%+v", f)
	}
}

func TestAuditFindsEachFault(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(*logs)
		kinds  []string // that are found; what follows from a charge has wrong sums as well
		what   string
	}{
		{"a value was changed in the output", func(l *logs) {
			r := &l.outputs[l.output("s", 1)]
			r.Value = []byte(strings.Replace(string(r.Value), `"value":1`, `"value":2`, 1))
		}, []string{OutputDiffers}, "s//2026-11-20T08:01:00Z/p50"},
		{"a value was changed in the ledger", func(l *logs) {
			l.entry("s", 1).Groups[0].Values[0].Value = ledgertest.Some("7")
		}, []string{OutputDiffers}, "s//2026-11-20T08:01:00Z/p50"},
		{"a withheld value came out", func(l *logs) {
			r := &l.outputs[l.output("u", 3)]
			r.Value = []byte(strings.Replace(string(r.Value), `"value":null`, `"value":5`, 1))
		}, []string{OutputDiffers}, "u//"},
		{"an output under another key", func(l *logs) {
			l.outputs[l.output("s", 1)].Key = []byte("s/x/p50")
		}, []string{OutputDiffers}, "s//"},
		{"an output twice", func(l *logs) {
			l.outputs = append(l.outputs, l.outputs[l.output("s", 1)])
		}, []string{OutputTwice}, "s//2026-11-20T08:01:00Z/p50"},
		{"an output without an entry", func(l *logs) {
			r := l.outputs[l.output("s", 1)]
			r.Value = []byte(strings.Replace(string(r.Value), "s//2026", "s//2025", 1))
			l.outputs = append(l.outputs, r)
		}, []string{OutputUnknown}, "no ledger entry"},
		{"the same output in another topic", func(l *logs) {
			r := l.outputs[l.output("s", 1)]
			r.Topic = "elsewhere"
			l.outputs = append(l.outputs, r)
		}, []string{OutputUnknown}, "no ledger entry"},
		{"an output that is none", func(l *logs) {
			l.outputs = append(l.outputs, record.Record{Topic: "s.out", Value: []byte("hello")})
		}, []string{OutputUnreadable}, "louver.release.v1"},
		{"a tombstone", func(l *logs) {
			l.outputs = append(l.outputs, record.Record{Topic: "s.out", Key: []byte("s//p50")})
		}, []string{OutputUnreadable}, "louver.release.v1"},
		{"a charge is missing: its entry is gone", func(l *logs) {
			l.entries = slices.DeleteFunc(l.entries, func(e ledger.Entry) bool {
				return e.Stream == "old" && e.WindowEnd.Equal(ledgertest.Epoch.Add(6*time.Minute))
			})
		}, []string{OutputUnknown, WrongSum, WronglyWithheld},
			"books.budget_epsilon_spent has 1.5; the entries before it give 1.3"},
		{"a window is charged twice", func(l *logs) {
			l.entries = append(l.entries, *l.entry("old", 5))
		}, []string{ChargedTwice, WrongSum}, "already has an entry"},
		{"the stream's sum is wrong", func(l *logs) {
			e := l.entry("s", 2)
			l.restate(e, func() { e.Standing.StreamSpent = ledgertest.Some("0.1") })
		}, []string{WrongSum}, "books.stream_epsilon_spent has 0.1; the entries before it give 0.4"},
		{"the budget's sum is wrong", func(l *logs) {
			e := l.entry("s", 2)
			l.restate(e, func() { e.Standing.BudgetSpent = ledgertest.Some("0.1") })
		}, []string{WrongSum}, "books.budget_epsilon_spent has 0.1"},
		{"what can be lost is wrong", func(l *logs) {
			e := l.entry("s", 2)
			l.restate(e, func() { e.Standing.Lost.Budget = ledgertest.Some("0.1") })
		}, []string{WrongSum}, "books.lost.budget has 0.1"},
		{"the windows used are wrong", func(l *logs) {
			e := l.entry("s", 2)
			l.restate(e, func() { e.Standing.Lost.Used = 7 })
		}, []string{WrongSum}, "books.lost.windows_used has 7"},
		{"the windows left are wrong", func(l *logs) {
			e := l.entry("s", 0)
			l.restate(e, func() { e.Standing.WindowsLeft = 99 })
		}, []string{WrongSum}, "books.budget_windows_left has 99; the entries before it give 4"},
		{"paid over the limit", func(l *logs) {
			e := l.entry("u", 3)
			if e.Reason != record.BudgetExhausted {
				panic("this window was to be withheld")
			}
			l.restate(e, func() {
				e.Reason, e.Groups = "", []ledger.Group{{Values: []ledger.Value{{Value: ledgertest.Some("1")}}}}
				e.Standing.StreamSpent = new(e.Standing.StreamSpent.Add(ledgertest.Dec("0.3")))
				e.Standing.BudgetSpent = new(e.Standing.BudgetSpent.Add(ledgertest.Dec("0.3")))
			})
		}, []string{OverLimit, WrongSum}, "cannot pay for it within epsilon 1 per 4m"},
		{"a window under a cap of its own", func(l *logs) {
			e := l.entry("capped", 5)
			e.Cap.Era += 60
			l.restate(e, func() {})
		}, []string{WrongCap, OverLimit, WrongSum},
			"its cap is 2 windows per 4m from 2026-11-20T08:01:00Z on, that of the windows before is 2 windows per 4m " +
				"from 2026-11-20T08:00:00Z on"},
		{"a window without the cap", func(l *logs) {
			l.restate(l.entry("capped", 5), func() { l.entry("capped", 5).Cap = budget.Cap{} })
		}, []string{WrongCap, OverLimit, WrongSum}, "its cap is none"},
		{"withheld without need", func(l *logs) {
			e := l.entry("old", 5)
			l.restate(e, func() {
				e.Reason, e.Groups = record.BudgetExhausted, []ledger.Group{{}}
				e.Standing.StreamSpent = new(e.Standing.StreamSpent.Sub(ledgertest.Dec("0.2")))
				e.Standing.BudgetSpent = new(e.Standing.BudgetSpent.Sub(ledgertest.Dec("0.2")))
				e.Standing.WindowsLeft++
			})
		}, []string{WronglyWithheld, WrongSum}, "could pay for it"},
	} {
		for _, outputsFirst := range []bool{false, true} {
			l := healthy(t)
			c.damage(l)
			f := l.audit(t, outputsFirst)
			var kinds []string
			found := false
			for _, fault := range f.Faults {
				kinds = append(kinds, fault.Kind)
				found = found || strings.Contains(fault.String(), c.what)
			}
			slices.Sort(kinds)
			kinds = slices.Compact(kinds)
			slices.Sort(c.kinds)
			if f.OK || !slices.Equal(kinds, c.kinds) || !found {
				t.Errorf("%s: faults %v, want %v with %q", c.name, f.Faults, c.kinds, c.what)
			}
			if len(kinds) == 1 && f.FaultCount != 1 {
				t.Errorf("%s: %d faults %v, want one", c.name, f.FaultCount, f.Faults)
			}
		}
	}
}

// restate changes an entry and publishes it so: outputs agree, only the books are wrong.
func (l *logs) restate(e *ledger.Entry, change func()) {
	before, _ := e.Records()
	change()
	after, _ := e.Records()
	for i, r := range l.outputs {
		for n := range before {
			if string(r.Value) == string(before[n].Value) {
				l.outputs[i] = after[n]
			}
		}
	}
}

func TestAuditOfAnUnreadableLedger(t *testing.T) {
	l := healthy(t)
	a := New()
	a.Entry(Position{"louver.ledger", 3, 14}, []byte("b"), []byte(`{"v":2}`))
	e := l.entries[0]
	a.Entry(Position{"louver.ledger", 3, 15}, []byte("another budget"), ledgertest.Encode(t, e))
	f := a.Findings()
	if f.OK || len(f.Faults) != 2 || f.Faults[0].Kind != EntryUnreadable || f.Faults[1].Kind != EntryUnreadable {
		t.Errorf("%+v", f)
	}
	if got := f.Faults[0].String(); !strings.HasPrefix(got, "louver.ledger/3@14: entry_unreadable: ") {
		t.Error(got)
	}
}

// What is not published yet is no fault; what is missing between published values is told apart.
func TestAuditOfUnpublishedEntries(t *testing.T) {
	l := healthy(t)
	for _, gone := range []struct {
		stream string
		n      int
	}{{"s", 5}, {"s", 1}, {"old", 5}} {
		i := l.output(gone.stream, gone.n)
		l.outputs = slices.Delete(l.outputs, i, i+1)
	}
	f := l.audit(t, false)
	if !f.OK || f.Pending != 2 || f.Absent != 1 {
		t.Errorf("%+v, want 2 pending and 1 absent", f)
	}
}

func TestAuditOfACircle(t *testing.T) {
	b := ledger.NewBooks()
	a := New()
	for i, e := range []ledger.Entry{
		ledgertest.Plan{Stream: "s", Budget: "x", Epsilon: "0.1", Limit: ledgertest.Limit("1", 0),
			Continues: "y"}.Entry(0),
		ledgertest.Plan{Stream: "u", Budget: "y", Epsilon: "0.1", Limit: ledgertest.Limit("1", 0),
			Continues: "x"}.Entry(0),
	} {
		e = ledgertest.Settle(t, b, e)
		a.Entry(Position{"louver.ledger", 0, int64(i)}, e.Key(), ledgertest.Encode(t, e))
	}
	if f := a.Findings(); !f.OK {
		t.Errorf("%+v", f)
	}
}

func TestFindingsGolden(t *testing.T) {
	a := New()
	a.Output(Position{"s.out", 1, 7}, nil, []byte(`{}`))
	got, err := json.Marshal(a.Findings())
	want := `{"ok":false,"entries":0,"outputs":1,"matched":0,"checkpoints":0,"priors":0,"instances":0,"firings":0,"pending":0,"absent":0,"fault_count":1,"faults":[` +
		`{"kind":"output_unreadable","at":{"topic":"s.out","partition":1,"offset":7},"what":"want JSON of schema louver.release.v1 with an id"}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAuditListsNoMoreThanItsMost(t *testing.T) {
	a := New()
	for range mostFaults + 5 {
		a.Output(Position{}, nil, nil)
	}
	if f := a.Findings(); len(f.Faults) != mostFaults || f.FaultCount != mostFaults+5 {
		t.Errorf("%d faults listed of %d", len(f.Faults), f.FaultCount)
	}
}

func BenchmarkAudit(b *testing.B) {
	books, a := ledger.NewBooks(), New()
	p := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.01",
		Limit: budget.Limit{Epsilon: ledgertest.Dec("24"), Per: 24 * time.Hour}}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		e := ledgertest.Settle(b, books, p.Entry(n))
		value, err := e.Encode()
		if err != nil {
			b.Fatal(err)
		}
		out, err := e.Records()
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		a.Entry(Position{}, e.Key(), value)
		a.Output(Position{Topic: e.Output}, out[0].Key, out[0].Value)
		n++
	}
	if f := a.Findings(); !f.OK {
		b.Fatal(f)
	}
}
