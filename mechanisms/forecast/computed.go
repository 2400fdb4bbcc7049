package forecast

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
)

// Computed forecasts figures that are computed from a histogram, one for each query.
//
// The error of a number of users is known for any data. That of a quantile or a share comes from the noise of many
// buckets, from the counts that are shown for them, and from where in its bucket a quantile lies. So it is known only
// under a shape. It is measured on random samples of the shape, as in [Of]. The quality is then the one that most of
// the samples have. Without a shape it is that of the [Outlook].
func Computed(q mechanisms.Query, m mechanisms.Mechanism, figures []mechanisms.Query, public Public) ([]Figure, error) {
	c := &computing{mechanism: m, buckets: mechanisms.Buckets(m), grid: q.Grid}
	c.noise = mechanisms.HistogramNoise(m.Name(), q.Epsilon.InexactFloat64(), c.buckets.Levels())
	forecasts := make([]Figure, len(figures))
	empty := c.buckets.Estimate(make([]int64, c.buckets.Len()), make([]int64, c.buckets.Groups()), c.noise, 1)
	for i, of := range figures {
		of.Grid = q.Grid
		f, err := mechanisms.NewComputed(of, c.buckets)
		if err != nil {
			return nil, err
		}
		c.figures = append(c.figures, computedFigure{of, f})
		if v, ok := f.Of(empty); ok && of.Statistic.Family() == mechanisms.OfUsers {
			forecasts[i].CountError = new(v.Error95.IntPart())
		}
		outlook, ok, err := OutlookOf(q, m, of)
		if err != nil {
			return nil, err
		}
		if ok && public.Users > 0 {
			forecasts[i].Quality = outlook.Of(public.Users)
		}
	}
	if public.Shape == nil || public.Users == 0 {
		return forecasts, nil
	}
	laws, qualities, err := c.errors(public)
	if err != nil {
		return nil, err
	}
	for i, l := range laws {
		if figures[i].Statistic == mechanisms.Mode {
			continue // the value of a shape's fullest bucket is no truth to compare with
		}
		forecasts[i].TypicalError, forecasts[i].Error95 = finite(l.at(0.5)), finite(l.at(0.95))
		forecasts[i].Quality = mostOf(qualities[i])
	}
	return forecasts, nil
}

// computing draws a histogram of samples of a shape, and computes figures from it.
type computing struct {
	mechanism mechanisms.Mechanism
	buckets   *histogram.Buckets
	noise     histogram.Noise
	grid      *mechanisms.Grid
	figures   []computedFigure
}

type computedFigure struct {
	query  mechanisms.Query
	figure *mechanisms.Computed
}

// mostOf returns the quality that occurs most often, and the worse one of two that occur alike.
func mostOf(times map[mechanisms.Quality]int) (most mechanisms.Quality) {
	for _, q := range []mechanisms.Quality{mechanisms.Useful, mechanisms.Rough, mechanisms.Noise} {
		if times[q] >= times[most] {
			most = q
		}
	}
	return most
}

// errors returns the law of |value − statistic| of each figure, and how often it has which quality. A value that is
// withheld is off by +Inf.
func (c *computing) errors(public Public) ([]law, []map[mechanisms.Quality]int, error) {
	if public.Users > MostUsers {
		return nil, nil, fmt.Errorf("shape %q with %d users; want at most %d", public.Shape.text, public.Users,
			MostUsers)
	}
	samples, points := newBucketSampler(public.Shape, c.buckets, c.grid, public.Users), newLattice()
	laws, qualities := make([]law, len(c.figures)), make([]map[mechanisms.Quality]int, len(c.figures))
	for i := range qualities {
		qualities[i] = map[mechanisms.Quality]int{}
	}
	for range min(max(1<<19/c.buckets.Len(), 1024), 4096) {
		x := samples.next()
		draw, err := c.mechanism.Draw(x.sample(c.grid), mechanisms.Public{}, points.next())
		if err != nil {
			return nil, nil, err
		}
		e := c.buckets.Estimate(draw.Raw, draw.Coarse, c.noise, 1)
		for i, f := range c.figures {
			distance, quality := math.Inf(1), mechanisms.Noise
			if v, ok := f.figure.Of(e); ok {
				distance, quality = off(v.Value.InexactFloat64(), []float64{x.truth(f.query)}), v.Quality
			}
			laws[i] = append(laws[i], distance)
			qualities[i][quality]++
		}
	}
	for _, l := range laws {
		slices.Sort(l)
	}
	return laws, qualities, nil
}

