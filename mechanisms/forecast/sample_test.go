package forecast

import (
	"math"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// Compares the statistics of a sample with their definitions on the list of its values.
func TestTruth(t *testing.T) {
	g := grid(t, "-5", "15", "0.5")
	for _, n := range []int64{1, 2, 3, 10, 37, 100} {
		x := shape(t, "normal:4,3", g).sampler(mechanisms.Query{Grid: g}, n).next()
		var list []float64
		for _, p := range x.points {
			list = append(list, slices.Repeat([]float64{g.Value(p.Index).InexactFloat64()}, int(p.Count))...)
		}
		if int64(len(list)) != n || !slices.IsSorted(list) {
			t.Fatalf("%d values for %d: %v", len(list), n, list)
		}
		at := func(i int64) float64 { return list[i-1] }
		mean := func(list []float64) float64 {
			sum := 0.
			for _, v := range list {
				sum += v
			}
			return sum / float64(len(list))
		}
		cut := n / 10
		trimmed := mean(list[cut : n-cut])
		for _, c := range []struct {
			q    mechanisms.Query
			want float64
		}{
			{mechanisms.Query{Statistic: mechanisms.Median}, (at((n+1)/2) + at(n/2+1)) / 2},
			{mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{dec("0.75")}},
				(at((3*n+3)/4) + at(3*n/4+1)) / 2},
			{mechanisms.Query{Statistic: mechanisms.Mean}, mean(list)},
			{mechanisms.Query{Statistic: mechanisms.TrimmedMean, Trim: dec("0.1")}, trimmed},
		} {
			c.q.Grid = g
			got := truths(c.q, mechanisms.NewSample(g, x.points))
			if len(got) != 1 || math.Abs(got[0][0]-c.want) > 1e-9 {
				t.Errorf("n = %d, %s: %v, want %v", n, c.q.Statistic, got, c.want)
			}
		}
		most := 0
		for _, v := range list {
			same := 0
			for _, w := range list {
				if v == w {
					same++
				}
			}
			most = max(most, same)
		}
		for _, v := range truths(mechanisms.Query{Statistic: mechanisms.Mode, Grid: g},
			mechanisms.NewSample(g, x.points))[0] {
			if i := slices.Index(list, v); i < 0 || i+most > len(list) || list[i+most-1] != v {
				t.Errorf("n = %d: %v is no mode of %v", n, v, list)
			}
		}
	}
}

func TestOff(t *testing.T) {
	for value, want := range map[float64]float64{0: 2, 2: 0, 3: 1, 5.5: 3.5, 8: 2, 10: 0, 13: 3} {
		if got := off(value, []float64{2, 10}); got != want {
			t.Errorf("%v is %v off, want %v", value, got, want)
		}
	}
}

// A large sample has n users in order, every rank next to the quantiles on its own, and few distinct values for its
// size.
func TestLargeSamplesAreBundled(t *testing.T) {
	g := grid(t, "0", "1000000", "0.001")
	q := mechanisms.Query{Statistic: mechanisms.Quantiles,
		P: []decimal.Decimal{dec("0.001"), dec("0.5"), dec("0.99999")}, Grid: g}
	x := shape(t, "uniform", g).sampler(q, MostUsers).next()
	if !slices.IsSortedFunc(x.points, func(a, b mechanisms.Point) int { return int(a.Index - b.Index) }) {
		t.Error("the values are not in order")
	}
	if n := len(x.points); x.users() != MostUsers || n > 6000 {
		t.Errorf("%d users at %d points", x.users(), n)
	}
	near := map[int64]bool{}
	for _, p := range q.P {
		target := p.Mul(decimalOf(MostUsers)).Ceil().IntPart()
		for rank := max(1, target-reach); rank <= min(MostUsers, target+reach); rank++ {
			near[rank] = true
		}
	}
	for i, upTo := range x.upTo {
		if near[upTo] && x.points[i].Count > 2 { // two users may share a grid point by chance
			t.Errorf("%d users stand at rank %d, next to a quantile", x.points[i].Count, upTo)
		}
		expected := (float64(upTo) - float64(x.points[i].Count)/2) / MostUsers * 1e9
		if math.Abs(float64(x.points[i].Index)-expected) > 1e5 {
			t.Errorf("rank %d is at %d, want about %.0f", upTo, x.points[i].Index, expected)
		}
	}
}
