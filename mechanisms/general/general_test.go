package general

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// law returns the law of a choice at ε.
func law(flip bool, c Selection, epsilon float64, scores []int64) []float64 {
	fold := epsilon / float64(c.Sensitivity)
	if !c.Monotone {
		fold /= 2
	}
	top := slices.Max(scores)
	mass, level, weight := make([]int, len(scores)), make([]float64, len(scores)), make([]float64, len(scores))
	for i, s := range scores {
		mass[i], level[i], weight[i] = 1, fold*float64(top-s), math.Exp(-fold*float64(top-s))
	}
	if flip {
		return dptest.FlipLaw(mass, level)
	}
	return dptest.Normalise(weight)
}

// kinds are the four kinds of person, as the scores that each adds to three candidates.
var kinds = map[bool][][]int64{
	true:  {{1, 0, 0}, {0, 2, 2}, {1, 1, 0}, {2, 2, 2}},
	false: {{1, -2, 0}, {-2, 2, 2}, {0, 0, -1}, {2, 2, 2}},
}

func scoresOf(monotone bool, h []int64) []int64 {
	scores := make([]int64, 3)
	for kind, n := range h {
		for i, s := range kinds[monotone][kind] {
			scores[i] += s * n
		}
	}
	return scores
}

func TestSelectionPrivacy(t *testing.T) {
	for _, monotone := range []bool{true, false} {
		for _, flip := range []bool{true, false} {
			for _, epsilon := range []float64{0.5, 3} {
				name := fmt.Sprint("monotone ", monotone, ", flip ", flip)
				c := Selection{Sensitivity: 2, Monotone: monotone}
				dptest.CheckPrivacy(t, name, 4, 6, epsilon, 0.55, func(epsilon float64) dptest.Law {
					return func(h []int64) []float64 { return law(flip, c, epsilon, scoresOf(monotone, h)) }
				})
			}
		}
	}
}

// The four ways to choose form two pairs; each pair draws the same law.
var choices = []struct {
	name string
	flip bool
	draw func(c Selection, scores []int64, random io.Reader) (int, error)
}{
	{"exponential mechanism", false, Selection.Exponential},
	{"noisy max, Gumbel", false, Selection.NoisyMaxGumbel},
	{"permute and flip", true, Selection.PermuteAndFlip},
	{"noisy max, exponential", true, Selection.NoisyMaxExponential},
}

func TestSelectionSampler(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	scores := []int64{7, -3, 6, 6, 0, 1}
	for _, monotone := range []bool{true, false} {
		for _, choice := range choices {
			c := Selection{Epsilon: dec("0.9"), Sensitivity: 2, Monotone: monotone}
			counts := dptest.Counts(20000, len(scores), func() int {
				i, err := choice.draw(c, scores, random)
				if err != nil {
					t.Fatal(err)
				}
				return i
			})
			name := fmt.Sprint(choice.name, ", monotone ", monotone)
			dptest.CheckSampler(t, name, counts, func(f float64) []float64 {
				return law(choice.flip, c, 0.9*f, scores)
			})
		}
	}
}

// laplaceLaw is the law of the rounded sum between −last and last steps; the two ends include everything past them.
func laplaceLaw(centre, scale float64, last int) []float64 {
	below := func(x float64) float64 {
		z := (x - centre) / scale
		if z < 0 {
			return math.Exp(z) / 2
		}
		return 1 - math.Exp(-z)/2
	}
	p := make([]float64, 2*last+1)
	for k := range p {
		lo, hi := float64(k-last)-0.5, float64(k-last)+0.5
		p[k] = below(hi) - below(lo)
		if k == 0 {
			p[k] = below(hi)
		}
		if k == 2*last {
			p[k] = 1 - below(lo)
		}
	}
	return p
}

