package mechanisms

import (
	"math"
	"math/big"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
)

// rangeRho returns ε/(e^ε−1) − 1 + ln((e^ε−1)/ε) from intervals.
func rangeRho(epsilon *big.Float) *big.Float {
	e := exact.Interval{Lo: epsilon, Hi: epsilon}
	grown := e.Exp().Sub(exact.FromInt(1, 400))
	return e.Quo(grown).Sub(exact.FromInt(1, 400)).Add(grown.Quo(e).Log()).Lo
}

// ρ is never below its formula in long arithmetic, and hardly above it.
func TestPromises(t *testing.T) {
	for _, text := range []string{"1e-9", "0.0001", "0.01", "0.2499", "0.25", "1", "5", "50", "1000", "1e6"} {
		e, _ := new(big.Float).SetPrec(400).SetString(text)
		want := rangeRho(e)
		got := boundedRange(dec(text))
		f, _ := want.Float64()
		if got.Rho < f || got.Rho > f*(1+1e-8) {
			t.Errorf("ε = %s: ρ = %v, the formula gives %v", text, got.Rho, f)
		}
		x := dec(text).InexactFloat64()
		if p := pure(dec(text)); p.Rho < min(x*x/2, x) || p.Rho < got.Rho || p.BoundedRange {
			t.Errorf("ε = %s: pure ρ = %v, bounded range %v", text, p.Rho, got.Rho)
		}
	}
	if got := boundedRange(dec("1")); math.Abs(got.Rho-0.12330) > 1e-5 || !got.Epsilon.Equal(dec("1")) || !got.BoundedRange {
		t.Errorf("ε = 1: %+v", got)
	}
	sum := compose(boundedRange(dec("0.1")), pure(dec("0.2")))
	if !sum.Epsilon.Equal(dec("0.3")) || sum.BoundedRange || math.Abs(sum.Rho-(0.00125+0.02)) > 1e-6 {
		t.Errorf("sum %+v", sum)
	}
}
