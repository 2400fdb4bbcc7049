package mechanisms

import (
	"io"
	"math"
	"math/big"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// clipping privately finds an interval, and values are cut to it before they are added up. The noise of a sum grows
// with the interval's width, so a narrow interval with few users outside is worth a part of ε. There are two steps:
//
// Information. I = ε·n says how many users there are for one unit of noise. It comes from a count N0 that was released
// for the same window with ε₀ ≥ ε/16, less one unit of its noise, 1/ε₀, which is σ if it is Gaussian: I = ε·N0 − ε/ε₀;
// or from the expected users: I = ε·E/2; or, if neither is known, from a count of its own with ε₀ = ε/16 and discrete
// Laplace noise. I sets three numbers only: the share of the interval, θ = ½ if I < 64 and ⅓ otherwise; s = ⌊I/128⌋,
// but at least 4, 6 from I = 256 on, and at most 54; and s₁, which is s, but at least 10, and 20 from I = 64 on.
//
// Interval. Of all intervals [l, h] between the borders of public cells (see [cellBounds]), one is drawn with
//
//	P(l, h) ∝ e^{−ε_t·max(Out, k0)} / ((h − l + 1 + w0)²·(h − l + 1 + w1)),
//	w0 = ⌊N/2^s⌋, w1 = ⌊N/2^s₁⌋, k0 = ⌈1/ε_t⌉, ε_t = θ times what the count left of ε,
//
// where Out is the number of users outside. The sums get the rest, ε_m. From N/2^s on the weights fall with the cube of
// the width: otherwise the rare intervals that are far too wide would make up most of a mean's error. Below that they
// fall like 1/width only. A bound that is too wide there costs little, and a far group of users soon outweighs it. All
// of the range of widths is worth 13 to 33 users per unit of 1/ε_t. For variances the weights are divided by (h − l + 1
// + w0)·(h − l + 1 + w1) once more, because their noise grows with the square of the width. The first k0 users outside
// are free: they are too few to be told from nobody. [Outsiders] says how the others are counted.
//
// Privacy. The count has sensitivity 1. A user at y changes Out by 1 for the intervals without y, always upwards, and
// not at all for the others. max(Out, k0) then changes by 0 or 1. So each weight and their sum change by a factor in
// [e^{−ε_t}, 1], and every probability by a factor in e^{±ε_t}: there is no factor ½, and the draw is
// ε_t-bounded-range. The public factor depends on I alone. θ, s, s₁, k0, l and h depend on the data only through
// earlier draws, so ε adds up by adaptive composition: ε/16 + ε_t + ε_m = ε, or ε_t + ε_m = ε without a count of its
// own. For zCDP the parts add up to (ε/16)²/2 + ε_t²/8 + ε_m²/2 at most, which is 0.24 ε².
//
// Source: the exponential mechanism of McSherry & Talwar (2007); bounded range: Dong, Durfee, Rogers (2020).
//
// Means, sums, variances and trimmed means share it.
type clipping struct {
	header
	scratch  scratches
	last     int64
	borders  []int64  // b_0 = 0 < … < b_C = N+1
	epsilon  *big.Rat // of the release
	expected int64
	own      noise       // of the count of its own
	unit     *big.Rat    // of its noise, in I
	shares   [2][2]share // by [a count of its own is paid][I is 64 or more]
}

// share says how ε is divided between the interval and the sums.
type share struct {
	interval exact.Rate // ε_t
	free     int64      // k0
	steep    bool       // the weights fall by a power more with the width
	sums     noise      // with ε_m
	rho      float64
}

// giveInterval sets ε_t, and k0 = ⌈1/ε_t⌉.
func (x *share) giveInterval(rate *big.Rat) {
	x.interval = exact.NewRate(rate)
	free := new(big.Int).Add(rate.Denom(), rate.Num())
	x.free = free.Sub(free, big.NewInt(1)).Quo(free, rate.Num()).Int64()
}

// beyond returns by how much e^{−ε_t·max(out, k0)} is less than for nobody outside, as a factor. It is 0 if that is too
// small to matter.
func (x *share) beyond(out int64) float64 {
	if x.negligible(out) {
		return 0
	}
	return x.interval.Weight(max(0, out-x.free))
}

// negligible reports whether so many users outside make a weight too small to matter. The interval of all points has a
// weight of at least 2^−162, which is 10^−49, times that for nobody outside (variances have fewer points). Products of
// weights are never subnormal numbers, which are slow.
func (x *share) negligible(out int64) bool { return x.interval.Float()*float64(out-x.free) > 254 }

// plan holds what follows from the information: how the rest of ε is divided, s and s₁.
type plan struct {
	share
	halvings, finer uint // s and s₁
	information     *big.Rat
	own             int // 1 if a count of its own is paid
	// fewest is a number of users that there are with probability 95 % at least, by the count drawn for this window.
	// counted is false if there is no such count.
	fewest   int64
	counted  bool
	expected bool // the information is half of that of the expected users
}

const (
	cellsPerDistance, fewestCells = 8, 64
	sureFrom                      = 64  // of I
	manyFrom                      = 256 // of I
	perHalving                    = 128 // of I
	mostHalvings                  = 54
	ownShare                      = 16 // the own count's part is ε/16
)

// newClipping returns the clipping of a query whose release is ε-DP.
func newClipping(q *Query) (*clipping, error) {
	num, den, err := parameter.Epsilon(q.Epsilon)
	if err != nil {
		return nil, err
	}
	c := q.clipping(laplace{num, den, ownShare}, ownShare)
	e := q.Epsilon.InexactFloat64()
	for own, left := range []*big.Rat{big.NewRat(1, 1), big.NewRat(ownShare-1, ownShare)} {
		for sure, theta := range []*big.Rat{big.NewRat(1, 2), big.NewRat(1, 3)} {
			interval := new(big.Rat).Mul(left, theta)
			sums := new(big.Rat).Sub(left, interval)
			x := &c.shares[own][sure]
			x.giveInterval(new(big.Rat).Mul(c.epsilon, interval))
			x.sums = laplace{num * sums.Num().Uint64(), den, sums.Denom().Uint64()}
			ofSums, _ := sums.Float64()
			x.rho = privacy.RhoOfRange(x.interval.Float()) + privacy.RhoOfPure(e*ofSums)
			if own > 0 {
				x.rho += privacy.RhoOfPure(e / ownShare)
			}
		}
	}
	c.header = header{"clipped", privacy.NewPieces(q.Epsilon, c.largestRho())}
	return c, nil
}

// newConcentrated returns the clipping of a query whose release is ρ-zCDP, ρ = ½ε², with Gaussian noise. The count of
// its own takes ρ/32, which is σ² = 16/ρ; 8 are taken off I for its noise, ε·√2·σ. The interval takes ρ/4 if I < 64,
// which is ε_t = √(2ρ) = ε, and otherwise ρ/8, ε_t = √ρ rounded down to a fraction.
func newConcentrated(q *Query) (*clipping, error) {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return nil, err
	}
	rho := func(part *big.Rat) *big.Rat {
		x := q.Epsilon.Rat()
		return x.Mul(x, x).Mul(x, part).Mul(x, big.NewRat(1, 2))
	}
	count := big.NewRat(1, 32)
	c := q.clipping(gaussian{rho(count)}, 8)
	for own := range c.shares {
		for sure, of := range []struct{ rate, rho *big.Rat }{{big.NewRat(1, 1), big.NewRat(1, 4)},
			{big.NewRat(70710678, 100000000), big.NewRat(1, 8)}} {
			left := new(big.Rat).Sub(big.NewRat(1, 1), of.rho)
			if own > 0 {
				left.Sub(left, count)
			}
			e := q.Epsilon.InexactFloat64()
			x := &c.shares[own][sure]
			x.giveInterval(new(big.Rat).Mul(c.epsilon, of.rate))
			x.sums, x.rho = gaussian{rho(left)}, e*e/2
		}
	}
	c.header = header{"clipped_gaussian", privacy.NewZCDP(q.Epsilon)}
	return c, nil
}

