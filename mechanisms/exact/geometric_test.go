package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

func TestGeometric(t *testing.T) {
	s := testSource(31)
	for _, kappa := range []*big.Rat{big.NewRat(1, 1), big.NewRat(1, 10), big.NewRat(7, 3),
		big.NewRat(123456789012345678, 300000000000000000)} {
		rate := NewRate(kappa)
		const cells = 60
		law := func(factor float64) []float64 {
			p := make([]float64, cells)
			for k := range p {
				p[k] = -math.Expm1(-factor*rate.Float()) * math.Exp(-factor*rate.Float()*float64(k))
			}
			p[cells-1] = math.Exp(-factor * rate.Float() * (cells - 1)) // this and everything above
			return p
		}
		counts := dptest.Counts(60_000, cells, func() int { return int(min(s.Geometric(rate).Int64(), cells-1)) })
		dptest.CheckSampler(t, "geometric "+kappa.String(), counts, law)
	}
}

// float64 and the refinement draw the same number from the same bits. With a tiny κ only the refinement is exact.
func TestGeometricRefines(t *testing.T) {
	for seed := range byte(50) {
		u := testSource(seed).Uniform()
		for _, kappa := range []*big.Rat{big.NewRat(1, 3), big.NewRat(1, 1e12), big.NewRat(1, 1e18)} {
			got := testSource(seed).Geometric(NewRate(kappa))
			// k ≤ −ln(u)/κ < k+1, in 200 bits
			quotient := u.Interval(200).Log().Neg().Mul(FromRat(new(big.Rat).Inv(kappa), 200))
			if want := whole(quotient.Lo); got.Cmp(want) != 0 {
				t.Errorf("seed %d, κ = %v: %v, want %v", seed, kappa, got, want)
			}
		}
	}
	s := testSource(1)
	for range 100 {
		s.Geometric(NewRate(big.NewRat(1, 1e18)))
	}
	if s.Refined() == 0 {
		t.Error("no draw with κ = 10^−18 was refined")
	}
}

// A coin for a k too large for int64: κ·k = ½.
func TestExpCoinOfLarge(t *testing.T) {
	s := NewSource(rand.NewChaCha8([32]byte{33}))
	k := new(big.Int).Lsh(big.NewInt(1), 80)
	rate := NewRate(new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 81)))
	law := func(factor float64) []float64 {
		p := math.Exp(-0.5 * factor)
		return []float64{1 - p, p}
	}
	for _, draw := range []func() bool{
		func() bool { return s.ExpCoinOf(rate, k) },
		func() bool { return s.ExpCoinOf(NewRate(big.NewRat(1, 6)), big.NewInt(3)) },
	} {
		counts := dptest.Counts(60_000, 2, func() int {
			if draw() {
				return 1
			}
			return 0
		})
		dptest.CheckSampler(t, "coin", counts, law)
	}
}
