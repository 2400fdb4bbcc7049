package mechanisms

import (
	"math/big"
	"math/bits"
	"slices"

	"github.com/louver/louver/mechanisms/internal/parameter"
)

// Filter learns from published values where the next quantile of a stream probably lies. Its [Measure] is the base
// measure of the next draw: earlier releases make the next one better and cost nothing.
//
// Privacy: a draw under the measure v has P(x) ∝ v(x)·e^{−κD(x)}. For given earlier outputs v is the same on all
// samples. In the ratio for neighbours it cancels except in the normaliser, as with every public measure: ε-DP,
// ε-bounded-range. A sequence of releases is an adaptive composition of such draws. This holds only if the filter is
// fed with published figures alone: no exact counts, no unpublished draws.
//
// The state is each cell's probability to hold the quantile, at first that of [Tapered]. It is a Bayesian filter in
// whole numbers: the same input leads to the same state on every machine, so the state can be recomputed from a record
// of the releases. Feed it in the order of the record: for each window call Measure and Update, if there was a release,
// and then Predict. It is not safe for concurrent use.
type Filter struct {
	p, q        int64
	epsilon     *big.Rat
	left, right *evidence // of one user, on either side
	expected    int64     // users
	scatter     *Scatter  // nil for draws whose bands nobody has tested
	bounds      []int64
	flat        []uint64 // the belief in each cell before anything is published, sums to about 2^32
	jump        []uint64 // jump[k+C−1] is the weight of a move by k cells
	deviation   []uint64 // deviation[k+C−1] = |F(k)−α| in Q32, for a release k cells right of the quantile
	posterior   []uint64 // of the last window, sums to about 2^32
	state       []uint64 // predicted for the next window, sums to about 2^32
	mass        []uint64 // the base measure: state and a floor, at least 1, sums to about 2^32
	likelihood  []uint64 // working memory of Update
	moved       []uint64 // working memory of Predict and Update
	predicted   bool     // nothing was learnt since the last Predict
	measure     *Measure // of mass, once it is asked for
}

// Adaptive reports whether the query's draws depend on a base measure and it asks for the adaptive one.
func (q Query) Adaptive() bool {
	switch q.Mechanism {
	case "", "margin", "duff":
		return q.Prior == "adaptive" && (q.Statistic == Median || q.Statistic == Quantile)
	}
	return false
}

// NewFilter returns the filter of one series (stream, group and quantile) of a query that is [Query.Adaptive].
func NewFilter(q Query) (*Filter, error) {
	if !q.Adaptive() {
		return nil, parameter.Wrong("prior", parameter.Quoted(q.Prior),
			"adaptive, for a median or quantile by the mechanism margin or duff")
	}
	m, err := New(q)
	if err != nil {
		return nil, err
	}
	var r *ranks
	switch m := m.(type) {
	case *ranks:
		r = m
	case *interval:
		r = m.estimate
	}
	bounds := q.Grid.cells()
	f := newFilter(bounds, taperedMass(bounds, q.Grid.anchor), r.p, r.q)
	f.epsilon = new(big.Rat).Quo(q.Epsilon.Rat(), big.NewRat(r.share, 1))
	left := big.NewRat(r.q, 2*max(r.p, r.q-r.p)) // of a rank
	right := left
	switch u := r.utility.(type) {
	case margin:
		left, right = big.NewRat(u.a*u.q, u.span()), big.NewRat(u.b*u.q, u.span())
	case tail: // as with few users: among many users a release says enough anyway
		left, right = big.NewRat(2*u.q, u.divisor()), big.NewRat(4*u.q, u.divisor())
		if 2*u.p < u.q {
			left, right = right, left
		}
	}
	f.left, f.right = newEvidence(f.epsilon, left), newEvidence(f.epsilon, right)
	f.expected = q.ExpectedUsers
	if m.Name() == "margin" && q.Interval == nil {
		ranks := new(big.Rat).Add(new(big.Rat).Inv(left), new(big.Rat).Inv(right))
		ranks.Quo(ranks, new(big.Rat).Mul(big.NewRat(2, 1), f.epsilon))
		f.scatter = newScatter(bounds, f.p, f.q, f.epsilon, ranks)
	}
	return f, nil
}

