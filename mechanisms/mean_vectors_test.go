package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/dptest"
)

// meanVectors were computed by another program in 128-bit floating point, before this package was written.
type meanVectors struct {
	Cells []struct {
		N, Anchor, Cells int64
		Fold             uint64 `json:",string"`
		First, Last      []int64
	}
	Last []struct {
		A, B     int64
		Width    int64   `json:"W"`
		EpsilonM float64 `json:"eps_m"`
		P        []printed
	}
}

// clippedVectors were computed by another program, in exact fractions and in decimals of 16 digits, before the law was
// written here.
type clippedVectors struct {
	Plans []struct {
		Information string
		division
	}
	Laws []struct {
		clippedCase
		Epsilon, Left, Information string
		EpsilonT                   string `json:"eps_t"`
		division
		W0, W1, K0    int64
		HowMany       int `json:"intervals"`
		Probabilities []struct {
			L, H, Out int64
			Weight    string
			P         printed
		}
	}
	Halves []struct {
		clippedCase
		W0, W1, K0    int64
		Probabilities []struct {
			L, H int64
			P    string
		}
	}
	Sums []struct {
		Data                   []int64
		L, H                   int64
		A, B, Outside, Centred int64
		Bernstein              [3]int64
	}
	Values []struct {
		N, L, H, A, B, K0 int64
		Mean              string
	}
	Magnitudes []struct {
		Lower, Upper         int64
		Data                 []int64
		Epsilon, Information string
		EpsilonT             string `json:"eps_t"`
		W0, W1, K0           int64
		Rows                 []struct {
			C, Out int64
			Weight string
			P      printed
			Sum    int64
		}
	}
	Outside []struct {
		Rate  string
		Reach int64
	}
	Centred []struct {
		N, L, H, S, K0, Users int64
		Mean                  string
	}
	Quality []struct {
		UsersAtLeast int64 `json:"users_at_least"`
		Outside      int64
		Reach        int64
		Outside95    int64   `json:"outside_95"`
		Best         Quality `json:"best_quality"`
	}
}

type clippedCase struct {
	N, Anchor int64
	Data      []int64
}

// division describes how ε is divided: the share of the interval, 1/2 or 1/3, and s and s₁.
type division struct {
	Theta    string
	Halvings uint `json:"s"`
	Finer    uint `json:"s1"`
}

// printed is a number in text form.
type printed float64

func (f *printed) UnmarshalText(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 64)
	*f = printed(x)
	return err
}

func readClippedVectors(t *testing.T) (v clippedVectors) {
	t.Helper()
	v = dptest.Vectors[clippedVectors](t, "clipped_vectors.json")
	if len(v.Plans) != 11 || len(v.Laws) != 7 || len(v.Halves) != 3 || len(v.Sums) != 4 || len(v.Values) != 6 ||
		len(v.Magnitudes) != 2 || len(v.Outside) != 4 || len(v.Centred) != 3 || len(v.Quality) != 11 {
		t.Fatalf("some of the vectors are missing: %+v", v)
	}
	return v
}

// fraction reads an exact number.
func fraction(t *testing.T, text string) *big.Rat {
	t.Helper()
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no fraction", text)
	}
	return x
}

func TestClipCells(t *testing.T) {
	v := dptest.Vectors[meanVectors](t, "means_vectors.json")
	if len(v.Cells) != 8 || len(v.Last) != 3 {
		t.Fatalf("%d grids, %d offsets", len(v.Cells), len(v.Last))
	}
	for _, v := range v.Cells {
		b := cellBounds(v.N+1, v.Anchor, cellsPerDistance, fewestCells)
		fold := uint64(0)
		for _, x := range b {
			fold = fold*1000003 + uint64(x)
		}
		if fold != v.Fold || int64(len(b)-1) != v.Cells || !slices.Equal(b[:len(v.First)], v.First) ||
			!slices.Equal(b[len(b)-len(v.Last):], v.Last) {
			t.Errorf("0..%d around %d: %d cells, fold %d; want %d, %d", v.N, v.Anchor, len(b)-1, fold, v.Cells, v.Fold)
		}
	}
	// The formulas of the tests agree with those of the program that made the vectors.
	for _, x := range v.Last {
		epsilon := new(big.Rat).SetFloat64(x.EpsilonM)
		p, side := noiseLaw(laplace{epsilon.Num().Uint64(), epsilon.Denom().Uint64(), 1}, uint64(x.Width), 1, 0)
		law := offsetLaw(x.A, x.B, 0, 0, x.Width, 1, p, side)
		if len(law) != len(x.P) {
			t.Fatalf("%d offsets, want %d", len(law), len(x.P))
		}
		for i, w := range x.P {
			if math.Abs(law[i]/float64(w)-1) > 1e-12 {
				t.Errorf("offset %d %d: P(%d) = %.15g, want %.15g", x.A, x.B, i, law[i], w)
			}
		}
	}
}

