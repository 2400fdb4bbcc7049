package running

import (
	"crypto/rand"
	"encoding/json"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

type centredVectors struct {
	Plans []struct {
		Leaves, Tau, D int64
		W1, W2         string
		Epsilon        map[string]struct {
			Variance  string `json:"gaussian_variance"`
			Scale     int64  `json:"laplace_c"`
			Gaussian  int64  `json:"error_95_gaussian"`
			Laplacian int64  `json:"error_95_laplace"`
		}
	}
	Worst []struct {
		Leaves       int64 `json:"leaves_a_day"`
		Past         int
		Squares      float64 `json:"worst_squares"`
		BoundSquares float64 `json:"bound_squares"`
		Sum          float64 `json:"worst_sum"`
		BoundSum     float64 `json:"bound_sum"`
	}
	Draws struct {
		Leaves    int64         `json:"leaves_a_day"`
		Active    []int64       `json:"active"`
		Without   []json.Number `json:"without_noise"`
		Draws     []json.Number
		Estimates []json.Number `json:"estimates_2_24"`
		Values    []int64
	}
}

func newCentred(t testing.TB, leaves int64, epsilon string, gaussian bool) *centred {
	t.Helper()
	make := NewCentred
	if gaussian {
		make = NewCentredGaussian
	}
	s, err := make(leaves, 0, decimal.RequireFromString(epsilon))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*centred)
}

func TestCentredPlans(t *testing.T) {
	v := dptest.Vectors[centredVectors](t, "centred.json")
	if len(v.Plans) != 9 {
		t.Fatalf("%d plans", len(v.Plans))
	}
	for _, p := range v.Plans {
		l, err := newCentring(p.Leaves, 0, decimal.NewFromInt(1))
		if err != nil {
			t.Fatal(err)
		}
		w1, w2 := l.absolute.bound(p.Leaves).RatString(), l.squares.bound(p.Leaves).RatString()
		if l.tau != p.Tau || l.d != p.D || w1 != p.W1 || w2 != p.W2 {
			t.Errorf("%d leaves: τ %d, D %d, W₁ %s, W₂ %s; want %d, %d, %s, %s", p.Leaves, l.tau, l.d, w1, w2, p.Tau,
				p.D, p.W1, p.W2)
		}
		if got := l.scale(); got.Int64() != p.Epsilon["1"].Scale {
			t.Errorf("%d leaves: the scale is %d, want %d", p.Leaves, got, p.Epsilon["1"].Scale)
		}
		for epsilon, want := range map[string]string{"0.1": "1/10", "1": "1"} {
			variance := new(big.Rat).Quo(l.shifts(l.squares.bound(p.Leaves)), // 2ρ = ε²
				times(decimal.RequireFromString(epsilon).Rat(), decimal.RequireFromString(epsilon).Rat()))
			if e := p.Epsilon[want]; variance.RatString() != e.Variance {
				t.Errorf("%d leaves, ε %s: the variance is %s, want %s", p.Leaves, epsilon, variance, e.Variance)
			} else if g, z := newCentred(t, p.Leaves, epsilon, true), newCentred(t, p.Leaves, epsilon,
				false); g.Error95(1) != e.Gaussian || z.Error95(1) != e.Laplacian {
				t.Errorf("%d leaves, ε %s: the errors are %d and %d, want %d and %d", p.Leaves, epsilon, g.Error95(1),
					z.Error95(1), e.Gaussian, e.Laplacian)
			}
		}
	}
}

// TestCentredVectors follows twelve leaves with and without noise.
func TestCentredVectors(t *testing.T) {
	v := dptest.Vectors[centredVectors](t, "centred.json").Draws
	c := newCentred(t, v.Leaves, "1", true)
	var open Open
	var known Known
	for i, n := range v.Active {
		leaf := int64(i + 1)
		open = c.Add(open, leaf, n)
		y := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(open[1]), unitBits), c.law.most(big.NewInt(open[0])))
		if y.String() != v.Without[i].String() {
			t.Errorf("leaf %d: without noise y is %s, want %s", leaf, y, v.Without[i])
		}
		c.Close(open, leaf)
		known = c.Fold(known, leaf, []*big.Int{whole(t, v.Draws[i])})
		if known[1].String() != v.Estimates[i].String() || max(0, c.Total(known, leaf).Int64()) != v.Values[i] {
			t.Errorf("leaf %d: the estimate is %s and the value %s, want %s and %d", leaf, known[1], c.Total(known, leaf),
				v.Estimates[i], v.Values[i])
		}
	}
}