// bucketSampler makes random samples of a shape, as far as a histogram and its figures look at them: how many users are
// in each bucket, and where in its bucket a quantile lies. Each sample has exactly the law of n independent users.
type bucketSampler struct {
	shape   *Shape
	buckets *histogram.Buckets
	grid    *mechanisms.Grid
	n       int64
	upTo    []float64 // the shape's share of the users up to the end of each bucket
	random  *lattice
}

func newBucketSampler(s *Shape, b *histogram.Buckets, g *mechanisms.Grid, n int64) *bucketSampler {
	x := &bucketSampler{shape: s, buckets: b, grid: g, n: n, random: newLattice()}
	for _, end := range b.Ends() {
		low, high := 0.0, 1.0
		if s.index(1-0x1p-53, g) <= end {
			low = 1
		}
		for range 60 {
			if mid := (low + high) / 2; s.index(mid, g) <= end {
				low = mid
			} else {
				high = mid
			}
		}
		x.upTo = append(x.upTo, low)
	}
	x.upTo = append(x.upTo, 1) // nobody is above the grid
	return x
}

// bucketSample is one sample: users by bucket. It draws further random numbers when it is asked for a quantile.
type bucketSample struct {
	*bucketSampler
	users []int64
}

func (x *bucketSampler) next() *bucketSample {
	x.random.next().word = wellSpread
	s := &bucketSample{x, make([]int64, len(x.upTo))}
	left, before := x.n, 0.0
	for i, upTo := range x.upTo {
		switch p := (upTo - before) / (1 - before); {
		case left == 0 || !(p > 0):
		case p >= 1:
			s.users[i] = left
		default:
			s.users[i] = int64(distuv.Binomial{N: float64(left), P: p, Src: x.random}.Rand())
		}
		left, before = left-s.users[i], upTo
	}
	return s
}

// sample puts everybody at the end of their bucket: to a histogram it makes no difference.
func (s *bucketSample) sample(g *mechanisms.Grid) *mechanisms.Sample {
	var points []mechanisms.Point
	for i, end := range s.buckets.Ends() {
		if s.users[i] > 0 {
			points = append(points, mechanisms.Point{Index: end, Count: s.users[i]})
		}
	}
	return mechanisms.NewSample(g, points)
}

// truth is the figure of the users of the sample. Limits of shares and counts are ends of buckets.
func (s *bucketSample) truth(q mechanisms.Query) float64 {
	if q.Statistic.Family() != mechanisms.OfRanks {
		return q.Truth(s.sample(q.Grid))[0][0].InexactFloat64()
	}
	wanted := q.Probabilities()[0].Mul(decimalOf(s.n))
	rank := max(1, wanted.Ceil().IntPart())
	index, place := s.at(rank)
	low := s.grid.Value(index).InexactFloat64()
	if !wanted.Equal(decimalOf(rank)) || rank == s.n {
		return low
	}
	high := s.grid.Value(s.after(rank, place)).InexactFloat64()
	return (low + high) / 2 // as truths has it
}

// at returns the grid index of the user of a rank, and where in their bucket they are, as a share of its users under
// the shape: the k-th of m independent ones.
func (s *bucketSample) at(rank int64) (index int64, place float64) {
	b, k := s.bucketOf(rank)
	place = distuv.Beta{Alpha: float64(k), Beta: float64(s.users[b] - k + 1), Src: s.random}.Rand()
	return s.index(b, place), place
}

// after returns the grid index of the next user after the one of a rank, who is at a place of their bucket.
func (s *bucketSample) after(rank int64, place float64) int64 {
	b, k := s.bucketOf(rank)
	next, _ := s.bucketOf(rank + 1)
	left := s.users[next] // those who may be the next one are independent of each other
	if next == b {
		left -= k
	} else {
		place = 0
	}
	first := distuv.Beta{Alpha: 1, Beta: float64(left), Src: s.random}.Rand()
	return s.index(next, place+(1-place)*first)
}

// bucketOf returns the bucket of the user of a rank, from 1 on, and their rank in it.
func (s *bucketSample) bucketOf(rank int64) (bucket int, within int64) {
	for s.users[bucket] < rank {
		rank -= s.users[bucket]
		bucket++
	}
	return bucket, rank
}

func (s *bucketSample) index(bucket int, place float64) int64 {
	before := 0.0
	if bucket > 0 {
		before = s.upTo[bucket-1]
	}
	return s.shape.index(before+place*(s.upTo[bucket]-before), s.grid)
}
