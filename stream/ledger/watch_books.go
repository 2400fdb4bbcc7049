package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// A watch's books. Each instance is a held charge of its budget: from the end of the first window that it looked at to
// the end of the last one.

// watchName names a watch of a budget.
type watchName struct{ budget, stream, watch string }

func (n watchName) compare(o watchName) int {
	return cmp.Or(cmp.Compare(n.budget, o.budget), cmp.Compare(n.stream, o.stream), cmp.Compare(n.watch, o.watch))
}

func (n watchName) instance(number int64) Instance { return Instance{n.stream, n.watch, number} }

// armed is an instance in the books. Times are Unix nanoseconds.
type armed struct {
	definition string
	cost       []budget.Item
	// from and looked are the ends of the first and the last window that it looked at. An instance that an entry ended
	// counts as if it had looked at that window, which it did not: so the sums in the entry hold after it too.
	from, looked int64
	// over says that it looks at no more windows. Until then it has its secret.
	over   bool
	sealed []byte
	// fired is the group in which it fired, or nil.
	fired *string
	// begins says that it began the values of a release on change. values are those of its definition that were drawn last.
	begins bool
	values []Drawn
}

// Open is an instance that has not ended.
type Open struct {
	Instance
	Definition string
	Sealed     []byte
}

// Open lists the instances of a budget that have not ended, by stream, watch and number. The caller must not change the list,
// and it is valid until an entry is added.
func (b *Books) Open(budget string) []Open { return b.going[budget] }

// arm adds the next instance of a watch. Open lists those that are not over: to look through all that there ever were would take
// ever longer.
func (b *Books) arm(name watchName, a *armed) error {
	b.watches[name] = append(b.watches[name], a)
	number := int64(len(b.watches[name]))
	if !a.over {
		one := Open{name.instance(number), a.definition, a.sealed}
		at, _ := slices.BinarySearchFunc(b.going[name.budget], one.Instance, Open.compare)
		b.going[name.budget] = slices.Insert(b.going[name.budget], at, one)
	}
	return b.open(name.budget).Hold(a.held(name, number))
}

func (o Open) compare(i Instance) int {
	return cmp.Or(cmp.Compare(o.Stream, i.Stream), cmp.Compare(o.Watch, i.Watch), cmp.Compare(o.Number, i.Number))
}

func (b *Books) watchNames() []watchName {
	var names []watchName
	for name := range b.watches {
		names = append(names, name)
	}
	slices.SortFunc(names, watchName.compare)
	return names
}

// settleWatches decides which instances look at an entry's window, and which are armed for it. It goes by the books
// before the entry: an instance that the entry ends still counts.
//
// An instance looks at windows in the order of their ends. So the stretch of its charge holds the ends of all of them.
func (b *Books) settleWatches(e *Entry, window budget.Charge) {
	end, from := e.WindowEnd.UnixNano(), e.WindowStart.UnixNano()
	var arming []budget.Item
	for i := range e.Watches {
		w := &e.Watches[i]
		name := watchName{e.Budget, e.Stream, w.Name}
		all := b.watches[name]
		w.Arms, w.Reason, w.Fired, w.Since, w.Begins, w.Values = false, "", nil, nil, false, nil
		w.Instance = int64(len(all))
		last := -1 // of this definition
		for n, a := range all {
			if a.definition == w.Definition && !slices.Contains(e.Ended, name.instance(int64(n+1))) {
				last = n
			}
		}
		if last >= 0 {
			a := all[last]
			switch {
			case !a.over && a.looked <= end:
				w.Instance, w.Begins, w.Values = int64(last+1), a.begins, slices.Clone(b.values(name, w.Definition))
				continue
			case !a.over || w.Release != nil && a.looked > end: // the window belongs to an older definition of the stream, and comes late
				w.Instance, w.Reason = int64(last+1), record.NotArmed
				continue
			case w.Release == nil && a.fired != nil && from < a.looked+w.Hold*int64(time.Second):
				w.Instance, w.Reason, w.Fired = int64(last+1), record.NotArmed, a.fired
				w.Since = new(time.Unix(0, a.looked).UTC())
				continue
			}
		}
		if w.Values = slices.Clone(b.values(name, w.Definition)); w.Release != nil && w.Values == nil {
			w.Begins, w.Values = true, make([]Drawn, len(e.Groups))
		}
		if b.counted(name, e.Limit, end) >= w.AtMost || !b.accounts[e.Budget].FitsHeld(budget.Held{
			Stream: e.Stream, From: end, To: budget.Open, Items: slices.Concat(arming, w.price())}, window) {
			w.Reason, w.Begins, w.Values = record.BudgetExhausted, false, nil
			continue
		}
		arming = append(arming, w.price()...)
		w.Arms, w.Instance = true, w.Instance+1
	}
}

