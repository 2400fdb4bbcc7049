package general

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// everyScores calls f with all combinations of scores 0..3 for one to four candidates, and a few κ.
func everyScores(f func(kappa float64, scores []int64)) {
	for _, kappa := range []float64{0.1, 0.7, 3} {
		for n := 1; n <= 4; n++ {
			for code := range 1 << (2 * n) {
				scores := make([]int64, n)
				for i := range scores {
					scores[i] = int64(code >> (2 * i) & 3)
				}
				f(kappa, scores)
			}
		}
	}
}

// permuteAndFlip computes the law from its definition, over all orders and all coins.
func permuteAndFlip(kappa float64, scores []int64) []float64 {
	top := scores[0]
	for _, s := range scores {
		top = max(top, s)
	}
	p := make([]float64, len(scores))
	orders := 0.0
	var visit func(order []int)
	visit = func(order []int) {
		if len(order) == len(scores) {
			orders++
			noneBefore := 1.0
			for _, i := range order { // the coin of a best candidate is always heads
				head := math.Exp(-kappa * float64(top-scores[i]))
				p[i] += noneBefore * head
				noneBefore *= 1 - head
			}
			return
		}
		for i := range scores {
			used := false
			for _, j := range order {
				used = used || i == j
			}
			if !used {
				visit(append(order[:len(order):len(order)], i))
			}
		}
	}
	visit(nil)
	for i := range p {
		p[i] /= orders
	}
	return p
}

// noisyMaxExponential computes the law from the keys: P(i) = ∫ f(x−κs_i)·Π_{j≠i} F(x−κs_j) dx for the density
// f = e^{−x} and F = 1 − e^{−x}, over x ≥ κ·best. With t = e^{κ·best−x} it is p_i·∫_0^1 Π(1−p_j·t) dt,
// p_j = e^{−κ(best−s_j)}: the integral of a polynomial.
func noisyMaxExponential(kappa float64, scores []int64) []float64 {
	top := scores[0]
	for _, s := range scores {
		top = max(top, s)
	}
	p := make([]float64, len(scores))
	for i, own := range scores {
		product := []float64{1}
		for j, s := range scores {
			if j == i {
				continue
			}
			next := make([]float64, len(product)+1)
			for k, a := range product {
				next[k] += a
				next[k+1] -= a * math.Exp(-kappa*float64(top-s))
			}
			product = next
		}
		for k, a := range product {
			p[i] += a / float64(k+1) * math.Exp(-kappa*float64(top-own))
		}
	}
	return p
}

// noisyMaxGumbel computes the law from the keys, P(i) = ∫ f(x−κs_i)·Π_{j≠i} F(x−κs_j) dx for F = e^{−e^{−x}}, by the
// trapezoid rule, which converges exponentially for such integrands.
func noisyMaxGumbel(kappa float64, scores []int64) []float64 {
	p := make([]float64, len(scores))
	const step = 0.05
	for x := -8.0; x < 60; x += step {
		for i, own := range scores {
			exponent := -(x - kappa*float64(own))
			for _, s := range scores {
				exponent -= math.Exp(-(x - kappa*float64(s)))
			}
			p[i] += step * math.Exp(exponent)
		}
	}
	return p
}

func same(t *testing.T, name string, kappa float64, scores []int64, a, b []float64) {
	t.Helper()
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-11 {
			t.Fatalf("%s, κ = %v, scores %v: %v and %v", name, kappa, scores, a, b)
		}
	}
}

// Report-noisy-max with exponential noise is permute-and-flip, and with Gumbel noise it is the exponential mechanism.
func TestNoisyMaxLaws(t *testing.T) {
	everyScores(func(kappa float64, scores []int64) {
		c := Selection{Sensitivity: 1, Monotone: true}
		flip := permuteAndFlip(kappa, scores)
		same(t, "exponential noise", kappa, scores, noisyMaxExponential(kappa, scores), flip)
		same(t, "permute and flip", kappa, scores, law(true, c, kappa, scores), flip)
		same(t, "Gumbel noise", kappa, scores, noisyMaxGumbel(kappa, scores), law(false, c, kappa, scores))
	})
}

// words is a random source that yields the given bits, then zeros.
func words(values ...uint64) *bytes.Reader {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return bytes.NewReader(append(b, make([]byte, 4096)...))
}

