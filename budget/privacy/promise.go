// Package privacy states what one draw costs a user whose value it saw. A mechanism makes a [Promise]. A window is
// charged the promises of its releases, the ledger keeps them, and package budget adds them up.
package privacy

import (
	"errors"
	"fmt"
	"math"

	"github.com/shopspring/decimal"
)

// Kind is the kind of privacy that is promised, which decides how promises add up.
type Kind uint8

// The kinds of promise.
const (
	// Pure is ε-DP.
	Pure Kind = iota
	// BoundedRange is ε-DP with privacy losses within a range of ε, as in an exponential mechanism.
	BoundedRange
	// ZCDP is ρ-zCDP without any pure ε.
	ZCDP
	// Approximate is (ε, δ)-DP with δ > 0: beside what δ allows, it is like a Pure mechanism of that ε.
	Approximate
)

var kindNames = [...]string{"pure", "bounded_range", "zcdp", "approximate"}

// String returns the kind's name in the ledger.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText returns the kind's name in the ledger.
func (k Kind) MarshalText() ([]byte, error) {
	if int(k) >= len(kindNames) {
		return nil, fmt.Errorf("unknown %s", k)
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText reads a kind's name in the ledger.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("kind of charge %q; want one of %q", text, kindNames)
}

// Promise bounds what one draw reveals about one user. It holds all figures of the bound, so callers need not derive
// any. Make one with the functions of this package, which round ρ up.
type Promise struct {
	Kind Kind `json:"kind"`
	// Epsilon is the ε of the promise, > 0. In a ZCDP promise it is only the requested figure.
	Epsilon decimal.Decimal `json:"epsilon"`
	// Delta is the δ of an Approximate promise, in (0, 1), and 0 for every other kind.
	Delta decimal.Decimal `json:"delta,omitzero"`
	// Rho is the zCDP parameter ρ, > 0, and at most ½ε² if there is a pure ε. In an Approximate promise it is that of
	// the pure ε.
	Rho decimal.Decimal `json:"rho,omitzero"`
}

// NewPure is the promise of an ε-DP mechanism.
func NewPure(epsilon decimal.Decimal) Promise {
	return Promise{Kind: Pure, Epsilon: epsilon, Rho: decimal.Min(halfSquare(epsilon), epsilon)}
}

// NewPieces is the promise of a mechanism of several draws that are ε-DP together, and whose ρ add up to rho (see
// [RhoOfRange] and [RhoOfPure]). rho is often much less than ½ε².
func NewPieces(epsilon decimal.Decimal, rho float64) Promise {
	p := NewPure(epsilon)
	p.Rho = decimal.Min(p.Rho, roundedUp(rho))
	return p
}

// NewBoundedRange is the promise of an ε-DP mechanism of ε-bounded range, such as an exponential mechanism.
func NewBoundedRange(epsilon decimal.Decimal) Promise {
	return Promise{Kind: BoundedRange, Epsilon: epsilon, Rho: boundedRangeRho(epsilon)}
}

// NewZCDP is the promise of a ρ-zCDP mechanism, ρ = ½ε².
func NewZCDP(epsilon decimal.Decimal) Promise {
	return Promise{Kind: ZCDP, Epsilon: epsilon, Rho: halfSquare(epsilon)}
}

// NewApproximate is the promise of an (ε, δ)-DP mechanism. It is δ-approximately ρ-zCDP with the ρ of an ε-DP one (Bun
// & Steinke 2016, section 8).
func NewApproximate(epsilon, delta decimal.Decimal) Promise {
	return Promise{Kind: Approximate, Epsilon: epsilon, Delta: delta, Rho: NewPure(epsilon).Rho}
}

// Twice bounds what a draw, or two draws with this promise, reveal about one user whose data is removed and then added
// in another form: the same user with another value, or in another group.
//
// In between are the data without the user, to which the promise holds from both sides. For every outcome the ratios of
// the two steps multiply: ε-DP gives 2ε-DP, a range of ε one of 2ε, and (ε, δ)-DP gives (2ε, (1 + e^ε)·δ)-DP. For
// ρ-zCDP it is 4ρ (Bun & Steinke 2016, Proposition 1.9). Two draws, each with one of the steps, add up to no more than
// that.
func (p Promise) Twice() Promise {
	two := decimal.NewFromInt(2)
	q := Promise{Kind: p.Kind, Epsilon: p.Epsilon.Mul(two), Rho: p.Rho.Mul(two).Mul(two)}
	switch p.Kind {
	case Pure:
		q.Rho = decimal.Min(q.Rho, NewPure(q.Epsilon).Rho)
	case BoundedRange:
		q.Rho = boundedRangeRho(q.Epsilon)
	case Approximate:
		// Beyond δ = 1 nothing is promised, however large the factor is.
		grown := math.Nextafter(1+math.Exp(min(p.Epsilon.InexactFloat64(), 700)), math.Inf(1)) * (1 + 1e-14)
		q.Delta = decimal.Min(decimal.NewFromInt(1), p.Delta.Mul(decimal.NewFromFloat(grown)))
		q.Rho = NewPure(q.Epsilon).Rho
	}
	return q
}

// mostDigits bounds the accepted digits and decimal exponents. No sensible number comes near it. Sums of numbers such
// as 1e10000 would take time and memory, and float64 computations would overflow.
const mostDigits = 50

// CheckDigits refuses numbers that are too long to calculate with.
func CheckDigits(name string, d decimal.Decimal) error {
	if e := d.Exponent(); e > mostDigits || e < -mostDigits || d.NumDigits() > mostDigits {
		return fmt.Errorf("%s has %d digits and a decimal exponent of %d; want both within %d", name, d.NumDigits(), e,
			mostDigits)
	}
	return nil
}

// Check returns an error if the promise is malformed. It cannot tell whether a mechanism keeps it.
func (p Promise) Check() error {
	err := errors.Join(CheckDigits("epsilon", p.Epsilon), CheckDigits("delta", p.Delta), CheckDigits("rho", p.Rho))
	if err != nil {
		return err
	}
	one := decimal.NewFromInt(1)
	switch {
	case int(p.Kind) >= len(kindNames):
		return fmt.Errorf("unknown %s of charge", p.Kind)
	case p.Epsilon.Sign() <= 0:
		return fmt.Errorf("epsilon %s; want more than 0", p.Epsilon)
	case p.Kind == Approximate && (p.Delta.Sign() <= 0 || p.Delta.Cmp(one) >= 0):
		return fmt.Errorf("delta %s of an approximate cost; want more than 0 and less than 1", p.Delta)
	case p.Kind != Approximate && !p.Delta.IsZero():
		return fmt.Errorf("delta %s of a %s cost; want 0", p.Delta, p.Kind)
	case p.Kind == Approximate && !p.Rho.Equal(NewPure(p.Epsilon).Rho):
		return fmt.Errorf("rho %s of an approximate cost; want %s", p.Rho, NewPure(p.Epsilon).Rho)
	case p.Kind == ZCDP && p.Rho.Sign() <= 0:
		return fmt.Errorf("rho %s of a zcdp cost; want more than 0", p.Rho)
	case (p.Kind == Pure || p.Kind == BoundedRange) && (p.Rho.Sign() <= 0 || p.Rho.Cmp(halfSquare(p.Epsilon)) > 0):
		return fmt.Errorf("rho %s of a %s cost; want more than 0 and at most epsilon²/2 = %s", p.Rho, p.Kind,
			halfSquare(p.Epsilon))
	}
	return nil
}

var (
	half   = decimal.New(5, -1)
	eighth = decimal.New(125, -3)
)

// halfSquare is ½ε².
func halfSquare(epsilon decimal.Decimal) decimal.Decimal { return epsilon.Mul(epsilon).Mul(half) }

// RhoOfPure is the ρ of an ε-DP mechanism, min(ε²/2, ε) (Bun & Steinke 2016, Proposition 1.4). A Rényi divergence never
// exceeds ε.
func RhoOfPure(e float64) float64 { return min(e*e/2, e) }

// RhoOfRange is the ρ of an ε-bounded-range mechanism:
//
//	ρ = ε/(e^ε − 1) − 1 + ln((e^ε − 1)/ε) ≤ ε²/8
//
// (Dong, Durfee & Rogers 2020, Lemma 3.4; ≤ ε²/8: Cesar & Rogers 2021, Lemma 3.2).
func RhoOfRange(e float64) float64 {
	if e < 0.25 {
		// The series ε²/8 − ε⁴/576 + ε⁶/25920 − …, cut after a positive term: here the formula would lose digits to
		// cancellation.
		return e * e / 8 * (1 - e*e/72 + e*e*e*e/3240)
	}
	// ln((e^ε − 1)/ε), written so that e^ε does not overflow.
	return e*math.Exp(-e)/-math.Expm1(-e) - 1 + e + math.Log(-math.Expm1(-e)) - math.Log(e)
}

// boundedRangeRho is [RhoOfRange], rounded up. Ledgers have entries that do not hold their ρ, because it is this
// function of ε. So it must never change.
func boundedRangeRho(epsilon decimal.Decimal) decimal.Decimal {
	simple := epsilon.Mul(epsilon).Mul(eighth)
	e := epsilon.InexactFloat64()
	if e < 0.5 {
		return simple // within 0.4 %
	}
	// Six operations on numbers of at most 1 + ε err by far less than 1e-12 of them.
	rho := decimal.NewFromFloat(RhoOfRange(e) + 1e-12*(1+e)).RoundUp(15)
	return decimal.Min(rho, simple)
}

// roundedUp covers the rounding errors of about ten float64 operations. Each is at most 2⁻⁵³ of the result, or of 1 if
// terms of about 1 cancel.
func roundedUp(rho float64) decimal.Decimal {
	return decimal.NewFromFloat(rho*(1+0x1p-44) + 4e-15).RoundCeil(12)
}
