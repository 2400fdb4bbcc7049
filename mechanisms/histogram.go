package mechanisms

import (
	"fmt"
	"io"
	"math/big"
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
