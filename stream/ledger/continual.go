package ledger

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// Continual says what a figure with one charge for many windows did in this window. It has instances. Each is charged
// once, when it is armed, and then looks at one window after another until it ends. [Books.Settle] decides whether an
// instance looks at the window, and whether this is a new one. The caller then has it look, and fills in what it found.
//
// It is of one of five kinds: a [Watch], a [Change], a [Total], a [SoFar] or an [Active]. Exactly one of these fields
// is set.
type Continual struct {
	Name string `json:"name"`
	// Definition is a fingerprint of everything that an instance depends on. An instance looks only while it is the
	// same.
	Definition string `json:"definition"`
	// Cost is what an instance costs one user. It covers all windows and groups.
	Cost []budget.Item `json:"cost"`
	// AtMost limits the instances that count in a period of the budget. 0 means that the calendar limits them.
	AtMost int64 `json:"at_most,omitempty"`
	// Last says that the stream's definition ends with this window, and so does the instance.
	Last bool `json:"last,omitempty"`

	// Instance is the number of the instance that looks, or else of the last one, from 1. 0 means that there was none.
	Instance int64 `json:"instance,omitempty"`
	// Arms says that the instance is armed for this window, and charged. Sealed is then its secret, if it has one,
	// which only holders of the app's key can open.
	Arms   bool   `json:"arms,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`
	// Reason is "" if an instance looks at the window. It is NotArmed if the kind does not allow another one yet, or if
	// the instance has looked at a window that ends later. It is BudgetExhausted if AtMost or the budget allows no
	// other one.
	Reason string `json:"reason,omitempty"`

	Watch  *Watch  `json:"alarm,omitempty"`
	Change *Change `json:"on_change,omitempty"`
	Total  *Total  `json:"total,omitempty"`
	Active *Active `json:"active,omitempty"`
	SoFar  *SoFar  `json:"so_far,omitempty"`
}

// mostHold is the longest hold or stretch, in seconds: 31 years.
const mostHold = 1e9

// kind is what differs between kinds of continual figures. Everything else is the same for all: the book of instances,
// what they are charged, what is withheld, checkpoints, reports and the audit.
type kind interface {
	// facts copies what the definition says and, if an instance looks, what was drawn. All else follows from earlier
	// entries and from that.
	facts(s Continual, e Entry) kind
	// check returns an error for what Louver never writes.
	check(s Continual, e Entry) error
	// before copies what a window repeats of the past instances of the definition, and reports whether one may look:
	// last, or another one if last is over. last is the last one that the entry does not end; nil for none.
	before(past iter.Seq[*instance], last *instance, e Entry) bool
	// after fills in what follows from what was drawn. Some instance looks at the window.
	after(s Continual, e Entry) error
	// until is when an instance that is armed ends at the latest, in Unix nanoseconds, or [budget.Open].
	until() int64
	// extra is what the instance costs beside Cost.
	extra() []budget.Item
	// fold keeps with the instance that looks what later windows repeat, and reports whether it is over. past are all
	// instances of the definition.
	fold(s Continual, e Entry, of *instance, past iter.Seq[*instance]) (over bool, err error)
	// series describes the output records of a group, and fill fills in what the i-th of them says.
	series(s Continual) []record.Series
	fill(f *record.Value, s Continual, e Entry, g Group, i int)
	// publishes reports whether the window has a record about a group.
	publishes(s Continual, e Entry, group string) bool
}

// periodic is a kind whose instances have the periods of a calendar.
type periodic interface {
	kind
	period() (since, until time.Time)
}

// leafwise is a kind whose instances are not charged once, but leaf by leaf, under a cap of their own.
type leafwise interface {
	ongoing
	// charged reports whether an instance that looks at the window is charged with it.
	charged(e Entry) bool
}

// leafDay is the time in which one leaf is paid for.
const leafDay = 24 * time.Hour

