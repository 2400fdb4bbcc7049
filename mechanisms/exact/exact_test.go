package exact

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

func testSource(seed byte) *Source { return NewSource(rand.NewChaCha8([32]byte{seed})) }

func fits(t *testing.T, name string, counts []int64, law []float64) {
	t.Helper()
	if statistic, threshold := dptest.ChiSquare(counts, law); statistic > threshold {
		t.Errorf("%s: χ² = %.1f > %.1f (false alarm below 10⁻⁶)", name, statistic, threshold)
	}
}

func TestBelowAndCoin(t *testing.T) {
	s := testSource(1)
	for _, n := range []uint64{1, 2, 3, 7} {
		law := make([]float64, n)
		for i := range law {
			law[i] = 1 / float64(n)
		}
		fits(t, "Below", dptest.Counts(20000, int(n), func() int { return int(s.Below(n)) }), law)
	}
	// Below rejects the 2^64 mod n surplus values. Without that, every multiple of 3 would come twice as often as other
	// numbers; from a remainder in the place of a product, every x < n/3 would.
	const n = 3 << 62
	thirds := []float64{1. / 3, 1. / 3, 1. / 3}
	fits(t, "Below(3·2^62) mod 3", dptest.Counts(20000, 3, func() int { return int(s.Below(n) % 3) }), thirds)
	fits(t, "Below(3·2^62) / 2^62", dptest.Counts(20000, 3, func() int { return int(s.Below(n) >> 62) }), thirds)
	fits(t, "Coin", dptest.Counts(20000, 2, func() int {
		if s.Coin(3, 10) {
			return 1
		}
		return 0
	}), []float64{0.7, 0.3})
}

func TestFailingReader(t *testing.T) {
	broken := errors.New("broken")
	s := NewSource(io.MultiReader(bytes.NewReader(make([]byte, 256)), iotest.ErrReader(broken)))
	for range 1000 { // every loop must still end
		s.DiscreteLaplace(1, 1000, 1)
		s.Below(3 << 62)
	}
	if !errors.Is(s.Err(), broken) {
		t.Errorf("Err() = %v, want %v", s.Err(), broken)
	}
}

func TestDiscreteLaplace(t *testing.T) {
	s := testSource(2)
	for _, c := range []struct{ num, den, scale uint64 }{{1, 1, 1}, {1, 10, 1}, {1, 1, 10}, {5, 2, 1}, {20, 7, 6},
		{123456789012345678, 300000000000000000, 1}, {1 << 62, 1 << 32, 3 << 31}} {
		epsilon := float64(c.num) / float64(c.den) / float64(c.scale)
		const side = 60
		law := func(factor float64) []float64 {
			p := make([]float64, 2*side+1)
			for x := -side; x <= side; x++ {
				p[x+side] = math.Exp(-factor * epsilon * math.Abs(float64(x)))
			}
			// The two end cells also count everything past them.
			tail := math.Exp(-factor*epsilon*side) / -math.Expm1(-factor*epsilon)
			p[0], p[2*side] = tail, tail
			return dptest.Normalise(p)
		}
		counts := dptest.Counts(20000, 2*side+1, func() int {
			return int(min(max(s.DiscreteLaplace(c.num, c.den, c.scale).Int64(), -side), side)) + side
		})
		dptest.CheckSampler(t, "discrete Laplace", counts, law)
	}
	if x := s.DiscreteLaplace(1e18, 1, 1); x.Sign() != 0 {
		t.Errorf("ε = 10^18 gives %d", x)
	}
	// Noise has no limit: |z| exceeds 10^30 with probability e^{−1}.
	beyond := 0
	for range 100 {
		if s.DiscreteLaplace(1, 1e18, 1e12).BitLen() >= 100 { // 2^99 = 0.63·10^30
			beyond++
		}
	}
	// Binomial(100, e^{−0.634} = 0.53) lies in 26..80 except with probability 10⁻⁷.
	if beyond < 26 || beyond > 80 {
		t.Errorf("%d of 100 numbers have 100 digits", beyond)
	}
}

