package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
	"github.com/louver/louver/stream/record"
)

// life is what an outside reader of the entries learns about each instance: the windows that it looked at.
type life struct {
	epsilon decimal.Decimal
	looked  []time.Time
	arms    int
	fired   int
}

func livesOf(t *rapid.T, entries []ledger.Entry) map[ledger.Instance]*life {
	all, numbers := map[ledger.Instance]*life{}, map[string]int64{}
	for _, e := range entries {
		for _, w := range e.Continual {
			i := ledger.Instance{e.Stream, w.Name, w.Instance}
			if w.Arms {
				if numbers[e.Stream+"/"+w.Name]++; w.Instance != numbers[e.Stream+"/"+w.Name] {
					t.Fatalf("%s is armed, want number %d", i, numbers[e.Stream+"/"+w.Name])
				}
				sum := decimal.Decimal{}
				for _, item := range w.Cost {
					sum = sum.Add(item.Epsilon.Mul(decimal.NewFromInt(item.Times)))
				}
				if c := w.Change; c != nil && c.Begins {
					for _, item := range c.First {
						sum = sum.Add(item.Epsilon.Mul(decimal.NewFromInt(item.Times)))
					}
				}
				all[i] = &life{epsilon: sum}
			}
			if !w.Looks() {
				continue
			}
			l := all[i]
			if l == nil || l.fired > 0 {
				t.Fatalf("%s looks at the window ending %s, but it was never armed or has fired", i, e.WindowEnd)
			}
			l.looked = append(l.looked, e.WindowEnd)
			if w.Arms {
				l.arms++
			}
			if w.Fires() != nil {
				l.fired++
			}
		}
	}
	return all
}

// TestWatchesNeverCostMoreThanTheLimit adds up, from the entries alone, what a person loses in every period: each
// window that was paid, and each instance that looked at a window of the period.
func TestWatchesNeverCostMoreThanTheLimit(t *testing.T) {
	fired, exhausted := false, false
	rapid.Check(t, func(t *rapid.T) {
		p := ledgertest.Watchful(t, rapid.IntRange(1, 60).Draw(t, "entries"))
		lives := livesOf(t, p.Entries)
		for i, l := range lives {
			if l.arms != 1 || l.fired > 1 {
				t.Fatalf("%s was armed %d times and fired %d times", i, l.arms, l.fired)
			}
			fired = fired || l.fired == 1
		}
		for _, e := range p.Entries {
			exhausted = exhausted ||
				slices.ContainsFunc(e.Continual, func(w ledger.Continual) bool { return w.Reason == record.BudgetExhausted })
			inPeriod := func(end time.Time) bool {
				return !end.After(e.WindowEnd) && (e.Limit.Per == 0 || end.After(e.WindowEnd.Add(-e.Limit.Per)))
			}
			spent, counted := ledgertest.Dec("0"), map[string]int64{}
			for _, o := range p.Entries {
				if o.Reason == "" && len(o.Price) > 0 && inPeriod(o.WindowEnd) {
					spent = spent.Add(ledgertest.Dec("0.05"))
				}
			}
			for i, l := range lives {
				if slices.ContainsFunc(l.looked, inPeriod) {
					spent = spent.Add(l.epsilon)
					counted[i.Stream+"/"+i.Name]++
				}
			}
			if spent.GreaterThan(e.Limit.Epsilon) {
				t.Fatalf("the period that ends %s costs %s, more than %s", e.WindowEnd, spent, e.Limit.Epsilon)
			}
			for _, w := range e.Continual {
				if n := counted[e.Stream+"/"+w.Name]; w.AtMost > 0 && n > w.AtMost {
					t.Fatalf("the period that ends %s has %d instances of %s, more than %d", e.WindowEnd, n,
						w.Name, w.AtMost)
				}
			}
		}
	})
	if !fired || !exhausted {
		t.Errorf("some watch fired: %v; some was exhausted: %v; want both in some case", fired, exhausted)
	}
}

// TestCheckpointsHoldWatches cuts the ledger anywhere. What goes on from a checkpoint is the same as from the first
// entry.
func TestCheckpointsHoldWatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := ledgertest.Watchful(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		n := rapid.IntRange(1, len(p.Entries)).Draw(t, "checkpoint")
		whole, restored := p.Cut(t, n)
		if diff := cmp.Diff(whole.Books.OpenInstances("b"), restored.Books.OpenInstances("b")); diff != "" {
			t.Fatal(diff)
		}
		// What the next window arms and repeats is the same, too.
		var next [2]string
		for i, books := range []*ledger.Books{whole.Books, restored.Books} {
			e := p.Entries[len(p.Entries)-1]
			e.WindowStart, e.WindowEnd = e.WindowStart.Add(time.Hour), e.WindowEnd.Add(time.Hour)
			e.Continual, e.Ended = slices.Clone(e.Continual), nil
			if err := books.Settle(&e); err != nil {
				t.Fatal(err)
			}
			steps, err := json.Marshal(e.Continual)
			if err != nil {
				t.Fatal(err)
			}
			next[i] = string(steps)
		}
		if next[0] != next[1] {
			t.Fatalf("from the first entry:\n%s\nfrom the checkpoint:\n%s", next[0], next[1])
		}
	})
}

