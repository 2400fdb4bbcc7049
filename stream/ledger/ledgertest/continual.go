package ledgertest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// Watch is a watch as a definition has it.
func Watch(name, definition, epsilon string, atMost int64, hold time.Duration) ledger.Continual {
	return ledger.Continual{
		Name: name, Definition: definition, Cost: []budget.Item{{Promise: privacy.NewPure(Dec(epsilon)), Times: 1}},
		AtMost: atMost, Watch: &ledger.Watch{Excess95: Some("26.5"), Hold: int64(hold / time.Second)},
	}
}

// Change is the figure on change "calm" as a definition has it. A user may be in two groups.
func Change(definition, test, draw string, atMost int64) ledger.Continual {
	const name = "calm"
	drawn := budget.Item{Promise: privacy.NewPure(Dec(draw)), Times: 1}
	first := drawn
	first.Times = 2
	return ledger.Continual{
		Name: name, Definition: definition, Cost: []budget.Item{{Promise: privacy.NewPure(Dec(test)), Times: 1}, drawn},
		AtMost: atMost, Change: &ledger.Change{First: []budget.Item{first}, Release: record.Series{
			Name: name, Statistic: "median", P: Some("0.5"), Mechanism: "margin", Unit: "ms", Epsilon: Dec(draw),
		}},
	}
}

// Look fills in what a session would: secrets, who fires, and what is drawn.
func Look(t T, e *ledger.Entry, fires func(s ledger.Continual) bool) {
	t.Helper()
	for i := range e.Continual {
		s := &e.Continual[i]
		if of := s.Sums(); of != nil {
			if s.Looks() && of.Finishes(*s, *e) {
				publish(t, e, s)
			}
			continue
		}
		if of := s.Active; of != nil {
			if s.Looks() && of.Finishes(*e) {
				count(e, s)
			}
			continue
		}
		if s.Arms {
			s.Sealed = fmt.Appendf(nil, "%s/%s/%d", e.Stream, s.Name, s.Instance)
		}
		if s.Looks() && (s.Change == nil || !s.Change.DrawsAll(*s)) && fires(*s) {
			s.Fire(e.Groups[len(e.Groups)/2].Name)
		}
		if c := s.Change; c != nil {
			for g := range c.Values {
				if c.Draws(*s, e.Groups[g].Name) {
					c.Redraw(g, ledger.Value{Value: Some(fmt.Sprint(e.WindowEnd.Unix()%1000 + int64(g))),
						Quality: "useful"})
				}
			}
		}
	}
}

// Decide settles an entry with watches, lets them look, and adds it.
func Decide(t T, b *ledger.Books, e *ledger.Entry, fires func(s ledger.Continual) bool) {
	t.Helper()
	if err := b.Settle(e); err != nil {
		t.Fatal(err)
	}
	Look(t, e, fires)
	if err := b.Finish(e); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(*e); err != nil {
		t.Fatal(err)
	}
}

// Watched is a ledger of n windows of a stream with one alarm, in three groups. It fires in the third window, in the
// second group.
func Watched(t T, n int) []ledger.Entry {
	t.Helper()
	b := ledger.NewBooks()
	var all []ledger.Entry
	for i := range n {
		e := Plan{Stream: "s", Budget: "b", Epsilon: "0.05", Limit: Limit("4", 10*time.Minute)}.Entry(i)
		e.Groups = nil
		for _, name := range []string{"eu", "us", "ap"} {
			e.Groups = append(e.Groups, ledger.Group{Name: name, Values: []ledger.Value{{Value: Some("1")}}})
		}
		e.Continual = []ledger.Continual{Watch("slow", "d", "1", 1, 2*time.Minute)}
		Decide(t, b, &e, func(ledger.Continual) bool { return i == 2 })
		all = append(all, e)
	}
	return all
}

// Changing is a ledger of n windows of a stream that has nothing but one figure on change, in three groups. Its
// instances fire in the third and in the fifth window, in the second group.
func Changing(t T, n int) []ledger.Entry {
	t.Helper()
	b := ledger.NewBooks()
	var all []ledger.Entry
	for i := range n {
		e := Plan{Stream: "s", Budget: "b", Epsilon: "0.05", Limit: Limit("4", 10*time.Minute)}.Entry(i)
		e.Price, e.Releases = nil, nil
		e.Groups = []ledger.Group{{Name: "eu"}, {Name: "us"}, {Name: "ap"}}
		e.Continual = []ledger.Continual{Change("d", "0.2", "0.1", 2)}
		Decide(t, b, &e, func(ledger.Continual) bool { return i == 2 || i == 4 })
		all = append(all, e)
	}
	return all
}

// Watchful returns n entries of three streams with alarms and figures on change that fire, change, end and exhaust
// their budget.
func Watchful(t *rapid.T, n int) *Partition {
	p, live := &Partition{}, ledger.NewBooks()
	per := rapid.SampledFrom([]time.Duration{0, 7 * time.Minute, 20 * time.Minute}).Draw(t, "per")
	next := map[string]int{}
	for range n {
		stream := rapid.SampledFrom([]string{"s", "u", "c"}).Draw(t, "stream")
		e := Plan{Stream: stream, Budget: "b", Epsilon: "0.05", Limit: Limit("4", per)}.Entry(next[stream])
		next[stream] += rapid.SampledFrom([]int{1, 1, 1, 3, 30}).Draw(t, "step")
		definition := fmt.Sprint("d", next[stream]/25)
		e.Groups = []ledger.Group{{Name: "eu"}, {Name: "us"}, {Name: "ap"}}
		e.Continual = []ledger.Continual{Watch("slow", definition, "1", 2, 3*time.Minute)}
		if stream == "s" {
			e.Continual = append(e.Continual, Watch("gone", "d", "0.5", 3, 0), Change("d", "0.3", "0.2", 2))
		}
		if stream == "u" {
			e.Continual = append(e.Continual, Total(t, e, definition, "tree", "0.25"))
			e.Continual = append(e.Continual, SoFar(t, e, definition, "tree", "0.125"))
		}
		if stream == "c" { // its windows cost nothing
			e.Price, e.Releases = nil, nil
			e.Continual = append(e.Continual, Change(definition, "0.2", "0.1", 3))
		}
		e.Continual[0].Last = rapid.IntRange(0, 30).Draw(t, "last") == 0
		for _, o := range live.OpenInstances("b") {
			stale := o.Stream == stream && (o.Name == "slow" || o.Name == "today" || o.Name == "spread" || stream == "c") &&
				o.Definition != definition
			if lost := rapid.IntRange(0, 20).Draw(t, "unreadable") == 0; stale || lost {
				e.Ended = append(e.Ended, o.Instance)
			}
		}
		if err := live.Settle(&e); err != nil {
			t.Fatal(err)
		}
		Look(t, &e, func(ledger.Continual) bool { return rapid.IntRange(0, 4).Draw(t, "fires") == 0 })
		if err := live.Finish(&e); err != nil {
			t.Fatal(err)
		}
		if e.Reason == "" && len(e.Releases) > 0 {
			for g := range e.Groups {
				e.Groups[g].Values = []ledger.Value{{Value: Some("12.5")}}
			}
		}
		if err := live.Add(e); err != nil {
			t.Fatal(err)
		}
		p.Add(t, e)
	}
	return p
}
