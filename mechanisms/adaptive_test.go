package mechanisms

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// The library gives the same bits as the reference program and an independent copy of it.
func TestFilterVectors(t *testing.T) {
	type release struct {
		x int64
		a uint64
	}
	for _, c := range []struct {
		points, anchor, p, q int64
		releases             []release
		mass, hash           uint64
	}{
		{60001, 0, 1, 2, []release{{118, 163840}, {30000, 163840}, {125, 163840}, {130, 0}}, 4611685762876801924,
			9636850713023249261},
		{20001, 10000, 9, 10, []release{{11500, 400000}, {11800, 50000}}, 4611685838038750690, 18351110271707615904},
		{5, 0, 1, 2, []release{{3, 200000}, {4, 200000}}, 4611686011984936960, 3788438947114254336},
	} {
		bounds := cellBounds(c.points, c.anchor, 16, 32)
		f := newFilter(bounds, evenMass(bounds), c.p, c.q)
		for _, r := range c.releases {
			f.update(r.x, r.a, r.a)
			f.Predict()
		}
		m := f.Measure()
		hash := uint64(0)
		for _, w := range m.weight {
			hash = hash*1000003 + w
		}
		if m.total() != c.mass || hash != c.hash {
			t.Errorf("%d points: mass %d, hash %d, want %d, %d", c.points, m.total(), hash, c.mass, c.hash)
		}
	}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		lower, upper, step string
		cells              int
	}{{"0", "60000", "1", 165}, {"-10", "10", "0.001", 117}, {"0", "1e9", "1", 326},
		{"0", "9007199254740992", "1", 590}, {"1", "5", "1", 5}} {
		g := grid(t, c.lower, c.upper, c.step)
		m := Cells(g)
		if len(m.weight) != c.cells || m.bounds[0] != 0 || m.bounds[c.cells] != g.last+1 {
			t.Errorf("%s to %s: %d cells from %d to %d, want %d", c.lower, c.upper, len(m.weight), m.bounds[0],
				m.bounds[len(m.weight)], c.cells)
		}
		for j, w := range m.weight {
			if m.bounds[j] >= m.bounds[j+1] || w < 1 {
				t.Fatalf("%s to %s: cell %d from %d to %d, weight %d", c.lower, c.upper, j,
					m.bounds[j], m.bounds[j+1], w)
			}
		}
		if m.total() >= 1<<63 {
			t.Errorf("%s to %s: total mass %d", c.lower, c.upper, m.total())
		}
	}
}

// at inverts below, which adds up the weights.
func TestMeasureInverts(t *testing.T) {
	for _, m := range []*Measure{lopsided(40), Cells(smallGrid(t, 300)), Uniform(smallGrid(t, 7)),
		Cells(grid(t, "-5", "5", "0.1"))} {
		sum := uint64(0)
		for x := range m.bounds[len(m.bounds)-1] {
			weight := m.weight[m.cell(x)]
			if m.below(x) != sum || m.at(sum) != x || m.at(sum+weight-1) != x {
				t.Fatalf("point %d: below %d, want %d; at %d, %d", x, m.below(x), sum, m.at(sum), m.at(sum+weight-1))
			}
			sum += weight
		}
		if sum != m.total() {
			t.Fatalf("total %d, want %d", m.total(), sum)
		}
	}
}

