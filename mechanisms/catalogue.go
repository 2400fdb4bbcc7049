package mechanisms

import (
	"math/big"
	"slices"
	"sync"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/uint128"
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
	// OfShares: in parts of all users; the value is such a part.
	OfShares
)

// row is the catalogue's entry for one statistic.
type row struct {
	statistic Statistic
	family    Family
	takes     []string // the names of the parameters that not every statistic has
	offers    []offer  // the mechanisms that serve it, the default first
	// truth lists the exact right values for each value of a draw, ascending. The sample must have at least one user.
	truth func(q *Query, s *Sample) [][]decimal.Decimal
	// width is how much the statistic of n users can vary if 0 is among its values, else 0. nil means 0.
	width func(g *Grid, n float64) float64
	// unit returns the unit of the statistic for a unit of the values. nil means the same unit.
	unit func(unit string) string
	// apart says that the statistic is not a value of a window, and that no [Query] asks for it.
	apart bool
}

// rows are the rows of the catalogue. They are made when they are first asked for, because some mechanisms ask for the
// rows of others.
var rows struct {
	once sync.Once
	all  []row
}

// catalogue returns the table of statistics. It is called for every value that is published. Nobody changes the table.
func catalogue() []row {
	rows.once.Do(func() { rows.all = table() })
	return rows.all
}

// table makes the catalogue. A new statistic is a file with its mechanism and truth, and a row here.
func table() []row {
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
	counts := []offer{
		{name: "geometric", build: newGeometric},
		{name: gaussianCount, build: newGaussianCount, forRho: true},
	}
	variances := []offer{
		{name: "clipped", build: newClippedVariance},
		{name: "three_sums", build: newWholeVariance},
	}
	return []row{
		{statistic: Median, family: OfRanks, takes: []string{"tilt", "interval"},
			truth: trueQuantiles, offers: quantiles},
		{statistic: Quantile, family: OfRanks, takes: []string{"p", "tilt", "interval"}, truth: trueQuantiles,
			offers: quantiles},
		{statistic: Quantiles, family: OfRanks, takes: []string{"p"}, truth: trueQuantiles, offers: []offer{
			{name: "joint", build: newJoint},
			{name: "split", build: newSplit},
		}},
		{statistic: Mode, family: OfLeads, truth: trueModes, offers: []offer{
			{name: "exponential", build: newMode, former: "duff"},
			{name: "permute_and_flip", build: newModeFlip},
		}},
		{statistic: Mean, family: OfAmounts, takes: []string{"clip"}, truth: trueMean,
			width: widthOfMean, offers: means},
		{statistic: Sum, family: OfAmounts, takes: []string{"clip"}, truth: trueSum, width: widthOfSum, offers: []offer{
			{name: "clipped", build: newClippedSum},
			{name: "laplace", build: newWholeSum},
			{name: "clipped_gaussian", build: newClippedSumGaussian},
		}},
		{statistic: TrimmedMean, family: OfAmounts, takes: []string{"trim", "clip"},
			truth: trueMean, width: widthOfMean,
			offers: append([]offer{{name: "clipped", build: newClippedTrimmed}}, smoothOffers()...)},
		{statistic: Variance, family: OfAmounts, takes: []string{"clip"}, truth: trueVariance, unit: squared,
			offers: variances},
		{statistic: StdDev, family: OfAmounts, takes: []string{"clip"}, truth: trueVariance, offers: variances},
		{statistic: Count, family: OfUsers, takes: []string{"above", "below"}, truth: trueCount, offers: counts},
		{statistic: Outside, family: OfUsers, truth: trueCount, offers: counts},
		{statistic: Histogram, family: OfUsers, takes: []string{"buckets", "levels"}, truth: trueCount, offers: []offer{
			{name: "histogram", build: newHistogram},
			{name: gaussianHistogram, build: newGaussianHistogram, forRho: true},
		}},
		{statistic: Share, family: OfShares, takes: []string{"above"}, truth: trueShare,
			unit: func(string) string { return "" }},
		{statistic: Groups, family: OfUsers, apart: true, offers: []offer{{name: truncatedGeometric}}},
	}
}

// find returns the row of a statistic.
func (s Statistic) find() (row, bool) {
	all := catalogue()
	i := slices.IndexFunc(all, func(r row) bool { return r.statistic == s })
	if i < 0 {
		return row{}, false
	}
	return all[i], true
}

