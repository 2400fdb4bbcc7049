package budget

import (
	"errors"
	"fmt"
	"math"

	"github.com/shopspring/decimal"
)

// Kind says which promise a release makes, and so which sums are valid for it.
type Kind uint8

// The kinds of promise.
const (
	// Pure is ε-DP; it implies (ε²/2)-zCDP [Bun & Steinke 2016, Proposition 1.4].
	Pure Kind = iota
	// BoundedRange is ε-DP whose privacy losses lie within a range of ε, as those of an exponential mechanism do.
	BoundedRange
	// ZCDP is ρ-zCDP without any pure ε.
	ZCDP
	// Approximate is (ε, δ)-DP with δ > 0.
	Approximate
)

var kindNames = [...]string{"pure", "bounded_range", "zcdp", "approximate"}

// String gives the kind's name in the ledger.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText gives the kind's name in the ledger.
func (k Kind) MarshalText() ([]byte, error) {
	if int(k) >= len(kindNames) {
		return nil, fmt.Errorf("unknown %s", k)
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText reads a name that MarshalText gave.
func (k *Kind) UnmarshalText(text []byte) error {
	for i, name := range kindNames {
		if name == string(text) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown kind of charge %q, want one of %q", text, kindNames)
}

// Cost is what one draw costs the one user whose value it saw.
type Cost struct {
	Kind Kind `json:"kind"`
	// Epsilon is the ε of the promise, > 0. Of a ZCDP cost it is only the nominal figure that its owner configured.
	Epsilon decimal.Decimal `json:"epsilon"`
	// Delta is the δ of an Approximate cost, in (0, 1); 0 for every other kind.
	Delta decimal.Decimal `json:"delta,omitzero"`
	// Rho is the ρ of a ZCDP cost, > 0. A Pure cost may have one that is less than ½ε²: a mechanism of several pieces that
	// are ε-DP together, such as a bounded-range choice and then noise, loses the sum of their ρ. 0: ρ follows from ε, as
	// that of every other kind does.
	Rho decimal.Decimal `json:"rho,omitzero"`
}

// Item is a cost and how many times it is charged: a release of a window is charged once for each group that one
// user may be in.
type Item struct {
	Cost
	Times int64 `json:"times"`
}

// mostDigits bounds the digits and the decimal exponents that are accepted: nothing sensible comes near, sums of numbers
// such as 1e10000 take time and memory, and all that is computed in float64 stays far from its ends.
const mostDigits = 50

func checkDecimal(name string, d decimal.Decimal) error {
	if e := d.Exponent(); e > mostDigits || e < -mostDigits || d.NumDigits() > mostDigits {
		return fmt.Errorf("%s has %d digits and a decimal exponent of %d, want both within %d", name, d.NumDigits(), e, mostDigits)
	}
	return nil
}

func (i Item) check() error {
	if err := errors.Join(checkDecimal("epsilon", i.Epsilon), checkDecimal("delta", i.Delta), checkDecimal("rho", i.Rho)); err != nil {
		return err
	}
	one := decimal.NewFromInt(1)
	switch {
	case int(i.Kind) >= len(kindNames):
		return fmt.Errorf("unknown %s of charge", i.Kind)
	case i.Times < 1:
		return fmt.Errorf("a cost charged %d times, want at least once", i.Times)
	case i.Epsilon.Sign() <= 0:
		return fmt.Errorf("epsilon %s, want more than 0", i.Epsilon)
	case i.Kind == Approximate && (i.Delta.Sign() <= 0 || i.Delta.Cmp(one) >= 0):
		return fmt.Errorf("delta %s of an approximate cost, want it in (0, 1)", i.Delta)
	case i.Kind != Approximate && !i.Delta.IsZero():
		return fmt.Errorf("delta %s of a %s cost, want 0", i.Delta, i.Kind)
	case i.Kind == ZCDP && i.Rho.Sign() <= 0:
		return fmt.Errorf("rho %s of a zcdp cost, want more than 0", i.Rho)
	case i.Kind == Pure && (i.Rho.Sign() < 0 || i.Rho.Cmp(pureRho(i.Epsilon)) >= 0 && !i.Rho.IsZero()):
		return fmt.Errorf("rho %s of a pure cost, want less than epsilon²/2 = %s, or 0", i.Rho, pureRho(i.Epsilon))
	case i.Kind != ZCDP && i.Kind != Pure && !i.Rho.IsZero():
		return fmt.Errorf("rho %s of a %s cost, want 0: it follows from epsilon", i.Rho, i.Kind)
	}
	return nil
}

var (
	half   = decimal.New(5, -1)
	eighth = decimal.New(125, -3)
)

// zcdp is the cost's ρ, rounded up. An approximate cost has none: ok is false.
func (c Cost) zcdp() (rho decimal.Decimal, ok bool) {
	switch c.Kind {
	case Pure:
		if !c.Rho.IsZero() {
			return c.Rho, true
		}
		return pureRho(c.Epsilon), true
	case BoundedRange:
		return boundedRangeRho(c.Epsilon), true
	case ZCDP:
		return c.Rho, true
	default:
		return decimal.Decimal{}, false
	}
}

// pureRho is ½ε².
func pureRho(epsilon decimal.Decimal) decimal.Decimal { return epsilon.Mul(epsilon).Mul(half) }

// boundedRangeRho is the zCDP parameter of an ε-bounded-range mechanism, rounded up:
//
//	ρ = ε/(e^ε − 1) − 1 + ln((e^ε − 1)/ε) ≤ ε²/8
//
// [Dong, Durfee & Rogers 2020, Lemma 3.4; ≤ ε²/8: Cesar & Rogers 2021, Lemma 3.2].
func boundedRangeRho(epsilon decimal.Decimal) decimal.Decimal {
	simple := epsilon.Mul(epsilon).Mul(eighth)
	e := epsilon.InexactFloat64()
	if e < 0.5 {
		// Below this the formula gains less than 0.4 % and loses digits to cancellation.
		return simple
	}
	// ln((e^ε − 1)/ε), written so that e^ε does not overflow.
	exact := e*math.Exp(-e)/-math.Expm1(-e) - 1 + e + math.Log(-math.Expm1(-e)) - math.Log(e)
	// Six operations on numbers of at most 1 + ε err by far less than 1e-12 of them.
	rho := decimal.NewFromFloat(exact + 1e-12*(1+e)).RoundUp(15)
	return decimal.Min(rho, simple)
}
