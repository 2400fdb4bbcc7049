package privacy

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func TestCheck(t *testing.T) {
	for _, p := range []Promise{NewPure(dec("3")), NewPieces(dec("1"), 0.1), NewBoundedRange(dec("50")),
		NewZCDP(dec("0.1")), NewApproximate(dec("1"), dec("0.001")), NewApproximate(dec("8"), dec("0.001"))} {
		if err := p.Check(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, c := range []struct {
		name    string
		promise Promise
		want    string
	}{
		{"no epsilon", NewPure(dec("0")), "epsilon 0"},
		{"pure with delta", Promise{Kind: Pure, Epsilon: dec("1"), Delta: dec("0.1"), Rho: dec("0.5")},
			"delta 0.1 of a pure cost"},
		{"pure with too large a rho", Promise{Kind: Pure, Epsilon: dec("1"), Rho: dec("0.51")},
			"rho 0.51 of a pure cost; want more than 0 and at most epsilon²/2 = 0.5"},
		{"pure with a rho below 0", Promise{Kind: Pure, Epsilon: dec("1"), Rho: dec("-0.1")},
			"rho -0.1 of a pure cost"},
		{"pure without rho", Promise{Kind: Pure, Epsilon: dec("1")}, "rho 0 of a pure cost"},
		{"bounded range without rho", Promise{Kind: BoundedRange, Epsilon: dec("1")}, "rho 0 of a bounded_range cost"},
		{"approximate without delta", NewApproximate(dec("1"), dec("0")), "delta 0 of an approximate cost"},
		{"approximate with delta 1", NewApproximate(dec("1"), dec("1")), "delta 1 of an approximate cost"},
		{"approximate with a rho of its own", Promise{Kind: Approximate, Epsilon: dec("1"), Delta: dec("0.1"),
			Rho: dec("0.49")}, "rho 0.49 of an approximate cost; want 0.5"},
		{"approximate without rho", Promise{Kind: Approximate, Epsilon: dec("1"), Delta: dec("0.1")},
			"rho 0 of an approximate cost; want 0.5"},
		{"zcdp without rho", Promise{Kind: ZCDP, Epsilon: dec("1")}, "rho 0 of a zcdp cost"},
		{"unknown kind", Promise{Kind: 9, Epsilon: dec("1")}, "unknown kind 9"},
		{"a number that fills the memory", Promise{Epsilon: dec("1e1000")}, "decimal exponent"},
	} {
		if err := c.promise.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestKindText(t *testing.T) {
	for k := range Kind(len(kindNames)) {
		text, err := k.MarshalText()
		var back Kind
		if err != nil || back.UnmarshalText(text) != nil || back != k {
			t.Errorf("%v became %q and %v (%v)", k, text, back, err)
		}
	}
	var k Kind
	if err := k.UnmarshalText([]byte("gratis")); err == nil {
		t.Error("an unknown kind was read")
	}
	if _, err := Kind(99).MarshalText(); err == nil {
		t.Error("an unknown kind was written")
	}
}

// worstDivergence is the largest Rényi divergence of order a of any ε-bounded-range pair of laws. The privacy losses
// lie in [t − ε, t] for some t in [0, ε]. Given E[e^{−loss}] = 1, the mean of the convex e^{(a−1)·loss} is largest if
// all of the mass is at the two ends.
func worstDivergence(epsilon, a float64) float64 {
	worst := 0.0
	const steps = 2000
	for i := 1; i < steps; i++ {
		t := epsilon * float64(i) / steps
		p := math.Expm1(epsilon-t) / (math.Exp(epsilon-t) - math.Exp(-t))
		mean := p*math.Exp((a-1)*t) + (1-p)*math.Exp((a-1)*(t-epsilon))
		worst = max(worst, math.Log(mean)/(a-1))
	}
	return worst
}

func TestBoundedRangeRhoBoundsEveryOrder(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.49, 0.5, 0.51, 1, 2, 3, 5, 8} {
		rho := boundedRangeRho(decimal.NewFromFloat(epsilon)).InexactFloat64()
		tight := 0.0
		for _, a := range []float64{1.0001, 1.001, 1.01, 1.1, 1.3, 1.6, 2, 3, 5, 8, 13, 21, 34} {
			// Orders near 1 divide differences of about 1e-16 by a − 1.
			if d := worstDivergence(epsilon, a); d > a*rho+1e-11 {
				t.Errorf("ε = %v, a = %v: the divergence is %v, more than aρ = %v", epsilon, a, d, a*rho)
			} else {
				tight = max(tight, d/(a*rho))
			}
		}
		if tight < 0.98 {
			t.Errorf("ε = %v: ρ = %v is reached to %v only", epsilon, rho, tight)
		}
		if rho > epsilon*epsilon/8*(1+1e-15) {
			t.Errorf("ε = %v: ρ = %v is above ε²/8", epsilon, rho)
		}
	}
	for _, epsilon := range []string{"0.0001", "50", "5000"} {
		rho := boundedRangeRho(dec(epsilon))
		if e := dec(epsilon); rho.Sign() <= 0 || rho.Cmp(e.Mul(e).Mul(eighth)) > 0 || rho.Cmp(e) > 0 {
			t.Errorf("ε = %s: ρ = %s", epsilon, rho)
		}
	}
}

// longRho returns ε/(e^ε−1) − 1 + ln((e^ε−1)/ε) from intervals of 400 bits.
func longRho(epsilon *big.Float) float64 {
	e := exact.Interval{Lo: epsilon, Hi: epsilon}
	grown := e.Exp().Sub(exact.FromInt(1, 400))
	rho, _ := e.Quo(grown).Sub(exact.FromInt(1, 400)).Add(grown.Quo(e).Log()).Lo.Float64()
	return rho
}

// No ρ is below its formula in long arithmetic. The ρ of a bounded range is at most 0.4 % above it, that of pieces less
// than 10⁻⁸ plus one unit of the last decimal.
func TestRhoIsRoundedUp(t *testing.T) {
	for _, text := range []string{"1e-9", "0.0001", "0.01", "0.2499", "0.25", "0.3", "0.4999", "0.5", "1", "5", "50",
		"1000", "1e6"} {
		e, _ := new(big.Float).SetPrec(400).SetString(text)
		want, near := longRho(e), dec(text).InexactFloat64()
		if got := NewBoundedRange(dec(text)).Rho.InexactFloat64(); got < want || got > want*1.004+2e-12 {
			t.Errorf("ε = %s: ρ = %v, the formula gives %v", text, got, want)
		}
		if got := NewPieces(dec(text), RhoOfRange(near)).Rho.InexactFloat64(); got < want || got > want*(1+1e-8)+2e-12 {
			t.Errorf("ε = %s: ρ of one piece is %v, the formula gives %v", text, got, want)
		}
		got, half := NewPure(dec(text)).Rho, dec(text).Mul(dec(text)).Mul(dec("0.5"))
		if !got.Equal(decimal.Min(half, dec(text))) {
			t.Errorf("ε = %s: pure ρ = %v", text, got)
		}
	}
	if got := NewBoundedRange(dec("1")).Rho.InexactFloat64(); math.Abs(got-0.12330) > 1e-5 {
		t.Errorf("ε = 1: ρ = %v", got)
	}
}

// Two steps of a mechanism that keeps a promise exactly are within what Twice says, and reach it: randomised response,
// where the second step is another person, and a truncated geometric law, which moves by two.
func TestTwice(t *testing.T) {
	for _, e := range []float64{0.1, 1, 3} {
		two := NewPure(decimal.NewFromFloat(e)).Twice()
		if got := two.Epsilon.InexactFloat64(); got != 2*e || two.Check() != nil || !two.Rho.Equal(NewPure(two.Epsilon).Rho) {
			t.Errorf("ε = %v: %+v (%v)", e, two, two.Check())
		}
		// Two responses with the same ε, both of which change: the product is at most e^2ε, in both directions.
		yes := math.Exp(e) / (1 + math.Exp(e))
		if loss := 2 * math.Log(yes/(1-yes)); math.Abs(loss-2*e) > 1e-12 {
			t.Errorf("ε = %v: two responses lose %v", e, loss)
		}
		const bound = 12
		sum, law := 0.0, map[int]float64{}
		for z := -bound; z <= bound; z++ {
			law[z] = math.Exp(-e * math.Abs(float64(z)))
			sum += law[z]
		}
		delta := law[bound] / sum
		approximate := NewApproximate(decimal.NewFromFloat(e), decimal.NewFromFloat(delta)).Twice()
		mass := 0.0
		for z := -bound; z <= bound; z++ {
			mass += max(0, law[z]-math.Exp(2*e)*(1+1e-9)*law[z-2]) / sum
		}
		if said := approximate.Delta.InexactFloat64(); mass > said || mass < said*(1-1e-12) {
			t.Errorf("ε = %v, δ = %v: beyond 2ε there is %v, and %v is said", e, delta, mass, said)
		}
	}
	z := NewZCDP(dec("0.5")).Twice()
	if !z.Epsilon.Equal(dec("1")) || !z.Rho.Equal(dec("0.5")) || z.Check() != nil { // a Gaussian moved twice as far
		t.Errorf("%+v", z)
	}
	if r := NewBoundedRange(dec("1")).Twice(); !r.Rho.Equal(NewBoundedRange(dec("2")).Rho) || r.Check() != nil {
		t.Errorf("%+v", r)
	}
}
