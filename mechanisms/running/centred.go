package running

import (
	"fmt"
	"io"
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// centred draws how many persons are active at the end of each leaf, less most of its recent mean: see [NewCentred]. An
// [Open] is E, which is a mean of the counts, and the count of the leaf that is not finished. A [Known] is the same
// mean of the estimates, and the last estimate. Both means and the estimate are in units of 2^−24 persons.
type centred struct {
	name string
	law  *centring
	// draw draws Z.
	draw    func(s *exact.Source) *big.Int
	promise privacy.Promise
	// touched is what histories of n leaves cost in all.
	touched func(leaves int64) privacy.Promise
	sigma   float64 // of an estimate, in persons
	reach   float64 // the 95 % point of the noise in units of σ
	// cumulant is the logarithm of E e^{λZ}, or more, of the noise Z in persons.
	cumulant func(lambda float64) float64
}

// unitBits is the number of binary places of the numbers that centred draws.
const unitBits = 24

// MostCentred is how many leaves a day may have: a second is the shortest one.
const MostCentred = 86_400

// MostActiveGroups is how many groups may have numbers of active persons.
const MostActiveGroups = 10_000

// NewCentred returns the strategy centred, which publishes how many persons are active, again and again, for one ε in
// any day. A day has so many leaves T. groups is how many groups there are among which a person moves, or 0 if there is
// one number only.
//
// With N the number of active persons and e its leaky mean, it draws at the end of each leaf
//
//	y_t = N_t − r·e_t + Z_t,   e_{t+1} = e_t + u·(N_t − e_t),  e_1 = 0,   P(Z=z) ∝ e^{−|z|·ε/W₁},
//
// and the estimate is y_t + r·ê_t, with ê the same mean of the estimates. Encoding and decoding are each other's
// inverse, so an estimate has no bias, whatever is rounded. See [centring] for u, r, W₁ and W₂.
//
// Privacy: ε-DP for all values of any T leaves in a row, and ρ = ε²·W₂/(2·W₁²). Removing all that a person ever sent
// shifts y_t by p_t − r·e_t, where p_t says whether the person is active, and e is the mean of p: the rest of N is the
// same in both. For any T leaves in a row, Σ|p_t − r·e_t| ≤ W₁ and Σ(p_t − r·e_t)² ≤ W₂. If what a person does depends
// on earlier values, the same holds along every path, because p_t and e_t are known when Z_t is drawn.
//
// In groups, the promise is for each group in which a person may be at the same time. The caller must see to it that a
// person is active in no other group until T leaves have passed since they were active in one that they give up.
//
// Derived here; storage functions such as those of [centring] are Willems' (1972).
func NewCentred(leaves, groups int64, epsilon decimal.Decimal) (Active, error) {
	l, err := newCentring(leaves, groups, epsilon)
	if err != nil {
		return nil, err
	}
	rate := epsilon.Rat()
	if rate.Num().BitLen() > 64 || rate.Denom().BitLen() > 64 {
		return nil, fmt.Errorf("epsilon %s has too many digits; want at most 17", epsilon)
	}
	scale := l.scale()
	if !scale.IsUint64() {
		return nil, fmt.Errorf("%d leaves and %d groups; want fewer", leaves, groups)
	}
	c := &centred{name: "centred", law: l, draw: func(s *exact.Source) *big.Int {
		return s.DiscreteLaplace(rate.Num().Uint64(), rate.Denom().Uint64(), scale.Uint64())
	}}
	// ρ is the sum of the ρ of all leaves: ½·ε²·Σ shift²/scale².
	of := func(squares, sum *big.Rat) privacy.Promise {
		e := new(big.Rat).Mul(rate, new(big.Rat).Quo(sum, new(big.Rat).SetInt(scale)))
		x, _ := rate.Float64()
		q, _ := new(big.Rat).Quo(squares, new(big.Rat).SetInt(new(big.Int).Mul(scale, scale))).Float64()
		return privacy.NewPieces(up(e), x*x*q/2)
	}
	c.promise = of(l.shifts(l.squares.bound(leaves)), new(big.Rat).SetInt(scale))
	c.promise.Epsilon = epsilon
	c.touched = func(n int64) privacy.Promise {
		return of(l.shifts(l.squares.touched(n)), l.sums(l.absolute.touched(n), n))
	}
	r, _ := rate.Float64()
	size, _ := new(big.Float).SetInt(scale).Float64()
	step := -math.Expm1(-r / size)
	variance := 2 * math.Exp(-r/size) / (step * step)
	c.finish(variance, laplaceReach)
	c.cumulant = func(lambda float64) float64 {
		return laplaceCumulant(variance, math.Ldexp(lambda, -unitBits))
	}
	return c, nil
}

// NewCentredGaussian returns the strategy centred_gaussian. It is [NewCentred] with discrete Gaussian noise of the
// variance W₂/ε².
//
// Privacy: ρ-zCDP for all values of any T leaves in a row, ρ = ½ε², by the bound of the squares.
func NewCentredGaussian(leaves, groups int64, epsilon decimal.Decimal) (Active, error) {
	l, err := newCentring(leaves, groups, epsilon)
	if err != nil {
		return nil, err
	}
	rho2 := new(big.Rat).Mul(epsilon.Rat(), epsilon.Rat()) // 2ρ
	squares := l.shifts(l.squares.bound(leaves))
	law := exact.NewGaussian(new(big.Rat).Quo(squares, rho2))
	c := &centred{name: "centred_gaussian", law: l, promise: privacy.NewZCDP(epsilon),
		draw: func(s *exact.Source) *big.Int { return s.DiscreteGaussian(law) }}
	c.touched = func(n int64) privacy.Promise { // 2ρ grows as the sum of squares
		q := new(big.Rat).Quo(l.shifts(l.squares.touched(n)), squares)
		return privacy.NewZCDP(rootUp(q.Mul(q, rho2)))
	}
	variance, _ := law.Variance().Float64()
	c.finish(variance, gaussianReach)
	sigma := math.Ldexp(math.Sqrt(variance), -unitBits)
	c.cumulant = func(lambda float64) float64 { return lambda * lambda * sigma * sigma / 2 }
	return c, nil
}

// finish computes the errors of estimates from the variance of Z in units of 2^−24 persons, and the 95 % point of the
// noise in units of σ.
//
// The error of an estimate is n_t = Z_t + r·d_t, where d is the mean of earlier errors: d_{t+1} = (1 − u/D)·d_t +
// u·Z_t. So its variance is 1 + r²uD/(2 − u/D) times that of Z in the long run, and less before.
func (c *centred) finish(variance, reach float64) {
	u, d := 1/float64(c.law.tau), float64(c.law.d)
	r := 1 - 1/d
	c.sigma = math.Ldexp(math.Sqrt(variance*(1+r*r*u*d/(2-u/d))), -unitBits)
	c.reach = reach
}

func (c *centred) Name() string { return c.name }

func (c *centred) Promise() privacy.Promise { return c.promise }

func (c *centred) Touched(leaves int64) privacy.Promise { return c.touched(leaves) }

// Longest is 0: the strategy goes on for ever.
func (c *centred) Longest() int64 { return 0 }

func (c *centred) Draws(int64) int { return 1 }

// Add adds to the number of active persons at the end of the leaf.
func (c *centred) Add(open Open, _, amount int64) Open {
	for len(open) < 2 {
		open = append(open, 0)
	}
	open[1] += amount
	return open
}

func (c *centred) Draw(open Open, _ int64, random io.Reader) ([]*big.Int, error) {
	source := exact.NewSource(random)
	y := c.draw(source)
	if len(open) == 2 {
		y.Add(y, new(big.Int).Lsh(big.NewInt(open[1]), unitBits))
		y.Sub(y, c.law.most(big.NewInt(open[0])))
	}
	return []*big.Int{y}, source.Err()
}

// Close moves the mean on, and begins the next leaf with nobody.
func (c *centred) Close(open Open, _ int64) {
	if len(open) == 2 {
		now := new(big.Int).Lsh(big.NewInt(open[1]), unitBits)
		open[0], open[1] = c.law.mean(big.NewInt(open[0]), now).Int64(), 0
	}
}

// Fold keeps the mean of the estimates, and the last estimate.
func (c *centred) Fold(known Known, _ int64, draws []*big.Int) Known {
	mean := known.at(0)
	now := new(big.Int).Add(draws[0], c.law.most(mean))
	return Known{c.law.mean(mean, now), now}
}

// Total is the last estimate, to the nearest whole number.
func (c *centred) Total(known Known, _ int64) *big.Int {
	return nearest(known.at(1), new(big.Int).Lsh(big.NewInt(1), unitBits))
}

// Noise is that of an estimate in the long run. Estimates have no leaves in common, but their noise is not independent.
func (c *centred) Noise(int64) (variance, reach float64) { return c.sigma * c.sigma, c.reach }

// Error95 is ⌈1.96σ + ½⌉ for Gaussian noise and ⌈2.12σ + ½⌉ for Laplace noise, for σ in the long run.
func (c *centred) Error95(leaf int64) int64 { return error95(c.Noise(leaf)) }

// Apart implements [Strategy]. The two estimates may be of one instance, so that they share noise. The weights of the
// noise in an estimate are not negative. So those of the difference are smaller than for independent estimates, and the
// bound for these holds all the more: a cumulant grows with the size of the weight.
func (c *centred) Apart(_, distance int64) float64 { return apart(distance, c.sigma, c.noise) }

// noise is the cumulant of the error of an estimate, Z_t + r·u·Σ_{k≥1} (1 − u/D)^{k−1}·Z_{t−k}, or more. Near 0 a
// cumulant is a multiple of λ². So the sum is cut where a weight is below a thousandth, with twice the geometric series
// that is left.
func (c *centred) noise(lambda float64) float64 {
	u, d := 1/float64(c.law.tau), float64(c.law.d)
	sum, weight, keeps := c.cumulant(lambda), (1-1/d)*u, 1-u/d
	for ; weight > 1e-3; weight *= keeps {
		sum += c.cumulant(weight * lambda)
	}
	if weight > 0 {
		sum += 2 * c.cumulant(weight*lambda) / (1 - keeps*keeps)
	}
	return sum
}

// up rounds up to 4 decimal places.
func up(x *big.Rat) decimal.Decimal {
	return decimal.NewFromBigRat(x, 30).Add(decimal.New(1, -25)).RoundCeil(4)
}

// rootUp returns the square root, rounded up to 4 decimal places.
func rootUp(x *big.Rat) decimal.Decimal {
	root, _ := new(big.Float).SetPrec(200).Sqrt(new(big.Float).SetPrec(200).SetRat(x)).Rat(nil)
	return up(root)
}
