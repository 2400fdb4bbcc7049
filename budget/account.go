package budget

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/shopspring/decimal"
)

// Account adds up the charges of one budget. They may come in any order.
//
// Charges of one stream with the same cost form a class, which holds only their sorted window ends. Sums are counts
// times prices, so they are exact, and a million charges take eight megabytes.
//
// An Account is not safe for concurrent use.
type Account struct {
	limit   Limit
	classes []*class
	index   map[classKey]*class
	last    map[string]*class // the class of each stream's last charge
	// took lists the accounts whose charges this one has taken over.
	took []*Account
}

type classKey struct{ stream, price string }

type class struct {
	stream string
	items  []Item
	unit   sum
	ends   []int64 // sorted
}

// Charges are charges of one stream with the same cost.
type Charges struct {
	Stream string
	// Items are the costs of each of them, in canonical order.
	Items []Item
	// Ends are the ends of their windows, in Unix nanoseconds, sorted. A window that was charged twice appears twice.
	Ends []int64
}

// NewAccount opens an account under a limit.
func NewAccount(limit Limit) *Account {
	return &Account{limit: limit, index: map[classKey]*class{}, last: map[string]*class{}}
}

// Limit returns the current limit.
func (a *Account) Limit() Limit { return a.limit }

// SetLimit changes the limit. Earlier charges stay.
func (a *Account) SetLimit(limit Limit) { a.limit = limit }

// Add charges the account, whether or not the charge fits.
func (a *Account) Add(c Charge) {
	if len(c.Items) > 0 {
		a.class(c.Stream, c.Items).insert(c.End)
	}
}

// class returns the class of a stream's charges with these items.
func (a *Account) class(stream string, items []Item) *class {
	if k := a.last[stream]; k != nil && slices.EqualFunc(k.items, items, Item.equal) {
		return k // skips formatting the price, which takes most of the time of an Add
	}
	key := classKey{stream, price(items)}
	k := a.index[key]
	if k == nil {
		k = &class{stream: stream, items: items, unit: sumOf(items)}
		a.index[key] = k
		a.classes = append(a.classes, k)
	}
	a.last[stream] = k
	return k
}

// Charges lists the account's own charges, in an order that does not depend on when they were added. The caller must
// not change the slices.
func (a *Account) Charges() []Charges {
	keys := slices.SortedFunc(maps.Keys(a.index), func(x, y classKey) int {
		return cmp.Or(cmp.Compare(x.stream, y.stream), cmp.Compare(x.price, y.price))
	})
	all := make([]Charges, len(keys))
	for i, key := range keys {
		k := a.index[key]
		all[i] = Charges{k.stream, k.items, k.ends}
	}
	return all
}

