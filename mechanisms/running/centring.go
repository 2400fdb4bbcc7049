package running

import (
	"fmt"
	"math/big"

	"github.com/shopspring/decimal"
)

// centring is how far one person can shift what [NewCentred] draws.
//
// With T leaves a day, u = 1/τ, τ = ⌈√(2T)⌉, D = (4τ)^⅓ to the nearest, and r = 1 − 1/D. Days of fewer than 12 leaves
// have r = 0. Let p_t ∈ {0, 1} say whether a person is active at the end of leaf t, after any past, and e be the mean
// of p. Then over any T leaves in a row
//
//	Σ(p_t − r·e_t)² ≤ W₂ = w₂·T + s₂    and    Σ|p_t − r·e_t| ≤ W₁ = w₁·T + s₁.
//
// Proof. Let V(e) = A·e² + B·e, and w be the greatest value of term + V(e′) − V(e) for any e in [0, 1] and both p,
// where term is that of the sum, and e′ the mean after the leaf. Over n leaves V telescopes, so a sum is at most w·n +
// V(e_1) − V(e_{n+1}), and s is the greatest less the least value of V on [0, 1]. This holds for any A and B. Those
// below make W₂ about T/4 + 0.6τ and W₁ about T/2 + 0.6τ; a test finds histories that come to within a tenth. ∎
//
// Groups: a person who has given up a group leaves r·e behind in it, and is active in no other one for T leaves. Let
// them be active in the next group in j of T leaves. What they left behind adds at most r²(1−u)^{2(T−j)}/(1 − (1−u)²)
// to w₂·j + s₂, which is convex in j. So it is the most where j is T, or 0, where W₂ is far larger. Groups before that
// one add a geometric series. The same holds for W₁.
//
// In whole numbers: means are in units of 2^−24 persons, and each step rounds. Two means that differ by one person
// differ by their ideal and less than τ units, so that a shift is off by at most τ + 1 units. W₂ gets a factor of 1 +
// 2^−12 for that, which is enough for τ < 1024, and W₁ gets T·(τ+1) units. In groups that were given up, a rounded mean
// may stay off for ever, so W₁ gets as many units for each group.
type centring struct {
	leaves, groups int64
	tau, d         int64
	// squares and absolute bound both sums, in persons.
	squares, absolute storage
}

// storage bounds a sum over leaves by a function V(e) = A·e² + B·e.
type storage struct {
	w, s *big.Rat
	// left is the most that a mean e still adds to the sum once the person is gone, less V(e), for any e.
	left *big.Rat
	// behind is what groups that were given up add.
	behind *big.Rat
}

// bound is the most of a sum over n leaves in a row, after any past.
func (s storage) bound(n int64) *big.Rat {
	sum := new(big.Rat).Mul(s.w, new(big.Rat).SetInt64(n))
	return sum.Add(sum, s.s).Add(sum, s.behind)
}

// touched is the most of a sum over all leaves, of a person who is active in n leaves in a row only. e is 0 before
// them.
func (s storage) touched(n int64) *big.Rat {
	sum := new(big.Rat).Mul(s.w, new(big.Rat).SetInt64(n))
	return sum.Add(sum, s.left).Add(sum, s.behind)
}

// leastCentred is the least number of leaves of a day for which something is subtracted.
const leastCentred = 12

func newCentring(leaves, groups int64, epsilon decimal.Decimal) (*centring, error) {
	if leaves < 1 || leaves > MostCentred || groups < 0 || groups > MostActiveGroups || epsilon.Sign() <= 0 {
		return nil, fmt.Errorf("%d leaves a day, %d groups and epsilon %s; want from 1 to %d leaves, at most %d "+
			"groups and an epsilon above 0", leaves, groups, epsilon, MostCentred, MostActiveGroups)
	}
	l := &centring{leaves: leaves, groups: groups, tau: 1, d: 1}
	for l.tau*l.tau < 2*leaves {
		l.tau++
	}
	if leaves < leastCentred {
		one := big.NewRat(1, 1)
		plain := storage{one, new(big.Rat), new(big.Rat), new(big.Rat)}
		l.squares, l.absolute = plain, plain
		return l, nil
	}
	for half := int64(3); half*half*half <= 32*l.tau; half += 2 { // until 4τ is below (D + ½)³
		l.d++
	}
	l.bounds()
	return l, nil
}

// bounds computes W₁ and W₂, exactly.
func (l *centring) bounds() {
	u, r, one := big.NewRat(1, l.tau), big.NewRat(l.d-1, l.d), big.NewRat(1, 1)
	q := minus(one, u) // 1 − u
	span := times(u, minus(big.NewRat(2, 1), u))
	x := plus(u, big.NewRat(1, l.d*l.d))

	// The squares: (p − r·e)² is r²e² if the person is not active, and 1 − 2r·e + r²e² if so.
	k, b := minus(one, times(big.NewRat(7, 5), x)), minus(one, times(x, big.NewRat(1, 3)))
	square := times(r, r)
	v := quadratic{new(big.Rat), new(big.Rat).Neg(over(b, u)), over(plus(square, k), span)}
	l.squares = newStorage(v, u, quadratic{new(big.Rat), new(big.Rat), square},
		quadratic{one, times(big.NewRat(-2, 1), r), square},
		quadratic{new(big.Rat), new(big.Rat), over(square, minus(one, times(q, q)))})

	// The absolute values: |p − r·e| is r·e, and 1 − r·e.
	k, b = minus(big.NewRat(2, 1), big.NewRat(14, 5*l.d)), minus(one, big.NewRat(2, l.d*l.d))
	v = quadratic{new(big.Rat), new(big.Rat).Neg(over(b, u)), over(k, span)}
	l.absolute = newStorage(v, u, quadratic{new(big.Rat), r, new(big.Rat)},
		quadratic{one, new(big.Rat).Neg(r), new(big.Rat)}, quadratic{new(big.Rat), over(r, u), new(big.Rat)})

	if l.groups > 0 {
		rest := l.rest()
		squared := times(rest, rest)
		l.squares.behind = times(over(square, minus(one, times(q, q))), over(squared, minus(one, squared)))
		l.absolute.behind = times(over(r, u), over(rest, minus(one, rest)))
	}
}

