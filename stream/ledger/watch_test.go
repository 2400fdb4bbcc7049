package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/record"
)

// watching is a watch as a definition has it.
func watching(name, definition, epsilon string, atMost int64, hold time.Duration) Watch {
	return Watch{Name: name, Definition: definition, Cost: []budget.Item{{Promise: privacy.NewPure(dec(epsilon)), Times: 1}},
		Excess95: some("26.5"), AtMost: atMost, Hold: int64(hold / time.Second)}
}

// look fills in what a session would: secrets, and who fires.
func look(e *Entry, fires func(w Watch) bool) {
	for i := range e.Watches {
		w := &e.Watches[i]
		if w.Arms {
			w.Sealed = fmt.Appendf(nil, "%s/%s/%d", e.Stream, w.Name, w.Instance)
		}
		if w.Looks() && (!w.Begins || !w.Arms) && fires(*w) {
			w.Fire(*e, e.Groups[len(e.Groups)/2].Name)
		}
		for g := range w.Values {
			if w.Draws(e.Groups[g].Name) {
				w.Redraw(*e, g, Value{Value: some(fmt.Sprint(e.WindowEnd.Unix()%1000 + int64(g))), Quality: "useful"})
			}
		}
	}
}

// watchful returns the entries of three streams with watches and releases on change that fire, change, end and exhaust their budget.
func watchful(t *rapid.T, n int) *partition {
	p, live := &partition{}, NewBooks()
	per := rapid.SampledFrom([]time.Duration{0, 7 * time.Minute, 20 * time.Minute}).Draw(t, "per")
	next := map[string]int{}
	for range n {
		stream := rapid.SampledFrom([]string{"s", "u", "c"}).Draw(t, "stream")
		e := plan{stream: stream, budget: "b", epsilon: "0.05", limit: limit("4", per)}.entry(next[stream])
		next[stream] += rapid.SampledFrom([]int{1, 1, 1, 3, 30}).Draw(t, "step")
		definition := fmt.Sprint("d", next[stream]/25)
		e.Groups = []Group{{Name: "eu"}, {Name: "us"}, {Name: "ap"}}
		e.Watches = []Watch{watching("slow", definition, "1", 2, 3*time.Minute)}
		if stream == "s" {
			e.Watches = append(e.Watches, watching("gone", "d", "0.5", 3, 0), onChange("d", "0.3", "0.2", 2))
		}
		if stream == "c" { // its windows cost nothing
			e.Price, e.Releases = nil, nil
			e.Watches = append(e.Watches, onChange(definition, "0.2", "0.1", 3))
		}
		e.Watches[0].Last = rapid.IntRange(0, 30).Draw(t, "last") == 0
		for _, o := range live.Open("b") {
			stale := o.Stream == stream && (o.Watch == "slow" || stream == "c") && o.Definition != definition
			if lost := rapid.IntRange(0, 20).Draw(t, "unreadable") == 0; stale || lost {
				e.Ended = append(e.Ended, o.Instance)
			}
		}
		if err := live.Settle(&e); err != nil {
			t.Fatal(err)
		}
		look(&e, func(Watch) bool { return rapid.IntRange(0, 4).Draw(t, "fires") == 0 })
		if e.Reason == "" && len(e.Releases) > 0 {
			for g := range e.Groups {
				e.Groups[g].Values = []Value{{Value: some("12.5")}}
			}
		}
		if err := live.Add(e); err != nil {
			t.Fatal(err)
		}
		p.add(t, e)
	}
	return p
}

// life is what an outside reader of the entries learns about each instance: the windows that it looked at.
type life struct {
	epsilon string
	looked  []time.Time
	arms    int
	fired   int
}