func TestLaplace(t *testing.T) {
	random := rand.NewChaCha8([32]byte{2})
	const last = 12
	step := dec("0.3")
	counts := dptest.Counts(3000, 2*last+1, func() int {
		x, err := Laplace(dec("0.41"), dec("0.9"), dec("1.5"), step, random)
		if err != nil {
			t.Fatal(err)
		}
		k, rest := x.QuoRem(step, 0)
		if !rest.IsZero() {
			t.Fatalf("%s is no multiple of %s", x, step)
		}
		return int(min(max(k.IntPart(), -last), last)) + last
	})
	dptest.CheckSampler(t, "Laplace", counts, func(f float64) []float64 {
		return laplaceLaw(0.41/0.3, 0.6/0.3/f, last)
	})

	// A user who changes the value by the sensitivity costs ε.
	dptest.CheckPrivacy(t, "Laplace", 1, 6, 0.7, 0.95, func(epsilon float64) dptest.Law {
		return func(h []int64) []float64 { return laplaceLaw(3*float64(h[0])-9, 3/epsilon, 40) }
	})
}

func TestDiscreteLaplace(t *testing.T) {
	random := rand.NewChaCha8([32]byte{3})
	const side = 40
	counts := dptest.Counts(40000, 2*side+1, func() int {
		x, err := DiscreteLaplace(5, 3, dec("1.2"), random)
		if err != nil {
			t.Fatal(err)
		}
		return int(min(max(x-5, -side), side)) + side
	})
	dptest.CheckSampler(t, "discrete Laplace", counts, func(f float64) []float64 {
		p := make([]float64, 2*side+1)
		for k := range p {
			p[k] = math.Exp(-0.4 * f * math.Abs(float64(k-side)))
		}
		p[0] /= -math.Expm1(-0.4 * f)
		p[2*side] = p[0]
		return dptest.Normalise(p)
	})
	if x, err := DiscreteLaplace(math.MaxInt64, 1, dec("1"), random); err != nil || x > 1<<62 {
		t.Errorf("%d, %v", x, err)
	}
	// Noise this wide often exceeds 2^62. The sum is cut, not the noise: cut noise would reveal the value.
	beyond := 0
	for range 2000 {
		x, err := DiscreteLaplace(-1_000_000, 1_000_000, dec("0.000000000001"), random)
		if err != nil {
			t.Fatal(err)
		}
		if x == 1<<62 || x == -1<<62 {
			beyond++
		} else if near := int64(1<<62 - 2_000_000); x > near || x < -near { // a chance of 10^−12 a draw
			t.Fatalf("%d is 2^62 less the value", x)
		}
	}
	// Each draw is cut with probability e^{−2^62/10^18} = 0.0099: between 1 and 55 of them, except with probability
	// 10^−7.
	if beyond < 1 || beyond > 55 {
		t.Errorf("%d of 2000 sums are cut", beyond)
	}
}

func TestRefuses(t *testing.T) {
	random := rand.NewChaCha8([32]byte{4})
	one := dec("1")
	f := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := Selection{Sensitivity: 1}.Exponential([]int64{1}, random)
	f("epsilon 0; want more than 0", err)
	_, err = Selection{Epsilon: one}.PermuteAndFlip([]int64{1}, random)
	f("sensitivity 0; want from 1", err)
	_, err = Selection{Epsilon: one, Sensitivity: 1}.Exponential(nil, random)
	f("at least one candidate", err)
	_, err = Selection{Epsilon: one, Sensitivity: 1}.Exponential([]int64{math.MaxInt64}, random)
	f("scores must lie between", err)
	_, err = Selection{Sensitivity: 1}.NoisyMaxGumbel([]int64{1}, random)
	f("epsilon 0; want more than 0", err)
	_, err = Selection{Epsilon: one, Sensitivity: 1}.NoisyMaxExponential(nil, random)
	f("at least one candidate", err)
	broken := errors.New("broken")
	for _, choice := range choices {
		if _, err := choice.draw(Selection{Epsilon: one, Sensitivity: 1}, []int64{1, 2},
			iotest.ErrReader(broken)); !errors.Is(err, broken) {
			t.Errorf("%s with a broken source: %v", choice.name, err)
		}
	}
	_, err = DiscreteLaplace(0, 0, one, random)
	f("sensitivity 0; want at least 1", err)
	_, err = DiscreteLaplace(0, 11, dec("0.00000000000000000001"), random)
	f("too many digits", err)
	_, err = Laplace(one, one, one, dec("-1"), random)
	f("step -1; want more than 0", err)
	_, err = Laplace(dec("1e5000"), one, one, one, random)
	f("too many digits", err)
}
