package exact

import (
	"math"
	"math/big"
)

// Gaussian is the discrete Gaussian law of a variance parameter σ²: a whole number z has a probability proportional to
// e^{−z²/(2σ²)}. It is immutable and safe for concurrent use.
type Gaussian struct {
	variance, scale *big.Rat // σ² and the t below
	high            uint64   // t = high·2^shift
	shift           uint
	centre, half    float64 // σ²/t and 1/(2σ²), each off by at most 2^−53 of itself
}

// NewGaussian returns the law of a rational variance parameter σ² > 0 with σ < 2^120.
func NewGaussian(variance *big.Rat) *Gaussian {
	sigma := new(big.Int).Sqrt(new(big.Int).Quo(variance.Num(), variance.Denom()))
	g := &Gaussian{variance: variance, shift: uint(max(0, sigma.BitLen()-60))}
	g.high = new(big.Int).Rsh(sigma, g.shift).Uint64() + 1
	g.scale = new(big.Rat).SetInt(new(big.Int).Lsh(new(big.Int).SetUint64(g.high), g.shift))
	g.centre, _ = new(big.Rat).Quo(variance, g.scale).Float64()
	g.half, _ = new(big.Rat).Inv(new(big.Rat).Add(variance, variance)).Float64()
	return g
}

// Variance is σ². The caller must not change it.
func (g *Gaussian) Variance() *big.Rat { return g.variance }

// DiscreteGaussian returns a whole number of the law. Like [Source.DiscreteLaplace] it has no limit.
//
// It draws a discrete Laplace number y of any whole scale t and keeps it with probability e^{−(|y|−σ²/t)²/(2σ²)}, since
// the product of the two is e^{−y²/(2σ²)} times a constant. A t near σ keeps most of them (Canonne, Kamath, Steinke
// 2020, Algorithm 3).
func (s *Source) DiscreteGaussian(g *Gaussian) *big.Int {
	for {
		y := s.DiscreteLaplace(1, g.high, uint64(1)<<g.shift)
		near, off := g.near(y)
		// e^{−x} changes by at most off·e^{−(near−off)} within off of near. 2^−50 covers the exponential's own error.
		slack := off*math.Exp(off-near) + 0x1p-50
		keep := s.RealCoin(math.Exp(-near), slack, func(prec uint) Interval {
			return FromRat(g.exponent(y), prec).Neg().Exp()
		})
		if keep || s.err != nil {
			return y
		}
	}
}

// exponent is x = (|y|−σ²/t)²/(2σ²).
func (g *Gaussian) exponent(y *big.Int) *big.Rat {
	gap := new(big.Rat).SetInt(new(big.Int).Abs(y))
	gap.Sub(gap, new(big.Rat).Quo(g.variance, g.scale))
	x := new(big.Rat).Mul(gap, gap)
	return x.Quo(x, new(big.Rat).Add(g.variance, g.variance))
}

// near is the exponent in float64, with a bound on its error.
//
// The gap d = |y|−σ²/t has three roundings, each of at most 2^−53 of |y|, of σ²/t, or of their difference. Together
// they are within δ = 2^−51·(|y|+σ²/t), and so d² is within δ·(2|d|+δ) of the square of what is computed. The roundings
// of the products are less than 2^−50 of the exponent.
func (g *Gaussian) near(y *big.Int) (x, off float64) {
	size := math.Abs(nearest(y))
	gap := size - g.centre
	delta := 0x1p-51 * (size + g.centre)
	x = gap * gap * g.half
	return x, delta*(2*math.Abs(gap)+delta)*g.half*1.01 + 0x1p-50*x
}

// nearest returns the float64 that is nearest to y.
func nearest(y *big.Int) float64 {
	if y.IsInt64() {
		return float64(y.Int64())
	}
	x, _ := new(big.Float).SetInt(y).Float64()
	return x
}