func TestClipPlanVectors(t *testing.T) {
	c := clippingOf(t, smallGrid(t, 1001), 1)
	for _, v := range readClippedVectors(t).Plans {
		if got := c.division(c.planFor(fraction(t, v.Information), 0)); got != v.division {
			t.Errorf("information %s: %v, want %v", v.Information, got, v.division)
		}
	}
}

// The weights that draws pick from, the law as the tests have it, and the vectors are the same.
func TestClipLawVectors(t *testing.T) {
	for _, v := range readClippedVectors(t).Laws {
		g := anchored(t, v.N, v.Anchor)
		epsilon, _ := fraction(t, v.Epsilon).Float64()
		c := clippingOf(t, g, epsilon)
		own := 0
		if v.Left != "1" {
			own = 1
		}
		p := c.planFor(fraction(t, v.Information), own)
		name := fmt.Sprintf("0..%d, %v, ε = %s", v.N, v.Data, v.Epsilon)
		if wanted, _ := fraction(t, v.EpsilonT).Float64(); c.division(p) != v.division || p.free != v.K0 ||
			c.last>>p.halvings != v.W0 || c.last>>p.finer != v.W1 || p.interval.Float() != wanted {
			t.Errorf("%s: %v, k0 %d, w0 %d, w1 %d, ε_t %v; want %+v", name, c.division(p), p.free, c.last>>p.halvings,
				c.last>>p.finer, p.interval.Float(), v)
		}
		h := histogramOf(v.N, v.Data)
		law := intervalLaw(c, h, p, 1)
		var drawn intervals
		drawn.begin(c, sampleOf(g, h), p)
		weights, sum := drawn.weights(), 0.
		for _, w := range weights {
			sum += w
		}
		if len(law) != v.HowMany || len(weights) != v.HowMany {
			t.Fatalf("%s: %d and %d intervals, want %d", name, len(law), len(weights), v.HowMany)
		}
		for _, want := range v.Probabilities {
			k := slices.IndexFunc(law, func(x piece) bool { return x.l == want.L && x.h == want.H })
			if k < 0 || law[k].out != want.Out || math.Abs(law[k].p/float64(want.P)-1) > 1e-12 ||
				math.Abs(weights[k]/sum/float64(want.P)-1) > 1e-12 {
				t.Errorf("%s: [%d, %d] with %d outside has %v", name, want.L, want.H, want.Out, want.P)
				continue
			}
			exact := p.volume(want.H-want.L+1, v.W0, v.W1, 200).Lo
			if inverse := new(big.Rat).Inv(fraction(t, want.Weight)); exact.Cmp(new(big.Float).SetRat(inverse)) != 0 {
				t.Errorf("%s: [%d, %d] weighs 1/%v, want %s", name, want.L, want.H, exact, want.Weight)
			}
		}
	}
}

// With e^{−ε_t} = ½ all probabilities are fractions.
func TestClipHalvesVectors(t *testing.T) {
	for _, v := range readClippedVectors(t).Halves {
		g := anchored(t, v.N, v.Anchor)
		c := clippingOf(t, g, 1)
		ln2 := new(big.Rat).SetFloat64(math.Ln2)
		x := intervals{share: share{interval: exact.NewRate(ln2), free: v.K0}}
		p := plan{share: x.share}
		x.begin(c, sampleOf(g, histogramOf(v.N, v.Data)), p)
		x.wide, x.fine = v.W0, v.W1
		weights, sum := x.weights(), 0.
		for _, w := range weights {
			sum += w
		}
		if len(weights) != len(v.Probabilities) {
			t.Fatalf("%d intervals, want %d", len(weights), len(v.Probabilities))
		}
		for k, w := range weights {
			i, j := x.pair(k)
			want := v.Probabilities[k]
			if of, _ := fraction(t, want.P).Float64(); x.borders[i] != want.L || x.borders[j]-1 != want.H ||
				math.Abs(w/sum/of-1) > 1e-13 {
				t.Errorf("%v: [%d, %d] has %v, want %+v", v.Data, x.borders[i], x.borders[j]-1, w/sum, want)
			}
		}
	}
}

