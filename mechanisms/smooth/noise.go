package smooth

import (
	"math/big"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// noise is the law of Z, symmetric about 0, with its calibrated α. |Z| is a formula in a few uniform numbers, so it can
// be computed to any number of digits.
//
// A noise is (α, β)-admissible for a promise if the promise holds between the densities of Z and of e^{−t}Z − s, for
// all dilations |t| ≤ β and shifts |s| ≤ α·min(1, e^{−t}) [Nissim, Raskhodnikova & Smith 2007, Definition 2.5]: two
// neighbours' releases T + (g/α)Z and T' + (g'/α)Z differ by t = ln(g/g') and s = α(T−T')/g, and |T−T'| ≤ min(g, g').
type noise interface {
	// alpha encloses α with about prec bits.
	alpha(prec uint) exact.Interval
	// draw draws the uniform numbers.
	draw(s *exact.Source, v *variates)
	// short and long enclose |Z| for given uniform numbers.
	short(v *variates) span
	long(v *variates, prec uint) exact.Interval
}

// variates holds the random numbers behind one |Z|.
type variates struct {
	u [3]exact.Uniform
	// choice is a random sign, or says which of two cases u is for.
	choice bool
}

// calibration holds what a noise's parameters follow from.
type calibration struct {
	epsilon, delta *big.Rat
	// beta is nil if the noise chooses it.
	beta      *big.Rat
	gamma     *big.Rat
	published bool
}

// betaOr returns the given β, or a default if there is none.
func (c calibration) betaOr(otherwise *big.Rat) *big.Rat {
	if c.beta != nil {
		return c.beta
	}
	return otherwise
}

// eighth is ε/8, the default β of most noises: E|noise| is within a few per cent of its minimum there.
func (c calibration) eighth() *big.Rat { return new(big.Rat).Mul(c.epsilon, big.NewRat(1, 8)) }

// betaBelow checks β < limit, which rule describes.
func betaBelow(beta, limit *big.Rat, rule string) error {
	if beta.Cmp(limit) >= 0 {
		return parameter.Wrong("beta", text(beta), "less than %s = %s", rule, text(limit))
	}
	return nil
}

// text formats a number for an error message.
func text(x *big.Rat) string { return decimal.NewFromBigRat(x, 12).String() }

// guard is the number of extra bits in calibrations, which lose some bits if ε or β is small.
const guard = 192

// rational starts a calibration formula with a rational number.
func rational(x *big.Rat, prec uint) exact.Interval { return exact.FromRat(x, prec+guard) }

// whole starts one with a whole number.
func whole(x int64, prec uint) exact.Interval { return exact.FromInt(x, prec+guard) }

// roundDown returns a rational number of 12 digits just below x > 0.
func roundDown(x exact.Interval) *big.Rat {
	f, _ := x.Lo.Float64()
	z, _ := new(big.Rat).SetString(strconv.FormatFloat(f*(1-2e-12), 'e', 12, 64))
	return z
}

// pow returns x^e for x ≥ 0.
func pow[R number[R]](x, e R) R { return x.Log().Mul(e).Exp() }

// belowOne decides whether a number is less than 1, using more digits if float64 cannot tell.
func belowOne(near span, refine func(prec uint) exact.Interval) bool {
	if near.hi < 1 {
		return true
	}
	if near.lo >= 1 {
		return false
	}
	one := big.NewFloat(1)
	for prec := uint(firstPrec); ; prec *= 2 {
		x := refine(prec)
		if x.Hi.Cmp(one) < 0 {
			return true
		}
		if x.Lo.Cmp(one) >= 0 {
			return false
		}
	}
}

// firstPrec is the precision in bits of the first refinement. It doubles until the answer is certain.
const firstPrec = 128

// maker makes a noise and its β. All its noises give one kind of promise.
type maker struct {
	kind privacy.Kind
	make func(calibration) (noise, *big.Rat, error)
}

// makers lists the noises by name.
func makers() map[string]maker {
	return map[string]maker{
		"power":     {privacy.Pure, newPower},
		"cauchy":    {privacy.Pure, newCauchy},
		"student_t": {privacy.Pure, newStudent},
		"laplace":   {privacy.Approximate, newLaplace},
		"gaussian":  {privacy.Approximate, newGaussian},
		"lln":       {privacy.ZCDP, newLLN},
		"uln":       {privacy.ZCDP, newULN},
		"arsinh":    {privacy.ZCDP, newArsinh},
	}
}
