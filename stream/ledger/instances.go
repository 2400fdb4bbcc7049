package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// instances holds every instance of every watch in some [Books]. Each is a held charge of its budget: from the end of
// the first window that it looked at to the end of the last one. The accounts are the books': whoever adds to these
// instances passes the account of the budget.
type instances struct {
	// of lists those of each watch, in the order of their numbers.
	of map[watchName][]*instance
	// going lists those that are not over, by budget: to look through all that there ever were would take ever longer.
	going map[string][]Open
	// withheld are the watches of which the last entry could arm no instance. Only reports need it.
	withheld map[watchName]bool
}

func newInstances() instances {
	return instances{of: map[watchName][]*instance{}, going: map[string][]Open{}, withheld: map[watchName]bool{}}
}

// watchName names a watch of a budget.
type watchName struct{ budget, stream, watch string }

func (n watchName) compare(o watchName) int {
	return cmp.Or(cmp.Compare(n.budget, o.budget), cmp.Compare(n.stream, o.stream), cmp.Compare(n.watch, o.watch))
}

func (n watchName) instance(number int64) Instance { return Instance{n.stream, n.watch, number} }

// instance is one in the books. Times are Unix nanoseconds.
type instance struct {
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
	// begins says that it began the values of a figure on change. values are those of its definition that were drawn last.
	begins bool
	values []Drawn
}

// held is the instance's charge.
func (a *instance) held(name watchName, number int64) budget.Held {
	h := budget.Held{ID: name.instance(number).String(), Stream: name.stream, From: a.from, To: budget.Open, Items: a.cost}
	if a.over {
		h.To = a.looked
	}
	return h
}

// Open is an instance that has not ended.
type Open struct {
	Instance
	Definition string
	Sealed     []byte
}

func (o Open) compare(i Instance) int {
	return cmp.Or(cmp.Compare(o.Stream, i.Stream), cmp.Compare(o.Watch, i.Watch), cmp.Compare(o.Number, i.Number))
}

// names lists the watches, sorted.
func (in instances) names() []watchName {
	var names []watchName
	for name := range in.of {
		names = append(names, name)
	}
	slices.SortFunc(names, watchName.compare)
	return names
}

// get returns an instance by its number, or nil.
func (in instances) get(name watchName, number int64) *instance {
	if all := in.of[name]; number >= 1 && number <= int64(len(all)) {
		return all[number-1]
	}
	return nil
}

// counted is how many instances of a watch the period counts that ends at a moment.
func (in instances) counted(name watchName, limit budget.Limit, end int64) (n int64) {
	for _, a := range in.of[name] {
		if limit.Per == 0 || !a.over || a.looked > end-int64(limit.Per) {
			n++
		}
	}
	return n
}

// values returns what was last drawn under a definition of a watch; nil if nothing was. They are public, so it makes no
// difference what became of the instances that drew them.
func (in instances) values(name watchName, definition string) []Drawn {
	for _, a := range slices.Backward(in.of[name]) {
		if a.definition == definition && len(a.values) > 0 {
			return a.values
		}
	}
	return nil
}

// keepValues keeps the values of an entry with the instance that looked, and with no earlier one of its definition.
func (in instances) keepValues(name watchName, w Watch) {
	for _, a := range in.of[name] {
		if a.definition == w.Definition {
			a.values = nil
		}
	}
	in.get(name, w.Instance).values = w.Values
}

