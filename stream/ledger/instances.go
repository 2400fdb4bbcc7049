package ledger

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// instances holds every instance of every continual figure in some [Books]. Each is a held charge of its budget, from
// the end of the first window that it looked at to the end of the last one, or is charged leaf by leaf. The accounts
// are the books': whoever adds to these instances passes the account of the budget.
type instances struct {
	// of lists the instances of each continual figure, in the order of their numbers.
	of map[continualName][]*instance
	// going lists those that are not over, by budget: a search of all that there ever were would take ever longer.
	going map[string][]OpenInstance
	// withheld are the continual figures of which the last entry could arm no instance. Only reports need it.
	withheld map[continualName]bool
}

func newInstances() instances {
	return instances{of: map[continualName][]*instance{}, going: map[string][]OpenInstance{},
		withheld: map[continualName]bool{}}
}

// continualName names a continual figure of a stream under one budget.
type continualName struct{ budget, stream, figure string }

func (n continualName) compare(o continualName) int {
	return cmp.Or(cmp.Compare(n.budget, o.budget), cmp.Compare(n.stream, o.stream), cmp.Compare(n.figure, o.figure))
}

func (n continualName) instance(number int64) Instance { return Instance{n.stream, n.figure, number} }

// held is the instance's charge.
func (a *instance) held(name continualName, number int64) budget.Held {
	h := budget.Held{ID: name.instance(number).String(), Stream: name.stream, From: a.From, To: budget.Open,
		Items: a.Cost, Drawn: a.Until == 0} // only totals know their end, and follow the calendar
	switch {
	case a.Over:
		h.To = a.Looked
	case a.Until != 0:
		h.To = a.Until
	}
	return h
}

// OpenInstance is an instance that has not ended.
type OpenInstance struct {
	Instance
	Definition string
	Sealed     []byte
}

func (o OpenInstance) compare(i Instance) int {
	return cmp.Or(cmp.Compare(o.Stream, i.Stream), cmp.Compare(o.Name, i.Name), cmp.Compare(o.Number, i.Number))
}

// names lists the continual figures, sorted.
func (in instances) names() []continualName {
	var names []continualName
	for name := range in.of {
		names = append(names, name)
	}
	slices.SortFunc(names, continualName.compare)
	return names
}

// get returns an instance by its number, or nil.
func (in instances) get(name continualName, number int64) *instance {
	if all := in.of[name]; number >= 1 && number <= int64(len(all)) {
		return all[number-1]
	}
	return nil
}

// counted is how many instances of a continual figure count in the period of the budget that ends at a moment.
func (in instances) counted(name continualName, limit budget.Limit, end int64) (n int64) {
	for _, a := range in.of[name] {
		if limit.Per == 0 || !a.Over || a.Looked > end-int64(limit.Per) {
			n++
		}
	}
	return n
}

// settle decides which instances look at an entry's window, and which are armed for it beside the window's own charge.
// It goes by the books before the entry: an instance that the entry ends still counts.
//
// An instance looks at windows in the order of their ends. So its charge covers all of them, from the first to the
// last.
func (in instances) settle(e *Entry, account *budget.Account, window budget.Charge) {
	var arming []budget.Item
	beside := []budget.Charge{window} // and leaves
	for i := range e.Continual {
		s, name := &e.Continual[i], continualName{e.Budget, e.Stream, e.Continual[i].Name}
		blank, sealed := s.withheld(*e), s.Sealed
		*s = s.facts(*e)
		s.Sealed = nil
		s.Instance = int64(len(in.of[name]))
		number := in.last(name, s.Definition, e.Ended)
		last, end := in.get(name, number), e.WindowEnd.UnixNano()
		allowed := s.kind().before(in.past(name, s.Definition), last, *e)
		switch {
		case last.reaches(end) && last.Looked <= end && allowed:
			s.Instance = number
			leaf, charged := e.leaf(*s)
			if charged && !account.Fits(leaf, e.with(arming, beside)...) {
				s.take(blank)
				s.Reason = record.BudgetExhausted // and the instance ends: see add
			} else if charged {
				beside = append(beside, leaf)
			}
			continue
		case last.reaches(end) || last != nil && !allowed:
			// If the instance is not over, the window is late: it comes from an older definition.
			s.Instance, s.Reason = number, record.NotArmed
			s.take(blank)
			blank.before(in.past(name, s.Definition), last, *e)
			continue
		}
		another := *s
		another.Instance++
		if !s.mayCount(in.counted(name, e.Limit, end)) ||
			!fits(account, *e, another, end, s.kind().until(), arming, beside...) {
			s.take(blank)
			s.Reason = record.BudgetExhausted
			continue
		}
		s.Arms, s.Instance, s.Sealed = true, s.Instance+1, sealed
		if _, ok := s.kind().(leafwise); ok {
			beside = append(beside, e.leafAt(*s, end))
		} else {
			arming = append(arming, s.price()...)
		}
	}
}