// TestCheckpointsWithWrongWatches: each is refused, whatever the entries behind it say.
func TestCheckpointsWithWrongWatches(t *testing.T) {
	f := ledger.NewState("louver", 0)
	for i, e := range ledgertest.Watched(t, 3) {
		if err := f.Add(e, ledgertest.Encode(t, e), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	right := string(ledgertest.Checkpoint(t, f))
	before, cost, _ := strings.Cut(right, `"cost":[`)
	cost, after, ok := strings.Cut(cost, "]")
	from, looked := ledgertest.Epoch.Add(time.Minute).UnixNano(), ledgertest.Epoch.Add(3*time.Minute).UnixNano()
	backwards := strings.Replace(right, fmt.Sprint(looked), fmt.Sprint(from-1), 1)
	if !ok || cost == "" || backwards == right {
		t.Fatal(right)
	}
	for name, text := range map[string]string{"for nothing": before + `"cost":[]` + after, "backwards": backwards} {
		if _, err := ledger.Restore([]byte(text), "louver", 0); !errors.Is(err, ledger.ErrCheckpoint) ||
			!strings.Contains(err.Error(), "instance s/slow/1 costs nothing, or ends before it begins") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInstancesOfFormerDefinitionsCount: at_most counts an instance as long as it is armed, however long ago it has
// looked, because it is charged as long.
func TestInstancesOfFormerDefinitionsCount(t *testing.T) {
	b := ledger.NewBooks()
	of := func(n int, definition string) ledger.Entry {
		e := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.05",
			Limit: ledgertest.Limit("9", 10*time.Minute)}.Entry(n)
		e.Groups = []ledger.Group{{Name: "eu"}}
		e.Continual = []ledger.Continual{ledgertest.Watch("slow", definition, "1", 1, 0)}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		ledgertest.Look(t, &e, func(ledger.Continual) bool { return false })
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	of(0, "old")
	if w := of(100, "new").Continual[0]; w.Reason != record.BudgetExhausted {
		t.Errorf("beside an instance that is armed, another one has the reason %q; want %s", w.Reason,
			record.BudgetExhausted)
	}
}

// TestAtMostCountsToTheEndOfThePeriod: an instance counts in every period that holds a window it looked at, to the
// nanosecond. A period holds the windows that end after its start, so one that ends at the start is outside.
func TestAtMostCountsToTheEndOfThePeriod(t *testing.T) {
	const per = 10 * time.Minute
	for _, c := range []struct {
		later time.Duration
		want  string
	}{{per - time.Second, record.BudgetExhausted}, {per - 1, record.BudgetExhausted}, {per, ""}} {
		b := ledger.NewBooks()
		var last ledger.Continual
		for _, later := range []time.Duration{0, c.later} {
			e := ledgertest.Plan{Stream: "s", Budget: "b", Epsilon: "0.05", Limit: ledgertest.Limit("9", per)}.Entry(0)
			e.WindowStart, e.WindowEnd = e.WindowStart.Add(later), e.WindowEnd.Add(later)
			e.Groups = []ledger.Group{{Name: "eu"}}
			e.Continual = []ledger.Continual{ledgertest.Watch("slow", "d", "1", 1, 0)}
			if err := b.Settle(&e); err != nil {
				t.Fatal(err)
			}
			ledgertest.Look(t, &e, func(ledger.Continual) bool { return true })
			if err := b.Add(e); err != nil {
				t.Fatal(err)
			}
			last = e.Continual[0]
		}
		if last.Reason != c.want {
			t.Errorf("%s after the last window of another instance: the reason %q; want %q", c.later, last.Reason, c.want)
		}
	}
}

// TestEntriesThatContradictWatches: what two entries say of an instance cannot both be charged, so it stops the
// service.
func TestEntriesThatContradictWatches(t *testing.T) {
	for name, c := range map[string]struct {
		change func(all []ledger.Entry)
		says   string
	}{
		"armed twice": {func(all []ledger.Entry) { all[1].Continual[0] = all[0].Continual[0] }, "want number 2"},
		"a gap":       {func(all []ledger.Entry) { all[0].Continual[0].Instance = 2 }, "want number 1"},
		"looks before armed": {func(all []ledger.Entry) { all[0].Continual[0].Arms, all[0].Continual[0].Sealed = false, nil },
			"not armed for this"},
		"fires twice": {func(all []ledger.Entry) {
			w := &all[3].Continual[0]
			w.Reason = ""
			w.Fire("eu")
			w.Watch.Since = new(all[3].WindowEnd)
		}, "not armed for this"},
		"another definition": {func(all []ledger.Entry) { all[1].Continual[0].Definition = "e" }, "not armed for this"},
		"ends twice": {func(all []ledger.Entry) {
			all[3].Ended = []ledger.Instance{{"s", "slow", 1}}
		}, "is not armed"},
	} {
		all := ledgertest.Watched(t, 4)
		c.change(all)
		b := ledger.NewBooks()
		var err error
		for _, e := range all {
			if e, err = ledger.Decode(ledgertest.Encode(t, e)); err == nil {
				err = b.Add(e)
			}
			if err != nil {
				break
			}
		}
		if !errors.Is(err, ledger.ErrUnreadable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an unreadable ledger and %q", name, err, c.says)
		}
	}
}

// TestContinualFiguresHaveAKind: one of a kind that a later release may have is not read as one without a charge.
func TestContinualFiguresHaveAKind(t *testing.T) {
	e := ledgertest.Watched(t, 1)[0]
	e.Continual[0].Watch = nil
	if _, err := e.Encode(); err == nil || !strings.Contains(err.Error(), "of no kind") {
		t.Errorf("%v, want that the kind is not known", err)
	}
}
