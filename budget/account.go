package budget

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
)

// Account adds up the charges of one budget. They may come in any order.
//
// Charges of one stream with the same cost form a class, which holds only their sorted window ends. Sums are counts
// times prices, so they are exact, and a million charges take eight megabytes.
//
// An Account is not safe for concurrent use.
type Account struct {
	limit   Limit
	filter  filter
	classes []*class
	index   map[classKey]*class
	last    map[string]*class // the class of each stream's last charge
	held    []*held
	byID    map[string]*held
	units   map[string]*unit // what each price adds, held once
	// foreign holds what units add under the order of this limit, if they were made for another order.
	foreign map[*unit]*sum
	// took lists the accounts whose charges this one has taken over.
	took []*Account
}

type classKey struct {
	stream, price string
	cap           Cap
}

type class struct {
	stream string
	cap    Cap
	items  []Item
	unit   *unit
	ends   []int64 // sorted
}

// unit is what a price adds to the sums under a filter of the order 1 + a1.
type unit struct {
	items []Item
	a1    float64
	sum   sum
}

// Charges are charges of one stream with the same cost and cap.
type Charges struct {
	Stream string
	Cap    Cap
	// Items are the costs of each of them, in canonical order.
	Items []Item
	// Ends are the ends of their windows, in Unix nanoseconds, sorted. A window that was charged twice appears twice.
	Ends []int64
}

// NewAccount opens an account under a limit.
func NewAccount(limit Limit) *Account {
	return &Account{limit: limit, filter: newFilter(limit), index: map[classKey]*class{}, last: map[string]*class{},
		units: map[string]*unit{},
		byID:  map[string]*held{}}
}

// Limit returns the current limit.
func (a *Account) Limit() Limit { return a.limit }

// SetLimit changes the limit. Earlier charges stay.
func (a *Account) SetLimit(limit Limit) {
	if !limit.sameFilter(a.limit) {
		a.filter, a.foreign = newFilter(limit), nil
	}
	a.limit = limit
}

// Add charges the account, whether or not the charge fits.
func (a *Account) Add(c Charge) {
	if len(c.Items) > 0 {
		a.class(c.Stream, c.Cap, c.Items).insert(c.End)
	}
}

// class returns the class of a stream's charges with this cap and these items.
func (a *Account) class(stream string, cap Cap, items []Item) *class {
	if k := a.last[stream]; k != nil && k.cap == cap && slices.EqualFunc(k.items, items, Item.Equal) {
		return k // without formatting the price, which takes most of the time of an Add
	}
	key := classKey{stream, price(items), cap}
	k := a.index[key]
	if k == nil {
		k = &class{stream: stream, cap: cap, items: items, unit: a.unit(key.price, items)}
		a.index[key] = k
		a.classes = append(a.classes, k)
	}
	a.last[stream] = k
	return k
}

// unit returns the unit of a price.
func (a *Account) unit(price string, items []Item) *unit {
	u := a.units[price]
	if u == nil {
		u = &unit{items, a.filter.a1, a.filter.sumOf(items)}
		a.units[price] = u
	}
	return u
}

// sum returns what a unit of this account, or of one that it continues, adds under the account's own limit.
func (a *Account) sum(u *unit) *sum {
	if u.a1 == a.filter.a1 {
		return &u.sum
	}
	s := a.foreign[u]
	if s == nil {
		if a.foreign == nil {
			a.foreign = map[*unit]*sum{}
		}
		s = new(a.filter.sumOf(u.items))
		a.foreign[u] = s
	}
	return s
}

// Charges lists the account's own charges, in an order that does not depend on when they were added. The caller must
// not change the slices.
func (a *Account) Charges() []Charges {
	keys := slices.SortedFunc(maps.Keys(a.index), func(x, y classKey) int {
		return cmp.Or(cmp.Compare(x.stream, y.stream), cmp.Compare(x.price, y.price), compareCaps(x.cap, y.cap))
	})
	all := make([]Charges, len(keys))
	for i, key := range keys {
		k := a.index[key]
		all[i] = Charges{k.stream, k.cap, k.items, k.ends}
	}
	return all
}