func (q *Query) clipping(own noise, unit int64) *clipping {
	return &clipping{last: q.Grid.last,
		borders: cellBounds(q.Grid.last+1, q.Grid.anchor, cellsPerDistance, fewestCells),
		epsilon: q.Epsilon.Rat(), expected: q.ExpectedUsers, own: own, unit: big.NewRat(unit, 1)}
}

// largestRho returns the ρ of the way to draw that costs most.
func (c *clipping) largestRho() float64 {
	most := 0.0
	for own := range c.shares {
		for sure := range c.shares[own] {
			most = max(most, c.shares[own][sure].rho)
		}
	}
	return most
}

// plan draws what is needed to know the information.
func (c *clipping) plan(n int64, users *NoisyCount, source *exact.Source) plan {
	if p, known := c.foreseen(users); known {
		return p
	}
	count := c.own.law(1)(source)
	return c.planBy(count.Add(count, big.NewInt(n)))
}

// planBy returns the plan for a count of its own.
func (c *clipping) planBy(count *big.Int) plan {
	information := new(big.Rat)
	if count.Sign() > 0 {
		information.Mul(c.epsilon, new(big.Rat).SetInt(count))
	}
	p := c.planFor(information.Sub(information, c.unit), 1)
	p.fewest, p.counted = cut(new(big.Int).Sub(count, c.own.reach(1, 0.1)), 0, MaxUsers), true
	return p
}