// with is what an entry is charged, with what instances cost that are armed for its window.
func (e Entry) with(arming []budget.Item, beside []budget.Charge) []budget.Charge {
	return append(slices.Clone(beside), budget.Charge{Stream: e.Stream, End: e.WindowEnd.UnixNano(), Items: arming})
}

// finish fills in what follows from what was drawn for the instances that look at an entry's window.
func (in instances) finish(e *Entry) error {
	for _, s := range e.Continual {
		if s.Looks() {
			if err := s.kind().after(s, *e); err != nil {
				return fmt.Errorf("%q: %w", s.Name, err)
			}
		}
	}
	return nil
}

// past yields the instances of a definition.
func (in instances) past(name continualName, definition string) iter.Seq[*instance] {
	return func(yield func(*instance) bool) {
		for _, a := range in.of[name] {
			if a.Definition == definition && !yield(a) {
				return
			}
		}
	}
}

// last returns the number of the last instance of a definition that is not among those that end; 0 for none.
func (in instances) last(name continualName, definition string, ended []Instance) int64 {
	for i, a := range slices.Backward(in.of[name]) {
		if number := int64(i + 1); a.Definition == definition && !slices.Contains(ended, name.instance(number)) {
			return number
		}
	}
	return 0
}

// add adds what an entry says of instances.
func (in instances) add(e Entry, account *budget.Account) error {
	end := e.WindowEnd.UnixNano()
	for _, i := range e.Ended {
		name := continualName{e.Budget, i.Stream, i.Name}
		if a := in.get(name, i.Number); a != nil && !a.Over {
			a.passes(end)
		}
		if err := in.end(account, name, i.Number); err != nil {
			return err
		}
	}
	for _, s := range e.Continual {
		if err := in.addStep(e, s, account); err != nil {
			return err
		}
	}
	return nil
}

// addStep adds what an entry says of one continual figure.
func (in instances) addStep(e Entry, s Continual, account *budget.Account) error {
	name, end := continualName{e.Budget, e.Stream, s.Name}, e.WindowEnd.UnixNano()
	in.withheld[name] = s.Reason == record.BudgetExhausted
	if !s.Looks() {
		if a := in.get(name, s.Instance); in.withheld[name] && a.unpaid(s.Definition) {
			return in.end(account, name, s.Instance)
		}
		return nil
	}
	if s.Arms {
		if err := in.addArmed(e, s, account); err != nil {
			return err
		}
	}
	a := in.get(name, s.Instance)
	if a == nil || a.Over || a.Definition != s.Definition || a.Begins != s.begins() || a.Looked > end {
		return fmt.Errorf("%s: instance %s looks, but it is not armed for this", e.Name(), name.instance(s.Instance))
	}
	a.Looked = end
	if leaf, charged := e.leaf(s); charged {
		account.Add(leaf)
	}
	over, err := s.kind().fold(s, e, a, in.past(name, s.Definition))
	if err != nil {
		return err
	}
	if over || s.Last {
		return in.end(account, name, s.Instance)
	}
	return nil
}

// addArmed adds the instance that is armed for an entry's window.
func (in instances) addArmed(e Entry, s Continual, account *budget.Account) error {
	name, end := continualName{e.Budget, e.Stream, s.Name}, e.WindowEnd.UnixNano()
	if n := int64(len(in.of[name])); s.Instance != n+1 {
		return fmt.Errorf("%s: instance %s is armed; want number %d", e.Name(), name.instance(s.Instance), n+1)
	}
	before := in.last(name, s.Definition, nil)
	if a := in.get(name, before); a != nil && !a.Over { // its period is over, and its last windows never came
		a.passes(end)
		if err := in.end(account, name, before); err != nil {
			return err
		}
	}
	a := &instance{Definition: s.Definition, Cost: s.price(), From: end, Looked: end, Sealed: s.Sealed, Begins: s.begins()}
	if until := s.kind().until(); until != budget.Open {
		a.Until = until
	}
	_, a.Leafwise = s.kind().(leafwise)
	return in.arm(account, name, a)
}

// arm adds the next instance of a continual figure.
func (in instances) arm(account *budget.Account, name continualName, a *instance) error {
	in.of[name] = append(in.of[name], a)
	number := int64(len(in.of[name]))
	if !a.Over {
		one := OpenInstance{name.instance(number), a.Definition, a.Sealed}
		at, _ := slices.BinarySearchFunc(in.going[name.budget], one.Instance, OpenInstance.compare)
		in.going[name.budget] = slices.Insert(in.going[name.budget], at, one)
	}
	if a.Leafwise {
		return nil
	}
	return account.Hold(a.held(name, number))
}