// leafCap is what the leaves of an instance are charged under that began at a moment. Instances of one budget differ in
// their numbers, and those of several budgets in when they began.
func leafCap(name string, number int64, began time.Time) budget.Cap {
	return budget.Cap{Count: 1, Per: leafDay, Era: began.Unix(), Lane: fmt.Sprintf("%s/%d", name, number)}
}

// kindRow is where a continual figure keeps what it says of one kind.
type kindRow struct {
	name string // in entries
	noun string // in what people are told
	// of is nil if it is not of the kind. take reports whether what it takes is.
	of   func(s Continual) kind
	take func(s *Continual, k kind) bool
	// values says that records of the kind have values of a figure, and not only whether something is so.
	values bool
}

// rowOf makes the row of a kind that is kept in a field. It goes by value, so that asking for its kind allocates
// nothing.
func rowOf[K interface {
	comparable
	kind
}](name, noun string, values bool, get func(Continual) K, set func(*Continual, K)) kindRow {
	return kindRow{name: name, noun: noun, values: values, of: func(s Continual) kind {
		var none K
		if k := get(s); k != none {
			return k
		}
		return nil
	}, take: func(s *Continual, of kind) bool {
		k, ok := of.(K)
		if ok {
			set(s, k)
		}
		return ok
	}}
}

// kinds are all kinds of continual figures.
var kinds = []kindRow{
	rowOf("watch", "watch", false, func(s Continual) *Watch { return s.Watch },
		func(s *Continual, k *Watch) { s.Watch = k }),
	rowOf("change", "release", true, func(s Continual) *Change { return s.Change },
		func(s *Continual, k *Change) { s.Change = k }),
	rowOf("total", "running total", true, func(s Continual) *Total { return s.Total },
		func(s *Continual, k *Total) { s.Total = k }),
	rowOf("so_far", "running total", true, func(s Continual) *SoFar { return s.SoFar },
		func(s *Continual, k *SoFar) { s.SoFar = k }),
	rowOf("active", "number of active users", true, func(s Continual) *Active { return s.Active },
		func(s *Continual, k *Active) { s.Active = k }),
}

// kind returns the kind of the figure, or nil if it has none or several.
func (s Continual) kind() (found kind) {
	for _, r := range kinds {
		k := r.of(s)
		if k != nil && found != nil {
			return nil
		}
		if k != nil {
			found = k
		}
	}
	return found
}

// Tests reports whether the figure has instances with a secret, which end when they fire.
func (s Continual) Tests() bool {
	_, tests := s.kind().(test)
	return tests
}

// Period returns the bounds of the period of the instance that looks, or else that of the calendar. ok is false if the
// figure has no periods.
func (s Continual) Period() (since, until time.Time, ok bool) {
	if p, ok := s.kind().(periodic); ok {
		since, until = p.period()
		return since, until, true
	}
	return since, until, false
}

// HasValues reports whether records of the figure have values, and do not only say whether something is so.
func (s Continual) HasValues() bool {
	return slices.ContainsFunc(kinds, func(r kindRow) bool { return r.values && r.of(s) != nil })
}

// Title is how people are told of the figure: what it is, and its name.
func (s Continual) Title() string {
	at := slices.IndexFunc(kinds, func(r kindRow) bool { return r.of(s) != nil })
	return kinds[at].noun + " " + s.Name
}

// Publishes reports whether the window has records of the figure. A total has some at the end of a leaf only.
func (s Continual) Publishes(e Entry) bool {
	k := s.kind()
	return slices.ContainsFunc(e.Groups, func(g Group) bool { return k.publishes(s, e, g.Name) })
}

// facts returns what the definition says and, if an instance looks, what was drawn. Copies share nothing that
// [Books.Settle] or [Books.Finish] change.
func (s Continual) facts(e Entry) Continual {
	s.take(s.kind().facts(s, e))
	s.Instance, s.Arms, s.Reason = 0, false, ""
	return s
}

// withheld drops what was drawn.
func (s Continual) withheld(e Entry) kind {
	s.Reason = record.BudgetExhausted
	return s.kind().facts(s, e)
}