// foreseen returns the plan that public figures make. known is false if a count of its own has to be drawn.
func (c *clipping) foreseen(users *NoisyCount) (p plan, known bool) {
	switch released := c.released(users); {
	case released != nil:
		p = c.planFor(released, 0)
	case c.expected == 0:
		return plan{}, false
	default:
		p = c.planFor(new(big.Rat).Mul(c.epsilon, big.NewRat(c.expected, 2)), 0)
		p.expected = true
	}
	if users != nil {
		p.fewest, p.counted = max(0, users.Value-int64(users.reach(0.05))), true
	}
	return p, true
}

// probable returns the plan that public figures make likely. If a count of its own will be drawn, that is taken to be
// the one released. known is false if none is.
func (c *clipping) probable(users *NoisyCount) (p plan, known bool) {
	p, known = c.foreseen(users)
	if !known && users != nil {
		return c.planBy(big.NewInt(users.Value)), true
	}
	return p, known
}

// released returns the information in a released count, or nil if there is none as good as a count of its own.
func (c *clipping) released(users *NoisyCount) *big.Rat {
	if users == nil {
		return nil
	}
	epsilon := new(big.Rat).SetFloat64(users.Epsilon)
	if epsilon == nil || epsilon.Sign() <= 0 {
		return nil
	}
	unit := epsilon.Quo(c.epsilon, epsilon)
	if unit.Cmp(big.NewRat(ownShare, 1)) > 0 {
		return nil
	}
	information := new(big.Rat).SetInt64(max(0, users.Value))
	return information.Mul(information, c.epsilon).Sub(information, unit)
}

func (c *clipping) planFor(information *big.Rat, own int) plan {
	sure := 0
	if information.Cmp(big.NewRat(sureFrom, 1)) >= 0 {
		sure = 1
	}
	least, finer := int64(4), int64(10)
	if sure > 0 {
		finer = 20
	}
	if information.Cmp(big.NewRat(manyFrom, 1)) >= 0 {
		least = 6
	}
	s := new(big.Int).Quo(information.Num(), new(big.Int).Mul(information.Denom(), big.NewInt(perHalving)))
	halvings := cut(s, least, mostHalvings)
	return plan{share: c.shares[own][sure], halvings: uint(halvings), finer: uint(max(halvings, finer)),
		information: information, own: own}
}

// drawWith finds out how much information there is. With that, figure draws the interval and what is released of the
// values cut to it.
func (c *clipping) drawWith(
	s *Sample, public Public, random io.Reader, figure func(plan, *scratch) (Draw, error),
) (Draw, error) {
	return c.scratch.draw(s, random, func(k *scratch) (Draw, error) {
		return figure(c.plan(s.n, public.Users, &k.source), k)
	})
}

// draw draws the interval l..h of a sample. The memory is used again.
func (c *clipping) draw(s *Sample, p plan, source *exact.Source, memory *intervals) (l, h int64) {
	memory.begin(c, s, p)
	i, j := memory.pair(source.Pick(memory.weights(), weightSlack, memory.long))
	return memory.borders[i], memory.borders[j] - 1
}

