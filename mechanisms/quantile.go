package mechanisms

import (
	"io"
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// The default of a median or quantile depends on public figures:
//   - with a tilt or a paid interval it is margin with a fixed tilt;
//   - with the adaptive measure, and where the budget sums up ρ (zCDP), it is the exponential mechanism by margin 1:1,
//     and in a tail by the utility tail: that is bounded-range and costs a quarter of what the others cost there;
//   - else it is permute-and-flip by the same utilities, or, in a tail with few users, above_threshold ([byUsers]).
//     above_threshold goes towards the tail from the other end of the grid, and stops early if it knows little. So it
//     is a bad choice if that end is far from 0, as for the lower tail of values from 0 to 60000.
//
// The study in the folder experiments says how far each choice is from the best mechanism.

// byDefault returns the mechanism of a quantile for which the query names none.
func (q *Query) byDefault() offer {
	switch {
	case q.Tilt != [2]int64{} || q.Interval != nil:
		return offer{name: "margin", build: newMargin, takes: []string{"tilt", "interval"}}
	case q.ZCDP || q.Prior == "adaptive":
		return offer{name: "margin", build: newBounded}
	}
	return offer{name: "permute_and_flip", build: newByUsers}
}

// best returns the utility for p/q and its R.
func (q *Query) best(p, den int64) (rankUtility, int64) {
	if !isTail(p, den) {
		return symmetric(p, den)
	}
	u := newTail(p, den, q.Epsilon.Rat())
	return u, u.divisor()
}

// newBounded returns the exponential mechanism by the best utility.
func newBounded(q *Query) (Mechanism, error) {
	m, err := q.ranks("margin", q.best)
	if err != nil {
		return nil, err
	}
	m.foldTail()
	return m, nil
}

// foldTail sets what one e-folding is worth on either side by the utility tail: two levels a rank on the inner side of
// the quantile and three on the outer one.
func (m *ranks) foldTail() {
	if u, ok := m.utility.(tail); ok {
		inner, outer := &m.left, &m.right
		if 2*u.p < u.q {
			inner, outer = outer, inner
		}
		*inner /= 2
		*outer /= 3
	}
}

// byUsers draws a quantile in a tail by permute-and-flip or, if too few users are in the tail, by above_threshold. The
// noisy count released for the same window says how many users there are. Without such a count, a part of ε pays for a
// noisy bit ([fewUsers]). Draw.Mechanism says which mechanism it was, and is part of the release.
//
// Privacy: ε-DP. A released count is public, and both mechanisms are ε-DP. Without one it is an adaptive composition of
// the bit, which costs share·ε, and a mechanism that is (1 − share)·ε-DP and that the bit chooses.
type byUsers struct {
	header
	whole   pair // of ε
	rest    pair // of what is left of ε when the bit is paid for
	test    fewUsers
	scratch *scratches
}

// pair holds the two mechanisms to choose from.
type pair struct {
	flip      *ranks
	threshold *aboveThreshold
}

func newByUsers(q *Query) (Mechanism, error) {
	whole, err := q.pair(q.best)
	if err != nil {
		return nil, err
	}
	flip := whole.flip
	if !isTail(flip.p, flip.q) || whole.threshold.endsAtZero(q.Grid) {
		return flip, nil
	}
	test := newFewUsers(flip.p, flip.q, q.Epsilon.Rat())
	switch {
	case q.ExpectedUsers >= test.limit:
		return flip, nil
	case q.ExpectedUsers > 0:
		return whole.threshold, nil
	}
	part := *q
	one := decimal.NewFromInt(1)
	part.Epsilon = q.Epsilon.Mul(one.Sub(one.Div(decimal.NewFromUint64(test.share))))
	rest, err := part.pair(q.best)
	if err != nil {
		return nil, err
	}
	return &byUsers{header{flip.name + "/" + whole.threshold.name, privacy.NewPure(q.Epsilon)}, whole, rest, test,
		&scratches{}}, nil
}

func (q *Query) pair(of func(p, q int64) (rankUtility, int64)) (pair, error) {
	flip, err := q.flip(of)
	if err != nil {
		return pair{}, err
	}
	flip.foldTail()
	threshold, err := newAboveThreshold(q)
	if err != nil {
		return pair{}, err
	}
	return pair{flip, threshold.(*aboveThreshold)}, nil
}

func (m *byUsers) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	measure, err := m.whole.flip.measureOf(s, public)
	if err != nil {
		return Draw{}, err
	}
	k := m.scratch.take(random)
	defer m.scratch.put(k)
	of, few := m.whole, false
	if public.Users != nil {
		few = m.isFew(public.Users)
	} else {
		of, few = m.rest, m.test.ask(s, &k.source)
	}
	d := Draw{Mechanism: of.choose(few).Name()}
	if few {
		d.Values = of.threshold.draw(s, &k.source).Values
	} else {
		d.Values = single(of.flip.draw(s, measure, k), of.flip.bound(measure, public.Users))
	}
	return d, k.source.Err()
}

