package mechanisms

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// gaussianHistogram is the name of the mechanism of [newGaussianHistogram].
const gaussianHistogram = "gaussian_histogram"

// bucketed draws noisy numbers of users for all buckets and, on two levels, for all groups of neighbouring buckets too;
// including those without users. Package histogram computes everything else from them.
//
// Sensitivity: a user is in one bucket and in one group, and so changes one number of each level by 1.
type bucketed struct {
	header
	buckets *histogram.Buckets
	noise   noise
	draw    func(*exact.Source) *big.Int // of that noise
	error95 float64
}

// newHistogram returns a histogram with discrete Laplace noise of rate ε on one level, and of rate ε/2 on each of two.
//
// Privacy: ε-DP. One user changes one number of each level by 1, and so the law of that number's noise by a factor
// within e^{±ε/levels}: e^{±ε} together. On two levels ρ = 2·(ε/2)²/2 = ε²/4. Neighbours differ in one user more or
// less. A change of one user's value moves them from one bucket to another, which changes two numbers of each level:
// the loss is 2ε then.
//
// Source: Hay, Rastogi, Miklau, Suciu (2010) for levels and the estimate from them; Ghosh, Roughgarden, Sundararajan
// (2009) for the noise.
func newHistogram(q *Query) (Mechanism, error) {
	num, den, err := parameter.Epsilon(q.Epsilon)
	if err != nil {
		return nil, err
	}
	buckets, err := q.buckets()
	if err != nil {
		return nil, err
	}
	promise := privacy.NewPure(q.Epsilon)
	levels := uint64(buckets.Levels())
	if levels == 2 {
		half := q.Epsilon.InexactFloat64() / 2
		promise = privacy.NewPieces(q.Epsilon, 2*privacy.RhoOfPure(half))
	}
	return q.bucketed(header{"histogram", promise}, buckets, laplace{num, den, levels}), nil
}

// newGaussianHistogram returns a histogram with discrete Gaussian noise, of variance parameter 1/ε² on one level and of
// 2/ε² on each of two.
//
// Privacy: ρ-zCDP, ρ = ½ε², an equal part for each level, as one user changes one number of it by 1. Like a Gaussian
// count it has no pure ε.
//
// Source: Canonne, Kamath, Steinke (2020), Theorem 14 and Algorithm 3.
func newGaussianHistogram(q *Query) (Mechanism, error) {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return nil, err
	}
	buckets, err := q.buckets()
	if err != nil {
		return nil, err
	}
	rho := q.Epsilon.Rat()
	rho.Mul(rho, rho).Mul(rho, big.NewRat(1, int64(2*buckets.Levels())))
	return q.bucketed(header{gaussianHistogram, privacy.NewZCDP(q.Epsilon)}, buckets, gaussian{rho}), nil
}

// moves is how many draws another value of a user costs: see [Replaced].
//
// Privacy: the user moves to another bucket. In each level this changes at most two numbers by 1, where a user who
// leaves changes one. All numbers have noise of their own, so the draws of the old numbers and those of the new ones
// are two mechanisms, each with the promise of the histogram. A number that is both an old and a new one does not
// change.
const moves = 2

func (q *Query) bucketed(h header, buckets *histogram.Buckets, z noise) *bucketed {
	m := &bucketed{header: h, buckets: buckets, noise: z, draw: z.law(1)}
	law := HistogramNoise(h.name, q.Epsilon.InexactFloat64(), buckets.Levels())
	// The error of all users together does not depend on what is drawn.
	_, m.error95 = buckets.Estimate(make([]int64, buckets.Len()), make([]int64, buckets.Groups()), law, 1).Users()
	return m
}

// HistogramNoise returns the noise of each number that a histogram draws, by its mechanism and the ε of the release.
func HistogramNoise(mechanism string, epsilon float64, levels int) histogram.Noise {
	if mechanism == gaussianHistogram {
		return histogram.Gaussian(float64(levels) / (epsilon * epsilon))
	}
	return histogram.Laplace(epsilon / float64(levels))
}

