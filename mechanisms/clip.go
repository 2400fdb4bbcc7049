package mechanisms

import (
	"io"
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
// Laplace noise. I sets two numbers only: the share of the interval, θ = ½ if I < 64 and ⅓ otherwise; and s = ⌊I/14⌋,
// but at least 5 and at most 54.
//
// Interval. Of all intervals [l, h] between the borders of public cells (see [cellBounds]), one is drawn with
//
//	P(l, h) ∝ (h − l + 1 + w0)^−4 · e^{−ε_t·Out(l, h)},   w0 = ⌊N/2^s⌋, ε_t = θ times what the count left of ε,
//
// where Out is the number of users outside. The sums get the rest, ε_m. At a tail of index α the law stops where
// ε_t·Out is about 4/α. The power must not outweigh the users, 4·ln(N/w0) ≲ ¾·θ·I: hence w0.
//
// Privacy. The count has sensitivity 1. A user at y multiplies the weights of the intervals without y by e^{−ε_t} and
// does not change the others. So each weight and their sum change by a factor in [e^{−ε_t}, 1], and every probability
// by a factor in e^{±ε_t}: there is no factor ½, and the draw is ε_t-bounded-range. The public factor depends on I
// alone. θ, s, l and h depend on the data only through earlier draws, so ε adds up by adaptive composition: ε/16 + ε_t
// + ε_m = ε, or ε_t + ε_m = ε without a count of its own. For zCDP the parts add up to (ε/16)²/2 + ε_t²/8 + ε_m²/2 at
// most, which is 0.24 ε².
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
	sums     noise      // with ε_m
	rho      float64
}

// plan holds what follows from the information: how the rest of ε is divided, and s.
type plan struct {
	share
	halvings    uint
	information *big.Rat
	own         int  // 1 if a count of its own is paid
	expected    bool // the information is half of that of the expected users
}

// known returns the information as a float64.
func (p plan) known() float64 {
	x, _ := p.information.Float64()
	return x
}

const (
	cellsPerDistance, fewestCells = 8, 64
	sureFrom                      = 64 // of I
	perHalving                    = 14 // of I
	fewestHalvings, mostHalvings  = 5, 54
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
			x.interval = exact.NewRate(new(big.Rat).Mul(c.epsilon, interval))
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
			c.shares[own][sure] = share{exact.NewRate(new(big.Rat).Mul(c.epsilon, of.rate)),
				gaussian{rho(left)}, e * e / 2}
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
	return c.planFor(information.Sub(information, c.unit), 1)
}

// foreseen returns the plan that public figures make. known is false if a count of its own has to be drawn.
func (c *clipping) foreseen(users *NoisyCount) (p plan, known bool) {
	if released := c.released(users); released != nil {
		return c.planFor(released, 0), true
	}
	if c.expected == 0 {
		return plan{}, false
	}
	p = c.planFor(new(big.Rat).Mul(c.epsilon, big.NewRat(c.expected, 2)), 0)
	p.expected = true
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

// errors returns the bounds of draws whose noise has this bound.
func (c *clipping) errors(error95 float64, users *NoisyCount) []Bound {
	b := noiseBound(error95)
	if p, known := c.probable(users); known {
		b.information = p.known()
	}
	return []Bound{b}
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
	halvings := new(big.Int).Quo(information.Num(), new(big.Int).Mul(information.Denom(), big.NewInt(perHalving)))
	return plan{share: c.shares[own][sure], halvings: uint(cut(halvings, fewestHalvings, mostHalvings)),
		information: information, own: own}
}

// drawWith finds out how much information there is. With that, figure draws the interval and what is released of the
// values cut to it. If the result has an interval, it says how much information there was.
func (c *clipping) drawWith(
	s *Sample, public Public, random io.Reader, figure func(plan, *scratch) (Draw, error),
) (Draw, error) {
	if err := s.Check(); err != nil {
		return Draw{}, err
	}
	k := c.scratch.take(random)
	defer c.scratch.put(k)
	p := c.plan(s.n, public.Users, &k.source)
	d, err := figure(p, k)
	if err == nil {
		err = k.source.Err()
	}
	if d.Clip != nil {
		d.Values[0].information = p.known()
	}
	return d, err
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
	rate        exact.Rate
	borders     []int64
	floor       int64   // w0
	below       []int64 // how many users lie below each border
	n           int64
	left, right []float64 // e^{−ε_t·below}, e^{−ε_t·(n − below)}
	all         []float64 // the weights
}

// begin prepares the law on a sample.
func (x *intervals) begin(c *clipping, s *Sample, p plan) {
	x.rate, x.borders, x.floor, x.n = p.interval, c.borders, c.last>>p.halvings, s.n
	x.below = resized(x.below, len(c.borders))
	x.left, x.right = resized(x.left, len(c.borders)), resized(x.right, len(c.borders))
	for i, b := range c.borders {
		x.below[i] = s.Below(b)
		x.left[i], x.right[i] = x.weight(x.below[i]), x.weight(s.n-x.below[i])
	}
}

// weight returns e^{−ε_t·k}, or 0 if it is too small to matter.
func (x *intervals) weight(k int64) float64 {
	if x.rate.Float()*float64(k) > 254 {
		return 0
	}
	return orZero(x.rate.Weight(k))
}

// orZero returns a weight e^{−ε_t·k}, or 0 if it is too small to matter: the interval of all points has a weight of at
// least 2^−216, which is 10^−65. Then products of weights are never subnormal numbers, which are slow.
func orZero(w float64) float64 {
	if w < 1e-110 { // e^{−253.3}
		return 0
	}
	return w
}

// size is the number of intervals.
func (x *intervals) size() int { return len(x.borders) * (len(x.borders) - 1) / 2 }

// weightSlack is the relative error of a weight: that of two exponentials and ten roundings of 2^−53.
const weightSlack = 2*exact.WeightError + 0x1p-49

// weights returns the weights of all intervals, from the lowest border on.
func (x *intervals) weights() []float64 {
	x.all = resized(x.all, x.size())
	clear(x.all)
	first := 0 // the weights on the right do not fall: those before it are 0
	for first < len(x.right) && x.right[first] == 0 {
		first++
	}
	row := x.all
	for i, left := range x.left {
		if left == 0 { // and so are all those further on
			break
		}
		right, ends := x.right[i+1:], x.borders[i+1:]
		for j := max(0, first-i-1); j < len(right); j++ {
			width := float64(ends[j] - x.borders[i] + x.floor)
			inverse := 1 / (width * width)
			row[j] = inverse * inverse * left * right[j]
		}
		row = row[len(right):]
	}
	return x.all
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
		left[i], right[i] = x.rate.Interval(below, prec), x.rate.Interval(x.n-below, prec)
	}
	for i := range x.borders {
		for j := i + 1; j < len(x.borders); j++ {
			weights = append(weights, left[i].Mul(right[j]).Quo(fourth(x.borders[j]-x.borders[i]+x.floor, prec)))
		}
	}
	return weights
}

// fourth encloses w^4.
func fourth(w int64, prec uint) exact.Interval {
	z := exact.FromInt(w, prec)
	z = z.Mul(z)
	return z.Mul(z)
}
