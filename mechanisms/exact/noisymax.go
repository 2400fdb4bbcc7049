package exact

import (
	"math"
	"math/big"
	"slices"
)

// Noise is the distribution that report-noisy-max adds to scores.
type Noise int

// The noises have scale 1 and are computed from a uniform u.
const (
	ExponentialNoise Noise = iota // E = −ln u, which exceeds x with probability e^{−x}
	GumbelNoise                   // −ln E, which is at most x with probability e^{−e^{−x}}
)

// NoisyMax returns the position of the largest key noise_i − κ·(top − scores[i]), with independent noises. There must
// be at least one score, and every score must lie in top − 2^62 … top.
//
// Each key is first known as a float64 interval: two logarithms and a few roundings widen the uncertainty of a 64-bit
// u. If other intervals overlap the best one, those keys are computed again from more bits of their u.
func (s *Source) NoisyMax(noise Noise, rate Rate, top int64, scores []int64) int {
	open := make([]contender, 0, 16)
	least := math.Inf(-1) // some key is at least this large
	for i, score := range scores {
		c := contender{index: i, gap: top - score, chance: s.Uniform()}
		lo, hi := noise.key(c.chance.Float(), rate.approx*float64(c.gap))
		if c.hi = hi; hi < least {
			continue
		}
		if lo > least {
			least = lo
			open = slices.DeleteFunc(open, func(c contender) bool { return c.hi < least })
		}
		open = append(open, c)
	}
	if len(open) > 1 {
		s.refined++
	}
	for prec := uint(firstPrec); len(open) > 1; prec *= 2 {
		var least *big.Float
		for i := range open {
			c := &open[i]
			c.exact = noise.interval(c.chance.Interval(prec)).Sub(rate.times(c.gap, prec))
			if least == nil || c.exact.Lo.Cmp(least) > 0 {
				least = c.exact.Lo
			}
		}
		open = slices.DeleteFunc(open, func(c contender) bool { return c.exact.Hi.Cmp(least) < 0 })
	}
	return open[0].index
}

// contender is a candidate whose key may still be the largest.
type contender struct {
	index  int
	gap    int64
	chance Uniform
	hi     float64
	exact  Interval
}

// key encloses noise − shift. math.Log documents an error below one unit in the last place. Like every other operation,
// it is allowed 2^−48 of its result here.
func (n Noise) key(u, shift float64) (lo, hi float64) {
	const slack = 0x1p-48
	// u was rounded, and only 64 bits of it are known.
	lo = -math.Log(min(1, u*(1+slack)+0x1p-63)) * (1 - slack)
	hi = -math.Log(max(0, u*(1-slack)-0x1p-63)) * (1 + slack) // +Inf for 0
	if n == GumbelNoise {
		lo, hi = -math.Log(hi), -math.Log(lo)
	}
	return lo - shift - (math.Abs(lo)+shift)*slack, hi - shift + (math.Abs(hi)+shift)*slack
}

// interval encloses the noise.
func (n Noise) interval(u Interval) Interval {
	x := u.Log().Neg()
	if x.Lo.Sign() < 0 { // only rounding can cause this
		x.Lo = down(u.Prec())
	}
	if n == GumbelNoise {
		x = x.Log().Neg()
	}
	return x
}

// times encloses κ·k.
func (r Rate) times(k int64, prec uint) Interval {
	product := new(big.Rat).SetInt64(k)
	return FromRat(product.Mul(product, r.exact), prec)
}