func TestExpCoins(t *testing.T) {
	s := testSource(3)
	for _, y := range []*big.Rat{big.NewRat(1, 3), big.NewRat(1, 1), big.NewRat(5, 2)} {
		p, _ := y.Float64()
		p = math.Exp(-p)
		r := NewRate(new(big.Rat).Mul(y, big.NewRat(1, 7)))
		fits(t, "ExpCoin", dptest.Counts(20000, 2, coin(func() bool { return s.ExpCoin(r, 7) })), []float64{1 - p, p})
		if y.Cmp(big.NewRat(1, 1)) <= 0 {
			fits(t, "expCoin", dptest.Counts(20000, 2, coin(func() bool {
				return s.expCoin(func() bool { return s.Coin(y.Num().Uint64(), y.Denom().Uint64()) })
			})), []float64{1 - p, p})
		}
	}
	if !s.ExpCoin(NewRate(big.NewRat(1e6, 1)), 0) || s.ExpCoin(NewRate(big.NewRat(1e6, 1)), math.MaxInt64) {
		t.Error("ExpCoin of 0 or of 10^25")
	}
}

func coin(f func() bool) func() int {
	return func() int {
		if f() {
			return 1
		}
		return 0
	}
}

// bitsThen yields the given 64 bits, most significant first, then bits from a random source.
func bitsThen(first uint64) io.Reader {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(first >> (8 * i))
	}
	return io.MultiReader(bytes.NewReader(b), rand.NewChaCha8([32]byte{9}))
}

// A uniform number next to a border needs more digits, and they give the right answer.
func TestRefinement(t *testing.T) {
	rate := NewRate(big.NewRat(1, 3))
	weight := rate.Interval(1, 64) // e^{−1/3}
	border, _ := new(big.Float).SetMantExp(weight.Lo, 64).Uint64()
	for delta := int64(-3000); delta <= 3000; delta += 8 {
		s := NewSource(bitsThen(border + uint64(delta)))
		if got := s.ExpCoin(rate, 1); got != (delta < 0) && delta != 0 {
			t.Fatalf("ExpCoin at %d·2^−64 from its border: %v", delta, got)
		}
		if s.Refined() != 1 {
			t.Fatalf("ExpCoin at %d·2^−64 from its border was decided by float64", delta)
		}
	}

	// The shares are 3 and 5·e^{−1/3}, so the border is 3/(3+5e^{−1/3}).
	share := FromInt(3, 200).Quo(FromInt(3, 200).Add(FromInt(5, 200).Mul(rate.Interval(1, 200))))
	border, _ = new(big.Float).SetMantExp(share.Lo, 64).Uint64()
	var w Wheel
	for delta := int64(-3000); delta <= 3000; delta += 8 {
		s := NewSource(bitsThen(border + uint64(delta)))
		w.Reset(rate, 10)
		w.Add(3, 10)
		w.Add(5, 11)
		want := 0
		if delta > 0 {
			want = 1
		}
		if got := w.Spin(s); got != want && delta != 0 {
			t.Fatalf("Spin at %d·2^−64 from the border: %d", delta, got)
		}
		if s.Refined() != 1 {
			t.Fatalf("Spin at %d·2^−64 from the border was decided by float64", delta)
		}
	}
}

// Intervals agree with every answer that float64 gives.
func TestWheelRefinesToTheSame(t *testing.T) {
	s := testSource(4)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var w Wheel
		w.Reset(NewRate(big.NewRat(rng.Int64N(1000)+1, rng.Int64N(1000)+1)), -5)
		w.Add(1, -5)
		for range rng.IntN(20) {
			w.Add(rng.Uint64()>>1>>rng.IntN(63), rng.Int64N(50)-5)
		}
		u := s.Uint64()
		s.Reset(bitsThen(u))
		got := w.Spin(s)
		s.Reset(bitsThen(u))
		number := s.Uniform()
		if want, ok := w.refine(number.Interval(300)); !ok || got != want {
			t.Fatalf("Spin = %d, in long arithmetic %d, %v", got, want, ok)
		}
	}
}