// TestCentredDecodes: without noise, values are the counts, whatever is rounded. If the draw of a leaf subtracted the
// mean after that leaf, they would not be.
func TestCentredDecodes(t *testing.T) {
	r := mathrand.New(mathrand.NewPCG(43, 1))
	for _, leaves := range []int64{1, 11, 12, 96, 288, 1440} {
		// With this ε the noise is below 2^−10 persons, except with a probability below e^−1000.
		c := newCentred(t, leaves, "1000000000", false)
		var open Open
		var known, late Known
		differs := false
		for leaf := int64(1); leaf <= 2000; leaf++ {
			n := r.Int64N(1 << (1 + leaf%30))
			open = c.Add(c.Add(open, leaf, n+3), leaf, -3)
			mean := open[0]
			draws, err := c.Draw(open, leaf, rand.Reader)
			if err != nil || len(draws) != c.Draws(leaf) {
				t.Fatal(len(draws), err)
			}
			c.Close(open, leaf)
			known = c.Fold(known, leaf, draws)
			if got := c.Total(known, leaf).Int64(); got != n {
				t.Fatalf("%d leaves: the value of leaf %d is %d, want %d", leaves, leaf, got, n)
			}
			wrong := new(big.Int).Add(draws[0], c.law.most(big.NewInt(mean)))
			late = c.Fold(late, leaf, []*big.Int{wrong.Sub(wrong, c.law.most(big.NewInt(open[0])))})
			differs = differs || c.Total(late, leaf).Int64() != n
		}
		if leaves >= leastCentred && !differs {
			t.Errorf("%d leaves: the mean of another leaf makes no difference", leaves)
		}
	}
}

// TestCentredNoiseIsExact compares the noise with what package exact draws from the same random bits.
func TestCentredNoiseIsExact(t *testing.T) {
	// T = 96: c = 932739310 units, and the variance at ε 0.1, as in the vectors.
	variance, _ := new(big.Rat).SetString("1514863722383565809254400/1702701")
	law := exact.NewGaussian(variance)
	for gaussian, want := range map[bool]func(*exact.Source) *big.Int{
		false: func(s *exact.Source) *big.Int { return s.DiscreteLaplace(1, 10, 932739310) },
		true:  func(s *exact.Source) *big.Int { return s.DiscreteGaussian(law) },
	} {
		c := newCentred(t, 96, "0.1", gaussian)
		random, same := mathrand.NewChaCha8([32]byte{43}), mathrand.NewChaCha8([32]byte{43})
		for i := range 300 {
			draws, err := c.Draw(nil, 1, random)
			if err != nil {
				t.Fatal(err)
			}
			if z := want(exact.NewSource(same)); draws[0].Cmp(z) != 0 {
				t.Fatalf("%s, draw %d: %d; want %d", c.Name(), i, draws[0], z)
			}
		}
	}
}

// TestCentredErrors follows 100,000 leaves with noise of the exact law. At most 5 % of the values may be beyond
// error_95. Errors of leaves that lie 20·τ·D apart are as good as independent, and those of neighbours nearly so: a
// share of Z below a tenth is in the next error. So of n values the share beyond it deviates like that of n/2
// independent ones: 5.6 % or more have a probability of e^{−n/2·KL(0.056, 0.05)} < 10^−7 (Chernoff; the KL is
// 3.6·10^−4). Noise that is 5 % too large is found: 6.2 % are then expected.
func TestCentredErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second")
	}
	const n = 100_000
	r := mathrand.New(mathrand.NewPCG(43, 2))
	for _, leaves := range []int64{6, 24, 288, 1440} {
		for _, gaussian := range []bool{false, true} {
			c := newCentred(t, leaves, "0.05", gaussian)
			size, _ := new(big.Float).SetInt(c.law.scale()).Float64()
			noise := laplace(r, 0.05/size)
			if squares, _ := c.law.shifts(c.law.squares.bound(leaves)).Float64(); gaussian {
				noise = func() int64 { return int64(math.Round(r.NormFloat64() * math.Sqrt(squares) / 0.05)) }
			}
			var known Known
			var open Open
			missed, larger := 0, 0
			for range n {
				active := 5_000 + r.Int64N(100)
				open = c.Add(open, 1, active)
				y := new(big.Int).Lsh(big.NewInt(active), unitBits)
				y.Sub(y, c.law.most(big.NewInt(open[0])))
				c.Close(open, 1)
				known = c.Fold(known, 1, []*big.Int{y.Add(y, big.NewInt(noise()))})
				off := c.Total(known, 1).Int64() - active
				if off = max(off, -off); off > c.Error95(1) {
					missed++
				}
				if float64(off)*1.05 > float64(c.Error95(1)) {
					larger++
				}
			}
			t.Logf("%s, %d leaves: %.2f %% of the values are off by more than %d", c.Name(), leaves,
				100*float64(missed)/n, c.Error95(1))
			if missed > n*56/1000 {
				t.Error("that is too many")
			}
			if gaussian && larger <= n*56/1000 {
				t.Errorf("with 5 %% more noise it would be %.2f %%, and nobody would see it", 100*float64(larger)/n)
			}
		}
	}
}