func filter(t testing.TB, q Query) *Filter {
	t.Helper()
	q.Prior = "adaptive"
	f, err := NewFilter(q)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFilterCertainty(t *testing.T) {
	g := smallGrid(t, 60001)
	for _, c := range []struct {
		p           string
		tilt        [2]int64
		epsilon     string
		expected    int64
		users       *int64
		left, right uint64
	}{
		{"0.5", [2]int64{1, 1}, "0.1", 0, new(int64(50)), 163840, 163840}, // 2^16·0.1·25
		{"0.5", [2]int64{1, 1}, "0.1", 0, nil, 163840, 163840},            // 25 users are assumed
		{"0.5", [2]int64{1, 1}, "0.1", 20, nil, 65536, 65536},
		{"0.5", [2]int64{1, 1}, "0.1", 0, new(int64(-3)), 0, 0},
		{"0.9", [2]int64{1, 1}, "1", 0, nil, 4551111, 4551111}, // 2^16·125/1.8
		{"0.5", [2]int64{1, 1}, "1000000", 0, new(int64(1e6)), 1 << 30, 1 << 30},
		// R = 99 + 198: 2^16·0.1·100·{100, 200}/297
		{"0.99", [2]int64{1, 2}, "0.1", 0, new(int64(200)), 220660, 441320},
		{"0.99", [2]int64{}, "0.1", 0, new(int64(200)), 220660, 441320}, // twice that of 2·297
		{"0.01", [2]int64{}, "0.1", 0, new(int64(200)), 441320, 220660},
	} {
		f := filter(t, Query{Statistic: Quantile, P: ps(c.p), Tilt: c.tilt, Epsilon: dec(c.epsilon),
			ExpectedUsers: c.expected, Grid: g})
		left, right := f.certainty(c.users, f.left), f.certainty(c.users, f.right)
		if left != c.left || right != c.right {
			t.Errorf("%+v: certainties %d, %d", c, left, right)
		}
	}
}

// Two windows share one user. The second measure is a function of the first release, and the joint law costs at most ε
// for each window with that user.
func TestAdaptiveComposition(t *testing.T) {
	const points, epsilon = 4, 1.0
	g := smallGrid(t, points)
	m := build(t, Query{Statistic: Median, Epsilon: dec("1"), Grid: g, Prior: "adaptive"}).(*ranks)
	bounds := cellBounds(points, 0, 16, 32)
	first := newFilter(bounds, taperedMass(bounds, 0), 1, 2)
	second := make([]*Measure, points)
	for x := range second {
		f := newFilter(bounds, taperedMass(bounds, 0), 1, 2)
		f.update(int64(x), 200000, 200000)
		f.Predict()
		second[x] = f.Measure()
	}
	joint := func(repeat bool) dptest.Law {
		fixed := sampleOf(g, []int64{1, 0, 2, 0})
		return func(h []int64) []float64 {
			s, next := sampleOf(g, h), fixed
			if repeat {
				next = s
			}
			var p []float64
			for x, a := range lawOf(points, newTour(m, s), m.rate.Float(), first.Measure()) {
				for _, b := range lawOf(points, newTour(m, next), m.rate.Float(), second[x]) {
					p = append(p, a*b)
				}
			}
			return p
		}
	}
	for repeat, limit := range map[bool]float64{false: epsilon, true: 2 * epsilon} {
		got := dptest.MaxLogRatio(points, 5, joint(repeat))
		t.Logf("in both windows %v: %.3f ε", repeat, got/epsilon)
		if got > limit*(1+1e-9) || got < 0.6*limit {
			t.Errorf("in both windows %v: %v is lost, want up to %v", repeat, got, limit)
		}
	}
}

// The filter follows a stream: with little information its draws are far better than draws under the fixed measure.
func TestFilterLearns(t *testing.T) {
	g := smallGrid(t, 60001)
	random := rand.NewChaCha8([32]byte{8})
	q := Query{Statistic: Median, Epsilon: dec("0.1"), Grid: g, Mechanism: "margin", Prior: "cells"}
	m := build(t, q)
	f := filter(t, q)
	var learnt, fixed, smooth float64
	const windows = 150
	for i := range windows {
		s := latencies(g, 50+i%3)
		truth := float64(s.values[s.at((s.n+1)/2)])
		users := &s.n
		a, err := m.Draw(s, Public{Measure: f.Measure()}, random)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := m.Draw(s, Public{}, random)
		f.Update(a.Values[0].Number, users)
		smoothed, ok := f.Smoothed(a.Values[0].Number, users)
		if !ok {
			t.Fatalf("%d is not smoothed", a.Values[0].Number)
		}
		f.Predict()
		if i >= 10 {
			learnt += math.Abs(float64(a.Values[0].Number) - truth)
			fixed += math.Abs(float64(b.Values[0].Number) - truth)
			smooth += math.Abs(float64(smoothed) - truth)
		}
	}
	t.Logf("mean error: adaptive %.0f, cells %.0f, smoothed %.0f", learnt/windows, fixed/windows, smooth/windows)
	// With cells alone the errors are in the thousands, so the difference is not chance.
	if learnt > fixed/2 || smooth > learnt {
		t.Errorf("errors: adaptive %.0f, cells %.0f, smoothed %.0f", learnt, fixed, smooth)
	}
}

// rank_error_95 is max(α, 1−α)·(2/ε)·ln(V/(η·v)) for the total mass V and the least weight v of a point; V/v is the
// number of points if all weights are equal. However certain an adaptive measure has become, it gives every cell a 16th
// of its tapered weight, and more for the moves of the quantile that it considers possible.
func TestRankErrorOfMeasures(t *testing.T) {
	const epsilon, eta = 0.1, 0.05
	g := smallGrid(t, 60001)
	q := Query{Statistic: Quantile, P: ps("0.75"), Tilt: [2]int64{1, 1}, Epsilon: dec("0.1"), Grid: g}
	m := build(t, q)
	s := latencies(g, 1000)
	f := filter(t, q)
	for range 30 { // increasingly certain
		f.Update(150, new(int64(1e6)))
		f.Predict()
	}
	fold := 0.75 * 2 / epsilon
	for _, c := range []struct {
		name    string
		measure *Measure
		want    float64
	}{
		{"uniform", Uniform(g), fold * math.Log(60001/eta)},
		{"adaptive", f.Measure(), fold * (math.Log(16) + Tapered(g).surprise(eta))},
	} {
		d, err := m.Draw(s, Public{Measure: c.measure}, rand.NewChaCha8([32]byte{9}))
		if err != nil || d.Values[0].RankError95 > c.want*1.001 || d.Values[0].RankError95 < c.want*0.9 {
			t.Errorf("%s: %v, %v, want %v", c.name, d.Values, err, c.want)
		}
	}
}

func TestSmoothedOnlyWhereReliable(t *testing.T) {
	g := smallGrid(t, 60001)
	for _, c := range []struct {
		p     string
		users *int64
		want  bool
	}{
		{"0.5", nil, true},
		{"0.5", new(int64(5)), true},
		{"0.9", nil, false},
		{"0.9", new(int64(999)), false},
		{"0.9", new(int64(1000)), true},
	} {
		f := filter(t, Query{Statistic: Quantile, P: ps(c.p), Epsilon: dec("0.1"), Grid: g})
		f.Update(100, c.users)
		if _, got := f.Smoothed(100, c.users); got != c.want {
			t.Errorf("p %s, %+v: smoothed is %v, want %v", c.p, c.users, got, c.want)
		}
	}
	if _, err := NewFilter(Query{Statistic: Mode, Epsilon: dec("1"), Grid: g, Prior: "adaptive"}); err == nil {
		t.Error("a filter for the mode")
	}
}

// The table matches its comment, and the exponential is within 2^−29 of the true one.
func TestExpNeg(t *testing.T) {
	for i, got := range expTable {
		x, _ := new(big.Float).SetFloat64(math.Ldexp(1, i-32)).Float64()
		if want := math.Ldexp(math.Exp(-x), 63); math.Abs(float64(got)-want) > 1+want*1e-15 {
			t.Errorf("entry %d is %d, want %v", i, got, want)
		}
	}
	for y := 0.0; y < 21; y += 0.37 {
		got, want := float64(expNeg(uint64(math.Ldexp(y, 32)))), math.Ldexp(math.Exp(-y), 31)
		if math.Abs(got-want) > 2 {
			t.Errorf("e^−%v = %v, want %v", y, got, want)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	f := filter(b, Query{Statistic: Median, Epsilon: dec("0.1"), Grid: smallGrid(b, 60001)})
	users := new(int64(1000))
	b.ReportAllocs()
	for x := int64(100); b.Loop(); x = 300 - x {
		f.Update(x, users)
		f.Predict()
		_ = f.Measure()
	}
}

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