// Statistics returns all statistics that a [Query] may ask for, in the order of the documents.
func Statistics() (all []Statistic) {
	for _, r := range catalogue() {
		if !r.apart {
			all = append(all, r.statistic)
		}
	}
	return all
}

// Family returns what the errors of a statistic are counted in.
func (s Statistic) Family() Family {
	r, _ := s.find()
	return r.family
}

// Unit returns the unit of a statistic, such as "users" for counts. of is the unit of the values.
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

// Each returns the statistic of a single value of a draw: a quantile for [Quantiles], else the statistic itself.
func (s Statistic) Each() Statistic {
	if s == Quantiles {
		return Quantile
	}
	return s
}

// Available returns the names of the mechanisms that serve a statistic, the default first. There are none if there is
// no such statistic, or if it is only computed from a histogram.
func Available(s Statistic) []string {
	r, _ := s.find()
	var names []string
	for _, o := range r.offers {
		names = append(names, o.name)
	}
	return names
}

// Truth returns the exact right values for each value of a draw, ascending: two if a quantile lies between two users'
// values, several if there are several modes, none if there are no users. They are private: this is for simulations and
// studies.
func (q Query) Truth(s *Sample) [][]decimal.Decimal {
	r, ok := q.Statistic.find()
	if !ok || s.n == 0 && r.family != OfUsers {
		return nil
	}
	return r.truth(&q, s)
}

// trueQuantiles are X(⌈pn⌉) and X(⌊pn⌋+1). They can differ only if pn is a whole number.
func trueQuantiles(q *Query, s *Sample) (all [][]decimal.Decimal) {
	for _, p := range q.Probabilities() {
		r := p.Rat()
		rank := r.Mul(r, new(big.Rat).SetInt64(s.n))
		below := new(big.Int).Quo(rank.Num(), rank.Denom()).Int64()
		upper := s.values[s.at(min(below+1, s.n))]
		right := []decimal.Decimal{q.Grid.Value(upper)}
		if rank.IsInt() && below > 0 {
			if lower := s.values[s.at(below)]; lower < upper {
				right = []decimal.Decimal{q.Grid.Value(lower), right[0]}
			}
		}
		all = append(all, right)
	}
	return all
}

// trueModes are the values that most users hold.
func trueModes(q *Query, s *Sample) [][]decimal.Decimal {
	var modes []decimal.Decimal
	for j, v := range s.values {
		if s.count(j) == s.most {
			modes = append(modes, q.Grid.Value(v))
		}
	}
	return [][]decimal.Decimal{modes}
}

// trueMean leaves out ⌊τn⌋ users at each end.
func trueMean(q *Query, s *Sample) [][]decimal.Decimal {
	cut := q.Trim.Mul(decimal.NewFromInt(s.n)).IntPart()
	var sum uint128.Int
	for j, v := range s.values {
		from, to := max(s.before(j), cut), min(s.upTo[j], s.n-cut) // the ranks that are left
		sum.Add(uint64(v), uint64(max(0, to-from)))
	}
	steps := decimal.NewFromBigInt(sum.Big(), 0).DivRound(decimal.NewFromInt(s.n-2*cut), 20)
	return [][]decimal.Decimal{{q.Grid.lower.Add(q.Grid.step.Mul(steps))}}
}

func trueSum(q *Query, s *Sample) [][]decimal.Decimal {
	fromLower, _ := s.distances(0, q.Grid.last)
	steps := q.Grid.step.Mul(decimal.NewFromBigInt(fromLower, 0))
	return [][]decimal.Decimal{{q.Grid.lower.Mul(decimal.NewFromInt(s.n)).Add(steps)}}
}

func trueCount(q *Query, s *Sample) [][]decimal.Decimal {
	count, err := newCounting(q)
	if err != nil {
		return nil
	}
	return [][]decimal.Decimal{{decimal.NewFromInt(count(s))}}
}

// trueShare has 20 decimals, and is 0 if there are no users.
func trueShare(q *Query, s *Sample) [][]decimal.Decimal {
	count, err := newCounting(q)
	if err != nil || s.n == 0 {
		return nil
	}
	return [][]decimal.Decimal{{decimal.NewFromInt(count(s)).DivRound(decimal.NewFromInt(s.n), 20)}}
}

// offer is a mechanism that serves a statistic.
type offer struct {
	name   string
	build  func(q *Query) (Mechanism, error)
	takes  []string // the names of the parameters that not every mechanism has
	former string   // an earlier name, which still works
	forRho bool     // it is the default where the budget sums up ρ
}