// buckets returns those of the query, with an end at each of its cuts.
func (q *Query) buckets() (*histogram.Buckets, error) {
	of, g := q.Buckets, q.Grid
	if of == nil {
		return nil, parameter.Wrong("buckets", "missing", "a list such as [100, 250, 800], or {scale: 3}")
	}
	var ends []int64
	if of.Native {
		var err error
		if ends, err = histogram.NativeEnds(of.Scale, g.lower, g.step, g.last); err != nil {
			return nil, parameter.Wrong("buckets", of,
				"a scale from 0 to %d that has at most %d buckets within the bounds, or a list", histogram.MostScale,
				histogram.Most)
		}
	}
	for i, end := range of.Ends {
		index, err := g.floor("buckets", end)
		switch {
		case err != nil:
			return nil, err
		case !g.Value(index).Equal(end):
			return nil, parameter.Wrong("buckets", parameter.Shown(end), "a point of the grid, for example %s or %s",
				g.Value(index), g.Value(index+1))
		case i > 0 && end.Cmp(of.Ends[i-1]) <= 0:
			return nil, parameter.Wrong("buckets", parameter.Shown(end), "ends that ascend: %s is before it",
				parameter.Shown(of.Ends[i-1]))
		}
		ends = append(ends, index)
	}
	if q.Levels < 0 || q.Levels > 2 {
		return nil, parameter.Wrong("levels", q.Levels, "1 or 2")
	}
	b, err := histogram.New(append(ends, q.Cuts...), g.last, !g.lower.IsZero(), q.Levels)
	if err != nil {
		return nil, parameter.Wrong("buckets", of, "at most %d of them", histogram.Most)
	}
	return b, nil
}

// Counts reports whether the values are numbers of users.
func (m *bucketed) Counts() bool { return true }

// Errors returns the bound of the number of all users, the only value of the draw.
func (m *bucketed) Errors(Public) []Bound { return []Bound{noiseBound(m.error95)} }

// Buckets returns those of a mechanism that draws a histogram, or nil.
func Buckets(m Mechanism) *histogram.Buckets {
	if b, ok := m.(*bucketed); ok {
		return b.buckets
	}
	return nil
}

func (m *bucketed) Draw(s *Sample, _ Public, random io.Reader) (Draw, error) {
	if err := s.Check(); err != nil {
		return Draw{}, err
	}
	source := exact.NewSource(random)
	fine, coarse := m.sums(s)
	for _, numbers := range [][]int64{fine, coarse} {
		for i, n := range numbers {
			numbers[i] = addCut(m.draw(source), n, -histogram.MostUsers, histogram.MostUsers)
		}
	}
	// The noise of an estimate does not change it.
	users, _ := m.buckets.Estimate(fine, coarse, histogram.Noise{}, 1).Users()
	return Draw{Values: single(users, noiseBound(m.error95)), Raw: fine, Coarse: coarse}, source.Err()
}

// sums returns the exact numbers of users in each bucket and in each group.
func (m *bucketed) sums(s *Sample) (fine, coarse []int64) {
	ends := m.buckets.Ends()
	return m.buckets.Sums(func(index int64) int64 {
		switch {
		case index == 0:
			return s.under
		case index > ends[len(ends)-1]:
			return s.n - s.over
		}
		return s.Below(index)
	}, s.n)
}

// Bucketing says where the buckets of a histogram end: at a list of grid points, or where those of Prometheus' native
// histograms do.
type Bucketing struct {
	Ends []decimal.Decimal
	// Native says that Scale, from 0 to 5, takes the place of Ends.
	Native bool
	Scale  int
}

// String returns the buckets as a streams file has them.
func (b *Bucketing) String() string {
	if b.Native {
		return fmt.Sprintf("{scale: %d}", b.Scale)
	}
	return "[" + strings.Trim(listed(b.Ends), "[]") + "]"
}

// Computed is a figure that is computed from a histogram that has been released. It is post-processing and costs
// nothing. It is immutable and safe for concurrent use.
type Computed struct {
	query      Query
	buckets    *histogram.Buckets
	first, end int64 // counted are the indices first ≤ i < end
}

// ComputedValue is what a histogram says about a figure.
type ComputedValue struct {
	// Value is a grid point, a number of users, or a share of them from 0 to 1.
	Value decimal.Decimal
	// Low and High hold the true value with 95 % confidence. They are nil for counts and modes.
	Low, High *decimal.Decimal
	// Error95 bounds the distance from the truth with 95 % confidence, in the unit of the value. It is nil for a mode.
	Error95 *decimal.Decimal
	Quality Quality
}

// ComputedStatistics are the statistics that a histogram answers.
func ComputedStatistics() []Statistic {
	return []Statistic{Quantile, Median, Share, Count, Outside, Mode}
}

// ComputedLevel is the level of the intervals of computed figures.
var ComputedLevel = decimal.New(95, -2)

// shareDigits is the number of decimals of a share.
const shareDigits = 6