// counted is how many instances of a watch the period counts that ends at a moment.
func (b *Books) counted(name watchName, limit budget.Limit, end int64) (n int64) {
	for _, a := range b.watches[name] {
		if limit.Per == 0 || !a.over || a.looked > end-int64(limit.Per) {
			n++
		}
	}
	return n
}

// addWatches folds what an entry says of watches.
func (b *Books) addWatches(e Entry) error {
	account, end := b.accounts[e.Budget], e.WindowEnd.UnixNano()
	for _, i := range e.Ended {
		name := watchName{e.Budget, i.Stream, i.Watch}
		if a := b.instance(name, i.Number); a != nil && !a.over {
			a.looked = max(a.looked, end)
		}
		if err := b.end(account, name, i.Number); err != nil {
			return err
		}
	}
	for _, w := range e.Watches {
		name := watchName{e.Budget, e.Stream, w.Name}
		b.withheld[name] = w.Reason == record.BudgetExhausted
		if !w.Looks() {
			continue
		}
		if w.Arms {
			if n := int64(len(b.watches[name])); w.Instance != n+1 {
				return fmt.Errorf("%s: instance %s is armed; want number %d", e.Name(), name.instance(w.Instance), n+1)
			}
			a := &armed{definition: w.Definition, cost: w.price(), from: end, looked: end, sealed: w.Sealed, begins: w.Begins}
			if err := b.arm(name, a); err != nil {
				return err
			}
		}
		a := b.instance(name, w.Instance)
		if a == nil || a.over || a.definition != w.Definition || a.begins != w.Begins || a.looked > end {
			return fmt.Errorf("%s: instance %s looks, but it is not armed for this", e.Name(), name.instance(w.Instance))
		}
		a.looked, a.fired = end, w.Fired
		if w.Release != nil {
			b.keepValues(name, w)
		}
		if w.Fired != nil || w.Last {
			if err := b.end(account, name, w.Instance); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Books) instance(name watchName, number int64) *armed {
	if all := b.watches[name]; number >= 1 && number <= int64(len(all)) {
		return all[number-1]
	}
	return nil
}

// end ends an instance.
func (b *Books) end(account *budget.Account, name watchName, number int64) error {
	a := b.instance(name, number)
	if a == nil || a.over {
		return fmt.Errorf("instance %s ends, but it is not armed", name.instance(number))
	}
	a.over, a.sealed = true, nil
	if at, found := slices.BinarySearchFunc(b.going[name.budget], name.instance(number), Open.compare); found {
		if b.going[name.budget] = slices.Delete(b.going[name.budget], at, at+1); len(b.going[name.budget]) == 0 {
			delete(b.going, name.budget)
		}
	}
	return account.Let(name.instance(number).String(), a.looked)
}

// held is the instance's charge.
func (a *armed) held(name watchName, number int64) budget.Held {
	h := budget.Held{ID: name.instance(number).String(), Stream: name.stream, From: a.from, To: budget.Open, Items: a.cost}
	if a.over {
		h.To = a.looked
	}
	return h
}

// Seen is what the records of a watch say of one of its instances.
type Seen struct {
	Number int64
	Cost   []budget.Item
	// From and To are the ends of the first and the last window that it looked at, in Unix nanoseconds.
	From, To int64
	// Over says that it looks at no more windows, Fired that it has fired. Withheld says that since then none may be armed.
	Over, Fired, Withheld bool
}

// AddSeen adds the instances of a watch, by number, for readers of output topics who do not see the ledger. Instances that
// are not seen any more leave gaps, which cost nothing.
func (b *Books) AddSeen(budget, stream, watch string, all []Seen) error {
	name := watchName{budget, stream, watch}
	for _, s := range all {
		if s.Number < int64(len(b.watches[name]))+1 || s.Number > mostSeen {
			return fmt.Errorf("instance %s follows number %d", name.instance(s.Number), len(b.watches[name]))
		}
		for int64(len(b.watches[name])) < s.Number-1 {
			b.watches[name] = append(b.watches[name], &armed{over: true})
		}
		b.withheld[name] = s.Withheld
		a := &armed{cost: s.Cost, from: s.From, looked: s.To, over: s.Over}
		if s.Fired {
			a.fired = new("")
		}
		if err := b.arm(name, a); err != nil {
			return err
		}
	}
	return nil
}

// mostSeen bounds the gaps that a record can make.
const mostSeen = 1 << 20