// end ends an instance.
func (in instances) end(account *budget.Account, name continualName, number int64) error {
	a := in.get(name, number)
	if a == nil || a.Over {
		return fmt.Errorf("instance %s ends, but it is not armed", name.instance(number))
	}
	a.Over, a.Sealed, a.Total, a.Active = true, nil, nil, nil
	if at, found := slices.BinarySearchFunc(in.going[name.budget], name.instance(number), OpenInstance.compare); found {
		if in.going[name.budget] = slices.Delete(in.going[name.budget], at, at+1); len(in.going[name.budget]) == 0 {
			delete(in.going, name.budget)
		}
	}
	if a.Leafwise {
		return nil
	}
	return account.EndHeld(name.instance(number).String(), a.Looked)
}

// storedContinual are all instances of a continual figure, in the order of their numbers.
type storedContinual struct {
	Stream    string      `json:"stream"`
	Step      string      `json:"step"`
	Instances []*instance `json:"instances"`
	Withheld  bool        `json:"withheld,omitempty"`
}

func (s storedContinual) leafwise() bool {
	return slices.ContainsFunc(s.Instances, func(a *instance) bool { return a.Leafwise })
}

// stored lists the instances of a budget for a checkpoint.
func (in instances) stored(budget string) (all []storedContinual) {
	for _, name := range in.names() {
		if name.budget == budget {
			all = append(all, storedContinual{name.stream, name.figure, in.of[name], in.withheld[name]})
		}
	}
	return all
}

// restore takes what stored listed.
func (in instances) restore(of string, all []storedContinual, account *budget.Account) error {
	for _, s := range all {
		name := continualName{of, s.Stream, s.Step}
		in.withheld[name] = s.Withheld
		if in.of[name] != nil {
			return fmt.Errorf("%s of stream %s is listed twice", s.Step, s.Stream)
		}
		for i, a := range s.Instances {
			if a == nil || len(a.Cost) == 0 || a.Looked < a.From {
				return fmt.Errorf("instance %s costs nothing, or ends before it begins", name.instance(int64(i+1)))
			}
			if err := in.arm(account, name, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// instance is an instance of a continual figure, in the books and in checkpoints. Times are Unix nanoseconds.
type instance struct {
	Definition string        `json:"definition"`
	Cost       []budget.Item `json:"cost"`
	// From and Looked are the ends of the first and the last window that it looked at. An instance that an entry ended
	// counts as if it had looked at that entry's window, though it did not. So the sums in the entry are right after
	// it, too.
	From   int64 `json:"from"`
	Looked int64 `json:"looked"`
	// Until is when it ends at the latest; 0 if that is not known.
	Until int64 `json:"until,omitempty"`
	// Over says that it looks at no more windows. It keeps its secret until then.
	Over   bool   `json:"over,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`

	// The rest is public, and later windows repeat it. Fired is the group in which it fired, or nil. Begins says that
	// it began the values of a [Change]. Values are those that were last drawn under its definition.
	Fired  *string `json:"fired,omitempty"`
	Begins bool    `json:"begins,omitempty"`
	Values []Drawn `json:"values,omitempty"`
	// Total is what the next totals of a [Total] follow from. It is nil once the instance is over.
	Total *totalBook `json:"total,omitempty"`
	// Leafwise says that it is not charged as one, but leaf by leaf, as windows are. Active is what its next values
	// follow from. It is nil once the instance is over.
	Leafwise bool        `json:"leafwise,omitempty"`
	Active   *activeBook `json:"active,omitempty"`
}

// book returns what the next values of an ongoing figure follow from; nil for other figures, and once it is over.
func (a *instance) book() ongoingBook {
	switch {
	case a.Total != nil:
		return a.Total
	case a.Active != nil:
		return a.Active
	}
	return nil
}

// unpaid reports whether the instance has to end because its budget did not pay for a leaf.
func (a *instance) unpaid(definition string) bool {
	return a != nil && a.Leafwise && !a.Over && a.Definition == definition
}

// reaches reports whether the instance may look at a window with this end, or could if the window were not late.
func (a *instance) reaches(end int64) bool {
	return a != nil && !a.Over && (a.Until == 0 || end <= a.Until)
}

// passes records that the instance lasts until a window with this end, or until its own end if that is earlier.
func (a *instance) passes(end int64) {
	if a.Until != 0 {
		end = min(end, a.Until)
	}
	a.Looked = max(a.Looked, end)
}