// AddAll charges the account as Add does. It must not have charges of this stream, cost and cap yet. It fails if an
// item is not a valid cost, the cap is not valid, or the ends are not sorted.
func (a *Account) AddAll(c Charges) error {
	if _, err := Canonical(c.Items); err != nil {
		return fmt.Errorf("charges of stream %q: %w", c.Stream, err)
	}
	if err := c.Cap.Check(); err != nil {
		return fmt.Errorf("charges of stream %q: %w", c.Stream, err)
	}
	k := a.class(c.Stream, c.Cap, c.Items)
	if len(c.Items) == 0 || len(k.ends) > 0 || !slices.IsSorted(c.Ends) {
		return fmt.Errorf(
			"charges of stream %q: %d items and %d ends; want sorted ends of charges that are listed once",
			c.Stream, len(c.Items), len(c.Ends))
	}
	k.ends = slices.Clone(c.Ends)
	return nil
}

func (k *class) insert(end int64) {
	if n := len(k.ends); n == 0 || k.ends[n-1] <= end {
		k.ends = append(k.ends, end)
		return
	}
	k.ends = slices.Insert(k.ends, k.upTo(end), end)
}

// upTo counts the ends ≤ t.
func (k *class) upTo(t int64) int {
	n := len(k.ends)
	if n == 0 || k.ends[n-1] <= t {
		return n
	}
	return sort.Search(n, func(i int) bool { return k.ends[i] > t })
}

// Continue takes over the past and future charges of another account, for a budget that continues another. An account
// that is reached in several ways counts once.
func (a *Account) Continue(other *Account) {
	if !slices.Contains(a.took, other) {
		a.took = append(a.took, other)
	}
}

// all returns the classes of the account and of those that it continues.
func (a *Account) all() []*class {
	if len(a.took) == 0 {
		return a.classes
	}
	var classes []*class
	for _, b := range a.family() {
		classes = append(classes, b.classes...)
	}
	return classes
}

// allHeld returns what the account and those that it continues hold.
func (a *Account) allHeld() []*held {
	if len(a.took) == 0 {
		return a.held
	}
	var all []*held
	for _, b := range a.family() {
		all = append(all, b.held...)
	}
	return all
}

// family returns the account and those that it continues, each once.
func (a *Account) family() []*Account {
	family := []*Account{a}
	for i := 0; i < len(family); i++ {
		for _, other := range family[i].took {
			if !slices.Contains(family, other) {
				family = append(family, other)
			}
		}
	}
	return family
}

// clone returns a copy that can be charged separately. It includes copies of the accounts that this one continues.
func (a *Account) clone() *Account {
	b := NewAccount(a.limit)
	for key, k := range a.index {
		c := &class{stream: k.stream, cap: k.cap, items: k.items, unit: k.unit, ends: slices.Clone(k.ends)}
		b.index[key] = c
		b.classes = append(b.classes, c)
	}
	for _, k := range a.all()[len(a.classes):] {
		b.classes = append(b.classes, &class{stream: k.stream, cap: k.cap, unit: k.unit, ends: slices.Clone(k.ends)})
	}
	for _, h := range a.allHeld() {
		b.held = append(b.held, &held{h.Held, h.unit})
		b.byID[h.ID] = b.held[len(b.held)-1]
	}
	return b
}

// before returns at − d without overflow.
func before(at, d int64) int64 {
	if at < math.MinInt64+d {
		return math.MinInt64
	}
	return at - d
}