// BandFrom returns from how many users on a figure of the query has a band that follows from the last values of its
// series. ok is false if it never has one.
func (q Query) BandFrom() (users int64, ok bool) {
	f, err := NewFilter(q)
	if err != nil || f.scatter == nil {
		return 0, false
	}
	return f.scatter.least, true
}

// Clone returns a filter that has learnt the same, such as one for another group from one that has learnt nothing. The
// two share working memory: never use them at the same time.
func (f *Filter) Clone() *Filter {
	c := *f
	c.posterior, c.state, c.mass = slices.Clone(f.posterior), slices.Clone(f.state), slices.Clone(f.mass)
	if f.scatter != nil {
		c.scatter = new(*f.scatter)
	}
	return &c
}

// newFilter returns a filter for the quantile p/q that begins with a mass for each cell.
func newFilter(bounds []int64, flat []uint64, p, q int64) *Filter {
	f := &Filter{p: p, q: q, bounds: bounds, flat: flat}
	c := f.cells()
	f.jump, f.deviation = make([]uint64, 2*c-1), make([]uint64, 2*c-1)
	f.likelihood, f.moved = make([]uint64, 2*c-1), make([]uint64, c)
	f.posterior, f.state, f.mass = make([]uint64, c), make([]uint64, c), make([]uint64, c)
	for k := range c {
		weight := max(1, (1<<30)/uint64(1+2*k*k))
		f.jump[c-1+k], f.jump[c-1-k] = weight, weight
	}
	// The data are assumed to be logistic around the quantile, with a scale of 3.5 cells: F = p/(p + (q−p)e^{−k/3.5}).
	near, far := uint64(p), uint64(q-p)
	level := mulDiv(near, one, near+far)
	odds := one
	for k := range c {
		right := mulDiv(near*one, one, near*one+far*odds)
		left := mulDiv(near*odds, one, near*odds+far*one)
		f.deviation[c-1+k] = right - min(right, level)
		f.deviation[c-1-k] = level - min(left, level)
		odds -= odds >> 2
	}
	copy(f.posterior, flat)
	f.Predict()
	return f
}

func (f *Filter) cells() int { return len(f.bounds) - 1 }

// Predict moves on to the next window: the quantile moves by k cells with a weight of 1/(1+2k²), and jumps anywhere
// with probability 1/128. The base measure gives 1/16 to the initial belief, which bounds the cost of a wrong belief.
//
// Without an Update in between, Predict changes nothing: windows from which nothing is learnt count as one.
func (f *Filter) Predict() {
	if f.predicted {
		return
	}
	f.predicted = true
	moved := f.moved
	correlate(moved, f.posterior, f.jump) // at most 2^62 in all
	normalise(moved)
	for j, m := range moved {
		f.state[j] = (254*m + 2*f.flat[j]) >> 8
		f.mass[j] = max(1, (240*f.state[j]+16*f.flat[j])>>8)
	}
	f.measure = nil
}

// Measure returns the base measure of the next draw: after an Update, still that of the draw learnt from.
func (f *Filter) Measure() *Measure {
	if f.measure == nil {
		f.measure = cellMeasure(f.bounds, f.mass, finest)
	}
	return f.measure
}

// Update learns from a published value x that was drawn under Measure, and returns the value's band. users is the noisy
// count published for the same window, or nil if there is none. Its law does not matter: the count decides how much the
// filter learns from x, and the filter learns nothing from the count itself.
func (f *Filter) Update(x int64, users *int64) Band {
	b := Band{Basis: BasisRanks}
	if f.scatter != nil {
		b = f.scatter.Next(x, users, f.Measure().Share(x))
	}
	f.update(x, f.certainty(users, f.left), f.certainty(users, f.right))
	return b
}

