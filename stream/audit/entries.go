package audit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/ledger"
)

// entries derives each entry again from its facts and from the entries before it, and compares. It goes on with each
// entry as it stands.
type entries struct {
	found *Findings
	// books are those of all partitions, and histories say what was published in each.
	books     *ledger.Books
	histories map[int]*ledger.History
	// deferred lists, by budget, the entries of budgets that continue another one, whose entries may be read later.
	deferred map[string][]booking
}

type booking struct {
	entry ledger.Entry // without the values of its groups
	at    Position
}

func newEntries(found *Findings) *entries {
	return &entries{found: found, books: ledger.NewBooks(), histories: map[int]*ledger.History{},
		deferred: map[string][]booking{}}
}

// begin takes over what checkpoints cover.
func (es *entries) begin(states []*ledger.State) {
	var parts []*ledger.Books
	for _, s := range states {
		parts = append(parts, s.Books)
		es.histories[s.Partition()] = s.History()
	}
	es.books = ledger.Join(parts)
}

// history is what was published in a partition.
func (es *entries) history(partition int) *ledger.History {
	h := es.histories[partition]
	if h == nil {
		h = ledger.NewHistory()
		es.histories[partition] = h
	}
	return h
}

// add compares the next entry and adds it. What the books decide about a budget that continues another one is compared
// at the end.
func (es *entries) add(at Position, e ledger.Entry) {
	es.figures(at, e)
	for _, s := range e.Continual {
		if s.Arms {
			es.found.Instances++
		}
		if s.Fires() != nil {
			es.found.Firings++
		}
	}
	b := booking{withoutValues(e), at}
	if len(e.Continues) > 0 || len(es.deferred[e.Budget]) > 0 {
		es.deferred[e.Budget] = append(es.deferred[e.Budget], b)
		return
	}
	es.book(b)
}

// figures compares the groups and what follows from their values.
func (es *entries) figures(at Position, e ledger.Entry) {
	h := es.history(at.Partition)
	want, err := h.Derive(e)
	if es.compare(at, e, want, published) && err != nil {
		es.found.fault(RollupDiffers, at, "%v", err)
	}
	if e.Discovery != nil {
		es.threshold(at, e)
	}
	if err := h.Add(e); err != nil {
		es.found.fault(EntryUnreadable, at, "%v", err)
	}
}

// threshold checks that a discovery published no count below the one that its ε and δ take. A definition may ask for a
// higher one, so this is no part that is derived.
func (es *entries) threshold(at Position, e ledger.Entry) {
	p := e.Price[0]
	switch m, err := mechanisms.NewTruncatedGeometric(p.Epsilon, p.Delta, 1); {
	case err != nil:
		es.found.fault(EntryUnreadable, at, "%s: %v", e.Name(), err)
	case m.Threshold() > e.Discovery.Threshold:
		es.found.fault(ListDiffers, at, "%s: its threshold is %d; its ε and δ take at least %d", e.Name(),
			e.Discovery.Threshold, m.Threshold())
	}
}

// withoutValues drops what the books do not need. They need the names of groups if a continual figure has values.
func withoutValues(e ledger.Entry) ledger.Entry {
	var names []ledger.Group
	if e.Publishes() {
		for _, g := range e.Groups {
			names = append(names, ledger.Group{Name: g.Name})
		}
	}
	e.Groups, e.Rollups, e.Together, e.Objectives = names, nil, nil, nil
	return e
}

// book compares what the books decide, and adds the entry to them.
func (es *entries) book(b booking) {
	e := b.entry
	if es.books.Has(e) {
		es.found.fault(ChargedTwice, b.at, "%s: already has an entry", e.Name())
	}
	if before, right := es.rightCap(e); !right {
		es.found.fault(WrongCap, b.at, "%s: its cap is %s, that of the windows before is %s",
			e.Name(), capText(e.Cap), capText(before))
	}
	want, err := es.books.Derive(e)
	if want.Reason != e.Reason {
		fault, could := OverLimit, "cannot"
		if e.Reason != "" {
			fault, could = WronglyWithheld, "could"
		}
		es.found.fault(fault, b.at, "%s: budget %q %s pay for it within epsilon %s per %s", e.Name(), e.Budget, could,
			e.Limit.Epsilon, budget.FormatPer(e.Limit.Per))
		want, err = es.books.Stand(e)
	}
	if es.compare(b.at, e, want, booked) && err != nil {
		es.found.fault(WatchDiffers, b.at, "%v", err)
	}
	if err := es.books.Add(e); err != nil {
		es.found.fault(EntryUnreadable, b.at, "%v", err)
	}
}

// rightCap reports whether the entry has the right cap, and returns the cap of the windows before it, of the same epoch
// and row. The right cap is that one, or the same in an era that begins with this window because counting began anew.
// The first window of an epoch has an era of its own. Otherwise the charges of users who were chosen separately would
// not add up.
func (es *entries) rightCap(e ledger.Entry) (before budget.Cap, right bool) {
	_, decided := es.books.LastOf(e.Stream, e.Epoch, e.Lane)
	before = es.books.Cap(e.Stream, e.Epoch, e.Lane)
	if !decided {
		before = e.Cap
	}
	anew := before
	if anew.Era = e.WindowStart.Unix(); !decided {
		anew.Era = es.books.Era(e.Stream, e.WindowStart.UnixNano(), func(era int64) budget.Cap {
			return budget.Cap{Count: e.Cap.Count, Per: e.Cap.Per, Era: era, Lane: e.Lane}
		})
	}
	none := budget.Cap{}
	return before, e.Cap == none && before == none || decided && e.Cap == before || before != none && e.Cap == anew
}

func capText(c budget.Cap) string {
	if c == (budget.Cap{}) {
		return "none"
	}
	era := time.Unix(c.Era, 0).UTC().Format(time.RFC3339)
	return fmt.Sprintf("%d windows per %s from %s on", c.Count, budget.FormatPer(c.Per), era)
}

// finish books the entries of budgets that continue others, after the entries of those.
func (es *entries) finish() {
	for len(es.deferred) > 0 {
		name := es.readyBudget()
		list := es.deferred[name]
		delete(es.deferred, name)
		for _, b := range list {
			es.book(b)
		}
	}
}

// readyBudget picks, by name, a deferred budget whose predecessors are booked. If they form a cycle, it picks any.
func (es *entries) readyBudget() string {
	names := slices.Sorted(maps.Keys(es.deferred))
	for _, name := range names {
		waits := func(b booking) bool {
			return slices.ContainsFunc(b.entry.Continues, func(old string) bool {
				return old != name && len(es.deferred[old]) > 0
			})
		}
		if !slices.ContainsFunc(es.deferred[name], waits) {
			return name
		}
	}
	return names[0]
}