// Equal first words leave float64 undecided and the next words decide: the smaller u has the larger exponential noise
// and the smaller Gumbel noise.
func TestNoisyMaxRefines(t *testing.T) {
	rate := exact.NewRate(dec("0.5").Rat())
	for _, c := range []struct {
		name    string
		noise   exact.Noise
		scores  []int64
		bits    []uint64
		want    int
		refined int
	}{
		{name: "exponential, first is smaller", noise: exact.ExponentialNoise, scores: []int64{5, 5},
			bits: []uint64{1 << 60, 1 << 60, 7, 8}, want: 0, refined: 1},
		{name: "exponential, second is smaller", noise: exact.ExponentialNoise, scores: []int64{5, 5},
			bits: []uint64{1 << 60, 1 << 60, 8, 7}, want: 1, refined: 1},
		{name: "Gumbel, first is smaller", noise: exact.GumbelNoise, scores: []int64{5, 5},
			bits: []uint64{1 << 60, 1 << 60, 7, 8}, want: 1, refined: 1},
		{name: "Gumbel, second is smaller", noise: exact.GumbelNoise, scores: []int64{5, 5},
			bits: []uint64{1 << 60, 1 << 60, 8, 7}, want: 0, refined: 1},
		{name: "a third is out", noise: exact.GumbelNoise, scores: []int64{5, 5, 4},
			bits: []uint64{1 << 60, 1 << 60, 1 << 60, 8, 7}, want: 0, refined: 1},
		{name: "alike for 128 bits", noise: exact.ExponentialNoise, scores: []int64{5, 5},
			bits: []uint64{3, 3, 9, 9, 2, 0, 1}, want: 1, refined: 1},
		// The smallest possible u: −ln u is between 64·ln 2 and infinity until more bits are read, here ln 2^192.
		{name: "all bits 0", noise: exact.ExponentialNoise, scores: []int64{0, 60},
			bits: []uint64{0, 1 << 40, 0, 1}, want: 0, refined: 1},
		// The largest possible u: Gumbel noise between 64·ln 2 and infinity.
		{name: "all bits 1", noise: exact.GumbelNoise, scores: []int64{0, 60},
			bits: []uint64{math.MaxUint64, math.MaxUint64 - 1<<50, math.MaxUint64, 5}, want: 0, refined: 1},
		{name: "decided at once", noise: exact.GumbelNoise, scores: []int64{5, 5},
			bits: []uint64{1 << 60, 1 << 61}, want: 1},
	} {
		source := exact.NewSource(words(c.bits...))
		top := c.scores[0]
		for _, s := range c.scores {
			top = max(top, s)
		}
		got := source.NoisyMax(c.noise, rate, top, c.scores)
		if got != c.want || source.Refined() != c.refined || source.Err() != nil {
			t.Errorf("%s: candidate %d after %d refinements, want %d after %d; %v", c.name, got,
				source.Refined(), c.want, c.refined, source.Err())
		}
	}
}

// Refined draws follow the law too. All u begin with the same 64 bits, so the next ones decide: with u = ½ + v·2^−64
// and a κ of that size, keys differ by multiples of v and of the scores. The last candidate wins if its v beats the
// better of the two others by a handicap h, which has probability (1−h)³/3.
func TestNoisyMaxRefinedLaw(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	scores := []int64{2, 2, 1}
	rate := exact.NewRate(new(big.Rat).SetFloat64(0x1p-65))
	for noise, handicap := range map[exact.Noise]float64{
		exact.ExponentialNoise: 0.25,            // −ln u falls by 2v·2^−64
		exact.GumbelNoise:      0.25 * math.Ln2, // −ln(−ln u) grows by 2v·2^−64/ln 2
	} {
		const draws = 600
		refined := 0
		counts := dptest.Counts(draws, len(scores), func() int {
			bits := []uint64{1 << 63, 1 << 63, 1 << 63}
			for range 24 {
				bits = append(bits, random.Uint64())
			}
			source := exact.NewSource(words(bits...))
			i := source.NoisyMax(noise, rate, 2, scores)
			refined += source.Refined()
			return i
		})
		last := (1 - handicap) * (1 - handicap) * (1 - handicap) / 3
		if statistic, threshold := dptest.ChiSquare(counts,
			[]float64{(1 - last) / 2, (1 - last) / 2, last}); statistic > threshold {
			t.Errorf("noise %d: %v, χ² = %.1f > %.1f", noise, counts, statistic, threshold)
		}
		if statistic, threshold := dptest.ChiSquare(counts, []float64{1. / 3, 1. / 3, 1. / 3}); statistic <= threshold {
			t.Errorf("noise %d: the check does not notice that κ is missing: %v", noise, counts)
		}
		if refined != draws {
			t.Errorf("noise %d: %d of %d draws were refined", noise, refined, draws)
		}
	}
}

// float64 almost always decides.
func TestNoisyMaxRarelyRefines(t *testing.T) {
	random := rand.NewChaCha8([32]byte{5})
	rate := exact.NewRate(dec("0.1").Rat())
	scores := make([]int64, 100)
	for i := range scores {
		scores[i] = int64(i % 10)
	}
	for _, noise := range []exact.Noise{exact.ExponentialNoise, exact.GumbelNoise} {
		refined := 0
		for range 2000 {
			source := exact.NewSource(random)
			source.NoisyMax(noise, rate, 9, scores)
			refined += source.Refined()
		}
		if refined > 0 { // an interval is less than 2^−38 wide: the total chance is less than 10⁻⁶
			t.Errorf("noise %d: %d of 2000 draws were refined", noise, refined)
		}
	}
}
