package mechanisms

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// The bands of a program that shares no code with this package: five series, 45 windows. Whole numbers and bases are
// the same, and all else in nine decimals.
func TestScatterVectors(t *testing.T) {
	type bandVectors struct {
		Grid  struct{ Upper, Cells int64 }
		Cases []struct {
			Name                 string
			P, Q                 int64
			Epsilon, Left, Right json.Number
			Steps                []struct {
				X, Users         int64
				Pit              float64
				Low, High        *int64
				Basis            Basis
				Usual            *float64
				Scale, Rho, Half float64
			}
		}
	}
	vectors := dptest.Vectors[bandVectors](t, "bands_vectors.json")
	bounds := smallGrid(t, int(vectors.Grid.Upper)+1).cells()
	if int64(len(bounds)-1) != vectors.Grid.Cells {
		t.Fatalf("%d cells, want %d", len(bounds)-1, vectors.Grid.Cells)
	}
	windows := 0
	for _, c := range vectors.Cases {
		epsilon := rat(t, c.Epsilon.String())
		ranks := new(big.Rat).Add(rat(t, c.Left.String()), rat(t, c.Right.String()))
		ranks.Quo(ranks, new(big.Rat).Mul(big.NewRat(2, 1), epsilon))
		s := newScatter(bounds, c.P, c.Q, epsilon, ranks)
		for i, want := range c.Steps {
			windows++
			got := s.Next(want.X, &want.Users, want.Pit)
			if got.Basis != want.Basis {
				t.Errorf("%s, window %d: basis %s, want %s", c.Name, i, got.Basis, want.Basis)
			}
			if want.Low != nil && (got.Low != *want.Low || got.High != *want.High) {
				t.Errorf("%s, window %d: %d to %d, want %d to %d", c.Name, i, got.Low, got.High, *want.Low, *want.High)
			}
			usual := 0.0
			if want.Usual != nil {
				usual = *want.Usual
			}
			for _, x := range [][2]float64{{got.Usual, usual}, {s.sum / s.shape, want.Scale},
				{min(s.follows/s.of, 0.99), want.Rho}} {
				if math.Abs(x[0]-x[1]) > 0.6e-6*max(1, x[1]*1e-3) {
					t.Errorf("%s, window %d: %v, want %v", c.Name, i, x[0], x[1])
				}
			}
		}
	}
	if windows != 45 {
		t.Errorf("%d windows, want 45", windows)
	}
}

// The same bits come out on every machine, also where a product and a sum can be fused: a program in another language
// gave the hash.
func TestScatterIsTheSameEverywhere(t *testing.T) {
	s := newScatter(smallGrid(t, 60001).cells(), 9, 10, big.NewRat(1, 7), big.NewRat(47, 3))
	hash := uint64(0)
	for i := range int64(2000) {
		k := i / 3 // values repeat, and some of the counts are low
		b := s.Next(150+k*k%97, new(1000+i*37%1001), float64(i*i%89)/89)
		for _, x := range []float64{float64(b.Low), float64(b.High), b.Usual, s.sum, s.shape, s.follows, s.of} {
			hash = hash*1000003 + math.Float64bits(x)
		}
	}
	if want := uint64(15707779691869358757); hash != want {
		t.Errorf("the bits have the hash %d, want %d", hash, want)
	}
}

// Each literal is the double next to 20^{1/a} − 1, and the state's shape is that a. They are computed anew with
// intervals of 200 bits.
func TestReach95(t *testing.T) {
	const digits = 200
	one, log20 := exact.FromInt(1, digits), exact.FromInt(20, digits).Log()
	s := newScatter(smallGrid(t, 60001).cells(), 1, 2, big.NewRat(1, 10), big.NewRat(10, 1))
	left := big.NewRat(15, 1) // 15·(15/16)^k
	for k, literal := range reach95 {
		a := new(big.Rat).Sub(big.NewRat(17, 1), left)
		c := log20.Quo(exact.FromRat(a, digits)).Exp().Sub(one)
		low, _ := c.Lo.Float64()
		high, _ := c.Hi.Float64()
		if low != literal || high != literal {
			t.Errorf("entry %d is %v; want %v", k, literal, low)
		}
		shape, _ := a.Float64()
		if s.windows != min(k, len(reach95)-1) || math.Abs(s.shape-shape) > 1e-13 {
			t.Errorf("after %d distances the state has %d and the shape %v; want %v", k, s.windows, s.shape, shape)
		}
		s.Next(int64(100+k%3), new(int64(1000)), 0.5)
		if k == 0 {
			s.Next(101, new(int64(1000)), 0.5)
		}
		left.Mul(left, big.NewRat(15, 16))
	}
	if want, _ := log20.Lo.Float64(); heavyTail != 24*want {
		t.Errorf("heavy tails are %v scales wide; want %v", float64(heavyTail), 24*want)
	}
	for range 1000 { // the table ends
		s.Next(100, new(int64(1000)), 0.5)
	}
	if s.windows != len(reach95)-1 {
		t.Errorf("%d distances are counted, want %d", s.windows, len(reach95)-1)
	}
}