// NewComputed returns the figure that a query asks for, computed from these buckets. The query needs no ε and no
// mechanism. Buckets must end at its limits: see [Query.ComputedCuts]. The error is an [Error].
func NewComputed(q Query, buckets *histogram.Buckets) (*Computed, error) {
	f := &Computed{query: q, buckets: buckets}
	if !slices.Contains(ComputedStatistics(), q.Statistic) {
		return nil, parameter.Wrong("statistic", parameter.Quoted(string(q.Statistic)),
			"one that a histogram answers: %s", oneOf(ComputedStatistics()))
	}
	if q.Statistic == Quantile || q.Statistic == Median {
		if p := q.Probabilities(); len(p) != 1 {
			return nil, parameter.Wrong("p", "a list of "+decimal.NewFromInt(int64(len(p))).String(), "one number")
		} else if _, _, err := parameter.Probability(p[0]); err != nil {
			return nil, err
		}
	}
	if q.Statistic == Share && q.Above == nil {
		return nil, parameter.Wrong("above", "missing", "the value above which users count")
	}
	var err error
	if f.first, f.end, err = q.Grid.Between(q.Above, q.Below); err != nil {
		return nil, err
	}
	if q.Above != nil {
		if err := f.ends("above", *q.Above, f.first-1); err != nil {
			return nil, err
		}
	}
	if q.Below != nil {
		if err := f.ends("below", *q.Below, f.end-1); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// ends checks that a bucket ends at an index.
func (f *Computed) ends(name string, limit decimal.Decimal, index int64) error {
	if _, found := f.buckets.EndAt(index); found {
		return nil
	}
	g := f.query.Grid
	before, after := f.buckets.Beside(index)
	return parameter.Wrong(name, parameter.Shown(limit), "the end of a bucket, for example %s or %s",
		g.Value(max(0, before)), g.Value(min(after, g.last)))
}

// Bucket is the bucket that ends at the limit of a share: the users above it are in later ones.
func (f *Computed) Bucket() int {
	bucket, _ := f.buckets.EndAt(f.first - 1)
	return bucket
}

// ComputedCuts returns the grid indices at which buckets have to end, so that the query can be answered from them.
func (q *Query) ComputedCuts() ([]int64, error) {
	first, end, err := q.Grid.Between(q.Above, q.Below)
	if err != nil {
		return nil, err
	}
	var cuts []int64
	if q.Above != nil {
		cuts = append(cuts, first-1)
	}
	if q.Below != nil {
		cuts = append(cuts, end-1)
	}
	return cuts, nil
}

// Of computes the figure from what a histogram says. ok is false for a quantile or a mode if the histogram shows
// nobody.
func (f *Computed) Of(e *histogram.Estimate) (v ComputedValue, ok bool) {
	users, off := e.Users()
	empty := float64(users) <= off
	switch f.query.Statistic {
	case Quantile, Median:
		v, ok = f.quantile(e)
	case Mode:
		index, shown := e.Mode()
		return ComputedValue{Value: f.query.Grid.Value(max(0, index))}, shown
	case Share:
		v, ok = f.share(e), true
	default:
		v, ok = f.count(e, float64(users)), true
	}
	if empty {
		v.Quality = Noise
	}
	return v, ok
}

func (f *Computed) quantile(e *histogram.Estimate) (ComputedValue, bool) {
	p, g := f.query.Probabilities()[0], f.query.Grid
	q, ok := e.Quantile(p)
	if !ok {
		return ComputedValue{}, false
	}
	v := ComputedValue{Value: g.Value(q.Index), Low: new(g.Value(q.Low)), High: new(g.Value(q.High))}
	v.Error95 = new(decimal.Max(v.Value.Sub(*v.Low), v.High.Sub(v.Value)))
	v.Quality = f.query.judgeEnds(v.Value.InexactFloat64(), v.Low.InexactFloat64(), v.High.InexactFloat64())
	return v, true
}

// share is judged as the number of users that it stands for.
func (f *Computed) share(e *histogram.Estimate) ComputedValue {
	s := e.ShareAbove(f.Bucket())
	v := ComputedValue{Value: decimal.NewFromFloat(s.Value).Round(shareDigits)}
	v.Low = new(decimal.Min(decimal.NewFromFloat(s.Low).RoundFloor(shareDigits), v.Value))
	v.High = new(decimal.Max(decimal.NewFromFloat(s.High).RoundCeil(shareDigits), v.Value))
	v.Error95 = new(decimal.Max(v.Value.Sub(*v.Low), v.High.Sub(v.Value)))
	v.Quality = judgePart(v.Error95.InexactFloat64(), s.Value, 1)
	return v
}

func (f *Computed) count(e *histogram.Estimate, users float64) ComputedValue {
	ends := f.buckets.Ends()
	n, off := e.Count(func(bucket int) bool {
		switch below := bucket == 0 && f.buckets.Below(); {
		case f.query.Statistic == Outside:
			return below || bucket == len(ends)
		case below: // like everything below the grid, it counts as the lower bound
			return f.query.Above == nil
		case bucket == len(ends): // and this as the upper bound
			return f.query.Below == nil
		}
		return ends[bucket] >= f.first && ends[bucket] < f.end
	})
	v := ComputedValue{Value: decimal.NewFromInt(n), Error95: new(decimal.NewFromFloat(off))}
	if f.query.CountsUsers() {
		v.Quality = compare(off, float64(n))
	} else {
		v.Quality = judgePart(off, float64(n), users)
	}
	return v
}