// evidence is the weight of half a user on one side, ε·rank/2 in Q16, as num/den.
type evidence struct {
	num, den, twice *big.Int // twice is 2·den
	quotient, rest  big.Int  // working memory
}

func newEvidence(epsilon, rank *big.Rat) *evidence {
	e := new(big.Rat).Mul(epsilon, rank)
	e.Mul(e, big.NewRat(1<<15, 1))
	return &evidence{num: e.Num(), den: e.Denom(), twice: new(big.Int).Lsh(e.Denom(), 1)}
}

// of returns the evidence of that many half users, ⌊num·halves/den + ½⌋, at most 2^30.
func (e *evidence) of(halves int64) uint64 {
	q := e.quotient.SetInt64(2 * halves)
	q.Mul(q, e.num).Add(q, e.den).QuoRem(q, e.twice, &e.rest)
	if q.IsUint64() {
		return min(q.Uint64(), 1<<30)
	}
	return 1 << 30
}

// certainty returns the weight of one side's evidence. Only half of the known users count: too little certainty costs
// little, too much costs a lot. A tilted margin has a different rank on each side. In trials on latencies this was
// neither better nor worse, within chance, than one rank for both.
func (f *Filter) certainty(users *int64, e *evidence) uint64 {
	if users != nil {
		return e.of(min(max(0, *users), 1<<61))
	}
	halves := 2 * (25 * f.q / (2 * min(f.p, f.q-f.p)))
	if f.expected > 0 {
		halves = min(halves, f.expected)
	}
	return e.of(halves)
}

// update multiplies the state by the likelihood of x. A release from a peaked measure is weak evidence for the peak:
// the likelihood is divided by the measure's total for all values.
func (f *Filter) update(x int64, left, right uint64) {
	c := f.cells()
	f.learn(f.likelihood[:c], f.deviation[:c], left)
	f.learn(f.likelihood[c:], f.deviation[c:], right)
	totals := f.moved
	correlate(totals, f.mass, f.likelihood)
	r := cellOf(f.bounds, x)
	for j, z := range totals {
		f.posterior[j] = mulDiv(f.state[j]*f.likelihood[c-1-j+r], 1<<40, z)
	}
	normalise(f.posterior)
	f.predicted = false
}

// learn sets the likelihoods of deviations, given the weight of the evidence.
func (f *Filter) learn(likelihood, deviation []uint64, certainty uint64) {
	for k, d := range deviation {
		if k > 0 && d == deviation[k-1] { // far from the quantile they are all the same
			likelihood[k] = likelihood[k-1]
			continue
		}
		hi, lo := bits.Mul64(certainty, d)
		likelihood[k] = expNeg(min(hi<<48|lo>>16, 1<<40))
	}
}

// Smoothed is an estimate from all releases up to the release x of the last Update: the value itself if it is credible,
// else a better guess. It is post-processing and costs nothing. ok is false if it would not be reliable: in a tail
// about which the released value says little. users is the noisy count given to Update.
func (f *Filter) Smoothed(x int64, users *int64) (value int64, ok bool) {
	if 4*min(f.p, f.q-f.p) < f.q && !f.informative(users) {
		return 0, false
	}
	if cell := cellOf(f.bounds, x); cell < cellOf(f.bounds, f.quantile(1, 4)) ||
		cell > cellOf(f.bounds, f.quantile(3, 4)) {
		return f.quantile(1, 2), true
	}
	return x, true
}

// informative reports whether ε·n·min(α, 1−α) is at least 10.
func (f *Filter) informative(users *int64) bool {
	if users == nil {
		return false
	}
	information := new(big.Rat).Mul(f.epsilon, big.NewRat(min(f.p, f.q-f.p), f.q))
	return information.Mul(information, big.NewRat(max(0, *users), 1)).Cmp(big.NewRat(10, 1)) >= 0
}

// quantile returns that of the posterior, linear inside a cell.
func (f *Filter) quantile(num, den uint64) int64 {
	total := uint64(0)
	for _, m := range f.posterior {
		total += m
	}
	target, sum := mulDiv(total, num, den), uint64(0)
	for j, m := range f.posterior {
		if sum+m > target {
			return f.bounds[j] + int64(mulDiv(uint64(f.bounds[j+1]-f.bounds[j]), target-sum, m))
		}
		sum += m
	}
	return f.bounds[f.cells()] - 1
}

