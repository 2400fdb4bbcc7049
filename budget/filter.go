package budget

import (
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// filter adds up costs under one limit, and says whether the sum is within it.
//
// With a δ it is a Rényi filter: every cost is priced by its Rényi divergence of one order α, the prices add up, and
// the sum is converted to an ε. α follows from the limit alone ([Limit.Order]). Nothing else may choose it: somebody
// who knew what was drawn could move the bound to where the draws were unlucky. For the same reason the share of δ that
// converts is fixed: it is nine tenths. The δ of approximate costs add up to at most the last tenth.
//
// # What is admitted
//
// Let τ be the price of a cost at α and c the conversion. Charges are within the limit if their δ add up to at most
// δ/10, and
//
//	(1) Στ + c ≤ ε, or
//	(2) none of them is a ZCDP cost, and Σε ≤ ε.
//
// # Prices
//
// A ρ-zCDP mechanism has a divergence of at most αρ. Under ε-DP the likelihood ratio r of two neighbouring inputs lies
// in [e^−ε, e^ε] and has mean 1. So the mean of the convex r^α is greatest if r is always at one of the ends, as in
// randomised response, which has the divergence
//
//	ln((sinh(αε) − sinh((α−1)ε)) / sinh(ε)) / (α − 1).
//
// Both hold for a cost that is pure or of bounded range, which has a ρ as well, and the smaller counts. An approximate
// cost is priced like a pure one of its ε: what it adds to that is in its δ.
//
// # Proof
//
// Somebody sees all draws, chooses each next cost by them, and stops at will. But what is charged is always within the
// limit. P and Q are the laws of everything drawn, for two neighbouring inputs. To show: Σ (P − e^ε·Q)⁺ ≤ δ.
//
// The δ of approximate costs. Take a draw with the laws p and q, given what was drawn before. For an approximate cost
// (εᵢ, δᵢ) both are made by one and the same random step from those of a randomised response that tells its input with
// probability δᵢ (Kairouz, Oh & Viswanath 2015):
//
//	r = (δᵢ, (1−δᵢ)·e^εᵢ/(1+e^εᵢ), (1−δᵢ)/(1+e^εᵢ), 0) and the same in reverse.
//
// Let g be what this step makes of r without its first outcome. In all, it is less than p by δᵢ. For any other cost let
// g = p. Let G be the product of the g. On every path the δᵢ add up to at most δ/10, so ΣP − ΣG ≤ δ/10. What remains to
// show is Σ (G − e^ε·Q)⁺ ≤ 9δ/10.
//
// Where (1) holds at the end. Sums only grow, so (1) held all the way, and these paths are also paths of the process
// that stops before (1) would fail. In each of its draws the sum of g^α·q^(1−α) is at most e^((α−1)τ). For an
// approximate cost this holds for what is left of r: there the sum is 1−δᵢ times that of randomised response. A random
// step makes it no greater, since x^α·y^(1−α) is convex and homogeneous, nor do further parts of q. From the last draw
// to the first, this gives
//
//	Σ G^α·Q^(1−α) ≤ e^((α−1)(ε−c)),
//
// since Στ ≤ ε − c on each of its paths. With e^x = G/(e^ε·Q),
//
//	(G − e^ε·Q)⁺ = (1 − e^−x)⁺·e^(−(α−1)x) · e^(−(α−1)ε)·G^α·Q^(1−α),
//
// whose first factors are at most m = (1/α)·(1 − 1/α)^(α−1). So the sum is at most m·e^(−(α−1)c), which is 9δ/10 for
//
//	c = (ln(1/(9δ/10)) + (α−1)·ln(1 − 1/α) − ln α) / (α − 1).
//
// Where only (2) holds at the end. There g ≤ e^εᵢ·q in each draw, so G ≤ e^Σε·Q ≤ e^ε·Q, which adds nothing. ∎
//
// A charge that is held answers many times, between other draws. Such a filter of a fixed order holds for those as well
// (Haney et al. 2023). Under a [Cap], windows in which a person does not count cost that person nothing, and the others
// cost no more than the largest prices.
//
// Sources: Feldman & Zrnic 2021 (Rényi filters of one order); Kairouz, Oh & Viswanath 2015, The Composition Theorem for
// Differential Privacy (what approximate costs are made of); Canonne, Kamath & Steinke 2020, Proposition 12 (c); Bun &
// Steinke 2016 (zCDP); Haney et al. 2023, Concurrent Composition for Interactive Differential Privacy with Adaptive
// Privacy-Loss Parameters.
type filter struct {
	delta decimal.Decimal // the limit's δ
	// above is α − 1, or 0 if there is no δ: then only the plain sums count.
	above decimal.Decimal
	// a1 is above as a float64. Filters of the same a1 have the same prices.
	a1 float64
	// conversion is c, rounded up. It is negative if δ alone covers more than the smallest prices.
	conversion decimal.Decimal
}

var (
	// converts is the share of δ that is for the conversion.
	converts = decimal.New(9, -1)
	// shares is δ over the part of it that is left for approximate costs.
	shares = decimal.New(10, 0)
)

// filterPlaces is how many decimals a conversion and a price by randomised response have, after rounding up.
const filterPlaces = 12

// boundPlaces is how many decimals the bound of a limit with a δ has, after rounding up. People read it.
const boundPlaces = 6

// conversion returns c for an order and the ln(1/δ) that converts. magnitude bounds the terms that cancel.
func conversion(a1, logInvDelta float64) (c, magnitude float64) {
	a := 1 + a1
	// (α−1)·ln(1 − 1/α) − ln α = −α·ln(1 + 1/(α−1)) − ln(α−1), which is exact for large and for small α−1.
	inner, outer := a*math.Log1p(1/a1), math.Log(a1)
	return (logInvDelta - inner - outer) / a1, (logInvDelta + inner + math.Abs(outer)) / a1
}

// price returns what one item adds to a sum in τ.
func (f filter) price(p privacy.Promise) decimal.Decimal {
	if f.above.IsZero() {
		return decimal.Decimal{}
	}
	byRho := p.Rho.Add(p.Rho.Mul(f.above)) // αρ
	if p.Kind == privacy.ZCDP {
		return byRho
	}
	return decimal.Min(byRho, f.response(p.Epsilon))
}

// response is the divergence of randomised response with ε, rounded up.
func (f filter) response(epsilon decimal.Decimal) decimal.Decimal {
	e := math.Nextafter(epsilon.InexactFloat64(), math.Inf(1))
	// Both terms are at most ε, and a dozen operations err by far less than 1e-13 of them.
	return decimal.Min(epsilon, decimal.NewFromFloat(divergence(e, f.a1)+1e-13*e).RoundCeil(filterPlaces))
}

// divergence returns the Rényi divergence of randomised response with ε, for the order 1 + a1.
func divergence(epsilon, a1 float64) float64 {
	x := math.Exp(-epsilon) * -math.Expm1(-2*a1*epsilon) / (1 + math.Exp(-(1+2*a1)*epsilon))
	return epsilon - math.Log1p(x)/a1
}

// sumOf adds up items.
func (f filter) sumOf(items []Item) sum {
	var s sum
	for _, i := range items {
		one := sum{order: f.price(i.Promise), delta: i.Delta}
		if i.Kind == privacy.ZCDP {
			one.rho = i.Rho
		} else {
			one.plain = i.Epsilon
		}
		s.add(one, i.Times)
	}
	return s
}

// bound returns the ε and the δ of a sum: by (2) if that is valid and its ε no larger, and otherwise by (1).
func (f filter) bound(s sum) Spending {
	plain := Spending{Epsilon: s.plain, Delta: s.delta, Unbounded: !s.rho.IsZero()}
	if f.above.IsZero() {
		return plain
	}
	if needs := s.delta.Mul(shares); needs.Cmp(f.delta) > 0 {
		plain.Delta = needs
	}
	converted := decimal.Max(decimal.Decimal{}, s.order.Add(f.conversion)).RoundCeil(boundPlaces)
	if !plain.Unbounded && plain.Epsilon.Cmp(converted) <= 0 {
		return plain
	}
	return Spending{Epsilon: converted, Delta: decimal.Max(f.delta, plain.Delta)}
}

// Compose returns the bound on the total cost of items at the limit's ε and δ. If its ε is above the limit's, another
// limit may add the items up more sharply. If the limit has a δ, and neither an ε nor an order, there is no limit yet,
// and the bound is about the least ε that pays for the items.
func (l Limit) Compose(items []Item) Spending {
	f := newFilter(l)
	if l.Epsilon.IsZero() && l.Order.IsZero() {
		f = filterFor(l.Delta, items)
	}
	return f.bound(f.sumOf(items))
}

// The order of a filter is part of the limit: [Limit.Order], or else the order that leaves the most room for costs in ρ
// under the limit's ε and δ. Where much of a budget goes to pure costs that are not small, such as watches, a higher
// order suits it, and the same costs add up to a tenth less. [OrderFor] says which.
//
// # Why it is written down
//
// The proof above holds for every order that is fixed before the first draw, as a number in the limit is. It
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
