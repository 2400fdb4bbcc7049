package mechanisms

import (
	"math"
	"math/big"

	"github.com/louver/louver/mechanisms/exact"
)

// Outsiders is what a draw tells of the users outside the interval to which it cut values: how many there are, and how
// far that may have moved the value.
//
// Law. A user outside [l, h] has only three quarters of what a user at its end has in the sums. The last quarter pays
// for a count of the users outside. All sums are in quarters, so they stay whole numbers:
//
//	C = #(x < l) + #(x > h), C̃ = C + Z, P(Z=z) ∝ e^{−|z|·ε_m/4}; if l = h, there are no sums, and the rate is ε_m.
//
// With Gaussian noise the count has σ² = 8/(7ρ_m), and 1/(2ρ_m) if l = h. The interval of all points has nobody
// outside.
//
// Privacy. The noisy sums and C̃ together cost ε_m, as the sums alone would. Let a sum be divided by its sensitivity s,
// which in quarters is 4W for a mean. A user inside changes the sums by 1 at most in all, and C not at all. A user
// outside changes them by ¾, and C by 1, which costs ¼·ε_m at the rate ε_m/4: ¾ + ¼ = 1. In the L2 norm, for Gaussian
// noise, the squares add up: (¾)²·ρ_m + 1/(2σ²) = (9/16)·ρ_m + (7/16)·ρ_m = ρ_m.
//
// Derived here.
type Outsiders struct {
	// Users is C̃. It may be negative.
	Users int64
	// Error95 is the least t with P(|Z| > t) ≤ 5 %.
	Error95 int64
	// Users95 is a number of users outside that is not exceeded with probability 95 %, for any data.
	Users95 int64
	// Cut95 is how far the users outside may have moved the value at most, in its unit, with probability 95 %. It is
	// NaN if that is not known: if no count of all users was drawn, and for variances.
	Cut95 float64

	least   int64 // there are at least that many with probability 95 %
	fewest  int64 // all users, likewise
	counted bool  // fewest is known
}

// outsiders draws the count of users outside. sums says that the interval has more than one point, and so there are
// sums; whole, that it has all points.
func (p *plan) outsiders(outside int64, sums, whole bool, source *exact.Source) *Outsiders {
	x := &Outsiders{fewest: p.fewest, counted: p.counted}
	if whole {
		return x
	}
	x.Cut95 = math.NaN()
	z := p.sums
	if sums {
		z = z.beside()
	}
	count := z.law(1)(source)
	x.set(z, cut(count.Add(count, big.NewInt(outside)), -1<<62, 1<<62))
	return x
}

// set sets a noisy count, and what its noise says of the true one.
func (x *Outsiders) set(z noise, count int64) {
	side := z.reach(1, 0.1).Int64() // 5 % on each side
	x.Users, x.Error95 = count, z.reach(1, 0.05).Int64()
	x.Users95, x.least = max(count, 0)+side, count-side
}

// cutsMean sets how far a mean may have moved: outside are Users95 of at least fewest users, each of them no further
// from the value than so far, or k0 users too many were added back. The mean of values in bounds is never further from
// the value than most.
func (x *Outsiders) cutsMean(far, most, addedBack float64) {
	if x.counted && x.fewest > 0 {
		x.Cut95 = min(max(float64(x.Users95)*far, addedBack)/float64(x.fewest), most)
	}
}

// best returns the best quality that a value may have if so many users are outside. A twentieth of all users may be
// outside a useful value, and maybe nobody is; a third may be outside a rough one, and maybe less than a fiftieth is.
// Without a count of all users nothing is useful.
func (x *Outsiders) best() Quality {
	users := float64(x.fewest)
	switch {
	case !x.counted:
		return Rough
	case float64(x.Users95) <= users/20 && x.least <= 0:
		return Useful
	case float64(x.Users95) <= users/3 && float64(x.least) <= users/50:
		return Rough
	}
	return Noise
}

// errors returns the bounds of draws whose noise has this bound, as if nobody were outside.
func (c *clipping) errors(error95 float64, users *NoisyCount) []Bound {
	b := noiseBound(error95)
	if p, known := c.probable(users); known {
		b.outside = &Outsiders{fewest: p.fewest, counted: p.counted}
		b.outside.set(p.sums.beside(), 0)
	}
	return []Bound{b}
}

func (c *clipping) standIn(n int64) *NoisyCount {
	if c.expected > 0 {
		return nil
	}
	epsilon, _ := c.epsilon.Float64()
	return &NoisyCount{Value: n, Epsilon: epsilon / (ownShare + 1)}
}