// TestCentredApart compares the bound with the law of Gaussian noise, and with Laplace noise as it is drawn. See
// [TestApart] for the threshold.
func TestCentredApart(t *testing.T) {
	for _, leaves := range []int64{6, 96, 1440} { // near 0 a cumulant is half the variance times λ²
		for _, gaussian := range []bool{false, true} {
			c := newCentred(t, leaves, "0.1", gaussian)
			lambda := 1e-3 / c.sigma
			if got := 2 * c.noise(lambda) / (lambda * lambda); got < (1-1e-4)*c.sigma*c.sigma || got > 1.01*c.sigma*c.sigma {
				t.Errorf("%s, %d leaves: the cumulant is that of a variance of %v, want %v", c.Name(), leaves, got,
					c.sigma*c.sigma)
			}
		}
	}
	g := newCentred(t, 288, "0.1", true)
	for _, z := range []float64{2, 3, 4} {
		distance := int64(z * math.Sqrt2 * g.sigma)
		exact := math.Erfc(float64(distance)/(2*g.sigma)) / 2
		if bound := g.Apart(1, distance); bound < exact || bound > 100*exact {
			t.Errorf("more than %d apart with a probability of %.3g; the bound is %.3g", distance, exact, bound)
		}
	}
	const pairs = 60_000
	r := mathrand.New(mathrand.NewPCG(43, 3))
	c := newCentred(t, 96, "0.1", false)
	size, _ := new(big.Float).SetInt(c.law.scale()).Float64()
	noise := laplace(r, 0.1/size)
	u, d := 1/float64(c.law.tau), float64(c.law.d)
	mean := 0.0
	values := make([]float64, 0, 2*pairs)
	for range 2 * pairs {
		z := float64(noise())
		values = append(values, math.Ldexp(z+(1-1/d)*mean, -unitBits))
		mean += u * (z - mean/d)
	}
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	for times := int64(2); times <= 5; times++ {
		distance := c.Error95(1) * times / 2
		seen := 0.0
		for pair := range slices.Chunk(values, 2) {
			if pair[0]-pair[1] > float64(distance) {
				seen++
			}
		}
		expected := pairs * c.Apart(1, distance)
		if seen > expected+6*math.Sqrt(expected)+12 || seen > 50 && seen < expected/100 {
			t.Errorf("%v of %d pairs are more than %d apart; %v are expected at most", seen, pairs, distance, expected)
		}
	}
}

func TestCentredRefuses(t *testing.T) {
	one := decimal.NewFromInt(1)
	for _, make := range []func() (Active, error){
		func() (Active, error) { return NewCentred(0, 0, one) },
		func() (Active, error) { return NewCentred(MostCentred+1, 0, one) },
		func() (Active, error) { return NewCentred(288, -1, one) },
		func() (Active, error) { return NewCentred(288, 0, decimal.New(123456789012345678, -30)) },
		func() (Active, error) { return NewCentredGaussian(288, MostActiveGroups+1, one) },
		func() (Active, error) { return NewCentredGaussian(288, 0, decimal.Zero) },
	} {
		if s, err := make(); err == nil {
			t.Errorf("%s was made", s.Name())
		}
	}
}
