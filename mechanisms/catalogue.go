package mechanisms

import (
	"slices"

	"github.com/shopspring/decimal"
)

// Family says what the error of a statistic is counted in.
type Family uint8

// The families.
const (
	// OfRanks: in users between the value and the quantile.
	OfRanks Family = iota
	// OfLeads: in users by which a value must be ahead of all others to be found.
	OfLeads
	// OfAmounts: in the unit of the value.
	OfAmounts
	// OfUsers: in users; the value is a number of them.
	OfUsers
)

// row is all that the catalogue knows of one statistic.
type row struct {
	statistic Statistic
	family    Family
	takes     []string // the names of the parameters that not every statistic has
	offers    []offer  // the mechanisms that serve it, the default first
	// truth lists, for each value of a draw, the exact values that are right, ascending. It is for samples of one user at least.
	truth func(q *Query, s *Sample) [][]decimal.Decimal
	// width is by how much the statistic of n users can vary where 0 is among its values, and 0 elsewhere. nil: it is 0.
	width func(g *Grid, n float64) float64
	// unit is that of the statistic of values that have a unit; nil: the same.
	unit func(unit string) string
}

// catalogue is the table of statistics. A new one is a file with its mechanism and truth, and a row here.
func catalogue() []row {
	quantiles := append([]offer{
		{name: "permute_and_flip", build: newFlip},
		{name: "above_threshold", build: newAboveThreshold},
		{name: "margin", build: newMargin, takes: []string{"tilt", "interval"}},
		{name: "duff", build: newDuff},
		{name: "rank", build: newRank, takes: []string{"replace_one"}},
		{name: "mid_rank", build: newMidRank},
		{name: "piecewise_laplace", build: newPiecewiseLaplace},
	}, smoothOffers()...)
	means := slices.Concat([]offer{
		{name: "clipped", build: newClippedMean},
		{name: "two_sums", build: newTwoSums},
		{name: "clipped_gaussian", build: newClippedMeanGaussian},
	}, smoothOffers(), []offer{
		{name: "duff", build: newMeanDuff},
		{name: "laplace", build: newMeanLaplace},
	})
	variances := []offer{
		{name: "clipped", build: newClippedVariance},
		{name: "three_sums", build: newWholeVariance},
	}
	return []row{
		{statistic: Median, family: OfRanks, takes: []string{"tilt", "interval"}, truth: trueQuantiles, offers: quantiles},
		{statistic: Quantile, family: OfRanks, takes: []string{"p", "tilt", "interval"}, truth: trueQuantiles, offers: quantiles},
		{statistic: Quantiles, family: OfRanks, takes: []string{"p"}, truth: trueQuantiles, offers: []offer{
			{name: "joint", build: newJoint},
			{name: "split", build: newSplit},
		}},
		{statistic: Mode, family: OfLeads, truth: trueModes, offers: []offer{
			{name: "exponential", build: newMode, former: "duff"},
			{name: "permute_and_flip", build: newModeFlip},
		}},
		{statistic: Mean, family: OfAmounts, takes: []string{"clip"}, truth: trueMean, width: widthOfMean, offers: means},
		{statistic: Sum, family: OfAmounts, takes: []string{"clip"}, truth: trueSum, width: widthOfSum, offers: []offer{
			{name: "clipped", build: newClippedSum},
			{name: "laplace", build: newWholeSum},
			{name: "clipped_gaussian", build: newClippedSumGaussian},
		}},
		{statistic: TrimmedMean, family: OfAmounts, takes: []string{"trim", "clip"}, truth: trueMean, width: widthOfMean,
			offers: append([]offer{{name: "clipped", build: newClippedTrimmed}}, smoothOffers()...)},
		{statistic: Variance, family: OfAmounts, takes: []string{"clip"}, truth: trueVariance, unit: squared, offers: variances},
		{statistic: StdDev, family: OfAmounts, takes: []string{"clip"}, truth: trueVariance, offers: variances},
		{statistic: Count, family: OfUsers, takes: []string{"above", "below"}, truth: trueCount, offers: []offer{{name: "geometric", build: newGeometric}}},
		{statistic: Outside, family: OfUsers, truth: trueCount, offers: []offer{{name: "geometric", build: newGeometric}}},
	}
}

// find returns the row of a statistic.
func (s Statistic) find() (row, bool) {
	rows := catalogue()
	i := slices.IndexFunc(rows, func(r row) bool { return r.statistic == s })
	if i < 0 {
		return row{}, false
	}
	return rows[i], true
}