// AddAll charges the account as Add does. It must not have charges of this stream and cost yet. It fails if an item is
// not a valid cost or the ends are not sorted.
func (a *Account) AddAll(c Charges) error {
	if _, err := Canonical(c.Items); err != nil {
		return fmt.Errorf("charges of stream %q: %w", c.Stream, err)
	}
	k := a.class(c.Stream, c.Items)
	if len(c.Items) == 0 || len(k.ends) > 0 || !slices.IsSorted(c.Ends) {
		return fmt.Errorf("charges of stream %q: %d items and %d ends, want sorted ends of charges that are listed once", c.Stream, len(c.Items), len(c.Ends))
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
	family := []*Account{a}
	var classes []*class
	for i := 0; i < len(family); i++ {
		classes = append(classes, family[i].classes...)
		for _, other := range family[i].took {
			if !slices.Contains(family, other) {
				family = append(family, other)
			}
		}
	}
	return classes
}

// Clone returns a copy that can be charged separately. It includes copies of the accounts that this one continues.
func (a *Account) Clone() *Account {
	b := NewAccount(a.limit)
	for key, k := range a.index {
		c := &class{stream: k.stream, items: k.items, unit: k.unit, ends: slices.Clone(k.ends)}
		b.index[key] = c
		b.classes = append(b.classes, c)
	}
	for _, k := range a.all()[len(a.classes):] {
		b.classes = append(b.classes, &class{stream: k.stream, unit: k.unit, ends: slices.Clone(k.ends)})
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

// period sums the charges that count at a moment: those with an end in (at − per, at], or all of them if the budget is
// for ever. Stream "" means all streams. It counts the charges in plus as if they were added.
func (a *Account) period(at int64, stream string, plus []Charge) sum {
	if a.limit.Per == 0 {
		return a.lifetime(stream, plus)
	}
	return a.between(before(at, int64(a.limit.Per)), at, stream, plus)
}

// between sums the charges with an end in (from, to].
func (a *Account) between(from, to int64, stream string, plus []Charge) sum {
	var s sum
	for _, k := range a.all() {
		if stream == "" || k.stream == stream {
			s.add(k.unit, int64(k.upTo(to)-k.upTo(from)))
		}
	}
	for _, c := range plus {
		if from < c.End && c.End <= to && (stream == "" || c.Stream == stream) {
			s.add(sumOf(c.Items), 1)
		}
	}
	return s
}

func (a *Account) lifetime(stream string, plus []Charge) sum {
	return a.between(math.MinInt64, math.MaxInt64, stream, plus)
}

// Fits reports whether the limit would still hold, in every period, if c were added. An exact match fits.
//
// A period (e − per, e] holds the charge if e lies in [end, end + per); over these e the sum can grow only where
// another charge comes in, so it is enough to check its own end and the later ends within reach.
func (a *Account) Fits(c Charge) bool {
	unit := sumOf(c.Items)
	if !a.fitsAt(c.End, unit) {
		return false
	}
	if a.limit.Per == 0 {
		return true
	}
	to := after(c.End, int64(a.limit.Per))
	for _, k := range a.all() {
		for _, end := range k.ends[k.upTo(c.End):] {
			if end >= to {
				break
			}
			if !a.fitsAt(end, unit) {
				return false
			}
		}
	}
	return true
}

func (a *Account) fitsAt(at int64, unit sum) bool {
	s := a.period(at, "", nil)
	s.add(unit, 1)
	return a.limit.within(a.limit.bound(s))
}

// Spent bounds the spending that counts at a moment, in Unix nanoseconds: the charges with an end in (at − per, at], or
// all of them if the budget is for ever. It counts the charges in plus as if they were added.
func (a *Account) Spent(at int64, plus ...Charge) Spending {
	return a.limit.bound(a.period(at, "", plus))
}

// StreamSpent is Spent for one stream's charges only.
func (a *Account) StreamSpent(stream string, at int64, plus ...Charge) Spending {
	return a.limit.bound(a.period(at, stream, plus))
}

// Total bounds all charges in the account's whole life, at the δ of one period.
func (a *Account) Total(plus ...Charge) Spending { return a.limit.bound(a.lifetime("", plus)) }

// StreamTotal is Total for one stream's charges only.
func (a *Account) StreamTotal(stream string, plus ...Charge) Spending {
	return a.limit.bound(a.lifetime(stream, plus))
}

// MostWindows is the answer of WindowsLeft if a window costs nothing.
const MostWindows = 1 << 53

// WindowsLeft returns how many more windows at this price the period that ends at a moment could pay if nothing
// returned meanwhile: the rest of the budget divided by the price.
func (a *Account) WindowsLeft(items []Item, at int64, plus ...Charge) int64 {
	spent, unit := a.period(at, "", plus), sumOf(items)
	fits := func(n int64) bool {
		s := spent
		s.add(unit, n)
		return a.limit.within(a.limit.bound(s))
	}
	high := int64(1)
	for fits(high) {
		if high *= 2; high > MostWindows {
			return MostWindows
		}
	}
	low := high / 2 // 0, or a number that fits
	for high-low > 1 {
		if middle := low + (high-low)/2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Return says how much of the spending returns to the budget, and when.
type Return struct {
	At      int64 // Unix nanoseconds
	Epsilon decimal.Decimal
}

// Returns lists, by time, what a rolling budget gets back after a moment if nothing else is charged. A charge returns
// when its window's end is one period old. Stream "" means all streams.
func (a *Account) Returns(at int64, stream string) []Return {
	if a.limit.Per == 0 {
		return nil
	}
	per := int64(a.limit.Per)
	var ends []int64
	for _, k := range a.all() {
		if stream == "" || k.stream == stream {
			ends = append(ends, k.ends[k.upTo(before(at, per)):k.upTo(at)]...)
		}
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	var out []Return
	counted := func(from int64) decimal.Decimal { return a.limit.bound(a.between(from, at, stream, nil)).Epsilon }
	last := counted(before(at, per))
	for _, end := range ends {
		now := counted(end)
		if now.Cmp(last) < 0 {
			out = append(out, Return{At: after(end, per), Epsilon: last.Sub(now)})
			last = now
		}
	}
	return out
}