func (m *byUsers) isFew(users *NoisyCount) bool { return users.Value < m.test.limit }

// choose returns one of the two.
func (o pair) choose(few bool) Mechanism {
	if few {
		return o.threshold
	}
	return o.flip
}

// Errors returns the bounds of the mechanism that a released count chooses. Where a bit of the sample chooses, nothing
// is known.
func (m *byUsers) Errors(public Public) []Bound {
	if public.Users == nil {
		return []Bound{unbounded()}
	}
	return m.whole.choose(m.isFew(public.Users)).Errors(public)
}

// Likely returns the mechanism that a draw from n users is most likely to choose: m itself if there is no choice. users
// is the count that is released for the same window, or nil. The result is for forecasts, not for draws. Its cost is
// that of m.
func Likely(m Mechanism, n int64, users *NoisyCount) Mechanism {
	choosing, ok := m.(*byUsers)
	switch {
	case !ok:
		return m
	case users != nil:
		return choosing.whole.choose(choosing.isFew(users))
	}
	return choosing.rest.choose(n <= choosing.test.limit)
}

// StandIn returns the count that stands for n users in [Mechanism.Errors] if none is released. It is as good as exact.
// Where each draw counts the users itself, it is too poor to take that count's place. It is nil if the users expected
// are all that draws go by. The result is for forecasts, not for draws.
func StandIn(m Mechanism, n int64) *NoisyCount {
	if own, ok := m.(interface{ standIn(n int64) *NoisyCount }); ok {
		return own.standIn(n)
	}
	return &NoisyCount{Value: n, Epsilon: 1e6}
}

// fewUsers spends a little ε on one bit: whether so few users are in the tail p/q that above_threshold is the better
// mechanism,
//
//	n + Z ≤ limit,  limit = ⌈8q/(min(p, q−p)·ε)⌉,  P(Z = z) ∝ e^{−share·ε·|z|}.
//
// That is the size of a sample with ε·n·min(α, 1−α) = 8. The share of ε is 1/32, and 1/128 in a tail of less than 1/20,
// where the limit is so large that less is enough.
//
// Privacy: share·ε-DP. The number of users changes by 1 between neighbours, and the law of Z by a factor within
// e^{±share·ε} for each step; the bit is post-processing. It may be published.
//
// The bit is wrong only near the limit, where both mechanisms are about equally good.
//
// Source: Ghosh, Roughgarden, Sundararajan (2009) for the noise; the limit and the shares are from the study in the
// folder experiments.
type fewUsers struct {
	num, den, share uint64 // the noise has the rate num/(den·share)
	limit           int64
}

// information is ε·n·min(α, 1−α) below which above_threshold is better than permute-and-flip.
const information = 8

func newFewUsers(p, q int64, epsilon *big.Rat) fewUsers {
	share := uint64(128)
	if 20*min(p, q-p) >= q {
		share = 32
	}
	return fewUsers{epsilon.Num().Uint64(), epsilon.Denom().Uint64(), share, usersFor(information, p, q, epsilon)}
}

