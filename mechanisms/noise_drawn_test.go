package mechanisms

import (
	"fmt"
	"io"
	"math"
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

// gaussianOf returns discrete Gaussian noise from package exact. Its variance parameter is so many times 1/ε², for an ε
// of 0.3.
func gaussianOf(levels int64) func(*exact.Source) *big.Int {
	law := exact.NewGaussian(big.NewRat(100*levels, 9))
	return func(s *exact.Source) *big.Int { return s.DiscreteGaussian(law) }
}

// numbersOf returns a function that draws with ε = 0.3 and returns all numbers of the draw, less those without noise.
func numbersOf(t *testing.T, q Query, points []Point, exactly ...int64) func(io.Reader) []int64 {
	q.Epsilon = dec("0.3")
	if q.Grid == nil {
		q.Grid = smallGrid(t, 3)
	}
	m, s := build(t, q), NewSample(q.Grid, points)
	return func(random io.Reader) []int64 {
		d := draw(t, m, s, Public{}, random)
		numbers := slices.Concat(d.Raw, d.Coarse)
		if d.Raw == nil {
			numbers = []int64{d.Values[0].Number}
		}
		for i, n := range exactly {
			numbers[i] -= n
		}
		return numbers
	}
}

// unpublished stands for a name that is not published.
const unpublished = math.MinInt64

// noiseOfName returns a function that draws for a name with so many users, or with T of them for 0, and the noise that
// is drawn anew while it is beyond K, if that is published.
func noiseOfName(t *testing.T, delta string, n int64) (of func(io.Reader) []int64, want func(*exact.Source) *big.Int) {
	m := finderCase{dec("0.3"), dec(delta), 1}.new(t)
	if n == 0 {
		n = m.Threshold()
	}
	of = func(random io.Reader) []int64 {
		value, published, err := m.Draw(n, random)
		if err != nil {
			t.Fatal(err)
		}
		if !published {
			return []int64{unpublished}
		}
		return []int64{value - n}
	}
	return of, func(s *exact.Source) *big.Int {
		for {
			if z := laplaceOf("0.3", 1)(s); z.CmpAbs(big.NewInt(m.Bound())) > 0 {
				continue
			} else if n+z.Int64() >= m.Threshold() {
				return z
			}
			return big.NewInt(unpublished)
		}
	}
}

// TestNoiseHasAllOfEpsilon compares the noise of mechanisms with what package exact draws from the same random bits at
// the rate that was asked for. A million draws would hardly tell ε from 1.01·ε by their law. Here some thousand do,
// because the samplers use the bits in another way at another rate. Each number has bits of its own: so all noise is
// independent.
func TestNoiseHasAllOfEpsilon(t *testing.T) {
	const draws = 5000
	crowd := []Point{{-1, noisyUsers}, {1, noisyUsers}}
	buckets := func(mechanism string, levels int) func(io.Reader) []int64 {
		q := Query{Statistic: Histogram, Mechanism: mechanism, Levels: levels,
			Buckets: &Bucketing{Ends: ps("0", "1", "2")}}
		return numbersOf(t, q, []Point{{0, 2}, {2, 1}}, []int64{2, 0, 1, 0, 2, 1}[:2*levels+2]...)
	}
	certain, uncut := noiseOfName(t, "1e-9", noisyUsers) // noise beyond K has a probability of 3·10^−9
	cut, few := noiseOfName(t, "0.09", noisyUsers)       // and here in a quarter of the draws
	half, many := noiseOfName(t, "0.09", 0)
	for _, c := range []struct {
		name string
		of   func(io.Reader) []int64
		want func(*exact.Source) *big.Int
	}{
		{"geometric", numbersOf(t, Query{Statistic: Count}, crowd, 2*noisyUsers), laplaceOf("0.3", 1)},
		{"gaussian", numbersOf(t, Query{Statistic: Count, Mechanism: "gaussian"}, crowd, 2*noisyUsers),
			gaussianOf(1)},
		{"outside by geometric", numbersOf(t, Query{Statistic: Outside}, crowd, noisyUsers), laplaceOf("0.3", 1)},
		{"outside by gaussian", numbersOf(t, Query{Statistic: Outside, Mechanism: "gaussian"}, crowd, noisyUsers),
			gaussianOf(1)},
		{"histogram of one level", buckets("histogram", 1), laplaceOf("0.3", 1)},
		{"histogram of two levels", buckets("histogram", 2), laplaceOf("0.3", 2)},
		{"gaussian_histogram of one level", buckets(gaussianHistogram, 1), gaussianOf(1)},
		{"gaussian_histogram of two levels", buckets(gaussianHistogram, 2), gaussianOf(2)},
		{"sum", numbersOf(t, Query{Statistic: Sum, Clip: "none", Grid: grid(t, "-40", "70", "1")},
			[]Point{{1, noisyUsers}}, -39*noisyUsers), laplaceOf("0.3", 70)},
		{"truncated_geometric", certain, uncut},
		{"truncated_geometric of a large δ", cut, few},
		{"truncated_geometric at the threshold", half, many},
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

// TestQuotientsHaveAllOfEpsilon is the same for quotients of noisy numbers: a sum and a count with half of ε each, and
// three sums with all of it.
func TestQuotientsHaveAllOfEpsilon(t *testing.T) {
	g, few := smallGrid(t, 1_000_001), smallGrid(t, 5)
	byLaplace := build(t, Query{Statistic: Mean, Mechanism: "laplace", Epsilon: dec("0.3"), Grid: g}).(*meanLaplace)
	byThree := build(t, Query{Statistic: Variance, Mechanism: "three_sums", Epsilon: dec("0.3"),
		Grid: few}).(*wholeVariance)
	spread := []int64{20, 0, 3, 0, 40}
	random, same := rand.NewChaCha8([32]byte{37}), rand.NewChaCha8([32]byte{37})
	for i := range 300 {
		d, source := draw(t, byLaplace, NewSample(g, []Point{{600_000, 1000}}), Public{}, random), exact.NewSource(same)
		sum, count := laplaceOf("0.15", 500_000)(source), laplaceOf("0.15", 1)(source)
		if want := byLaplace.quotient(big.NewInt(1000*100_000), 1000, sum, count); d.Values[0].Number != want {
			t.Fatalf("mean, draw %d: %d; want %d", i, d.Values[0].Number, want)
		}
		d, source = draw(t, byThree, sampleOf(few, spread), Public{}, random), exact.NewSource(same)
		var sums [3]*big.Int
		for k, exactly := range wholeOf(three(spread, 0, 4)) {
			z := laplaceOf("0.3", 16)(source)
			sums[k] = z.Add(z, big.NewInt(exactly))
		}
		if want := byThree.ratio(4, sums); d.Values[0].Number != want {
			t.Fatalf("variance, draw %d: %d; want %d", i, d.Values[0].Number, want)
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
