package smooth

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// universe holds every sample on a few grid points, up to a number of users, and each sample's neighbours.
type universe struct {
	points, most int
	samples      [][]int64
	neighbours   [][]int
	position     map[string]int
}

func newUniverse(points, most int) *universe {
	u := &universe{points: points, most: most, position: map[string]int{}}
	dptest.Samples(points, most, func(h []int64) {
		u.position[fmt.Sprint(h)] = len(u.samples)
		u.samples = append(u.samples, append([]int64(nil), h...))
	})
	u.neighbours = make([][]int, len(u.samples))
	for i, h := range u.samples {
		h := append([]int64(nil), h...)
		for j := range h {
			for _, d := range []int64{1, -1} {
				h[j] += d
				if other, ok := u.position[fmt.Sprint(h)]; ok {
					u.neighbours[i] = append(u.neighbours[i], other)
				}
				h[j] -= d
			}
		}
	}
	return u
}

func users(h []int64) int {
	n := int64(0)
	for _, c := range h {
		n += c
	}
	return int(n)
}

// local returns A_0, A_1 … A_steps of every sample by definition: the largest change of the statistic between
// neighbours, then repeatedly the largest of that among neighbours. Entries are NaN if they are inexact because of the
// limit on users.
func (u *universe) local(statistic func(h []int64) float64, steps int) [][]float64 {
	value := make([]float64, len(u.samples))
	for i, h := range u.samples {
		value[i] = statistic(h)
	}
	a := make([][]float64, steps+1)
	for k := range a {
		a[k] = make([]float64, len(u.samples))
		for i, h := range u.samples {
			if users(h)+k+1 > u.most {
				a[k][i] = math.NaN()
				continue
			}
			if k > 0 {
				a[k][i] = a[k-1][i]
			}
			for _, other := range u.neighbours[i] {
				if k == 0 {
					a[k][i] = max(a[k][i], math.Abs(value[i]-value[other]))
				} else {
					a[k][i] = max(a[k][i], a[k-1][other])
				}
			}
		}
	}
	return a
}

// expand lists the values of a sample.
func expand(h []int64) []float64 {
	var x []float64
	for v, c := range h {
		for range c {
			x = append(x, float64(v))
		}
	}
	return x
}

// ranksOf drops the points that no user holds.
func ranksOf(h []int64) *ranks {
	var values, counts []int64
	for v, c := range h {
		if c > 0 {
			values = append(values, int64(v))
			counts = append(counts, c)
		}
	}
	return NewValues(values, upTo(counts)).within(0, int64(len(h)-1), 1)
}

// definitions gives each statistic in its plainest form.
func definitions() map[string]struct {
	statistic
	plain func(x []float64, points int) float64
} {
	type entry = struct {
		statistic
		plain func(x []float64, points int) float64
	}
	list := map[string]entry{
		"median": {median{}, func(x []float64, points int) float64 {
			if len(x) == 0 {
				return float64(points-1) / 2
			}
			return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
		}},
	}
	for _, tau := range []string{"0", "0.05", "0.1", "0.125", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.499"} {
		f, err := newFraction("trim", decimal.RequireFromString(tau))
		if err != nil {
			panic(err)
		}
		list["trimmed "+tau] = entry{trimmed{f}, func(x []float64, points int) float64 {
			if len(x) == 0 {
				return float64(points-1) / 2
			}
			m := int(f.num) * len(x) / int(f.den)
			sum := 0.0
			for _, v := range x[m : len(x)-m] {
				sum += v
			}
			return sum / float64(len(x)-2*m)
		}}
	}
	for _, p := range []string{"0.01", "0.1", "0.25", "0.3", "0.5", "0.6", "0.75", "0.9", "0.99"} {
		f, err := newFraction("p", decimal.RequireFromString(p))
		if err != nil {
			panic(err)
		}
		list["quantile "+p] = entry{quantile{f}, func(x []float64, points int) float64 {
			if len(x) == 0 {
				return float64(points-1) / 2
			}
			return x[(int(f.num)*len(x)+int(f.den)-1)/int(f.den)-1]
		}}
	}
	return list
}

