package audit

import (
	"fmt"
	"slices"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/ledger"
)

// decisions compares what each entry decided, and the sums in it, with what follows from the entries before it.
type decisions struct {
	found *Findings
	books *ledger.Books
	// deferred lists, by budget, the entries of budgets that continue another one, whose entries may be read later.
	deferred map[string][]booking
}

type booking struct {
	entry ledger.Entry // without the values of its groups
	at    Position
}

func newDecisions(found *Findings) *decisions {
	return &decisions{found: found, books: ledger.NewBooks(), deferred: map[string][]booking{}}
}

// add takes the next entry.
func (d *decisions) add(at Position, e ledger.Entry) {
	e.Groups = names(e)
	if len(e.Continues) > 0 || len(d.deferred[e.Budget]) > 0 {
		d.deferred[e.Budget] = append(d.deferred[e.Budget], booking{e, at})
		return
	}
	d.book(booking{e, at})
}

// names returns the groups without what was drawn. It returns nil unless a step publishes figures: nothing else needs
// the groups here.
func names(e ledger.Entry) (all []ledger.Group) {
	if !e.Publishes() {
		return nil
	}
	for _, g := range e.Groups {
		all = append(all, ledger.Group{Name: g.Name})
	}
	return all
}

// book checks an entry against the books so far and adds it to them.
func (d *decisions) book(b booking) {
	e := b.entry
	if d.books.Has(e) {
		d.found.fault(ChargedTwice, b.at, "%s: already has an entry", e.Name())
	}
	if before, right := rightCap(d.books, e); !right {
		d.found.fault(WrongCap, b.at, "%s: its cap is %s, that of the windows before is %s",
			e.Name(), capText(e.Cap), capText(before))
	}
	again := e
	again.Continual = slices.Clone(e.Continual)
	if err := d.books.Settle(&again); err != nil {
		d.found.fault(EntryUnreadable, b.at, "%v", err)
		return
	}
	switch {
	case e.Reason == "" && again.Reason != "":
		d.found.fault(OverLimit, b.at, "%s: budget %q cannot pay for it within epsilon %s per %s",
			e.Name(), e.Budget, e.Limit.Epsilon, budget.FormatPer(e.Limit.Per))
	case e.Reason != "" && again.Reason == "":
		d.found.fault(WronglyWithheld, b.at, "%s: budget %q could pay for it within epsilon %s per %s",
			e.Name(), e.Budget, e.Limit.Epsilon, budget.FormatPer(e.Limit.Per))
	}
	d.compareSteps(b, again.Continual)
	standing, err := d.books.Standing(e)
	if err == nil {
		d.compareStanding(b, standing)
		err = d.books.Add(e)
	}
	if err != nil {
		d.found.fault(EntryUnreadable, b.at, "%v", err)
	}
}

func (d *decisions) compareStanding(b booking, want ledger.Standing) {
	got := b.entry.Standing
	stream, spent := got.Sums()
	wantStream, wantSpent := want.Sums()
	type sum struct{ name, got, want string }
	sums := []sum{{"stream_epsilon_spent", stream, wantStream}, {"budget_epsilon_spent", spent, wantSpent}}
	if got.Lost != nil { // entries of earlier releases do not say it
		stream, budget := got.Lost.Words()
		wantStream, wantBudget := want.Lost.Words()
		sums = append(sums, sum{"stream_epsilon_lost", stream, wantStream},
			sum{"budget_epsilon_lost", budget, wantBudget},
			sum{"budget_windows_used", fmt.Sprint(got.Lost.Used), fmt.Sprint(want.Lost.Used)})
	}
	for _, c := range sums {
		if c.got != c.want {
			d.found.fault(WrongSum, b.at, "%s: %s is %s, but the entries add up to %s", b.entry.Name(), c.name,
				c.got, c.want)
		}
	}
	if got.WindowsLeft != want.WindowsLeft {
		d.found.fault(WrongSum, b.at, "%s: budget_windows_left is %d, but the entries give %d",
			b.entry.Name(), got.WindowsLeft, want.WindowsLeft)
	}
}

// compareSteps compares what an entry's alarms and figures on change did with what follows from the earlier entries,
// and counts instances.
func (d *decisions) compareSteps(b booking, want []ledger.Continual) {
	for i, s := range b.entry.Continual {
		if unlike := s.Unlike(want[i], b.entry); unlike != "" {
			what := "watch"
			if s.HasValues() {
				what = "release"
			}
			d.found.fault(WatchDiffers, b.at, "%s: %s %q %s", b.entry.Name(), what, s.Name, unlike)
		}
		if s.Arms {
			d.found.Instances++
		}
		if s.Fires() != nil {
			d.found.Firings++
		}
	}
}

// finish books the entries of budgets that continue others, after the entries of those.
func (d *decisions) finish() {
	for len(d.deferred) > 0 {
		name := d.readyBudget()
		list := d.deferred[name]
		delete(d.deferred, name)
		for _, b := range list {
			d.book(b)
		}
	}
}

// readyBudget picks, by name, a deferred budget whose predecessors are booked. If they form a cycle, it picks any.
func (d *decisions) readyBudget() string {
	names := make([]string, 0, len(d.deferred))
	for name := range d.deferred {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		waits := func(b booking) bool {
			return slices.ContainsFunc(b.entry.Continues, func(old string) bool {
				return old != name && len(d.deferred[old]) > 0
			})
		}
		if !slices.ContainsFunc(d.deferred[name], waits) {
			return name
		}
	}
	return names[0]
}