func TestClippedSumsVectors(t *testing.T) {
	for _, v := range readClippedVectors(t).Sums {
		g := smallGrid(t, 21)
		s := sampleOf(g, histogramOf(20, v.Data))
		below, above := s.Below(v.L), s.n-s.AtMost(v.H)
		x := s.meanSums(v.L, v.H)
		x.inQuarters(below, above)
		if x.a.Int64() != v.A || x.b.Int64() != v.B || below+above != v.Outside || v.A-v.B != v.Centred {
			t.Errorf("%v in %d..%d: %v, %v, %d outside; want %+v", v.Data, v.L, v.H, x.a, x.b, below+above, v)
		}
		sums := s.bernstein(v.L, v.H)
		inQuarters(&sums, uint64((v.H-v.L)*(v.H-v.L)), below, above)
		if fmt.Sprint(sums) != fmt.Sprint(v.Bernstein) {
			t.Errorf("%v in %d..%d: %v, want %v", v.Data, v.L, v.H, sums, v.Bernstein)
		}
	}
}

// Noisy sums give the mean of the vectors, rounded to a step or to a thousandth of it.
func TestClippedMeanVectors(t *testing.T) {
	vectors := readClippedVectors(t)
	sumsOf := func(l, h, last, free int64) *meanSums {
		x := &meanSums{l: l, h: h, fine: 4}
		x.addBack(l == 0, h == last, free)
		return x
	}
	for _, parts := range []int64{1, 1000} {
		m := twoSums{smallGrid(t, 21), parts}
		check := func(name, text string, got int64) {
			t.Helper()
			mean := fraction(t, text)
			if want := nearest(parts, mean.Num(), mean.Denom()).Int64(); got != want {
				t.Errorf("%s: %d parts of 1/%d, want %d", name, got, parts, want)
			}
		}
		for _, v := range vectors.Values {
			mean := v.L * parts
			if v.L < v.H {
				mean, _ = m.pairOf(sumsOf(v.L, v.H, v.N, v.K0), big.NewInt(v.A), big.NewInt(v.B), nil)
			}
			if max(v.A, v.B) < 0 { // the vectors' middle of 0 and 9 is in steps, 4
				mean = mean / parts * parts
			}
			check(fmt.Sprintf("%+v", v), v.Mean, mean)
		}
		for _, v := range vectors.Centred {
			mean, _ := m.quotient(sumsOf(v.L, v.H, v.N, v.K0), big.NewInt(v.S), new(big.Int), v.Users, new(big.Int))
			check(fmt.Sprintf("%+v", v), v.Mean, mean)
		}
	}
}

func TestClippedMagnitudeVectors(t *testing.T) {
	for _, v := range readClippedVectors(t).Magnitudes {
		epsilon := fraction(t, v.Epsilon)
		g := grid(t, fmt.Sprint(v.Lower), fmt.Sprint(v.Upper), "1")
		m := sumOf(t, Query{Epsilon: dec(epsilon.FloatString(6)), Grid: g})
		p := m.planFor(fraction(t, v.Information), 0)
		h := make([]int64, v.Upper-v.Lower+1)
		for _, x := range v.Data {
			h[x-v.Lower]++
		}
		if rate, _ := fraction(t, v.EpsilonT).Float64(); p.interval.Float() != rate || p.free != v.K0 ||
			m.largest()>>p.halvings != v.W0 || m.largest()>>p.finer != v.W1 {
			t.Errorf("%+v: ε_t %v, k0 %d", v, p.interval.Float(), p.free)
		}
		law := magnitudeLaw(m, h, p, 1)
		if len(law) != len(v.Rows) {
			t.Fatalf("%d magnitudes, want %d", len(law), len(v.Rows))
		}
		for k, want := range v.Rows {
			sum := cutSum(&m.sums, h, want.C)
			if below, above := m.beyond(sampleOf(g, h), want.C); law[k].c != want.C || law[k].out != want.Out ||
				below+above != want.Out || math.Abs(law[k].p/float64(want.P)-1) > 1e-12 || sum != want.Sum {
				t.Errorf("%+v, sum %d; want %+v", law[k], sum, want)
			}
		}
	}
}

func TestOutsideVectors(t *testing.T) {
	v := readClippedVectors(t)
	for _, v := range v.Outside {
		rate := fraction(t, v.Rate)
		var x Outsiders
		x.set(laplace{rate.Num().Uint64(), rate.Denom().Uint64(), 1}, 100)
		if x.Users95 != 100+v.Reach || x.least != 100-v.Reach {
			t.Errorf("rate %s: %+v, want ± %d", v.Rate, x, v.Reach)
		}
	}
	for _, v := range v.Quality {
		x := Outsiders{Users: v.Outside, Users95: max(v.Outside, 0) + v.Reach, least: v.Outside - v.Reach,
			fewest: v.UsersAtLeast, counted: true}
		if x.Users95 != v.Outside95 || x.best() != v.Best {
			t.Errorf("%+v: at most %d, %q", v, x.Users95, x.best())
		}
	}
}