// intervals is the law of the interval on one sample. Out is the number of users below l and that above h, whose
// weights are multiplied. The zero value is ready for begin; its memory is used again.
type intervals struct {
	share
	borders     []int64
	wide, fine  int64   // w0 and w1
	below       []int64 // how many users lie below each border
	n           int64
	left, right []float64 // e^{−ε_t·(below − k0)}, e^{−ε_t·(n − below)}
	all         []float64 // the weights, divided by e^{−ε_t·k0}
}

// begin prepares the law on a sample.
func (x *intervals) begin(c *clipping, s *Sample, p plan) {
	x.share, x.borders, x.n = p.share, c.borders, s.n
	x.wide, x.fine = c.last>>p.halvings, c.last>>p.finer
	x.below = resized(x.below, len(c.borders))
	x.left, x.right = resized(x.left, len(c.borders)), resized(x.right, len(c.borders))
	lift := x.lift()
	for i, b := range c.borders {
		x.below[i] = s.Below(b)
		x.left[i] = lift * x.interval.Weight(x.below[i])
		x.right[i] = x.interval.Weight(s.n - x.below[i])
	}
}

// lift returns e^{ε_t·k0}. If that is too large to multiply with, so is ε_t. Then k0 is 1, and 0 takes the place of
// every factor for more users outside.
func (x *share) lift() float64 {
	if x.interval.Float() > 254 {
		return 0
	}
	return 1 / x.interval.Weight(x.free)
}

// size is the number of intervals.
func (x *intervals) size() int { return len(x.borders) * (len(x.borders) - 1) / 2 }

// weightSlack is the relative error of a weight: that of three exponentials and ten roundings of 2^−53.
const weightSlack = 3*exact.WeightError + 0x1p-49

// weights returns the weights of all intervals, from the lowest border on.
func (x *intervals) weights() []float64 {
	x.all = resized(x.all, x.size())
	clear(x.all)
	first := 0 // before it, too many users lie on the right
	for x.negligible(x.n - x.below[first]) {
		first++
	}
	row := x.all
	for i, low := range x.borders {
		if x.negligible(x.below[i]) { // and so are all those further on
			break
		}
		left, ends, below, right := x.left[i], x.borders[i+1:], x.below[i+1:], x.right[i+1:]
		enough := x.below[i] + x.n - x.free // at most k0 are outside where that many are below the end
		for j := max(0, first-i-1); j < len(ends); j++ {
			weight := 1.0
			if below[j] < enough {
				weight = left * right[j]
			}
			row[j] = weight * x.perWidth(ends[j]-low, x.wide, x.fine)
		}
		row = row[len(ends):]
	}
	return x.all
}

// perWidth returns 1/((w + w0)²·(w + w1)), or 1/((w + w0)³·(w + w1)²) if that is to be steep.
func (x *share) perWidth(w, wide, fine int64) float64 {
	a, b := float64(w+wide), float64(w+fine)
	if x.steep {
		return 1 / (a * a * a * (b * b))
	}
	return 1 / (a * a * b)
}

// pair returns the borders of the k-th interval: those with i = 0 come first.
func (x *intervals) pair(k int) (i, j int) {
	for row := len(x.borders) - 1; k >= row; row-- {
		k -= row
		i++
	}
	return i, i + 1 + k
}

// long encloses the weights.
func (x *intervals) long(prec uint) []exact.Interval {
	weights := make([]exact.Interval, 0, x.size())
	left, right := make([]exact.Interval, len(x.borders)), make([]exact.Interval, len(x.borders))
	for i, below := range x.below {
		left[i], right[i] = x.interval.Interval(below-x.free, prec), x.interval.Interval(x.n-below, prec)
	}
	for i := range x.borders {
		for j := i + 1; j < len(x.borders); j++ {
			weight := exact.FromInt(1, prec)
			if x.below[i]+x.n-x.below[j] > x.free {
				weight = left[i].Mul(right[j])
			}
			weights = append(weights, weight.Quo(x.volume(x.borders[j]-x.borders[i], x.wide, x.fine, prec)))
		}
	}
	return weights
}

// volume encloses 1/perWidth.
func (x *share) volume(w, wide, fine int64, prec uint) exact.Interval {
	a, b := exact.FromInt(w+wide, prec), exact.FromInt(w+fine, prec)
	z := a.Mul(a).Mul(b)
	if x.steep {
		return z.Mul(a).Mul(b)
	}
	return z
}

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
