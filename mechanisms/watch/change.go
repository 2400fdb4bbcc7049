package watch

import (
	"errors"
	"io"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// ChangeQuery asks whether quantiles that were published still hold: whether the last value of each group lies between
// the quantiles P − Tolerance and P + Tolerance of the window. A figure is then drawn anew only if it has changed.
type ChangeQuery struct {
	// P is the probability of the quantile, and Tolerance how far the last value may be from it. Both lie in (0, 1)
	// with at most 9 digits after the point, and so do P − Tolerance and P + Tolerance. Required.
	P, Tolerance decimal.Decimal
	// Epsilon > 0 is the cost to a user of all looks together, until one finds a change. Required.
	Epsilon decimal.Decimal
	// FalseAlarms in (0, 1) bounds the probability that any change is found in Windows windows of Groups groups in
	// which there is none. Required.
	FalseAlarms decimal.Decimal
	// Windows ≥ 1 and Groups ≥ 1 are as in Query.
	Windows, Groups int64
}

// NewChange returns the [Watch] of a query. Its instances look with [Armed.LookFrom]. The error is a
// [mechanisms.Error].
//
// For a group whose last value is x it has two conditions. One fires if x is too high now, the other if it is too low:
//
//	Σ 1[v < x] − (p + t) > 0  and  Σ (p − t) − 1[v ≤ x] > 0.
//
// Privacy: that of [Watch]. Its proof holds for conditions that depend on what has been published before: given that,
// they are the same for neighbours. With m = max(p, 1−p), a* is m + t, and the opposite ranges add up to 2m: ε = (m +
// t)·r_ρ + 2m·r_ν. One instance serves all groups of a figure, since a user may be in another group in every window.
// What is drawn anew after it has fired is charged separately.
func NewChange(q ChangeQuery) (*Watch, error) {
	w, err := prepare("watch_epsilon",
		Query{Epsilon: q.Epsilon, FalseAlarms: q.FalseAlarms, Windows: q.Windows, Groups: q.Groups}, 2)
	if err != nil {
		return nil, err
	}
	if _, _, err := parameter.Probability(q.P); err != nil {
		return nil, err
	}
	if q.Tolerance.Sign() <= 0 || q.Tolerance.Exponent() < -9 {
		return nil, parameter.Wrong("tolerance", parameter.Shown(q.Tolerance),
			"a number greater than 0 with at most 9 digits after the point")
	}
	lowNum, lowDen, below := parameter.Probability(q.P.Sub(q.Tolerance))
	highNum, highDen, above := parameter.Probability(q.P.Add(q.Tolerance))
	if below != nil || above != nil {
		return nil, parameter.Wrong("tolerance", parameter.Shown(q.Tolerance),
			"less than p and less than 1 − p, for p = %s", parameter.Shown(q.P))
	}
	w.follows, w.den = true, leastCommonMultiple(lowDen, highDen)
	w.tests = []test{
		{counted: (*mechanisms.Sample).Below, hit: highDen - highNum, miss: -highNum, den: highDen},
		{counted: (*mechanisms.Sample).AtMost, hit: lowNum - lowDen, miss: lowNum, den: lowDen},
	}
	for i := range w.tests {
		w.tests[i].refine(w.den)
	}
	return w, renamed(w.choose(), "watch_epsilon")
}

// LookFrom is [Armed.Look] for a watch for changes. last holds the groups' last values, as grid indices. They must be
// public.
func (a *Armed) LookFrom(groups []*mechanisms.Sample, last []int64, random io.Reader) (group int, err error) {
	if !a.watch.follows || len(last) != len(groups) {
		return -1, errors.New("the last value of each group is wanted, and a watch for changes")
	}
	return a.look(groups, last, random)
}