// cellOf returns the cell of point x.
func cellOf(bounds []int64, x int64) int {
	j, found := slices.BinarySearch(bounds, x)
	if found {
		return j
	}
	return j - 1
}

// correlate sets out[j] to Σᵢ in[i]·kernel[C−1−j+i], for C numbers in and out and a kernel of 2C−1. Four sums go along
// the kernel together, so that each number is loaded once for all of them.
func correlate(out, in, kernel []uint64) {
	c := len(in)
	first, end := 0, c
	for first < end && in[first] == 0 {
		first++
	}
	for end > first && in[end-1] == 0 {
		end--
	}
	in = in[first:end]
	j := 0
	for ; j+4 <= c; j += 4 {
		row := kernel[c-1-j+first:]
		k1, k2, k3 := kernel[c-2-j+first], kernel[c-3-j+first], kernel[c-4-j+first]
		var s0, s1, s2, s3 uint64
		for i, x := range in {
			k0 := row[i]
			s0, s1, s2, s3 = s0+x*k0, s1+x*k1, s2+x*k2, s3+x*k3
			k1, k2, k3 = k0, k1, k2
		}
		out[j], out[j+1], out[j+2], out[j+3] = s0, s1, s2, s3
	}
	for ; j < c; j++ {
		sum := uint64(0)
		for i, x := range in {
			sum += x * kernel[c-1-j+first+i]
		}
		out[j] = sum
	}
}

// normalise scales v to a sum of about 2^32.
func normalise(v []uint64) {
	sum := uint64(0)
	for _, x := range v {
		sum += x
	}
	for i, x := range v {
		v[i] = mulDiv(x, one, sum)
	}
}

// mulDiv returns ⌊ab/c⌋, which must fit.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	quotient, _ := bits.Div64(hi, lo, c)
	return quotient
}

// expNeg returns about 2^31·e^{−y/2^32}, at least 1: the product of the table's entries over the bits set in y.
func expNeg(y uint64) uint64 {
	if y >= 22<<32 {
		return 1
	}
	r := uint64(1) << 63
	for i := 0; y != 0; i, y = i+1, y>>1 {
		if y&1 != 0 {
			hi, _ := bits.Mul64(r, expTable[i])
			r = hi << 1
		}
	}
	return max(1, r>>32)
}

// expTable[i] is 2^63·e^{−2^{i−32}}, rounded. Nothing writes to it.
var expTable = [38]uint64{
	0x7fffffff80000000, 0x7fffffff00000001, 0x7ffffffe00000004, 0x7ffffffc00000010,
	0x7ffffff800000040, 0x7ffffff000000100, 0x7fffffe000000400, 0x7fffffc000001000,
	0x7fffff8000004000, 0x7fffff0000010000, 0x7ffffe0000040000, 0x7ffffc0000100000,
	0x7ffff800003fffff, 0x7ffff00000fffff5, 0x7fffe00003ffffab, 0x7fffc0000ffffd55,
	0x7fff80003fffeaab, 0x7fff0000ffff5556, 0x7ffe0003fffaaab0, 0x7ffc000fffd555ab,
	0x7ff8003ffeaab000, 0x7ff000fff555aaa9, 0x7fe003ffaaafffbc, 0x7fc00ffd55aaa223,
	0x7f803feaaffeef1c, 0x7f00ff55aa8893e6, 0x7e03faaffbbe924a, 0x7c0fd5aa22d75e45,
	0x783eafef1c0a8f39, 0x70f5a893b608861e, 0x63afbe7ab2082ba2, 0x4da2cbf1be5827fa,
	0x2f16ac6c59de6f8d, 0x1152aaa3bf81cba0, 0x2582ab704279e8f, 0xafe10820813d6,
	0xf1aaddd774, 0x1c846,
}