// take replaces what the figure says of its kind.
func (s *Continual) take(of kind) {
	for _, r := range kinds {
		if r.take(s, of) {
			return
		}
	}
}

// Looks reports whether an instance looks at the window.
func (s Continual) Looks() bool { return s.Reason == "" }

// Fire records that the instance fires in a group of the window, and so ends.
func (s Continual) Fire(group string) {
	if t, ok := s.kind().(test); ok {
		t.fire(group)
	}
}

// Fires returns the group in which the instance that looks fires; nil if it does not.
func (s Continual) Fires() *string {
	if t, ok := s.kind().(test); ok && s.Looks() {
		return t.fired()
	}
	return nil
}

// mayCount reports whether another instance may count beside n others.
func (s Continual) mayCount(n int64) bool { return s.AtMost == 0 || n < s.AtMost }

// begins reports whether the instance costs more than Cost.
func (s Continual) begins() bool { return len(s.kind().extra()) > 0 }

// price is what the instance costs.
func (s Continual) price() []budget.Item { return slices.Concat(s.Cost, s.kind().extra()) }

// check returns an error for a continual figure that contradicts itself, or that Louver never writes.
func (s Continual) check(e Entry) error {
	k := s.kind()
	_, tests := k.(test)
	switch {
	case k == nil:
		return errors.New("it is of no kind, or of several")
	case s.Name == "" || s.Definition == "" || len(s.Cost) == 0 || tests != (s.AtMost > 0) || s.AtMost < 0:
		return fmt.Errorf("definition %q, %d costs and at most %d instances; want a name, a definition, a cost and, "+
			"where it is a watch or published on change, at least one instance", s.Definition, len(s.Cost), s.AtMost)
	case s.Reason != "" && s.Reason != record.NotArmed && s.Reason != record.BudgetExhausted:
		return fmt.Errorf("reason %q; want none, %q or %q", s.Reason, record.NotArmed, record.BudgetExhausted)
	case (s.Arms && tests) != (len(s.Sealed) > 0):
		return errors.New("an instance is armed without a secret, or has one without being armed")
	case s.Looks() && s.Instance < 1 || !s.Looks() && s.Arms:
		return fmt.Errorf("instance %d with reason %q; want an instance that looks, or none that is armed",
			s.Instance, s.Reason)
	}
	if _, err := budget.Canonical(s.Cost); err != nil {
		return err
	}
	return k.check(s, e)
}

// Instance is the name of an instance.
type Instance struct {
	Stream string `json:"stream"`
	Name   string `json:"step"`
	Number int64  `json:"instance"`
}

// String is the name in the books: "checkout-latency/slow/3".
func (i Instance) String() string { return fmt.Sprintf("%s/%s/%d", i.Stream, i.Name, i.Number) }

// arms returns what the entry is charged for instances: for those that are armed, and for leaves.
func (e Entry) arms() ([]budget.Charge, error) {
	var all []budget.Charge
	for _, s := range e.Continual {
		c, charged := e.leaf(s)
		if _, by := s.kind().(leafwise); s.Arms && !by {
			var err error
			if c, err = e.costs(s); err != nil {
				return nil, fmt.Errorf("%q: %w", s.Name, err)
			}
			charged = true
		}
		if charged {
			all = append(all, c)
		}
	}
	return all, nil
}

// leaf is what an instance is charged for the leaf that ends with the entry's window; false if none does, or if it is
// charged once for all windows.
func (e Entry) leaf(s Continual) (budget.Charge, bool) {
	by, ok := s.kind().(leafwise)
	if !ok || !s.Looks() || !by.charged(e) {
		return budget.Charge{}, false
	}
	return e.leafAt(s, e.WindowEnd.UnixNano()), true
}

// leafAt is what an instance is charged for a leaf that ends at a moment.
func (e Entry) leafAt(s Continual, end int64) budget.Charge {
	return charge(e.Stream, end, s.price(), leafCap(s.Name, s.Instance, s.Since()))
}

