package mechanisms

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainFilter is the filter as its definition says it, without a thought for time: every sum is written out, every
// window is predicted for itself, and every likelihood is computed. What a filter learns decides the law of the next
// draw, and everybody who recomputes it must find the same, so the quick one has to agree with it in every bit.
type plainFilter struct {
	bounds                       []int64
	flat, posterior, state, mass []uint64
	deviation                    []uint64
}

func plainly(f *Filter) *plainFilter {
	return &plainFilter{bounds: f.bounds, flat: f.flat, deviation: f.deviation, posterior: slices.Clone(f.posterior),
		state: slices.Clone(f.state), mass: slices.Clone(f.mass)}
}

func (f *plainFilter) predict() {
	c := len(f.flat)
	moved := make([]uint64, c)
	for i, p := range f.posterior {
		for j := range moved {
			k := max(i-j, j-i)
			moved[j] += p * max(1, (1<<30)/uint64(1+2*k*k))
		}
	}
	normalise(moved)
	for j, m := range moved {
		f.state[j] = (254*m + 2*f.flat[j]) >> 8
		f.mass[j] = max(1, (240*f.state[j]+16*f.flat[j])>>8)
	}
}

func (f *plainFilter) update(x int64, left, right uint64) {
	c := len(f.flat)
	likelihood := make([]uint64, 2*c-1)
	for k, d := range f.deviation {
		certainty := left
		if k >= c {
			certainty = right
		}
		hi, lo := bits.Mul64(certainty, d)
		likelihood[k] = expNeg(min(hi<<48|lo>>16, 1<<40))
	}
	r := cellOf(f.bounds, x)
	for j := range f.posterior {
		row := likelihood[c-1-j : 2*c-1-j]
		z := uint64(0)
		for i, m := range f.mass {
			z += m * row[i]
		}
		f.posterior[j] = mulDiv(f.state[j]*row[r], 1<<40, z)
	}
	normalise(f.posterior)
}

// agree compares a filter with the plain one over windows: some without a release, and after those that have one, as
// many predictions as drawn.
func agree(t *testing.T, points, anchor, p, q int64, windows int, random *rand.Rand) {
	t.Helper()
	bounds := cellBounds(points, anchor, 16, 32)
	f := newFilter(bounds, taperedMass(bounds, anchor), p, q)
	plain := plainly(f)
	plain.predict()
	for i := range windows {
		if random.IntN(4) > 0 {
			x := random.Int64N(points)
			if random.IntN(2) > 0 { // most streams stay where they are
				x = points / 3
			}
			// From nothing learnt to a certainty that leaves one cell.
			left, right := random.Uint64N(1<<random.IntN(31)), random.Uint64N(1<<random.IntN(31))
			f.update(x, left, right)
			plain.update(x, left, right)
		}
		for range random.IntN(3) {
			f.Predict()
			plain.predict()
		}
		if !slices.Equal(f.posterior, plain.posterior) || !slices.Equal(f.state, plain.state) ||
			!slices.Equal(f.mass, plain.mass) {
			t.Fatalf("%d points around %d, quantile %d/%d: another state in window %d", points, anchor, p, q, i)
		}
	}
}

func TestFilterIsThePlainOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for points := int64(2); points < 40; points++ { // every number of cells left over by four
		agree(t, points, 0, 1, 2, 20, random)
	}
	for _, points := range []int64{1001, 60001, 1e9, math.MaxInt32 << 20} {
		for _, quantile := range [][2]int64{{1, 2}, {1, 100}, {99, 100}, {999, 1000}} {
			agree(t, points, random.Int64N(points), quantile[0], quantile[1], 20, random)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(int64(60001), int64(0), int64(9), int64(10), uint64(1))
	f.Add(int64(5), int64(2), int64(1), int64(2), uint64(7))
	f.Fuzz(func(t *testing.T, points, anchor, p, q int64, seed uint64) {
		if points < 2 || points > 1<<53 || anchor < 0 || anchor >= points || p < 1 || q <= p || q > 1e6 {
			return // not a grid and a quantile
		}
		agree(t, points, anchor, p, q, 8, rand.New(rand.NewPCG(seed, 1)))
	})
}

// A second prediction changes nothing, and one after an update does.
func TestPredictTwiceIsOnce(t *testing.T) {
	f := filter(t, Query{Statistic: Median, Epsilon: dec("0.1"), Grid: smallGrid(t, 60001)})
	f.Update(100, nil)
	f.Predict()
	once := f.Measure().weight
	f.Predict()
	if !slices.Equal(once, f.Measure().weight) {
		t.Error("a second prediction changed the measure")
	}
	f.Update(20000, nil)
	f.Predict()
	if slices.Equal(once, f.Measure().weight) {
		t.Error("an update was not predicted")
	}
}
