package running

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms/internal/dptest"
)

// vectors are figures from a program that shares no code with this package.
type vectors struct {
	Plans []struct {
		Leaves          int64
		Branching       int64
		Sizes           []int64
		Shares, Weights []string
	}
	Errors []struct {
		Leaves   int64
		Epsilon  string
		MaxTotal int64 `json:"max_total"`
		After    map[string]int64
	} `json:"error_95"`
	Estimates []struct {
		Leaves      int64
		Windows     int
		LeafCounts  []int64 `json:"leaf_counts"`
		Draws       [][]int64
		First, Last []int64
	}
	SquareRoot struct {
		Coefficients []uint64
		SumOfSquares map[string]json.Number `json:"sum_of_squares"`
		X            []int64
		Without      struct{ Y, Values []int64 }    `json:"without_noise"`
		With         struct{ Z, Y, Values []int64 } `json:"with_noise"`
	} `json:"square_root"`
}

func read(t testing.TB) (v vectors) {
	t.Helper()
	v = dptest.Vectors[vectors](t, "vectors.json")
	if len(v.Plans) != 15 || len(v.Errors) != 12 || len(v.Estimates) != 3 {
		t.Fatalf("%d plans, %d errors, %d estimates", len(v.Plans), len(v.Errors), len(v.Estimates))
	}
	return v
}

func newTree(t testing.TB, leaves int64, epsilon string, most int64) *tree {
	t.Helper()
	s, err := NewTree(Period{Leaves: leaves, Longest: leaves}, decimal.RequireFromString(epsilon), most)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*tree)
}

func newSquareRoot(t testing.TB, longest int64, epsilon string, most int64) *squareRoot {
	t.Helper()
	s, err := NewSquareRoot(Period{Leaves: longest, Longest: longest}, decimal.RequireFromString(epsilon), most)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*squareRoot)
}

func TestPlans(t *testing.T) {
	for _, v := range read(t).Plans {
		p := newTree(t, v.Leaves, "1", 1)
		var sizes []int64
		var rates, weights []string
		for _, l := range p.levels {
			sizes, rates, weights = append(sizes, l.size), append(rates,
				l.rate.RatString()), append(weights, l.weight.RatString())
		}
		if !slices.Equal(sizes, v.Sizes) || !slices.Equal(rates, v.Shares) || !slices.Equal(weights, v.Weights) ||
			len(sizes) > 1 && p.branching != v.Branching {
			t.Errorf("%d leaves: sizes %d, shares %s, weights %s; want %+v", v.Leaves, sizes, rates, weights, v)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, v := range read(t).Errors {
		p := newTree(t, v.Leaves, v.Epsilon, v.MaxTotal)
		for text, want := range v.After {
			leaf, err := strconv.ParseInt(text, 10, 64)
			if got := p.Error95(leaf); err != nil || got != want {
				t.Errorf("%d leaves, ε %s, at most %d: the error after %d is %d, want %d", v.Leaves,
					v.Epsilon, v.MaxTotal, leaf, got, want)
			}
		}
	}
}

func TestEstimates(t *testing.T) {
	for _, v := range read(t).Estimates {
		p, known := newTree(t, v.Leaves, "1", 1), Known(nil)
		var totals []int64
		next := make([]int, len(p.levels))
		for leaf := int64(1); leaf <= int64(v.Windows); leaf++ {
			var draws []*big.Int
			for l := range p.Draws(leaf) {
				draws = append(draws, big.NewInt(v.Draws[l][next[l]]))
				next[l]++
			}
			known = p.Fold(known, leaf, draws)
			totals = append(totals, max(0, p.Total(known, leaf).Int64())) // the vectors are counts
		}
		for l := range v.Draws {
			if next[l] != len(v.Draws[l]) {
				t.Errorf("%d leaves: %d draws of level %d, want %d", v.Leaves, next[l], l, len(v.Draws[l]))
			}
		}
		first, last := totals[:len(v.First)], totals[len(totals)-len(v.Last):]
		if !slices.Equal(first, v.First) || !slices.Equal(last, v.Last) {
			t.Errorf("%d leaves: %d … %d, want %d … %d", v.Leaves, first, last, v.First, v.Last)
		}
	}
}

func TestSquareRootVectors(t *testing.T) {
	v := read(t).SquareRoot
	all := coefficients(1500)
	for i, k := range []int{0, 1, 2, 3, 4, 10, 100, 1439, 1499} {
		if got := all[k]; i < len(v.Coefficients) && got.Uint64() != v.Coefficients[i] {
			t.Errorf("F_%d is %d, want %d", k, got, v.Coefficients[i])
		}
	}
	for text, want := range v.SumOfSquares {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		// The variance is c²·ΣF²/ε².
		got := newSquareRoot(t, int64(n), "0.5", 3).noise.Variance()
		if got.RatString() != fmt.Sprint(new(big.Int).Mul(big.NewInt(36), whole(t, want))) {
			t.Errorf("%d leaves: the variance is %s, want 36 times %s", n, got.RatString(), want)
		}
	}
	s := newSquareRoot(t, 24, "1", 1)
	for name, noise := range map[string][]int64{"without noise": make([]int64, len(v.X)), "with noise": v.With.Z} {
		want := v.Without
		if name == "with noise" {
			want.Y, want.Values = v.With.Y, v.With.Values
		}
		var known Known
		var open Open
		for i, x := range v.X {
			leaf := int64(i + 1)
			open = s.Add(open, leaf, x)
			y := new(big.Int).Add(s.weighted(open, leaf), big.NewInt(noise[i]))
			if y.Int64() != want.Y[i] {
				t.Errorf("%s: y_%d is %d, want %d", name, leaf, y, want.Y[i])
			}
			known = s.Fold(known, leaf, []*big.Int{y})
			if total := s.Total(known, leaf); total.Int64() != want.Values[i] {
				t.Errorf("%s: total %d is %d, want %d", name, leaf, total, want.Values[i])
			}
		}
	}
}

func whole(t testing.TB, n json.Number) *big.Int {
	t.Helper()
	i, ok := new(big.Int).SetString(n.String(), 10)
	if !ok {
		t.Fatal(n)
	}
	return i
}

// The coefficients are those of exact fractions.
func TestCoefficients(t *testing.T) {
	f, scale := big.NewRat(1, 1), new(big.Rat).SetInt64(1<<scaleBits)
	for k, got := range coefficients(1500) {
		if k > 0 {
			f.Mul(f, big.NewRat(int64(2*k-1), int64(2*k)))
		}
		x := new(big.Rat).Mul(f, scale)
		if want := nearest(x.Num(), x.Denom()); got.Cmp(want) != 0 {
			t.Fatalf("F_%d is %d, want %d", k, got, want)
		}
	}
}