// The smooth sensitivity and each A_k agree with the search through all edits.
func TestSensitivityByBruteForce(t *testing.T) {
	for _, size := range []struct{ points, users, most int }{{3, 9, 21}, {4, 8, 19}, {5, 5, 13}} {
		u := newUniverse(size.points, size.most)
		for name, s := range definitions() {
			t.Run(fmt.Sprintf("%s/%d points", name, size.points), func(t *testing.T) {
				compareWithBruteForce(t, u, s.statistic, size.users,
					func(h []int64) float64 { return s.plain(expand(h), size.points) })
			})
		}
	}
}

func compareWithBruteForce(t *testing.T, u *universe, s statistic, most int, plain func(h []int64) float64) {
	a := u.local(plain, u.most-1)
	for i, h := range u.samples {
		n := users(h)
		if n > most {
			continue
		}
		x := ranksOf(h)
		num, den := s.value(x)
		if got := num.Float() / float64(den); math.Abs(got-plain(h)) > 1e-12 {
			t.Fatalf("%v: the statistic is %v, want %v", h, got, plain(h))
		}
		for _, beta := range []float64{1e-3, 0.02, 0.125, 0.4, 1, 3, 50} {
			want := 0.0
			for k := range a {
				if !math.IsNaN(a[k][i]) {
					want = max(want, math.Exp(-beta*float64(k))*a[k][i])
				}
			}
			l := newLargest(beta)
			s.smooth(x, &l)
			if got := l.near(); got.lo > want*(1+1e-12) || got.hi < want*(1-1e-12) || got.hi > got.lo*(1+1e-11) {
				t.Fatalf("%v, β = %v: g in [%v, %v], by search %v", h, beta, got.lo, got.hi, want)
			}
		}
	}
}

// TestRanksAreThoseOfTheCutValues compares all ranks and sums with those of a list of the values, one for each user,
// that was cut, moved and stretched value by value. Some samples have several blocks, and sums beyond 64 bits.
func TestRanksAreThoseOfTheCutValues(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for round := range 400 {
		distinct, step := random.IntN(1+round%100), []int64{1, 3, 1 << 40}[round%3]
		var values, counts []int64
		for v := random.Int64N(4) * step; len(values) < distinct; v += (1 + random.Int64N(3)) * step {
			count := 1 + random.Int64N(3)
			if round%4 < 2 && random.IntN(20) > 0 {
				count = 1 // most blocks have a stretch of such values
			}
			values, counts = append(values, v), append(counts, count)
		}
		end := int64(4)
		if distinct > 0 {
			end = values[distinct-1]/step + 3
		}
		low := random.Int64N(end) * step
		high := low + random.Int64N(end)*step
		parts := []int64{1, 1000}[round%2]
		x := NewValues(values, upTo(counts)).within(low, high, parts)
		var users []int64
		for j, v := range values {
			for range counts[j] {
				users = append(users, (min(max(v, low), high)-low)*parts)
			}
		}
		n, last := int64(len(users)), (high-low)*parts
		list := slices.Concat([]int64{0, 0}, users, []int64{last, last}) // from rank −1 on
		sum := new(big.Int)
		for i, want := range list {
			r := int64(i) - 1
			if x.n != n || x.last != last || x.at(r) != want {
				t.Fatalf("round %d: rank %d of %d is %d of %d; want %d of %d", round, r, x.n,
					x.at(r), x.last, want, last)
			}
			if sum.Add(sum, big.NewInt(want)); x.sum(r).Big().Cmp(sum) != 0 {
				t.Fatalf("round %d: the values up to rank %d sum up to %s, want %s", round, r, x.sum(r).Big(), sum)
			}
		}
	}
}
