package mechanisms

import "github.com/louver/louver/budget/privacy"

// Permute-and-flip under a measure, for quantiles and for the mode. Each point has the weight
//
//	w(x) = μ(x)·e^{−κ·D(x)},  κ = ε/R,
//
// for a public measure μ. The points come in random order, each flips a coin with probability w(x)/max w, and the first
// head wins. Equivalently each point comes at the time V_x/w(x), for independent V_x uniform in [0, 1], and the first
// one wins:
//
//	P(x) = E min(1, w_x·min_{z≠x} V_z/w_z) = (w_x/w_max)·∫₀¹ Π_{z≠x} (1 − t·w_z/w_max) dt.
//
// ln μ is a public offset of the utility. (The exponential mechanism is the same race with exponential times.)
//
// Privacy. Let R be such that for all samples and every user y more, the changes of D(x) lie, over all x, in an
// interval of length R. Then both are ε-DP. Multiplying all weights by one number changes neither; so scale those of
// the larger sample such that w_x ≤ w'_x ≤ e^ε·w_x.
//   - Exponential mechanism: the normaliser lies in [1, e^ε] times the other one too. Hence ε-DP, and ε-bounded-range.
//   - Permute-and-flip: with the same V, m = min_{z≠x} V_z/w_z and m' = min_{z≠x} V_z/w'_z have e^{−ε}·m ≤ m' ≤ m. So
//     min(1, w'_x·m') ≤ min(1, e^ε·w_x·m) ≤ e^ε·min(1, w_x·m), and min(1, w'_x·m') ≥ min(1, e^{−ε}·w_x·m) ≥
//     e^{−ε}·min(1, w_x·m). Take expectations. It is not bounded-range: zCDP ρ = ε²/2.
//
// R is 2·max(p, q−p) for the margin 1:1, and that of tail (tail.go) in the tails. For the users of a mode, whom one
// user raises by 1 at one value, R is 1.
//
// How far off it may be: a point beats the quantile T with probability at most E min(1, V_T·w_x/w_T) ≤ w_x/(2w_T), so
// that all points whose D is more than d above that of T win with probability at most V/(2μ(T))·e^{−κd}, V the total
// mass. It is half of the bound for the exponential mechanism. No data-independent bound is much better: where T and
// its neighbour are the points of the least weight and all that lies on the other side is that far away, the
// probability is two thirds of it.
//
// Source: McKenna & Sheldon (2020), and Ding, Kifer et al. (2021) for the race; the range in place of twice the
// sensitivity and the measure are derived here. At equal ε it is never worse than the exponential mechanism, and
// noticeably better if there is much information.

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

func newModeFlip(q *Query) (Mechanism, error) {
	m, err := newMode(q)
	if err != nil {
		return nil, err
	}
	flipped := *m.(*mode)
	flipped.header = header{"permute_and_flip", privacy.NewPure(q.Epsilon)}
	flipped.choose = (*survey).flip
	return &flipped, nil
}
