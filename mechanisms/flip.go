package mechanisms

// Permute-and-flip (McKenna & Sheldon 2020) on the symmetric margin of a quantile, and on the users of a mode.
//
// Privacy: ε-DP with coins e^{−ε·(u* − u)/(2Δ)} for a utility u of sensitivity Δ, and e^{−ε(u* − u)} for a monotone one
// that one user raises by at most 1, like the users at a value. One more user changes the symmetric margin by at most
// max(p, q−p). It is report-noisy-max with exponential noise, which is not bounded-range: zCDP ρ = ε²/2.
//
// Never worse than the exponential mechanism of the same coins: its error is stochastically smaller, so that the bound
// of that holds.

func newFlip(q *Query) (Mechanism, error) {
	m, err := q.ranks("permute_and_flip", func(p, den int64) (rankUtility, int64) {
		return margin{p: p, q: den, a: 1, b: 1}, 2 * max(p, den-p)
	})
	if err != nil {
		return nil, err
	}
	m.promise = pure(q.Epsilon)
	m.measure, m.fixed = Uniform(q.Grid), true
	m.choose = (*survey).flip
	return m, nil
}

func newModeFlip(q *Query) (Mechanism, error) {
	m, err := newMode(q)
	if err != nil {
		return nil, err
	}
	flipped := *m.(*mode)
	flipped.header = header{"permute_and_flip", pure(q.Epsilon)}
	flipped.choose = (*survey).flip
	return &flipped, nil
}
