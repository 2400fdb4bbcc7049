package exact

import (
	"bytes"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// picker returns weights e^{−κ·k} with their long forms.
func picker(r Rate, levels []int64) (weights []float64, long func(uint) []Interval) {
	for _, k := range levels {
		weights = append(weights, r.Weight(k))
	}
	return weights, func(prec uint) []Interval {
		all := make([]Interval, len(levels))
		for i, k := range levels {
			all[i] = r.Interval(k, prec)
		}
		return all
	}
}

func TestPick(t *testing.T) {
	s := testSource(11)
	levels := []int64{3, 0, 900, 1, 1, 5, 2}
	weights, long := picker(NewRate(big.NewRat(7, 10)), levels)
	dptest.CheckSampler(t, "pick", dptest.Counts(50000, len(levels),
		func() int { return s.Pick(weights, WeightError, long) }), func(f float64) []float64 {
		law := make([]float64, len(levels))
		for i, k := range levels {
			law[i] = math.Exp(-0.7 * f * float64(k))
		}
		return dptest.Normalise(law)
	})
	if got := s.Pick([]float64{1}, WeightError, nil); got != 0 {
		t.Errorf("of one: %d", got)
	}
}

// Of equal weights, each has its own share of the numbers, in whatever block it is added up.
func TestPickFindsEveryWeight(t *testing.T) {
	for _, n := range []int{1, 2, block - 1, block, block + 1, 2 * block, 5*block + 7} {
		weights, long := picker(NewRate(big.NewRat(1, 1)), make([]int64, n))
		for i := range n {
			middle := uint64((float64(i) + 0.5) / float64(n) * 0x1p64)
			if got := NewSource(bitsThen(middle)).Pick(weights, WeightError, long); got != i {
				t.Fatalf("%d weights: %d in the middle of the share of %d", n, got, i)
			}
		}
	}
}

// A number next to a border needs more digits, and they give the right answer.
func TestPickRefines(t *testing.T) {
	rate := NewRate(big.NewRat(1, 3))
	weights, long := picker(rate, []int64{0, 1})
	share := FromInt(1, 200).Quo(FromInt(1, 200).Add(rate.Interval(1, 200)))
	border, _ := new(big.Float).SetMantExp(share.Lo, 64).Uint64()
	for delta := int64(-3000); delta <= 3000; delta += 8 {
		s := NewSource(bitsThen(border + uint64(delta)))
		want := 0
		if delta > 0 {
			want = 1
		}
		if got := s.Pick(weights, WeightError, long); got != want && delta != 0 {
			t.Fatalf("at %d·2^−64 from the border: %d", delta, got)
		}
		if s.Refined() != 1 {
			t.Fatalf("at %d·2^−64 from the border float64 decided", delta)
		}
	}
}

// Long arithmetic agrees with every answer that float64 gives: a slack of 1 refines everything.
func TestPickRefinesToTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for range 500 {
		levels := make([]int64, 2+rng.IntN(30))
		for i := range levels {
			levels[i] = rng.Int64N(40)
		}
		weights, long := picker(NewRate(big.NewRat(rng.Int64N(1000)+1, rng.Int64N(1000)+1)), levels)
		first := make([]byte, 8)
		for i := range first {
			first[i] = byte(rng.Uint32())
		}
		reader := func() io.Reader { return io.MultiReader(bytes.NewReader(first), rand.NewChaCha8([32]byte{9})) }
		plain, refined := NewSource(reader()), NewSource(reader())
		got, want := plain.Pick(weights, WeightError, long), refined.Pick(weights, 1, long)
		if got != want || refined.Refined() != 1 {
			t.Fatalf("%v: %d by float64, %d by long arithmetic", levels, got, want)
		}
	}
}

func TestDiscreteGaussian(t *testing.T) {
	s := testSource(12)
	for _, variance := range []*big.Rat{big.NewRat(1, 9), big.NewRat(1, 1), big.NewRat(22, 7), big.NewRat(300, 1)} {
		v, _ := variance.Float64()
		side := int(8*math.Sqrt(v)) + 8
		law := func(factor float64) []float64 {
			p := make([]float64, 2*side+1)
			for x := range p {
				z := float64(x - side)
				p[x] = math.Exp(-factor * z * z / (2 * v))
			}
			return dptest.Normalise(p)
		}
		g := NewGaussian(variance)
		counts := dptest.Counts(20000, 2*side+1, func() int {
			return int(min(max(s.DiscreteGaussian(g).Int64(), -int64(side)), int64(side))) + side
		})
		dptest.CheckSampler(t, "discrete Gaussian of variance "+variance.String(), counts, law)
	}
	// σ = 2^100 needs more than 64 bits. |z| < σ has probability 0.683: Binomial(400, 0.683) lies in 223..321 except
	// with probability 10⁻⁷.
	g, within := NewGaussian(new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 200))), 0
	for range 400 {
		if s.DiscreteGaussian(g).BitLen() <= 100 {
			within++
		}
	}
	if within < 223 || within > 321 {
		t.Errorf("%d of 400 numbers lie within σ = 2^100", within)
	}
}

// The float64 of an exponent is as near to it as it says, for small and large variances, near the centre and far from
// it. So float64 decides only what is certain.
func TestGaussianExponent(t *testing.T) {
	rng, s := rand.New(rand.NewPCG(14, 14)), testSource(14)
	for i := range 400 {
		part := func() int64 { return rng.Int64N(1<<(1+rng.IntN(60))) + 1 }
		variance := big.NewRat(part(), part())
		if i%4 == 0 {
			variance.Mul(variance, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(rng.IntN(170)))))
		}
		g := NewGaussian(variance)
		centre := new(big.Int).Quo(g.variance.Num(), new(big.Int).Mul(g.variance.Denom(), g.scale.Num()))
		for k := range int64(60) {
			y := s.DiscreteLaplace(1, g.high, uint64(1)<<g.shift)
			switch k % 3 {
			case 1:
				y.Mul(y, big.NewInt(k))
			case 2:
				y.Add(centre, big.NewInt(k-30))
			}
			near, off := g.near(y)
			d := new(big.Float).SetPrec(400).SetRat(g.exponent(y))
			if d.Sub(d, big.NewFloat(near)).Abs(d).Cmp(big.NewFloat(off)) > 0 {
				t.Fatalf("variance %s, y = %s: %v misses the exponent by %v; want at most %v",
					variance, y, near, d, off)
			}
		}
		if s.Refined() > 0 {
			t.Fatalf("variance %s: float64 left a draw open", variance)
		}
	}
}

func BenchmarkDiscreteGaussian(b *testing.B) {
	s, g := testSource(13), NewGaussian(big.NewRat(1000000, 7))
	for b.Loop() {
		s.DiscreteGaussian(g)
	}
}
