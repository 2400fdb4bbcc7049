package budget

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
)

// filter adds up costs under one limit, and says whether the sum is within it.
//
// With a δ it is a Rényi filter: every cost is priced by its Rényi divergence of one order α, the prices add up, and
// the sum is converted to an ε. α follows from the limit alone: see order.go. Nothing else may choose it: somebody who
// knew what was drawn could move the bound to where the draws were unlucky. For the same reason the share of δ that
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
// cost is priced like a pure one of its ε: what it adds to that is in its δ. Without a ρ, as earlier releases wrote it,
// its price is ε.
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
	switch {
	case p.Kind == privacy.ZCDP:
		return byRho
	case p.Kind == privacy.Approximate && p.Rho.IsZero():
		return p.Epsilon
	default:
		return decimal.Min(byRho, f.response(p.Epsilon))
	}
}

// response is the divergence of randomised response with ε, rounded up.
func (f filter) response(epsilon decimal.Decimal) decimal.Decimal {
	e := math.Nextafter(epsilon.InexactFloat64(), math.Inf(1))
	// Both terms are at most ε, and a dozen operations err by far less than 1e-13 of them.
	return decimal.Min(epsilon, decimal.NewFromFloat(divergence(e, f.a1)+1e-13*e).RoundCeil(filterPlaces))
}

// divergence is that of randomised response with ε, for the order 1 + a1.
//
// In exact numbers it is ε − ln(1 + x)/(α−1), x = e^−ε·(1 − e^(−2(α−1)ε))/(1 + e^(−(2α−1)ε)), where no digits are lost
// even if α is close to 1.
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