// A band always holds the value, and lies in the grid: for values at its ends, for jumps, and for counts that are
// negative, huge or just enough.
func TestBandsHoldTheValue(t *testing.T) {
	const last = 60000
	g := smallGrid(t, last+1)
	for _, p := range []string{"0.001", "0.1", "0.5", "0.99"} {
		f := filter(t, Query{Statistic: Quantile, P: ps(p), Epsilon: dec("0.1"), Grid: g})
		bands := 0
		for i := range int64(300) {
			x := []int64{0, last, 1, last - 1, 17, 30000, i * 199 % (last + 1)}[i%7]
			users := []int64{-5, 0, 1, f.scatter.least - 1, f.scatter.least, 1e6, 1 << 60}[i*i%7]
			b := f.Update(x, &users)
			f.Predict()
			if enough := users >= f.scatter.least; !enough && b.Basis != BasisRanks {
				t.Fatalf("p %s, %d users: basis %s, want %s", p, users, b.Basis, BasisRanks)
			}
			if b.Basis == BasisRanks {
				continue
			}
			bands++
			if b.Low < 0 || b.Low > x || b.High < x || b.High > last ||
				(b.Basis == BasisScatter) != (b.Usual > 0) || math.IsInf(b.Usual, 0) {
				t.Fatalf("p %s, value %d, %d users: %+v", p, x, users, b)
			}
		}
		if bands < 20 {
			t.Errorf("p %s: only %d bands", p, bands)
		}
	}
}

// The least count with a band makes ε·n·min(α, 1−α) exactly 5, or 8 in a tail. What one e-folding of the weight is
// worth is that of the mechanism.
func TestScatterOfQueries(t *testing.T) {
	g := smallGrid(t, 1001)
	for _, c := range []struct {
		q     Query
		least int64
		ranks float64 // 0: no bands
	}{
		{Query{Statistic: Median, Epsilon: dec("0.1")}, 100, 10},
		{Query{Statistic: Median, Epsilon: dec("0.3")}, 34, 1 / 0.3},
		{Query{Statistic: Quantile, P: ps("0.75"), Epsilon: dec("0.1")}, 200, 15},
		{Query{Statistic: Quantile, P: ps("0.9"), Epsilon: dec("0.1")}, 800, 20.25}, // 27 and 13.5
		{Query{Statistic: Quantile, P: ps("0.9"), Tilt: [2]int64{1, 2}, Epsilon: dec("0.1")}, 800, 20.25},
		{Query{Statistic: Quantile, P: ps("0.99"), Epsilon: dec("1")}, 800, 2.2275},
		{Query{Statistic: Median, Mechanism: "duff", Epsilon: dec("0.1")}, 0, 0},
		{Query{Statistic: Median, Interval: new(dec("0.9")), Epsilon: dec("0.1")}, 0, 0},
	} {
		c.q.Grid = g
		f := filter(t, c.q)
		if s := f.scatter; c.ranks == 0 {
			if s != nil {
				t.Errorf("%+v has bands", c.q)
			}
			if b := f.Update(5, new(int64(1e6))); b.Basis != BasisRanks {
				t.Errorf("%+v: basis %s", c.q, b.Basis)
			}
		} else if s == nil || s.least != c.least || math.Abs(s.ranks-c.ranks) > 1e-12 {
			t.Errorf("%+v: %+v; want %d users and %v ranks", c.q, s, c.least, c.ranks)
		}
	}
	f := filter(t, Query{Statistic: Median, Epsilon: dec("0.1"), Grid: g})
	if b := f.Update(5, nil); b.Basis != BasisRanks {
		t.Errorf("without a count: basis %s", b.Basis)
	}
}