// rest is (1−u)^T, rounded up to a multiple of 2^−64.
func (l *centring) rest() *big.Rat {
	const bits = 128
	x, less := new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(l.tau-1)
	for range l.leaves {
		x = ceiling(x.Mul(x, less), l.tau)
	}
	x.Rsh(x, bits-64)
	return new(big.Rat).SetFrac(x.Add(x, big.NewInt(1)), new(big.Int).Lsh(big.NewInt(1), 64))
}

// newStorage returns the bound of a sum by V. Its terms are gone(e) while the person is not active, and here(e) while
// they are. after(e) is all that a mean e still adds once the person is gone.
func newStorage(v quadratic, u *big.Rat, gone, here, after quadratic) storage {
	s := storage{w: largest(v.step(u, 0).plus(gone).most(), v.step(u, 1).plus(here).most()), behind: new(big.Rat)}
	s.s = plus(v.most(), v.times(-1).most())
	s.left = after.plus(v.times(-1)).most()
	return s
}

// shifts is the sum of the squares of shifts in units of 2^−24 persons, with what is rounded.
func (l *centring) shifts(squares *big.Rat) *big.Rat {
	unit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 2*unitBits))
	return times(times(squares, unit), big.NewRat(1<<12+1, 1<<12))
}

// scale is W₁ in units of 2^−24 persons, with what is rounded.
func (l *centring) scale() *big.Int {
	sum := l.sums(l.absolute.bound(l.leaves), l.leaves)
	return new(big.Int).Div(new(big.Int).Add(sum.Num(), new(big.Int).Sub(sum.Denom(), big.NewInt(1))), sum.Denom())
}

// sums is the sum of the shifts of n leaves in units of 2^−24 persons, with what is rounded.
func (l *centring) sums(sum *big.Rat, n int64) *big.Rat {
	unit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), unitBits))
	return plus(times(sum, unit), new(big.Rat).SetInt64(n*(l.tau+1)*(1+l.groups)))
}

// most is r times a mean, to the nearest.
func (l *centring) most(mean *big.Int) *big.Int {
	return nearest(new(big.Int).Mul(mean, big.NewInt(l.d-1)), big.NewInt(l.d))
}

// mean is the next mean, to the nearest.
func (l *centring) mean(mean, now *big.Int) *big.Int {
	sum := new(big.Int).Mul(mean, big.NewInt(l.tau-1))
	return nearest(sum.Add(sum, now), big.NewInt(l.tau))
}

// quadratic is c[0] + c[1]·e + c[2]·e².
type quadratic [3]*big.Rat

func (f quadratic) at(e *big.Rat) *big.Rat { return plus(f[0], times(e, plus(f[1], times(e, f[2])))) }

func (f quadratic) plus(g quadratic) quadratic {
	return quadratic{plus(f[0], g[0]), plus(f[1], g[1]), plus(f[2], g[2])}
}

func (f quadratic) times(x int64) quadratic {
	n := new(big.Rat).SetInt64(x)
	return quadratic{times(n, f[0]), times(n, f[1]), times(n, f[2])}
}

// step is f(e + u·(p − e)) − f(e).
func (f quadratic) step(u *big.Rat, p int64) quadratic {
	to, keep := times(u, big.NewRat(p, 1)), minus(big.NewRat(1, 1), u)
	twice := times(big.NewRat(2, 1), times(to, keep))
	moved := quadratic{f.at(to), plus(times(f[1], keep), times(f[2], twice)), times(f[2], times(keep, keep))}
	return moved.plus(f.times(-1))
}

// most is the greatest value on [0, 1]: at an end, or where a curve that is bent down has its top.
func (f quadratic) most() *big.Rat {
	top := largest(f[0], f.at(big.NewRat(1, 1)))
	if f[2].Sign() < 0 {
		if e := over(f[1], times(big.NewRat(-2, 1), f[2])); e.Sign() > 0 && e.Cmp(big.NewRat(1, 1)) < 0 {
			top = largest(top, f.at(e))
		}
	}
	return top
}

func plus(x, y *big.Rat) *big.Rat  { return new(big.Rat).Add(x, y) }
func minus(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }
func times(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
func over(x, y *big.Rat) *big.Rat  { return new(big.Rat).Quo(x, y) }

func largest(x, y *big.Rat) *big.Rat {
	if x.Cmp(y) < 0 {
		return y
	}
	return x
}

// ceiling returns x/y rounded up, for x ≥ 0 and y ≥ 1. It changes x.
func ceiling(x *big.Int, y int64) *big.Int {
	x.Add(x, big.NewInt(y-1))
	return x.Quo(x, big.NewInt(y))
}
