package budget

import (
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// The order of a filter is part of the limit: [Limit.Order], or else the order that leaves the most room for costs in ρ
// under the limit's ε and δ. Where much of a budget goes to pure costs that are not small, such as watches, a higher
// order suits it, and the same costs add up to a tenth less. [OrderFor] says which.
//
// # Why it is written down
//
// The proof in filter.go holds for every order that is fixed before the first draw, as a number in the limit is. It
// does not hold for the better of two orders, chosen when draws are known: then each of two outcomes can be followed by
// what only one of the orders admits, and together they tell more than δ allows.
//
// The public definitions of the streams could choose the order too, and nobody would have to write it down. But they
// are edited while charges count, also because of what was published. A stream that is added to a budget would move the
// bound of all that was drawn in the period before. So every period that began before an edit would have to be judged
// at the old order. The books would withhold windows that the new definitions pay for: for a whole period, and in a
// budget for ever for good. Nobody who reads the file could tell. A number in the file stays what it is, whatever
// becomes of the streams, and all processes, the page and an auditor read the same one.
//
// # Edits
//
// The limit itself is taken as given. Somebody who edits its ε, its δ or its order in the light of what was published
// thereby chooses α. From k orders that were fixed beforehand this gains a factor of k in δ at most: a history that was
// within the limit at the order of its last charge had been so all along, and the proof bounds the histories of each
// order.

// checkOrder returns an error for an order that a limit cannot have. 0 is none.
func (l Limit) checkOrder() error {
	if err := privacy.CheckDigits("order", l.Order); err != nil {
		return err
	}
	one := decimal.NewFromInt(1)
	switch {
	case l.Order.IsZero():
		return nil
	case l.Order.Cmp(one) <= 0 || l.Order.Cmp(MostOrder) > 0:
		return fmt.Errorf("order %s; want more than 1 and at most %s", l.Order, MostOrder)
	case !l.Order.Equal(l.Order.Truncate(orderPlaces)):
		return fmt.Errorf("order %s; want at most %d decimal places", l.Order, orderPlaces)
	case !l.Delta.IsPositive():
		return fmt.Errorf("order %s without a delta; want a delta too, or no order", l.Order)
	}
	return nil
}

// MostOrder is the largest order of a limit. Beyond it, hardly anything changes.
var MostOrder = decimal.NewFromInt(1_000_000)

// orderPlaces is how many decimals an order may have, so that sums of prices stay short.
const orderPlaces = 9

// OrderFor returns the order at which items add up to about the least ε with this δ. It is 0 if there are none, or no
// δ. It is a number with few digits.
//
// The items must be public before anything is drawn, such as those of a schedule.
func OrderFor(delta decimal.Decimal, items []Item) decimal.Decimal {
	f := filterFor(delta, items)
	if f.above.IsZero() {
		return decimal.Decimal{}
	}
	order := decimal.NewFromInt(1).Add(f.above)
	return decimal.Min(order.RoundUp(orderPlaces), MostOrder)
}

// newFilter returns the filter of a limit. Without an order in the limit, its order leaves the most room for costs in
// ρ: the greatest (ε − c)/α.
func newFilter(l Limit) filter {
	if !l.Delta.IsPositive() {
		return filter{}
	}
	if l.Order.IsPositive() {
		return filterAt(l.Delta, l.Order.Sub(decimal.NewFromInt(1)))
	}
	epsilon := l.Epsilon.InexactFloat64()
	return filterAt(l.Delta, cheapest(l.Delta, func(alpha, c float64) float64 { return (c - epsilon) / alpha }))
}

// filterFor returns the filter of about the smallest limit with a δ that pays for items.
func filterFor(delta decimal.Decimal, items []Item) filter {
	items = merged(items)
	if len(items) == 0 || !delta.IsPositive() {
		return filter{}
	}
	return filterAt(delta, cheapest(delta, func(alpha, c float64) float64 {
		for _, i := range items {
			one, epsilon := alpha*i.Rho.InexactFloat64(), i.Epsilon.InexactFloat64()
			switch { // as in price
			case i.Kind == privacy.ZCDP:
			case one == 0:
				one = epsilon
			default:
				one = min(one, divergence(epsilon, alpha-1))
			}
			c += one * float64(i.Times)
		}
		return c
	}))
}

// cheapest returns about the α − 1 at which cost is the least.
func cheapest(delta decimal.Decimal, cost func(alpha, c float64) float64) decimal.Decimal {
	logInvDelta := logInverse(delta)
	at := func(t float64) float64 { // t = ln(α − 1)
		a1 := math.Exp(t)
		c, _ := conversion(a1, logInvDelta)
		return cost(1+a1, c)
	}
	// The best α − 1 is large where ε or ρ is small, and tends to 0 where they are large.
	low, high := math.Log(1e-9), math.Log(1e12)
	const steps = 64
	best, least := low, math.Inf(1)
	for i := range steps + 1 {
		t := low + (high-low)*float64(i)/steps
		if v := at(t); v < least {
			best, least = t, v
		}
	}
	width := (high - low) / steps
	low, high = best-width, best+width
	for range 40 { // ternary search: the bracket shrinks to (2/3)⁴⁰ < 1e-7
		left, right := low+(high-low)/3, high-(high-low)/3
		if at(left) < at(right) {
			high = right
		} else {
			low = left
		}
	}
	// A short number, so that the sums of ατ stay short. Near the best order the cost hardly changes.
	t := (low + high) / 2
	return decimal.NewFromFloat(math.Exp(t)).Round(3 - int32(math.Floor(t/math.Ln10)))
}

// filterAt returns the filter of the order 1 + above. The proof holds for every order.
func filterAt(delta, above decimal.Decimal) filter {
	a1 := above.InexactFloat64()
	c, magnitude := conversion(a1, logInverse(delta))
	return filter{
		delta: delta, above: above, a1: a1,
		// About 450 units in the last place of the largest term, for a dozen operations.
		conversion: decimal.NewFromFloat(c + 1e-13*magnitude).RoundCeil(filterPlaces),
	}
}

// logInverse returns ln(1/δ) of the part of δ that converts. The conversion to float64 errs by half a unit in the last
// place, so it moves to the side that costs more.
func logInverse(delta decimal.Decimal) float64 {
	return -math.Log(math.Nextafter(delta.Mul(converts).InexactFloat64(), 0))
}