// after returns at + d without overflow.
func after(at, d int64) int64 {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// endingAt returns the period (from, to] that ends at a moment: (at − per, at], or all time if the budget is for ever.
func (l Limit) endingAt(at int64) (from, to int64) {
	if l.Per == 0 {
		return math.MinInt64, math.MaxInt64
	}
	return before(at, int64(l.Per)), at
}

// period sums the charges that count at a moment, in the period that ends there. Stream "" means all streams. It counts
// the charges in plus as if they were added.
func (a *Account) period(at int64, stream string, plus []Charge) sum {
	from, to := a.limit.endingAt(at)
	return a.between(from, to, stream, plus)
}

// between sums the charges with an end in (from, to] and what was held in that time. It counts the charges in plus and
// the windows in more as if they were added. Of the windows under a cap, only the largest prices count.
func (a *Account) between(from, to int64, stream string, plus []Charge, more ...batch) sum {
	var s sum
	var alike tally
	var capped []batch
	for _, k := range a.all() {
		if stream != "" && k.stream != stream {
			continue
		}
		i, j := k.upTo(from), k.upTo(to)
		switch {
		case k.cap.none():
			alike.add(a.sum(k.unit), int64(j-i))
		case i < j:
			capped = append(capped, batch{k.stream, k.cap, a.sum(k.unit), int64(j - i), k.ends[i], k.ends[j-1]})
		}
	}
	for _, c := range plus {
		// One that costs nothing is left out, as Add does: under a cap it would stretch the time in which the others
		// count.
		if len(c.Items) > 0 && from < c.End && c.End <= to && (stream == "" || c.Stream == stream) {
			more = append(more, batch{c.Stream, c.Cap, new(a.filter.sumOf(c.Items)), 1, c.End, c.End})
		}
	}
	for _, w := range more {
		switch {
		case w.cap.none():
			alike.add(w.unit, w.n)
		case w.n > 0:
			capped = append(capped, w)
		}
	}
	alike.addBatches(capped)
	for _, h := range a.allHeld() {
		if h.counts(from, to) && (stream == "" || h.Stream == stream) {
			alike.add(a.sum(h.unit), 1)
		}
	}
	alike.addTo(&s)
	return s
}

func (a *Account) lifetime(stream string, plus []Charge) sum {
	return a.between(math.MinInt64, math.MaxInt64, stream, plus)
}

// Fits reports whether the limit would still hold, in every period, if c were added. An exact match fits. It counts the
// charges in plus as if they were added. They must not end after c.
func (a *Account) Fits(c Charge, plus ...Charge) bool {
	unit := a.filter.sumOf(c.Items)
	spent := func(at int64) sum {
		s := a.period(at, "", plus)
		s.add(unit, 1)
		return s
	}
	if !c.Cap.none() { // it may take the place of another one
		all := append(slices.Clone(plus), c)
		spent = func(at int64) sum { return a.period(at, "", all) }
	}
	return a.fitsThrough(c.End, after(c.End, int64(a.limit.Per)), spent)
}

// fitsThrough reports whether the limit holds in all periods that end at `from` or later and before `to`: those that
// count a new charge, which spent includes.
//
// Over these the sum grows only where another charge comes in: a window at its end, a held charge where it begins.
func (a *Account) fitsThrough(from, to int64, spent func(at int64) sum) bool {
	fits := func(at int64) bool { return a.limit.within(a.filter.bound(spent(at))) }
	if !fits(from) {
		return false
	}
	if a.limit.Per == 0 {
		return true
	}
	for _, h := range a.allHeld() {
		if from < h.From && h.From < to && !fits(h.From) {
			return false
		}
	}
	for _, k := range a.all() {
		for _, end := range k.ends[k.upTo(from):] {
			if end >= to {
				break
			}
			if !fits(end) {
				return false
			}
		}
	}
	return true
}

// Spent bounds the spending that counts at a moment, in Unix nanoseconds: the charges with an end in (at − per, at], or
// all of them if the budget is for ever. It counts the charges in plus as if they were added.
func (a *Account) Spent(at int64, plus ...Charge) Spending {
	return a.filter.bound(a.period(at, "", plus))
}

// StreamSpent is Spent for one stream's charges only.
func (a *Account) StreamSpent(stream string, at int64, plus ...Charge) Spending {
	return a.filter.bound(a.period(at, stream, plus))
}

// SpentIn bounds the charges with an end in (from, to], in Unix nanoseconds, whatever the budget's period is.
func (a *Account) SpentIn(from, to int64) Spending {
	return a.filter.bound(a.between(from, to, "", nil))
}

// Mixed reports whether a stream has charges under several caps of one lane with an end in (from, to], in Unix
// nanoseconds, because its users were counted anew. Then a stretch of time with some of these and some to come may cost
// more than either alone. Lanes that differ behind a slash alone are one: they are instances of one figure.
func (a *Account) Mixed(from, to int64) bool {
	seen := map[[2]string]bool{}
	for _, k := range a.all() {
		if k.cap.none() || k.upTo(to) == k.upTo(from) {
			continue
		}
		figure, _, _ := strings.Cut(k.cap.Lane, "/")
		lane := [2]string{k.stream, figure}
		if seen[lane] {
			return true
		}
		seen[lane] = true
	}
	return false
}

// Total bounds all charges in the account's whole life, at the δ of one period.
func (a *Account) Total(plus ...Charge) Spending { return a.filter.bound(a.lifetime("", plus)) }

// StreamTotal is Total for one stream's charges only.
func (a *Account) StreamTotal(stream string, plus ...Charge) Spending {
	return a.filter.bound(a.lifetime(stream, plus))
}

// Knows reports whether the account, or one that it continues, has a charge of a stream under a cap.
func (a *Account) Knows(stream string, cap Cap) bool {
	return slices.ContainsFunc(a.all(), func(k *class) bool { return k.stream == stream && k.cap == cap })
}

// Open is the end of a held charge that goes on.
const Open = math.MaxInt64

// Held is a charge for a stretch of time instead of a window, such as that of a watch, from arming to firing. One
// person loses its price once over the whole stretch, so it counts in full in every period that the stretch touches.
type Held struct {
	// ID is unique within the account, such as "latency/slow/3": stream, watch and instance.
	ID     string
	Stream string
	// From and To are the stretch [From, To), in Unix nanoseconds. To is [Open] while the end is not known.
	From, To int64
	// Items are the costs in canonical order.
	Items []Item
	// Drawn says that what was drawn before decides whether and when this is charged, as for a watch that is armed
	// again once it has fired. Otherwise it follows from public figures alone.
	Drawn bool
}

// held is a Held in an account.
type held struct {
	Held
	unit *unit
}

// counts reports whether the stretch touches (from, to]. One that ended where it began counts like a window that ends
// there.
func (h *held) counts(from, to int64) bool { return h.From <= to && h.To > from }

// Hold charges the account with a held charge, whether or not it fits. It fails if the ID is known already, if the
// stretch ends before it begins, or if an item is not a valid cost.
func (a *Account) Hold(h Held) error {
	items, err := Canonical(h.Items)
	if err != nil {
		return fmt.Errorf("held charge %q: %w", h.ID, err)
	}
	if h.To < h.From {
		return fmt.Errorf("held charge %q: it ends at %d, before it begins at %d", h.ID, h.To, h.From)
	}
	if a.byID[h.ID] != nil {
		return fmt.Errorf("held charge %q: it is already charged", h.ID)
	}
	if h.Items = items; len(items) > 0 {
		one := &held{h, a.unit(price(items), items)}
		a.held, a.byID[h.ID] = append(a.held, one), one
	}
	return nil
}

// EndHeld ends a held charge that is open or would end later. It fails if there is no such charge with that ID.
func (a *Account) EndHeld(id string, to int64) error {
	h := a.byID[id]
	if h == nil || h.To < to {
		return fmt.Errorf("held charge %q: it does not go on, and cannot end", id)
	}
	if to < h.From {
		return fmt.Errorf("held charge %q: it ends at %d, before it begins at %d", id, to, h.From)
	}
	h.To = to
	return nil
}

// FitsHeld reports whether the limit would still hold, in every period, if h were added. A charge that is open also
// counts in all periods to come. An exact match fits. It counts the charges in plus as if they were added. They must
// not end after h begins.
func (a *Account) FitsHeld(h Held, plus ...Charge) bool {
	unit := a.filter.sumOf(h.Items)
	reach := int64(math.MaxInt64)
	if a.limit.Per != 0 {
		reach = after(h.To, int64(a.limit.Per))
	}
	return a.fitsThrough(h.From, reach, func(at int64) sum {
		s := a.period(at, "", plus)
		s.add(unit, 1)
		return s
	})
}