// ask draws the bit.
func (t fewUsers) ask(s *Sample, source *exact.Source) bool {
	noisy := source.DiscreteLaplace(t.num, t.den, t.share)
	return noisy.Add(noisy, big.NewInt(s.n)).Cmp(big.NewInt(t.limit)) <= 0
}

// aboveThreshold visits the borders of public cells ([Cells]), which are geometric away from 0. It stops at the first x
// that seems to have αn users below it:
//
//	#(y < x) − αn + ν_x ≥ ρ,  ν_x ~ Exp(rate ε/2) for each x,  ρ ~ Exp(rate ε/(2·max(α, 1−α))) once.
//
// It begins at the end of the grid that is further from the quantile (for α < ½ everything is mirrored). In a tail with
// few users, below about 20/ε, the exponential mechanism gets lost in the wide empty range beyond them. This mechanism
// stops where the users end. The cell that it has passed last holds the quantile, as far as it knows, and its value is
// a uniform point of that cell: with so few users in the tail no choice within a cell would be better founded. If it
// does not stop, its value is the last point of the grid.
//
// Privacy: ε-DP. Let f_x = #(y < x) − αn, α ≥ ½. A stop at x needs f + ν < ρ at all points before and f_x + ν_x ≥ ρ. On
// a neighbouring sample, raising ρ and ν_x gives the same stop. The raised values are less likely by at most the factor
// e^{cost}:
//   - one more user at y, x ≤ y: all f fall by α; ν_x is raised by α. Costs ε_ν·α.
//   - one more user at y, x > y: some f rise by 1−α, f_x with them; ρ is raised by 1−α. Costs ε_ρ·(1−α).
//   - one user at y less, x ≤ y: all f rise by α; ρ is raised by α. Costs ε_ρ·α.
//   - one user at y less, x > y: some f rise by α and f_x falls by 1−α; ρ is raised by α, ν_x by 1. Costs ε_ρ·α + ε_ν.
//
// The last cost is the greatest: ε/2 + ε/2. It is approached only if there are many points and none of them stops. The
// point of the cell is post-processing.
//
// There is no bound on its error in ranks: all users, however many, may lie between two borders.
//
// Source: Durfee (2023), unbounded quantiles, here with a public grid that ends. A constant added to ρ would be public
// too; in trials on long tails 0 was as good as any.
type aboveThreshold struct {
	header
	p, q     int64 // α, or 1−α where mirrored: at least ½
	mirrored bool
	last     int64
	cells    []int64    // where each begins, and the end of the last one
	rate     exact.Rate // ε_ν/q
}

func newAboveThreshold(q *Query) (Mechanism, error) {
	r, err := q.ranks("above_threshold", func(_, den int64) (rankUtility, int64) { return nil, 2 * den })
	if err != nil {
		return nil, err
	}
	m := &aboveThreshold{header: header{r.name, privacy.NewPure(q.Epsilon)}, p: r.p, q: r.q, last: q.Grid.last,
		rate: r.rate, cells: q.Grid.cells()}
	if 2*m.p < m.q {
		m.p, m.mirrored = m.q-m.p, true
	}
	return m, nil
}

func (m *aboveThreshold) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	return drawOnce(s, random, func(source *exact.Source) Draw { return m.draw(s, source) })
}

func (m *aboveThreshold) draw(s *Sample, source *exact.Source) Draw {
	x, rho := m.end(), source.Uniform()
	for i := range m.borders() {
		if m.reaches(&rho, m.q*m.passed(s, i)-m.p*s.n, source) {
			first, end := m.cell(i)
			x = first + int64(source.Below(uint64(end-first)))
			break
		}
	}
	return Draw{Values: single(x, unbounded())}
}

// end returns the last point of the way.
func (m *aboveThreshold) end() int64 {
	if m.mirrored {
		return 0
	}
	return m.last
}