// settle decides which instances look at an entry's window, and which are armed for it beside the window's own charge.
// It goes by the books before the entry: an instance that the entry ends still counts.
//
// An instance looks at windows in the order of their ends. So the stretch of its charge holds the ends of all of them.
func (in instances) settle(e *Entry, account *budget.Account, window budget.Charge) {
	end, from := e.WindowEnd.UnixNano(), e.WindowStart.UnixNano()
	var arming []budget.Item
	for i := range e.Watches {
		w := &e.Watches[i]
		name := watchName{e.Budget, e.Stream, w.Name}
		all := in.of[name]
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
				w.Instance, w.Begins, w.Values = int64(last+1), a.begins, slices.Clone(in.values(name, w.Definition))
				continue
			case !a.over || w.Release != nil && a.looked > end:
				// The window belongs to an older definition of the stream, and comes late.
				w.Instance, w.Reason = int64(last+1), record.NotArmed
				continue
			case w.Release == nil && a.fired != nil && from < a.looked+w.Hold*int64(time.Second):
				w.Instance, w.Reason, w.Fired = int64(last+1), record.NotArmed, a.fired
				w.Since = new(time.Unix(0, a.looked).UTC())
				continue
			}
		}
		if w.Values = slices.Clone(in.values(name, w.Definition)); w.Release != nil && w.Values == nil {
			w.Begins, w.Values = true, make([]Drawn, len(e.Groups))
		}
		if in.counted(name, e.Limit, end) >= w.AtMost || !account.FitsHeld(budget.Held{
			Stream: e.Stream, From: end, To: budget.Open, Items: slices.Concat(arming, w.price())}, window) {
			w.Reason, w.Begins, w.Values = record.BudgetExhausted, false, nil
			continue
		}
		arming = append(arming, w.price()...)
		w.Arms, w.Instance = true, w.Instance+1
	}
}

// add folds what an entry says of watches.
func (in instances) add(e Entry, account *budget.Account) error {
	end := e.WindowEnd.UnixNano()
	for _, i := range e.Ended {
		name := watchName{e.Budget, i.Stream, i.Watch}
		if a := in.get(name, i.Number); a != nil && !a.over {
			a.looked = max(a.looked, end)
		}
		if err := in.end(account, name, i.Number); err != nil {
			return err
		}
	}
	for _, w := range e.Watches {
		name := watchName{e.Budget, e.Stream, w.Name}
		in.withheld[name] = w.Reason == record.BudgetExhausted
		if !w.Looks() {
			continue
		}
		if w.Arms {
			if n := int64(len(in.of[name])); w.Instance != n+1 {
				return fmt.Errorf("%s: instance %s is armed; want number %d", e.Name(), name.instance(w.Instance), n+1)
			}
			a := &instance{definition: w.Definition, cost: w.price(), from: end, looked: end, sealed: w.Sealed, begins: w.Begins}
			if err := in.arm(account, name, a); err != nil {
				return err
			}
		}
		a := in.get(name, w.Instance)
		if a == nil || a.over || a.definition != w.Definition || a.begins != w.Begins || a.looked > end {
			return fmt.Errorf("%s: instance %s looks, but it is not armed for this", e.Name(), name.instance(w.Instance))
		}
		a.looked, a.fired = end, w.Fired
		if w.Release != nil {
			in.keepValues(name, w)
		}
		if w.Fired != nil || w.Last {
			if err := in.end(account, name, w.Instance); err != nil {
				return err
			}
		}
	}
	return nil
}

// arm adds the next instance of a watch.
func (in instances) arm(account *budget.Account, name watchName, a *instance) error {
	in.of[name] = append(in.of[name], a)
	number := int64(len(in.of[name]))
	if !a.over {
		one := Open{name.instance(number), a.definition, a.sealed}
		at, _ := slices.BinarySearchFunc(in.going[name.budget], one.Instance, Open.compare)
		in.going[name.budget] = slices.Insert(in.going[name.budget], at, one)
	}
	return account.Hold(a.held(name, number))
}

// end ends an instance.
func (in instances) end(account *budget.Account, name watchName, number int64) error {
	a := in.get(name, number)
	if a == nil || a.over {
		return fmt.Errorf("instance %s ends, but it is not armed", name.instance(number))
	}
	a.over, a.sealed = true, nil
	if at, found := slices.BinarySearchFunc(in.going[name.budget], name.instance(number), Open.compare); found {
		if in.going[name.budget] = slices.Delete(in.going[name.budget], at, at+1); len(in.going[name.budget]) == 0 {
			delete(in.going, name.budget)
		}
	}
	return account.Let(name.instance(number).String(), a.looked)
}
