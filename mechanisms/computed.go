package mechanisms

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

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
