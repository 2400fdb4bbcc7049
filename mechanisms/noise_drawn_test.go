package mechanisms

import (
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
)

// noisyUsers is so many that no noise here makes their number negative.
const noisyUsers = 1_000_000

// laplaceOf returns discrete Laplace noise of the rate ε/scale from package exact.
func laplaceOf(epsilon string, scale int64) func(*exact.Source) *big.Int {
	rate := dec(epsilon).Rat()
	return func(s *exact.Source) *big.Int {
		return s.DiscreteLaplace(rate.Num().Uint64(), rate.Denom().Uint64(), uint64(scale))
	}
}

// gaussianOf returns discrete Gaussian noise of this variance parameter from package exact.
func gaussianOf(num, den int64) func(*exact.Source) *big.Int {
	law := exact.NewGaussian(big.NewRat(num, den))
	return func(s *exact.Source) *big.Int { return s.DiscreteGaussian(law) }
}

// noiseOfCount returns a function that draws a count and takes the true one away.
func noiseOfCount(t *testing.T, mechanism string) func(io.Reader) []int64 {
	g := smallGrid(t, 3)
	m, s := build(t, Query{Statistic: Count, Mechanism: mechanism, Epsilon: dec("0.3"), Grid: g}), crowd(g)
	return func(random io.Reader) []int64 {
		d, err := m.Draw(s, Public{}, random)
		if err != nil {
			t.Fatal(err)
		}
		return []int64{d.Values[0].Number - noisyUsers}
	}
}

// noiseOfHistogram returns a function that draws a histogram of nobody: four buckets, and on two levels two groups.
func noiseOfHistogram(t *testing.T, mechanism string, levels int) func(io.Reader) []int64 {
	g := smallGrid(t, 3)
	m := build(t, Query{Statistic: Histogram, Mechanism: mechanism, Epsilon: dec("0.3"), Grid: g, Levels: levels,
		Buckets: &Bucketing{Ends: ps("0", "1", "2")}})
	return func(random io.Reader) []int64 {
		d, err := m.Draw(NewSample[Point](g, nil), Public{}, random)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(d.Raw, d.Coarse)
	}
}

func noiseOfName(t *testing.T) func(io.Reader) []int64 {
	// Noise beyond K, which is drawn again, has a probability of 3·10^−9.
	m := finderCase{dec("0.3"), dec("1e-9"), 1}.new(t)
	return func(random io.Reader) []int64 {
		value, _, err := m.Draw(noisyUsers, random)
		if err != nil {
			t.Fatal(err)
		}
		return []int64{value - noisyUsers}
	}
}

func crowd(g *Grid) *Sample { return NewSample(g, []Point{{1, noisyUsers}}) }

// TestNoiseHasAllOfEpsilon compares the noise of mechanisms with what package exact draws from the same random bits at
// the rate that was asked for. A million draws would hardly tell ε from 1.01·ε by their law. Here some thousand do,
// because the samplers use the bits in another way at another rate.
func TestNoiseHasAllOfEpsilon(t *testing.T) {
	const draws = 5000
	for _, c := range []struct {
		name string
		of   func(io.Reader) []int64
		want func(*exact.Source) *big.Int
	}{
		{"geometric", noiseOfCount(t, "geometric"), laplaceOf("0.3", 1)},
		{"gaussian", noiseOfCount(t, "gaussian"), gaussianOf(100, 9)}, // 1/ε²
		{"histogram of one level", noiseOfHistogram(t, "histogram", 1), laplaceOf("0.3", 1)},
		{"histogram of two levels", noiseOfHistogram(t, "histogram", 2), laplaceOf("0.3", 2)},
		{"gaussian_histogram of one level", noiseOfHistogram(t, gaussianHistogram, 1), gaussianOf(100, 9)},
		{"gaussian_histogram of two levels", noiseOfHistogram(t, gaussianHistogram, 2), gaussianOf(200, 9)},
		{"truncated_geometric", noiseOfName(t), laplaceOf("0.3", 1)},
	} {
		random, same := rand.NewChaCha8([32]byte{37}), rand.NewChaCha8([32]byte{37})
		for i := range draws {
			got, source := c.of(random), exact.NewSource(same)
			for j, z := range got {
				if want := c.want(source).Int64(); z != want {
					t.Fatalf("%s, draw %d: number %d has the noise %d; want %d", c.name, i, j, z, want)
				}
			}
		}
	}
}

// TestMeanLaplaceHasAllOfEpsilon is the same for a quotient of two noisy numbers, each with half of ε.
func TestMeanLaplaceHasAllOfEpsilon(t *testing.T) {
	g := smallGrid(t, 1_000_001)
	m := build(t, Query{Statistic: Mean, Mechanism: "laplace", Epsilon: dec("0.3"), Grid: g}).(*meanLaplace)
	random, same := rand.NewChaCha8([32]byte{37}), rand.NewChaCha8([32]byte{37})
	s := NewSample(g, []Point{{600_000, 1000}})
	for i := range 300 {
		d, err := m.Draw(s, Public{}, random)
		if err != nil {
			t.Fatal(err)
		}
		source := exact.NewSource(same)
		sum, count := laplaceOf("0.15", 500_000)(source), laplaceOf("0.15", 1)(source)
		if want := m.quotient(big.NewInt(1000*100_000), 1000, sum, count); d.Values[0].Number != want {
			t.Fatalf("draw %d: %d; want %d", i, d.Values[0].Number, want)
		}
	}
}

