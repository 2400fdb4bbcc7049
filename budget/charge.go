package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// Item is a promise and how many times it is charged: a release of a window is charged once for each group that one
// user may be in.
type Item struct {
	privacy.Promise
	Times int64 `json:"times"`
}

func (i Item) check() error {
	if i.Times < 1 {
		return fmt.Errorf("a cost charged %d times; want at least once", i.Times)
	}
	return i.Check()
}

// Charge is the cost of one window of one stream to a user in it: the sum of its releases, each once for every group in
// which one user may count. Make one with [NewCharge].
type Charge struct {
	Stream string
	// End is the end of the window, in Unix nanoseconds. A period counts the charge if it holds End.
	End int64
	// Epsilon and Delta are the plain sums over Items. If Items holds a ZCDP cost, Epsilon is only nominal.
	Epsilon, Delta decimal.Decimal
	// Cap limits the windows in which a user counts. The zero value is no limit.
	Cap Cap
	// Items are the costs in canonical order, with equal costs merged. If there are none, the window costs nothing.
	Items []Item
	// Drawn is as in [Held].
	Drawn bool
}

// NewCharge sums the items of a window, whose start and end are in Unix nanoseconds. It fails if the window does not
// end after its start, or if an item is not a valid promise, for example with ε ≤ 0, or with a δ that its kind does not
// have.
func NewCharge(stream string, start, end int64, items []Item) (Charge, error) {
	if end <= start {
		return Charge{}, fmt.Errorf("charge of stream %q: the window ends at %d; want an end after its start at %d",
			stream, end, start)
	}
	c := Charge{Stream: stream, End: end}
	var err error
	if c.Items, err = Canonical(items); err != nil {
		return Charge{}, fmt.Errorf("charge of stream %q: %w", stream, err)
	}
	for _, i := range c.Items {
		times := decimal.NewFromInt(i.Times)
		c.Epsilon = c.Epsilon.Add(i.Epsilon.Mul(times))
		c.Delta = c.Delta.Add(i.Delta.Mul(times))
	}
	return c, nil
}

// Canonical checks items, sorts them and merges equal costs, so that equal charges are equal lists.
func Canonical(items []Item) ([]Item, error) {
	if len(items) > 0 && isCanonical(items) {
		return slices.Clip(items), nil // nearly always so
	}
	for _, i := range items {
		if err := i.check(); err != nil {
			return nil, err
		}
	}
	return merged(items), nil
}

// merged sorts items and merges equal costs. It leaves out what is charged no time.
func merged(items []Item) []Item {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b Item) int { return compare(a.Promise, b.Promise) })
	out := make([]Item, 0, len(items))
	for _, i := range sorted {
		switch n := len(out); {
		case i.Times == 0:
		case n > 0 && compare(out[n-1].Promise, i.Promise) == 0:
			out[n-1].Times += i.Times
		default:
			out = append(out, i)
		}
	}
	return out
}

// Times returns the costs of a number of windows that each cost the same.
func Times(window []Item, windows int64) []Item {
	all := make([]Item, len(window))
	for i, one := range window {
		one.Times *= windows
		all[i] = one
	}
	return all
}

func isCanonical(items []Item) bool {
	for i, item := range items {
		if item.check() != nil || i > 0 && compare(items[i-1].Promise, item.Promise) >= 0 {
			return false
		}
	}
	return true
}

func compare(a, b privacy.Promise) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.Epsilon.Cmp(b.Epsilon), a.Delta.Cmp(b.Delta), a.Rho.Cmp(b.Rho))
}

// Equal reports whether two items are the same, however their numbers are written.
func (i Item) Equal(j Item) bool { return i.Times == j.Times && compare(i.Promise, j.Promise) == 0 }

// price returns a text that is equal for equal lists of items.
func price(items []Item) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%d×%d:%s,%s,%s;", i.Times, i.Kind, i.Epsilon, i.Delta, i.Rho)
	}
	return b.String()
}
