package mechanisms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"testing"
)

// meanVectors were computed by another program in 128-bit floating point, before this package was written.
type meanVectors struct {
	Cells []struct {
		N, Anchor, Cells int64
		Fold             uint64 `json:",string"`
		First, Last      []int64
	}
	Intervals []struct {
		meanCase
		division
		W0           int64
		EpsilonT     float64 `json:"eps_interval"`
		HowMany      int     `json:"intervals"`
		MostProbable []struct {
			L, H, Out int64
			P         printed
		} `json:"top"`
	}
	Laws []struct {
		meanCase
		P []printed
	}
	Own []struct {
		meanCase
		Branches []struct {
			division
			Chance printed `json:"p_branch"`
			P      []printed
		}
		P []printed
	}
	Last []struct {
		A, B     int64
		Width    int64   `json:"W"`
		EpsilonM float64 `json:"eps_m"`
		P        []printed
	}
}

// meanCase holds the users' data and what is known about them.
type meanCase struct {
	N, Anchor   int64
	Data        []int64
	Epsilon     float64
	Information int64 `json:"info"`
}

// division describes how ε is divided: the share of the interval, 1/2 or 1/3, and the halvings.
type division struct {
	Theta    string
	Halvings uint `json:"s"`
}

// printed is a number in text form.
type printed float64

func (f *printed) UnmarshalText(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 64)
	*f = printed(x)
	return err
}

func readMeanVectors(t *testing.T) meanVectors {
	t.Helper()
	text, err := os.ReadFile("testdata/means_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v meanVectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Cells) != 8 || len(v.Intervals) != 6 || len(v.Laws) != 7 || len(v.Own) != 2 || len(v.Last) != 3 {
		t.Fatalf("%d grids, %d intervals, %d laws, %d own counts, %d offsets", len(v.Cells),
			len(v.Intervals), len(v.Laws), len(v.Own), len(v.Last))
	}
	return v
}

func TestClipCells(t *testing.T) {
	for _, v := range readMeanVectors(t).Cells {
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
}

func TestClipIntervalVectors(t *testing.T) {
	for _, v := range readMeanVectors(t).Intervals {
		g := anchored(t, v.N, v.Anchor)
		c := clippingOf(t, g, v.Epsilon)
		p := c.planFor(big.NewRat(v.Information, 1), 0)
		if c.division(p) != v.division || c.last>>p.halvings != v.W0 ||
			math.Abs(p.interval.Float()/v.EpsilonT-1) > 1e-15 {
			t.Errorf("information %d: %v, ε_t %v; want %v, %v", v.Information, c.division(p),
				p.interval.Float(), v.division, v.EpsilonT)
		}
		h := histogramOf(v.N, v.Data)
		law := intervalLaw(c, h, p, 1)
		var weights intervals
		weights.begin(c, sampleOf(g, h), p)
		if len(law) != v.HowMany || len(law) != weights.size() {
			t.Errorf("%d intervals, want %d", len(law), v.HowMany)
		}
		// Ties come in any order, so the probabilities are sorted before they are compared.
		slices.SortFunc(law, func(x, y piece) int { return cmp.Compare(y.p, x.p) })
		if len(v.MostProbable) != min(12, len(law)) {
			t.Fatalf("%d intervals are given", len(v.MostProbable))
		}
		for k, want := range v.MostProbable {
			if math.Abs(law[k].p/float64(want.P)-1) > 1e-12 {
				t.Errorf("0..%d, %v: interval %d has %v, want %v", v.N, v.Data, k, law[k].p, want.P)
			}
			i := slices.IndexFunc(law, func(x piece) bool { return x.l == want.L && x.h == want.H })
			if i < 0 || law[i].out != want.Out || math.Abs(law[i].p/float64(want.P)-1) > 1e-12 {
				t.Errorf("0..%d, %v: [%d, %d] with %d outside has %v", v.N, v.Data, want.L, want.H, want.Out, want.P)
			}
		}
	}
}

func near(t *testing.T, name string, got []float64, want []printed) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d outcomes, want %d", name, len(got), len(want))
	}
	for i, w := range want {
		if math.Abs(got[i]/float64(w)-1) > 1e-12 {
			t.Errorf("%s: P(%d) = %.15g, want %.15g", name, i, got[i], w)
		}
	}
}

// The formulas here agree with those of the program that made the vectors.
func TestMeanVectors(t *testing.T) {
	v := readMeanVectors(t)
	for _, x := range v.Last {
		epsilon := new(big.Rat).SetFloat64(x.EpsilonM)
		p, side := noiseLaw(laplace{epsilon.Num().Uint64(), epsilon.Denom().Uint64(), 1}, uint64(x.Width), 1, 0)
		near(t, fmt.Sprint("offset ", x.A, x.B), offsetLaw(x.A, x.B, x.Width, 1, p, side), x.P)
	}
	for _, x := range v.Laws {
		c := clippingOf(t, anchored(t, x.N, x.Anchor), x.Epsilon)
		near(t, fmt.Sprint("law ", x.Data),
			meanLawOf(c, histogramOf(x.N, x.Data), c.planFor(big.NewRat(x.Information, 1), 0), 1), x.P)
	}
	for _, x := range v.Own {
		c := clippingOf(t, anchored(t, x.N, x.Anchor), x.Epsilon)
		hist := histogramOf(x.N, x.Data)
		branches, plans := ownLaw(c, int64(len(x.Data)), 1)
		if len(x.Branches) != 18 {
			t.Errorf("%d branches", len(x.Branches))
		}
		for _, b := range x.Branches {
			near(t, fmt.Sprint(x.Data, " branch ", b.division), []float64{branches[b.division]}, []printed{b.Chance})
			near(t, fmt.Sprint(x.Data, " by branch ", b.division), meanLawOf(c, hist, plans[b.division], 1), b.P)
		}
		law := make([]float64, x.N+1)
		for name, p := range plans {
			for i, q := range meanLawOf(c, hist, p, 1) {
				law[i] += branches[name] * q
			}
		}
		near(t, fmt.Sprint("own count ", x.Data), law, x.P)
	}
}
