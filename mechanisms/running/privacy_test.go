package running

import (
	"crypto/rand"
	"fmt"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
)

// small is a tree of 4 leaves with so many levels of two nodes each, whose shares are those of real trees.
func small(t *testing.T, depth int, epsilon string, most int64) *tree {
	t.Helper()
	p := newTree(t, []int64{0, 40, 41, 601}[depth], epsilon, most)
	size := int64(1)
	for l := range p.levels {
		p.levels[l].size = size
		size *= 2
	}
	p.branching = 2
	return p
}

// loss is the largest privacy loss that amounts of one person in leaves cause. The exact sums are those that Add and
// Draw give: with an ε of 10^9 the noise is 0, except with a probability below e^{−10^8}. Discrete Laplace noise of
// P(z) ∝ e^{−|z|·r} that is shifted by d has a largest loss of exactly |d|·r.
func loss(t *testing.T, depth int, epsilon string, most int64, amounts []int64) *big.Rat {
	t.Helper()
	p, exact := small(t, depth, epsilon, most), small(t, depth, "1000000000", most)
	sum, open := new(big.Rat), Open(nil)
	for i, x := range amounts {
		leaf := int64(i + 1)
		open = exact.Add(open, leaf, x)
		draws, err := exact.Draw(open, leaf, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		exact.Close(open, leaf)
		for l, y := range draws {
			d := new(big.Rat).SetInt(new(big.Int).Abs(y))
			d.Mul(d, p.levels[l].rate)
			sum.Add(sum, d.Quo(d, new(big.Rat).SetInt64(most)))
		}
	}
	return sum
}

// streams lists the amounts of 4 leaves, from −most to most, that add up to at most sum in absolute terms.
func streams(most, sum int64) (all [][]int64) {
	var more func(so []int64, left int64)
	more = func(so []int64, left int64) {
		if len(so) == 4 {
			all = append(all, append([]int64(nil), so...))
			return
		}
		for x := -min(most, left); x <= min(most, left); x++ {
			more(append(so, x), left-max(x, -x))
		}
	}
	more(nil, sum)
	return all
}

// TestWorstLoss enumerates everything that one person can add. The worst loss is ε, exactly. A person who counts twice
// although c is 1 loses 2ε: so a walk that forgot who has counted would be found.
func TestWorstLoss(t *testing.T) {
	for _, c := range []struct {
		depth           int
		most, sum, want int64
	}{{1, 1, 1, 1}, {2, 1, 1, 1}, {3, 1, 1, 1}, {2, 2, 2, 1}, {3, 2, 2, 1}, {2, 1, 2, 2}, {3, 1, 2, 2}} {
		worst, want := new(big.Rat), new(big.Rat).Mul(big.NewRat(7, 10), big.NewRat(c.want, 1))
		for _, v := range streams(c.most, c.sum) {
			if l := loss(t, c.depth, "0.7", c.most, v); l.Cmp(worst) > 0 {
				worst = l
			}
		}
		if worst.Cmp(want) != 0 {
			t.Errorf("%d levels, c %d, a person adds %d: the worst loss is %s, want %s", c.depth,
				c.most, c.sum, worst, want)
		}
	}
}

// TestSharesAreWhole: the levels of every tree spend ε, and the promise says so.
func TestSharesAreWhole(t *testing.T) {
	for n := int64(1); n < 50_000; n = n*5/4 + 1 {
		p, sum := newTree(t, n, "0.3", 1), new(big.Rat)
		for _, l := range p.levels {
			sum.Add(sum, l.rate)
		}
		if sum.Cmp(big.NewRat(3, 10)) != 0 || p.Promise().Epsilon.String() != "0.3" {
			t.Errorf("%d leaves: the levels spend %s", n, sum)
		}
	}
	// Σ s² of two and three levels is 0.505 and 0.3359375.
	for leaves, want := range map[int64]string{24: "0.5", 96: "0.2525", 1440: "0.16796875"} {
		rho := newTree(t, leaves, "1", 1).Promise().Rho
		if d := rho.Sub(decimal.RequireFromString(want)); d.IsNegative() || d.GreaterThan(decimal.New(1, -9)) {
			t.Errorf("%d leaves: ρ %s, want %s", leaves, rho, want)
		}
	}
}

// TestWorstShift: whatever one person adds, ‖shift‖²/(2σ²) is at most ρ, and exactly that if all of it is in the first
// leaf of the longest period. That is a leaf longer than others, as the day of 25 hours is.
func TestWorstShift(t *testing.T) {
	const most = 2
	strategy, err := NewSquareRoot(Period{Leaves: 3, Longest: 4}, decimal.RequireFromString("0.7"), most)
	if err != nil {
		t.Fatal(err)
	}
	s, worst := strategy.(*squareRoot), new(big.Rat)
	for _, v := range streams(most, most) {
		sum, open := new(big.Rat), Open(nil)
		for i, x := range v {
			leaf := int64(i + 1)
			open = s.Add(open, leaf, x)
			y := new(big.Rat).SetInt(s.weighted(open, leaf))
			sum.Add(sum, y.Mul(y, y))
		}
		if sum.Cmp(worst) > 0 {
			worst = sum
		}
	}
	worst.Quo(worst, new(big.Rat).Mul(s.noise.Variance(), big.NewRat(2, 1)))
	if rho := s.Promise().Rho.Rat(); worst.Cmp(rho) != 0 {
		t.Errorf("the worst ρ is %s, want %s", worst, rho)
	}
}

// TestNoise: the noise has the rate of its level. P(Z=0) = (1−q)/(1+q), q = e^{−rate}. By Hoeffding's inequality the
// share of n = 40,000 draws is off by more than 0.0135 with a probability below 2·e^{−2·40000·0.0135²} < 10^−6 for each
// of the two levels. A rate of 1 in the place of 0.55 or 0.45 has 0.46, and a doubled one 0.5 or 0.42.
func TestNoise(t *testing.T) {
	p := newTree(t, 96, "1", 1)
	const n = 40_000
	var zero [2]int
	for range n {
		draws, err := p.Draw(make(Open, 2), 10, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		for l, y := range draws {
			if y.Sign() == 0 {
				zero[l]++
			}
		}
	}
	for l, rate := range []float64{0.55, 0.45} {
		q := math.Exp(-rate)
		if got, want := float64(zero[l])/n, (1-q)/(1+q); math.Abs(got-want) > 0.0135 {
			t.Errorf("level %d: the noise is 0 in a share of %.4f, want %.4f", l, got, want)
		}
	}
	// Of the square root only the variance is new: its mean square over n draws of a normal law has a relative standard
	// deviation of √(2/n), and is off by more than 6 of them with a probability below 10^−8.
	s, sum := newSquareRoot(t, 24, "1", 3), 0.0
	want, _ := s.noise.Variance().Float64()
	const m = 4_000
	for range m {
		draws, err := s.Draw(nil, 1, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		z, _ := new(big.Float).SetInt(draws[0]).Float64()
		sum += z * z / want
	}
	if off := math.Abs(sum/m - 1); off > 6*math.Sqrt(2.0/m) {
		t.Errorf("the mean square of the noise is off by a share of %.3f", off)
	}
}

// TestNoiseIsExact compares the noise with what package exact draws from the same random bits at the rates that were
// asked for. The samplers use the bits in another way at another rate, so that 1.01·ε soon differs from ε.
func TestNoiseIsExact(t *testing.T) {
	const most = 3
	tree, root := newTree(t, 96, "0.3", most), newSquareRoot(t, 24, "0.3", most)
	squares := new(big.Int)
	for _, f := range root.coefficients {
		squares.Add(squares, new(big.Int).Mul(f, f))
	}
	// c²·ΣF²/(2ρ), 2ρ = ε²
	law := exact.NewGaussian(new(big.Rat).Quo(new(big.Rat).SetInt(squares.Mul(squares, big.NewInt(most*most))),
		big.NewRat(9, 100)))
	for _, c := range []struct {
		Strategy
		want []func(*exact.Source) *big.Int
	}{
		{tree, []func(*exact.Source) *big.Int{ // 0.55 and 0.45 of ε
			func(s *exact.Source) *big.Int { return s.DiscreteLaplace(33, 200, most) },
			func(s *exact.Source) *big.Int { return s.DiscreteLaplace(27, 200, most) },
		}},
		{root, []func(*exact.Source) *big.Int{
			func(s *exact.Source) *big.Int { return s.DiscreteGaussian(law) },
		}},
	} {
		random, same := mathrand.NewChaCha8([32]byte{37}), mathrand.NewChaCha8([32]byte{37})
		for i := range 300 {
			draws, err := c.Draw(nil, 10, random) // the tenth leaf ends a node of the tree, too
			if err != nil || len(draws) != len(c.want) {
				t.Fatal(len(draws), err)
			}
			source := exact.NewSource(same)
			for l, z := range draws {
				if want := c.want[l](source); z.Cmp(want) != 0 {
					t.Fatalf("%s, draw %d, level %d: %d; want %d", c.Name(), i, l, z, want)
				}
			}
		}
	}
}

// TestTotals: without noise, totals are the sums of the leaves.
func TestTotals(t *testing.T) {
	for _, s := range []Strategy{newTree(t, 24, "1000000000", 1), newTree(t, 96, "1000000000", 1),
		newTree(t, 1440, "1000000000", 1), newTree(t, 10000, "1000000000", 1), newSquareRoot(t,
			1500, "1000000000000", 1)} {
		var open Open
		var known Known
		sum := int64(0)
		for leaf := int64(1); leaf <= 1500; leaf++ {
			x := leaf * leaf % 97
			sum += x
			open = s.Add(open, leaf, x-3)
			open = s.Add(open, leaf, 3)
			draws, err := s.Draw(open, leaf, rand.Reader)
			if err != nil || len(draws) != s.Draws(leaf) {
				t.Fatalf("%d draws, %v", len(draws), err)
			}
			s.Close(open, leaf)
			known = s.Fold(known, leaf, draws)
			if total := s.Total(known, leaf); total.Int64() != sum {
				t.Fatalf("%s: the total up to leaf %d is %d, want %d", s.Name(), leaf, total, sum)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	one := decimal.NewFromInt(1)
	for _, make := range []func() (Strategy, error){
		func() (Strategy, error) { return NewTree(Period{}, one, 1) },
		func() (Strategy, error) { return NewTree(Period{Leaves: 24, Longest: 25}, one, 0) },
		func() (Strategy, error) { return NewTree(Period{Leaves: 24, Longest: 25}, one, MostTotal+1) },
		func() (Strategy, error) { return NewTree(Period{Leaves: 24, Longest: 25}, decimal.Zero, 1) },
		func() (Strategy, error) {
			return NewTree(Period{Leaves: 24, Longest: 25}, decimal.New(123456789012345678, -30), 1)
		},
		func() (Strategy, error) { return NewSquareRoot(Period{Leaves: 9000, Longest: 10_001}, one, 1) },
		func() (Strategy, error) { return NewSquareRoot(Period{Leaves: 24, Longest: 25}, one, MostTotal+1) },
	} {
		if s, err := make(); err == nil {
			t.Errorf("%s was made", fmt.Sprint(s))
		}
	}
	if _, err := newSquareRoot(t, 3, "1", 1).Draw(nil, 4, rand.Reader); err == nil {
		t.Error("a leaf beyond the longest period was drawn")
	}
}