func livesOf(t *rapid.T, entries []Entry) map[Instance]*life {
	all, numbers := map[Instance]*life{}, map[string]int64{}
	for _, e := range entries {
		for _, w := range e.Watches {
			i := Instance{e.Stream, w.Name, w.Instance}
			if w.Arms {
				if numbers[e.Stream+"/"+w.Name]++; w.Instance != numbers[e.Stream+"/"+w.Name] {
					t.Fatalf("%s is armed, want number %d", i, numbers[e.Stream+"/"+w.Name])
				}
				all[i] = &life{epsilon: w.price()[0].Epsilon.String()}
				for _, more := range w.price()[1:] { // of a release on change: the draws
					all[i].epsilon = dec(all[i].epsilon).Add(more.Epsilon.Mul(dec(fmt.Sprint(more.Times)))).String()
				}
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
			if w.Fired != nil {
				l.fired++
			}
		}
	}
	return all
}

// TestWatchesNeverCostMoreThanTheLimit adds up, from the entries alone, what a person loses in every period: each window
// that was paid, and each instance that looked at a window of the period.
func TestWatchesNeverCostMoreThanTheLimit(t *testing.T) {
	fired, exhausted := false, false
	rapid.Check(t, func(t *rapid.T) {
		p := watchful(t, rapid.IntRange(1, 60).Draw(t, "entries"))
		lives := livesOf(t, p.entries)
		for i, l := range lives {
			if l.arms != 1 || l.fired > 1 {
				t.Fatalf("%s was armed %d times and fired %d times", i, l.arms, l.fired)
			}
			fired = fired || l.fired == 1
		}
		for _, e := range p.entries {
			exhausted = exhausted || slices.ContainsFunc(e.Watches, func(w Watch) bool { return w.Reason == record.BudgetExhausted })
			inPeriod := func(end time.Time) bool {
				return !end.After(e.WindowEnd) && (e.Limit.Per == 0 || end.After(e.WindowEnd.Add(-e.Limit.Per)))
			}
			spent, counted := dec("0"), map[string]int64{}
			for _, o := range p.entries {
				if o.Reason == "" && len(o.Price) > 0 && inPeriod(o.WindowEnd) {
					spent = spent.Add(dec("0.05"))
				}
			}
			for i, l := range lives {
				if slices.ContainsFunc(l.looked, inPeriod) {
					spent = spent.Add(dec(l.epsilon))
					counted[i.Stream+"/"+i.Watch]++
				}
			}
			if spent.GreaterThan(e.Limit.Epsilon) {
				t.Fatalf("the period that ends %s costs %s, more than %s", e.WindowEnd, spent, e.Limit.Epsilon)
			}
			for _, w := range e.Watches {
				if n := counted[e.Stream+"/"+w.Name]; n > w.AtMost {
					t.Fatalf("the period that ends %s has %d instances of %s, more than %d", e.WindowEnd, n, w.Name, w.AtMost)
				}
			}
		}
	})
	if !fired || !exhausted {
		t.Errorf("some watch fired: %v; some was exhausted: %v; want both in some case", fired, exhausted)
	}
}

// TestCheckpointsHoldWatches cuts the ledger anywhere. What goes on from a checkpoint is the same as from the first entry,
// and an audit finds nothing wrong, with the checkpoint and the outputs.
func TestCheckpointsHoldWatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := watchful(t, rapid.IntRange(1, 40).Draw(t, "entries"))
		n := rapid.IntRange(1, len(p.entries)).Draw(t, "checkpoint")
		text := write(t, p.fold(t, n))
		restored, err := Restore(text, "louver", 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.read(restored); err != nil {
			t.Fatal(err)
		}
		whole := p.fold(t, len(p.entries))
		if a, b := write(t, restored), write(t, whole); !bytes.Equal(a, b) {
			t.Fatalf("from the checkpoint after %d entries:\n%s\nfrom the first:\n%s", n, a, b)
		}
		if diff := cmp.Diff(whole.Books.Open("b"), restored.Books.Open("b")); diff != "" {
			t.Fatal(diff)
		}
		a := NewAudit()
		a.Checkpoint(Position{}, "louver", 3, text)
		for i, e := range p.entries {
			a.Entry(Position{"ledger", 3, p.offsets[i]}, e.Key(), p.values[i])
			all, err := e.Records()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range all {
				a.Output(Position{r.Topic, 0, 0}, r.Key, r.Value)
			}
		}
		f := a.Findings()
		lives := livesOf(t, p.entries)
		if !f.OK || f.Checkpoints != 1 || f.Instances != int64(len(lives)) {
			t.Fatalf("%+v, want nothing wrong, a checkpoint and %d instances", f, len(lives))
		}
	})
}

