package running

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// simulatedDays is how many days are simulated. At most 5 % of the totals after a leaf may be beyond error_95. With n
// days and a share of 5 %, 6 % or more are seen with a probability of e^{−n·KL(0.06, 0.05)} at most (Chernoff),
// KL(0.06, 0.05) = 0.06·ln 1.2 + 0.94·ln(0.94/0.95) = 9.9·10^−4: for n = 20,000 and 312 leaves that is 312 · 2.5·10^−9
// < 10^−6. Errors that are a quarter too small have a share of about 10 % where the noise is large. They are found:
// 2000 of so many days are then expected to miss, give or take 42, where 1200 may.
const simulatedDays = 20_000

// TestErrorsOfDays simulates days with noise of the exact law, and compares totals with the truth at every quarter of
// an hour: of days of quarters, and of minutes.
func TestErrorsOfDays(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second")
	}
	const days = simulatedDays
	r := rand.New(rand.NewPCG(24, 7))
	for _, c := range []struct {
		leaves  int64
		epsilon string
		most    int64
		each    int64 // leaves from one look to the next
	}{{24, "1", 1, 1}, {96, "1", 1, 1}, {96, "0.1", 3, 1}, {1440, "1", 1, 15}} {
		p := newTree(t, c.leaves, c.epsilon, c.most)
		missed := make([]int, c.leaves+1) // after each leaf
		noise := make([]func() int64, len(p.levels))
		for l, v := range p.levels {
			rate, _ := v.rate.Float64()
			noise[l] = laplace(r, rate/float64(c.most))
		}
		known := make([]float64, len(p.levels)) // as Fold, without its rounding to 2^−16, which is below 10^−3 here
		weights := make([]float64, len(p.levels))
		for l := range weights {
			weights[l], _ = p.levels[l].weight.Float64()
		}
		for range days {
			clear(known)
			for leaf := int64(1); leaf <= c.leaves; leaf++ {
				for l := range p.Draws(leaf) {
					z := float64(noise[l]())
					if l > 0 {
						z = weights[l]*z + (1-weights[l])*known[l-1]
						known[l-1] = 0
					}
					known[l] += z
				}
				if leaf%c.each == 0 {
					total := 0.0
					for _, x := range known {
						total += x
					}
					if math.Abs(math.Floor(total+0.5)) > float64(p.Error95(leaf)) {
						missed[leaf]++
					}
				}
			}
		}
		few(t, p, c.leaves, missed, days)
	}
}

// few compares how many totals of so many days missed the truth, after each leaf, with 5 %.
func few(t *testing.T, s Strategy, leaves int64, missed []int, days float64) {
	t.Helper()
	worst := slices.Max(missed)
	leaf := int64(slices.Index(missed, worst))
	t.Logf("%s, %d leaves, ε %s: at most %.2f %% of the totals are off by more than error_95: after leaf %d, by more "+
		"than %d", s.Name(), leaves, s.Promise().Epsilon, 100*float64(worst)/days, leaf, s.Error95(leaf))
	if float64(worst)/days > 0.05+0.01 {
		t.Error("that is too many")
	}
}

// TestErrorsOfSquareRoots is TestErrorsOfDays for square_root, at each of 96 leaves. Its noise has a standard deviation
// of more than 2^32, so that rounding does not matter: the numbers are drawn as if they were not whole.
func TestErrorsOfSquareRoots(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second")
	}
	const days, leaves, most, epsilon = simulatedDays, 96, 3, 0.1
	p := newSquareRoot(t, leaves, fmt.Sprint(epsilon), most)
	r := rand.New(rand.NewPCG(24, 9))
	var f [leaves]float64
	squares := 0.0
	for k := range f {
		f[k], _ = new(big.Float).SetInt(p.coefficients[k]).Float64()
		f[k] = math.Ldexp(f[k], -scaleBits)
		squares += f[k] * f[k]
	}
	sigma := most * math.Sqrt(squares) / epsilon // c²·ΣF_k²/(2ρ), ρ = ε²/2
	missed := make([]int, leaves+1)
	var z [leaves]float64
	for range days {
		for t := range z {
			z[t] = sigma * r.NormFloat64()
			total := 0.0
			for s := range t + 1 {
				total += f[t-s] * z[s]
			}
			if math.Abs(math.Floor(total+0.5)) > float64(p.Error95(int64(t+1))) {
				missed[t+1]++
			}
		}
	}
	few(t, p, leaves, missed, days)
}

// laplace draws discrete Laplace noise: the difference of two geometric numbers.
func laplace(r *rand.Rand, rate float64) func() int64 {
	geometric := func() int64 { return int64(math.Floor(r.ExpFloat64() / rate)) }
	return func() int64 {
		z := geometric()
		return z - geometric()
	}
}

// TestWholeDays has the strategies themselves follow days, with noise from the exact sampler: at most 5 % of the last
// totals may be beyond error_95. Of n = 2000 days with a share of 5 %, more than 9.5 % are seen with a probability
// below exp(−n·0.045²/(2·(0.0475 + 0.045/3))) < 10^−14 (Bernstein). Noise twice as large has a share of about 30 %.
func TestWholeDays(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	const days = 2000
	r := rand.New(rand.NewPCG(24, 8))
	for _, s := range []Strategy{newTree(t, 48, "0.5", 2), newSquareRoot(t, 24, "0.5", 2)} {
		missed := 0
		for range days {
			var open Open
			var known Known
			truth := int64(0)
			for leaf := int64(1); leaf <= 24; leaf++ {
				x := r.Int64N(50)
				truth += x
				open = s.Add(open, leaf, x)
				draws, err := s.Draw(open, leaf, reader{r})
				if err != nil {
					t.Fatal(err)
				}
				s.Close(open, leaf)
				known = s.Fold(known, leaf, draws)
			}
			off := new(big.Int).Sub(s.Total(known, 24), big.NewInt(truth))
			if off.CmpAbs(big.NewInt(s.Error95(24))) > 0 {
				missed++
			}
		}
		if share := float64(missed) / days; share > 0.095 || share < 0.005 {
			t.Errorf("%s: %.1f %% of the totals of a day are off by more than %d", s.Name(), 100*share, s.Error95(24))
		}
	}
}

// reader gives pseudorandom bytes.
type reader struct{ *rand.Rand }

func (r reader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return len(p), nil
}