// Where values repeat, a leap that has happened three times is usual. One incident leaps twice, and the next one is
// still told from that. Values that do not repeat tell their noise themselves.
func TestLeapsBetweenHeaps(t *testing.T) {
	for name, c := range map[string]struct {
		leaps   int
		repeats bool
		usual   bool
	}{
		"twice":             {2, true, false},
		"three times":       {3, true, true},
		"without repeating": {3, false, false},
	} {
		s := newScatter(smallGrid(t, 60001).cells(), 1, 2, big.NewRat(1, 10), big.NewRat(10, 1))
		at, b := int64(3), Band{}
		for i := range 40 * (c.leaps + 1) {
			if i > 0 && i%40 == 0 {
				at = 7 - at // 3 and 4
			}
			x := at
			if !c.repeats {
				x = 1000*at + int64(i%2)
			}
			b = s.Next(x, new(int64(2000)), float64(i%2))
			s.follows = 0 // the data speak
		}
		leap := 1.0
		if !c.repeats {
			leap = 1000
		}
		if b.Basis != BasisScatter || (b.Usual >= 2*leap) != c.usual {
			t.Errorf("%s: %+v after leaps of %v; want usual %t", name, b, leap, c.usual)
		}
	}
}

// A band of few users holds the last values of the series, for 32 to 64 windows. With many users it does not.
func TestFewUsersHoldTheLastValues(t *testing.T) {
	for users, want := range map[int64]bool{100: true, 299: true, 300: false} {
		s := newScatter(smallGrid(t, 60001).cells(), 1, 2, big.NewRat(1, 10), big.NewRat(10, 1))
		last := 0
		for i := range 100 {
			x := int64(50000)
			if i == 0 {
				x = 10
			}
			if b := s.Next(x, &users, float64(i%2)/2); b.Basis != BasisRanks && b.Low <= 10 {
				last = i
			}
		}
		if (last >= 32) != want || last >= 64 {
			t.Errorf("%d users: the first value is in the band of window %d", users, last)
		}
	}
}

// The share of a measure below a point counts half of the point itself.
func TestShare(t *testing.T) {
	m := newMeasure([]int64{0, 2, 3, 7}, []uint64{3, 10, 1})
	for x, want := range []float64{1.5, 4.5, 11, 16.5, 17.5, 18.5, 19.5} {
		if got := m.Share(int64(x)); got != want/20 {
			t.Errorf("share below %d: %v, want %v", x, got, want/20)
		}
	}
	for _, m := range []*Measure{Uniform(smallGrid(t, 60001)), Cells(grid(t, "0", "9007199254740992", "1"))} {
		last := m.bounds[len(m.bounds)-1] - 1
		if low, high := m.Share(0), m.Share(last); !(0 < low && low < high && high <= 1) {
			t.Errorf("shares from %v to %v", low, high)
		}
	}
}

// Values as far apart as Usual have a probability of 5 %; the others are 1.38540^−17 and 2.92700^−17.
func TestApart(t *testing.T) {
	for _, c := range [][3]float64{{0, 7, 1}, {7, 7, 0.05}, {14, 7, 0.00392}, {70, 7, 1.177e-8}} {
		if got := Apart(c[0], c[1]); math.Abs(got/c[2]-1) > 0.01 {
			t.Errorf("%v apart, usually %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

func ExampleScatter() {
	g, _ := NewGrid(dec("0"), dec("60000"), dec("1"))
	f, _ := NewFilter(Query{Statistic: Median, Epsilon: dec("0.1"), Prior: "adaptive", Grid: g})
	users := int64(1000)
	for _, x := range []int64{118, 121, 119, 120, 122} {
		b := f.Update(x, &users)
		f.Predict()
		fmt.Println(b.Low, x, b.High, b.Basis)
	}
	// Output:
	// 95 118 147 shape
	// 102 121 143 shape
	// 105 119 136 scatter
	// 110 120 131 scatter
	// 113 122 132 scatter
}

func BenchmarkScatter(b *testing.B) {
	f := filter(b, Query{Statistic: Median, Epsilon: dec("0.1"), Grid: smallGrid(b, 60001)})
	users, m := new(int64(1000)), f.Measure()
	b.ReportAllocs()
	for x := int64(100); b.Loop(); x = 300 - x {
		f.scatter.Next(x, users, m.Share(x))
	}
}