// TestFewUsersHasItsShareOfEpsilon: with the noise z, limit − z users are few, and one more are not.
func TestFewUsersHasItsShareOfEpsilon(t *testing.T) {
	g := smallGrid(t, 3)
	for _, c := range []struct{ p, q, share int64 }{{1, 2, 32}, {99, 100, 128}} {
		few := newFewUsers(c.p, c.q, dec("0.3").Rat())
		for i := range 300 {
			source := func() *exact.Source {
				return exact.NewSource(rand.NewChaCha8([32]byte{37, byte(i), byte(i >> 8)}))
			}
			n := few.limit - laplaceOf("0.3", c.share)(source()).Int64()
			if n < 0 {
				continue
			}
			ask := func(users int64) bool { return few.ask(NewSample(g, []Point{{1, users}}), source()) }
			if !ask(n) || ask(n+1) {
				t.Fatalf("p %d/%d, draw %d: %d users are few: %t, one more: %t; want the former alone", c.p, c.q, i, n,
					ask(n), ask(n+1))
			}
		}
	}
}

// TestWholeSumHasAllOfEpsilon: the noise of a sum of all values has the rate ε over the largest value.
func TestWholeSumHasAllOfEpsilon(t *testing.T) {
	g := grid(t, "-40", "70", "1")
	m, s := build(t, Query{Statistic: Sum, Clip: "none", Epsilon: dec("0.3"), Grid: g}), crowd(g) // all have −39
	random, same := rand.NewChaCha8([32]byte{37}), rand.NewChaCha8([32]byte{37})
	for i := range 300 {
		d, err := m.Draw(s, Public{}, random)
		if err != nil {
			t.Fatal(err)
		}
		if want := laplaceOf("0.3", 70)(exact.NewSource(same)).Int64() - 39*noisyUsers; d.Values[0].Number != want {
			t.Fatalf("draw %d: %d; want %d", i, d.Values[0].Number, want)
		}
	}
}

// TestClippingSpendsAllOfEpsilon: the interval, the sums and the count of its own have the parts of ε and of ρ that are
// said, exactly, and so they add up to all of it. With a θ of ½ and ⅓ the sums have ½ and ⅔ of what the own count
// leaves.
func TestClippingSpendsAllOfEpsilon(t *testing.T) {
	for _, text := range []string{"0.1", "0.3", "1", "7"} {
		q := Query{Epsilon: dec(text), Grid: smallGrid(t, 1001)}
		pure, err := newClipping(&q)
		if err != nil {
			t.Fatal(err)
		}
		concentrated, err := newConcentrated(&q)
		if err != nil {
			t.Fatal(err)
		}
		same := func(name string, got, want *big.Rat) {
			t.Helper()
			if got.Cmp(want) != 0 {
				t.Errorf("ε = %s, %s: it has %s; want %s", text, name, got, want)
			}
		}
		part := func(of *big.Rat, num, den int64) *big.Rat { return new(big.Rat).Mul(of, big.NewRat(num, den)) }
		rate := func(n noise) *big.Rat {
			l := n.(laplace)
			return new(big.Rat).SetFrac(new(big.Int).SetUint64(l.num), new(big.Int).SetUint64(l.den*l.part))
		}
		epsilon := q.Epsilon.Rat()
		same("own count", rate(pure.own), part(epsilon, 1, 16))
		for own, left := range []*big.Rat{epsilon, part(epsilon, 15, 16)} {
			for sure, sums := range []*big.Rat{part(left, 1, 2), part(left, 2, 3)} {
				x, way := pure.shares[own][sure], fmt.Sprint("way ", own, sure)
				exactly(t, x.interval.Float(), new(big.Rat).Sub(left, sums))
				same(way+", sums", rate(x.sums), sums)
				same(way+", count of users outside", rate(x.sums.beside()), part(sums, 1, 4))
			}
		}
		rho := part(new(big.Rat).Mul(epsilon, epsilon), 1, 2)
		same("own count's ρ", concentrated.own.(gaussian).rho, part(rho, 1, 32))
		for own, paid := range []*big.Rat{new(big.Rat), part(rho, 1, 32)} {
			for sure, interval := range []*big.Rat{part(rho, 1, 4), part(rho, 1, 8)} {
				x, way := concentrated.shares[own][sure], fmt.Sprint("way ", own, sure)
				// ρ = ε_t²/8; √½ is rounded down to eight digits.
				exactly(t, x.interval.Float(), part(epsilon, []int64{1e8, 70710678}[sure], 1e8))
				sums := new(big.Rat).Sub(rho, interval)
				sums.Sub(sums, paid)
				same(way+", ρ of the sums", x.sums.(gaussian).rho, sums)
				same(way+", ρ of the count of users outside", x.sums.beside().(gaussian).rho, part(sums, 7, 16))
			}
		}
	}
}

// exactly compares the rate of an interval as a float64.
func exactly(t *testing.T, got float64, want *big.Rat) {
	t.Helper()
	if rounded, _ := want.Float64(); got != rounded {
		t.Errorf("the interval has %v; want %v", got, rounded)
	}
}