// Statistics returns all statistics, in the order of the documents.
func Statistics() (all []Statistic) {
	for _, r := range catalogue() {
		all = append(all, r.statistic)
	}
	return all
}

// Family is what the errors of a statistic are counted in.
func (s Statistic) Family() Family {
	r, _ := s.find()
	return r.family
}

// Unit is the unit of a statistic of values in a unit, such as "users" for counts.
func (s Statistic) Unit(of string) string {
	r, _ := s.find()
	switch {
	case r.family == OfUsers:
		return "users"
	case r.unit != nil:
		return r.unit(of)
	}
	return of
}

// Each is what each value of a draw is: a quantile, for [Quantiles]; else the statistic itself.
func (s Statistic) Each() Statistic {
	if s == Quantiles {
		return Quantile
	}
	return s
}

// Available returns the names of the mechanisms that serve a statistic, the default first; none if there is no such
// statistic.
func Available(s Statistic) []string {
	r, _ := s.find()
	var names []string
	for _, o := range r.offers {
		names = append(names, o.name)
	}
	return names
}

// Truth returns the exact values that are right for each value of a draw, ascending: two where a quantile lies between two
// users' values, several where several values are the mode, none where nobody is there. They are private: this is for
// simulations and studies.
func (q Query) Truth(s *Sample) [][]decimal.Decimal {
	r, ok := q.Statistic.find()
	if !ok || s.n == 0 && r.family != OfUsers {
		return nil
	}
	return r.truth(&q, s)
}

// New checks a query and returns its mechanism. What is wrong with the query is an [Error].
func New(q Query) (Mechanism, error) {
	r, ok := q.Statistic.find()
	if !ok {
		return nil, wrong("statistic", quoted(string(q.Statistic)), "%s", oneOf(Statistics()))
	}
	if q.Grid == nil {
		return nil, wrong("bounds", "missing", "lower, upper and step")
	}
	chosen := r.offers[0]
	switch at := slices.IndexFunc(r.offers, func(o offer) bool {
		return q.Mechanism != "" && (o.name == q.Mechanism || o.former == q.Mechanism)
	}); {
	case at >= 0:
		chosen = r.offers[at]
	case q.Mechanism != "":
		return nil, wrong("mechanism", quoted(q.Mechanism), "one of those for statistic %s: %s", q.Statistic, oneOf(Available(q.Statistic)))
	case q.Statistic == Median || q.Statistic == Quantile:
		chosen = q.byDefault()
	case q.Clip == "none":
		chosen = r.offers[max(0, slices.IndexFunc(r.offers, func(o offer) bool { return !clips(o.name) }))]
	}
	if err := q.check(r, chosen); err != nil {
		return nil, err
	}
	return chosen.build(&q)
}

// check looks at the parameters that several mechanisms share and refuses those that the statistic or the chosen mechanism
// does not take.
func (q *Query) check(r row, chosen offer) error {
	if _, _, err := positive(q.Epsilon); err != nil {
		return err
	}
	everybody := []string{"p", "trim", "clip", "above", "below"} // of the mechanisms, if the statistic takes it
	for _, p := range Parameters() {
		switch {
		case !p.given(q):
		case len(p.Statistics) > 0 && !slices.Contains(r.takes, p.Name):
			return wrong(p.Name, p.text(q), "none: statistic %s has no such parameter", q.Statistic)
		case !slices.Contains(everybody, p.Name) && !slices.Contains(chosen.takes, p.Name):
			return wrong(p.Name, p.text(q), "none: mechanism %s has no such parameter", chosen.name)
		}
	}
	switch {
	case q.ReplaceOne && !slices.Contains(chosen.takes, "replace_one"):
		return wrong("replace_one", true, "false: mechanism %s has no such parameter", chosen.name)
	case q.Calibration != "" && q.Calibration != "published":
		return wrong("calibration", quoted(q.Calibration), "tight or published")
	case q.Clip != "" && q.Clip != "none":
		return wrong("clip", quoted(q.Clip), "none, or nothing for an interval that the mechanism finds")
	case q.Clip == "none" && clips(chosen.name):
		return wrong("clip", "none", "another mechanism than %s, which finds an interval", chosen.name)
	case !slices.Contains([]string{"", "tapered", "cells", "uniform", "adaptive"}, q.Prior):
		return wrong("prior", quoted(q.Prior), "adaptive, tapered, cells or uniform")
	case q.ExpectedUsers < 0 || q.ExpectedUsers > maxUsers:
		return wrong("expected_users", q.ExpectedUsers, "a whole number from 1 to %d", maxUsers)
	}
	return nil
}
