package forecast

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

func TestParseShapeRefuses(t *testing.T) {
	g := grid(t, "0", "10", "1")
	for text, want := range map[string]string{
		"":                 `shape ""; want lognormal:`,
		"gamma:1,2":        `shape "gamma:1,2"; want lognormal:`,
		"normal":           `shape "normal"; want lognormal:`,
		"normal:1":         `shape "normal:1"; want lognormal:`,
		"normal:1,2,3":     `shape "normal:1,2,3"; want lognormal:`,
		"normal:1,x":       `shape "normal:1,x": "x" is not a number`,
		"normal:NaN,1":     `shape "normal:NaN,1": "NaN" is not a number`,
		"normal:1,0":       `shape "normal:1,0": want SD greater than 0`,
		"lognormal:0,1":    `shape "lognormal:0,1": want MEDIAN and SIGMA greater than 0`,
		"lognormal:1,-1":   `shape "lognormal:1,-1": want MEDIAN and SIGMA greater than 0`,
		"uniform:2,2":      `shape "uniform:2,2": want LOW less than HIGH`,
		"uniform:":         `shape "uniform:": "" is not a number`,
		"lognormal:1,1e99": "",
		"uniform: 1 , 2":   "",
		"uniform":          "",
	} {
		s, err := ParseShape(text, g)
		if (want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err == nil {
			if x, err := s.ideal(g, 101); err != nil || x.users() != 101 {
				t.Errorf("%q: ideal sample: %v", text, err)
			}
		}
	}
	if _, err := shape(t, "uniform", g).ideal(g, MostUsers+1); err == nil || !strings.Contains(err.Error(), "want at most 1048576") {
		t.Errorf("too many users: %v", err)
	}
}

// The statistics of an ideal sample, against the definitions on the list of its values.
func TestTruth(t *testing.T) {
	g := grid(t, "-5", "15", "0.5")
	for _, n := range []int64{1, 2, 3, 10, 37, 100} {
		x, err := shape(t, "normal:4,3", g).ideal(g, n)
		if err != nil {
			t.Fatal(err)
		}
		var list []float64
		for _, p := range x.points {
			list = append(list, slices.Repeat([]float64{float64(p.Index)}, int(p.Count))...)
		}
		if int64(len(list)) != n || !slices.IsSorted(list) {
			t.Fatalf("%d values for %d: %v", len(list), n, list)
		}
		at := func(i int64) float64 {
			switch {
			case i < 1:
				return 0
			case i > n:
				return float64(g.Last())
			}
			return list[i-1]
		}
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
			q      mechanisms.Query
			lo, hi float64
		}{
			{mechanisms.Query{Statistic: mechanisms.Median}, at((n + 1) / 2), at(n/2 + 1)},
			{mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{dec("0.75")}}, at((3*n + 3) / 4), at(3*n/4 + 1)},
			{mechanisms.Query{Statistic: mechanisms.Mean}, mean(list), mean(list)},
			{mechanisms.Query{Statistic: mechanisms.TrimmedMean, Trim: dec("0.1")}, trimmed, trimmed},
		} {
			c.q.Grid = g
			got := x.truth(c.q)
			if len(got) != 1 || math.Abs(got[0][0].lo-c.lo) > 1e-9 || math.Abs(got[0][0].hi-c.hi) > 1e-9 {
				t.Errorf("n = %d, %s: %v, want %v to %v", n, c.q.Statistic, got, c.lo, c.hi)
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
		for _, r := range x.truth(mechanisms.Query{Statistic: mechanisms.Mode, Grid: g})[0] {
			if i := slices.Index(list, r.lo); i < 0 || i+most > len(list) || list[i+most-1] != r.lo {
				t.Errorf("n = %d: %v is no mode of %v", n, r.lo, list)
			}
		}
	}
}

func TestTruthsOff(t *testing.T) {
	between := truths{{2, 4}, {10, 10}}
	for value, want := range map[float64]float64{0: 2, 2: 0, 3: 0, 4.5: 0.5, 6: 2, 8: 2, 10: 0, 13: 3} {
		if got := between.off(value); got != want {
			t.Errorf("%v is %v off, want %v", value, got, want)
		}
	}
}