// endsAtZero reports whether the value 0 is at the end of the way, or beyond it.
func (m *aboveThreshold) endsAtZero(g *Grid) bool { return g.anchor == m.end() }

// passed returns how many users are before the i-th border on the way.
func (m *aboveThreshold) passed(s *Sample, i int) int64 {
	first, end := m.cell(i)
	if m.mirrored {
		return s.n - s.Below(first)
	}
	return s.Below(end)
}

// borders returns how many borders between cells there are.
func (m *aboveThreshold) borders() int { return len(m.cells) - 2 }

// cell returns the points from first to below end that come right before the i-th border on the way.
func (m *aboveThreshold) cell(i int) (first, end int64) {
	if m.mirrored {
		i = m.borders() - i
	}
	return m.cells[i], m.cells[i+1]
}

// reaches says that f + ν ≥ ρ for f = level/q and a new ν. With ρ = −ln(u)/ε_ρ and ε_ν/ε_ρ = p/q that has probability
// e^{−ε_ν(ρ−f)} = u^{p/q}·e^{ε_ν·f}, or 1 if that is more.
func (m *aboveThreshold) reaches(rho *exact.Uniform, level int64, source *exact.Source) bool {
	u, share := rho.Float(), float64(m.p)/float64(m.q)
	bonus := m.rate.Float() * float64(level)
	y := share*math.Log(u) + bonus
	// u is known to 2^−64; the rest is a few roundings.
	slack := 0x1p-62/u + math.Abs(bonus)*0x1p-50 + 0x1p-44
	if y > slack {
		return true
	}
	p := math.Exp(y)
	slack = 2*slack*p + 0x1p-62
	if !(slack < 0.25) { // too few digits of u
		slack = 2
	}
	return source.RealCoin(min(p, 1), slack, func(prec uint) exact.Interval {
		power := rho.Interval(prec).Log().Mul(exact.FromRat(big.NewRat(m.p, m.q), prec)).Exp()
		return power.Mul(m.rate.Interval(-level, prec))
	})
}

// newFlip returns permute-and-flip by name: with the margin 1:1 and equal weights for all points.
func newFlip(q *Query) (Mechanism, error) {
	m, err := q.flip(symmetric)
	if err != nil {
		return nil, err
	}
	m.measure, m.fixed = Uniform(q.Grid), true
	return m, nil
}

// symmetric returns the margin 1:1 and its R.
func symmetric(p, q int64) (rankUtility, int64) {
	return margin{p: p, q: q, a: 1, b: 1}, 2 * max(p, q-p)
}

// flip returns permute-and-flip by a utility and its R.
func (q *Query) flip(of func(p, q int64) (rankUtility, int64)) (*ranks, error) {
	m, err := q.ranks("permute_and_flip", of)
	if err != nil {
		return nil, err
	}
	m.promise = privacy.NewPure(q.Epsilon)
	m.choose, m.odds = (*survey).flip, 0.5
	return m, nil
}

// interval is a quantile with a paid interval of values around it. Half of ε goes to the quantile, and a quarter each
// to a value for the rank αn − s and one for αn + s. The shifts s are chosen from public figures so that for any data
// each end is on its side of the quantile with probability 1 − (1−level)/2. They are least if all points have equal
// weight, so the ends are drawn under the uniform measure.
//
// Privacy: ε-DP, the sum of three margins (basic composition); their ρ add up.
type interval struct {
	header
	estimate, side *ranks
	eta            float64 // chance that one end is on the wrong side
}