func TestWheel(t *testing.T) {
	s := testSource(5)
	var w Wheel
	w.Reset(NewRate(big.NewRat(1, 2)), 3)
	w.Add(2, 5)
	w.Add(1, 3)
	w.Add(9, 6)
	w.Add(1<<62, 1000)
	w.Add(4, 5)
	dptest.CheckSampler(t, "wheel", dptest.Counts(50000, 5, func() int { return w.Spin(s) }),
		func(f float64) []float64 {
			return dptest.Normalise([]float64{2 * math.Exp(-f), 1, 9 * math.Exp(-1.5*f), 0, 4 * math.Exp(-f)})
		})
}

func TestIntervals(t *testing.T) {
	// e and ln 2, from tables.
	const (
		e = "2.7182818284590452353602874713526624977572470936999595749669676277240766303535475945713821785251664274" +
			"27466"
		ln2 = "0.6931471805599453094172321214581765680755001343602552541206800094933936219696947156058633269964186871" +
			"47542"
	)
	near := func(name string, x Interval, want string) {
		t.Helper()
		w, _, _ := big.ParseFloat(want, 10, 400, big.ToNearestEven)
		gap := new(big.Float).Sub(x.Hi, x.Lo)
		if d := new(big.Float).Sub(w, x.Lo); d.Cmp(big.NewFloat(-1e-100)) < 0 ||
			d.Cmp(new(big.Float).Add(gap, big.NewFloat(1e-100))) > 0 {
			t.Errorf("%s is not in [%.110g, %.110g]", name, x.Lo, x.Hi)
		}
		if gap.Cmp(big.NewFloat(1e-90)) > 0 {
			t.Errorf("%s: enclosure %g is too wide", name, gap)
		}
	}
	near("e", FromInt(1, 320).Exp(), e)
	near("ln 2", FromInt(2, 320).Log(), ln2)
	near("ln(1/8) + 3 ln 2", FromInt(1, 320).Quo(FromInt(8, 320)).Log().Add(FromInt(3, 320).Mul(FromInt(2, 320).Log())),
		"0")

	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		x := (rng.Float64() - 0.5) * math.Exp(20*rng.Float64()-10)
		rat := new(big.Rat).SetFloat64(x)
		coarse, fine := FromRat(rat, 80).Exp(), FromRat(rat, 500).Exp()
		if coarse.Lo.Cmp(fine.Lo) > 0 || coarse.Hi.Cmp(fine.Hi) < 0 {
			t.Fatalf("e^%v: 80 bits do not enclose 500 bits", x)
		}
		back := fine.Log()
		if want := FromRat(rat, 500); back.Lo.Cmp(want.Hi) > 0 || back.Hi.Cmp(want.Lo) < 0 ||
			new(big.Float).Sub(back.Hi, back.Lo).Cmp(big.NewFloat(1e-100)) > 0 {
			t.Fatalf("ln e^%v = [%.40g, %.40g]", x, back.Lo, back.Hi)
		}
	}
	if x := FromInt(-1<<40, 64).Exp(); x.Lo.Sign() != 0 || x.Hi.Sign() <= 0 || x.Hi.Cmp(big.NewFloat(1e-300)) > 0 {
		t.Errorf("e^{−2^40} in [%g, %g]", x.Lo, x.Hi)
	}
}

// The bound on a weight's error holds with room to spare.
func TestWeightError(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	worst := 0.0
	for range 5000 {
		r := NewRate(big.NewRat(rng.Int64N(1e15)+1, rng.Int64N(1e15)+1))
		k := int64(rng.Float64() * 690 / r.Float())
		e := r.Interval(k, 120)
		w := new(big.Float).SetFloat64(r.Weight(k))
		d, _ := new(big.Float).Quo(w.Sub(w, e.Lo), e.Lo).Float64()
		worst = max(worst, math.Abs(d))
	}
	t.Logf("largest relative error 2^%.1f", math.Log2(worst))
	if worst > WeightError/2 {
		t.Errorf("relative error %g, half the bound is %g", worst, WeightError/2)
	}
}

func BenchmarkDiscreteLaplace(b *testing.B) {
	s := testSource(6)
	for b.Loop() {
		s.DiscreteLaplace(1, 10, 1)
	}
}