// TestInstancesOfFormerDefinitionsCount: at_most counts an instance as long as it is armed, however long ago it has looked, because
// it is charged as long.
func TestInstancesOfFormerDefinitionsCount(t *testing.T) {
	b := NewBooks()
	of := func(n int, definition string) Entry {
		e := plan{stream: "s", budget: "b", epsilon: "0.05", limit: limit("9", 10*time.Minute)}.entry(n)
		e.Groups = []Group{{Name: "eu"}}
		e.Watches = []Watch{watching("slow", definition, "1", 1, 0)}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		look(&e, func(Watch) bool { return false })
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	of(0, "old")
	if w := of(100, "new").Watches[0]; w.Reason != record.BudgetExhausted {
		t.Errorf("beside an instance that is armed, another one has the reason %q; want %s", w.Reason, record.BudgetExhausted)
	}
}

// TestLateWindowsAreNotLookedAt: a window of an older definition may be decided after one that ends later. An instance that has
// looked at the later one does not look back: its charge begins with its first window.
func TestLateWindowsAreNotLookedAt(t *testing.T) {
	for _, w := range []Watch{watching("slow", "d", "1", 3, 0), onChange("d", "0.3", "0.2", 3)} {
		b := NewBooks()
		var got []string
		for i, n := range []int{0, 5, 4, 6, 5, 7} {
			e := plan{stream: "s", budget: "b", epsilon: "0.05", limit: limit("9", 10*time.Minute)}.entry(n)
			e.Groups, e.Watches, e.Epoch = []Group{{Name: "eu"}}, []Watch{w}, uint32(1-i%2)
			if err := b.Settle(&e); err != nil {
				t.Fatal(err)
			}
			look(&e, func(Watch) bool { return false })
			if err := b.Add(e); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s", e.Watches[0].Instance, e.Watches[0].Reason))
		}
		if diff := cmp.Diff([]string{"1 ", "1 ", "1 not_armed", "1 ", "1 not_armed", "1 "}, got); diff != "" {
			t.Errorf("%s: %s", w.Name, diff)
		}
	}
}

// quiet is a ledger of n windows of a stream with one watch.
func quiet(t *testing.T, n int) []Entry {
	b := NewBooks()
	var all []Entry
	for i := range n {
		e := plan{stream: "s", budget: "b", epsilon: "0.05", limit: limit("4", 10*time.Minute)}.entry(i)
		e.Groups = []Group{{Name: "eu", Values: []Value{{Value: some("1")}}}, {Name: "us", Values: []Value{{Value: some("1")}}}, {Name: "ap", Values: []Value{{Value: some("1")}}}}
		e.Watches = []Watch{watching("slow", "d", "1", 1, 2*time.Minute)}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		look(&e, func(Watch) bool { return i == 2 })
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// TestEntriesThatContradictWatches: what two entries say of an instance cannot both be charged, so it stops the service.
func TestEntriesThatContradictWatches(t *testing.T) {
	for name, c := range map[string]struct {
		change func(all []Entry)
		says   string
	}{
		"armed twice":        {func(all []Entry) { all[1].Watches[0] = all[0].Watches[0] }, "want number 2"},
		"a gap":              {func(all []Entry) { all[0].Watches[0].Instance = 2 }, "want number 1"},
		"looks before armed": {func(all []Entry) { all[0].Watches[0].Arms, all[0].Watches[0].Sealed = false, nil }, "not armed for this"},
		"fires twice": {func(all []Entry) {
			w := &all[3].Watches[0]
			w.Reason = ""
			w.Fire(all[3], "eu")
		}, "not armed for this"},
		"another definition": {func(all []Entry) { all[1].Watches[0].Definition = "e" }, "not armed for this"},
		"ends twice": {func(all []Entry) {
			all[3].Ended = []Instance{{"s", "slow", 1}}
		}, "is not armed"},
	} {
		all := quiet(t, 4)
		c.change(all)
		b := NewBooks()
		var err error
		for _, e := range all {
			if e, err = Decode(encode(t, e)); err == nil {
				err = b.Add(e)
			}
			if err != nil {
				break
			}
		}
		if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an unreadable ledger and %q", name, err, c.says)
		}
	}
}

// TestAtMostBeginsAnewUnderAnotherBudget, but the limit of a budget that continues another one counts the instances of both.
func TestAtMostBeginsAnewUnderAnotherBudget(t *testing.T) {
	b := NewBooks()
	var got []string
	for n, p := range []plan{
		{stream: "s", budget: "a", epsilon: "0.1", limit: limit("9", time.Hour)},
		{stream: "s", budget: "a", epsilon: "0.1", limit: limit("9", time.Hour)},
		{stream: "s", budget: "b", epsilon: "0.1", limit: limit("2.3", time.Hour), continues: "a"},
		{stream: "s", budget: "c", epsilon: "0.1", limit: limit("2.3", time.Hour), continues: "b a"},
	} {
		e := p.entry(n)
		e.Groups, e.Watches = []Group{{Name: "eu"}}, []Watch{watching("slow", "d", "1", 1, 0)}
		if err := b.Settle(&e); err != nil {
			t.Fatal(err)
		}
		look(&e, func(Watch) bool { return true })
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s: %d %s, ε %s", e.Budget, e.Watches[0].Instance, e.Watches[0].Reason, e.Standing.BudgetSpent))
	}
	want := []string{"a: 1 , ε 1.1", "a: 1 budget_exhausted, ε 1.2", "b: 1 , ε 2.3", "c: 0 budget_exhausted, ε 2.3"} // the last window is withheld too
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