// charge is what a leaf costs that ends at a moment.
func charge(stream string, end int64, items []budget.Item, under budget.Cap) budget.Charge {
	return budget.Charge{Stream: stream, End: end, Items: items, Cap: under}
}

// costs is the charge of an instance that is armed for the entry's window, as far as the window's period is concerned.
func (e Entry) costs(s Continual) (budget.Charge, error) {
	c, err := budget.NewCharge(e.Stream, e.WindowStart.UnixNano(), e.WindowEnd.UnixNano(), s.price())
	c.Drawn = s.Tests()
	return c, err
}

// PaidAgain returns the end of the first window after a withheld one that its budget can pay, if nothing else is
// charged meanwhile. It returns false if there is none before the stream's end.
func (b *Books) PaidAgain(e Entry) (time.Time, bool) {
	e.Reason = "" // so that Charge returns the price
	charge, err := e.Charge()
	if err != nil || e.Every <= 0 {
		return time.Time{}, false
	}
	a := b.account(e)
	for _, back := range a.Returns(charge.End, "") {
		charge.End = e.endFrom(back.At)
		end := time.Unix(0, charge.End).UTC()
		if !e.Until.IsZero() && end.After(e.Until) {
			break
		}
		if a.Fits(charge) {
			return end, true
		}
	}
	return time.Time{}, false
}

// endFrom returns the end of the stream's first window that ends at a later moment or after it, if the schedule stays
// as it is. Both are in Unix nanoseconds.
func (e Entry) endFrom(at int64) int64 {
	end, every := e.WindowEnd.UnixNano(), int64(e.Every)
	return end + (at-end+every-1)/every*every
}

// Pause says why no instance of a continual figure may be armed, and until when.
type Pause struct {
	// AtMost says that the period has as many instances as the figure may have. Otherwise the budget cannot pay for
	// another.
	AtMost bool
	// Until is the end of the first window for which one can be armed again, if there is such a window and nothing else
	// is charged meanwhile. It is nil if that cannot be said, because an instance of another definition still looks.
	Until *time.Time
}

// Paused returns the pause of a continual figure that the last entry withholds, or false if it does not. The entry must
// have been added, so that what it ends returns too.
func (b *Books) Paused(e Entry, s Continual) (Pause, bool) {
	if s.Reason != record.BudgetExhausted || e.Every <= 0 {
		return Pause{}, false
	}
	name := continualName{e.Budget, e.Stream, s.Name}
	s = s.facts(e)
	s.kind().before(b.lasting.past(name, s.Definition), nil, e) // as when it was settled: the first may cost more
	a, now := b.account(e), e.WindowEnd.UnixNano()
	p := Pause{AtMost: !s.mayCount(b.lasting.counted(name, e.Limit, now))}
	for _, at := range b.leaves(name, a, now) {
		end := e.endFrom(at)
		if s.mayCount(b.lasting.counted(name, e.Limit, end)) && fits(a, e, s, end, budget.Open, nil) {
			p.Until = new(time.Unix(0, end).UTC())
			break
		}
	}
	return p, true
}

// fits reports whether a budget can pay for an instance from a window with this end on, until a moment, beside others
// that are armed for that window and other charges.
func fits(a *budget.Account, e Entry, s Continual, end, until int64, arming []budget.Item,
	beside ...budget.Charge) bool {
	if _, ok := s.kind().(leafwise); ok {
		return a.Fits(e.leafAt(s, end), e.with(arming, beside)...)
	}
	return a.FitsHeld(budget.Held{Stream: e.Stream, From: end, To: until,
		Items: slices.Concat(arming, s.price())}, beside...)
}

// leaves lists the moments after now at which an instance of a continual figure, or any charge, stops counting.
func (b *Books) leaves(name continualName, a *budget.Account, now int64) (all []int64) {
	per := int64(a.Limit().Per)
	if per == 0 {
		return nil
	}
	for _, x := range b.lasting.of[name] {
		if at := x.Looked + per; x.Over && at > now {
			all = append(all, at)
		}
	}
	for _, back := range a.Returns(now, "") {
		all = append(all, back.At)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