func newInterval(q *Query) (Mechanism, error) {
	if q.Interval.Sign() <= 0 || q.Interval.Cmp(decimal.NewFromInt(1)) >= 0 {
		return nil, parameter.Wrong("interval", parameter.Shown(*q.Interval), "a number greater than 0 and less than 1")
	}
	m := &interval{eta: (1 - q.Interval.InexactFloat64()) / 2}
	if !(m.eta > 0) {
		return nil, parameter.Wrong("interval", parameter.Shown(*q.Interval), "a number less close to 1")
	}
	var err error
	if m.estimate, err = q.margin(2); err != nil {
		return nil, err
	}
	if m.side, err = q.margin(4); err != nil {
		return nil, err
	}
	m.side.measure = Uniform(q.Grid)
	if u := m.side.utility.(margin); max(u.a, u.b)*u.q > 1e9 {
		return nil, parameter.Wrong("p", listed(q.P),
			"fewer digits with an interval: the denominator %d times the tilt [%d, %d] may be at most 10^9",
			u.q, u.a, u.b)
	}
	e := q.Epsilon.InexactFloat64()
	m.header = header{"margin", privacy.NewPieces(q.Epsilon, privacy.RhoOfRange(e/2)+2*privacy.RhoOfRange(e/4))}
	return m, nil
}

func (m *interval) Draw(s *Sample, public Public, random io.Reader) (Draw, error) {
	measure, err := m.estimate.measureOf(s, public)
	if err != nil {
		return Draw{}, err
	}
	k := m.estimate.scratch.take(random)
	defer m.estimate.scratch.put(k)
	x := m.estimate.draw(s, measure, k)
	padded, sides := s.padded(m.side.grid), m.side.measure
	// The lower end must not overshoot to the right, nor the upper one to the left.
	low, high := m.side.shifted(-m.side.right*math.Log(sides.right/m.eta)),
		m.side.shifted(m.side.left*math.Log(sides.left/m.eta))
	d := Draw{Values: single(x, m.estimate.bound(measure, public.Users))}
	d.Low = min(x, low.draw(padded, sides, k))
	d.High = max(x, high.draw(padded, sides, k))
	d.Values[0].paid, d.Values[0].half = true, float64(d.High-d.Low)/2
	return d, k.source.Err()
}

// Errors returns the bounds of the quantile: the interval's ends have none.
func (m *interval) Errors(public Public) []Bound { return m.estimate.Errors(public) }

// padding is how many users padded puts at either end: more than any sample and shift together.
const padding = 1 << 29

// padded returns the sample with padding more users at each end of the grid. They are the same on all samples, so
// neighbours stay neighbours. They give a target beyond the smallest or largest value a place: the end of the grid.
func (s *Sample) padded(g *Grid) *Sample {
	p := &Sample{n: s.n + 2*padding, values: make([]int64, 0, len(s.values)+2), upTo: make([]int64, 0, len(s.values)+2)}
	if len(s.values) == 0 || s.values[0] > 0 {
		p.values, p.upTo = append(p.values, 0), append(p.upTo, padding)
	}
	for j, v := range s.values {
		p.values, p.upTo = append(p.values, v), append(p.upTo, s.upTo[j]+padding)
	}
	if last := len(p.values) - 1; p.values[last] == g.last {
		p.upTo[last] = p.n
	} else {
		p.values, p.upTo = append(p.values, g.last), append(p.upTo, p.n)
	}
	return p
}

// shifted returns the mechanism for a target by ranks further right, rounded outward, on padded samples. More than 2^28
// ranks are beyond every sample.
func (m *ranks) shifted(by float64) *ranks {
	by = min(max(by, -MaxUsers), MaxUsers)
	shift := int64(math.Ceil(math.Abs(by) * float64(m.q)))
	if by < 0 {
		shift = -shift
	}
	moved := *m
	// Of the padded n, p/q is not α of the sample: p(n + 2·padding) + shift = pn + q·padding + the shift wanted.
	moved.shift = shift + padding*(m.q-2*m.p)
	u := m.utility.(margin)
	u.shift = moved.shift
	moved.utility = u
	return &moved
}

func newMargin(q *Query) (Mechanism, error) {
	if q.Interval != nil {
		return newInterval(q)
	}
	m, err := q.margin(1)
	if err != nil {
		return nil, err
	}
	return m, nil
}
