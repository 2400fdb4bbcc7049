package forecast

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/louver/louver/mechanisms"
)

// Shape is a public guess at the distribution of values. It is immutable and safe for concurrent use.
type Shape struct {
	text     string
	quantile func(u float64) float64
}

// MostUsers is the largest sample that a shape draws.
const MostUsers = 1 << 20

// shapes lists what ParseShape reads.
const shapes = "lognormal:MEDIAN,SIGMA, normal:MEAN,SD, uniform:LOW,HIGH, uniform, zeros:SHARE,MEDIAN,SIGMA or " +
	"two:SHARE,LOW,HIGH"

// ParseShape reads "lognormal:MEDIAN,SIGMA", "normal:MEAN,SD", "uniform:LOW,HIGH" or "uniform", which covers the whole
// grid. "zeros:SHARE,MEDIAN,SIGMA" is a share of zeros, such as users who buy nothing, and log-normal amounts of the
// others. "two:SHARE,LOW,HIGH" is two groups: that share of the users is near HIGH, the others near LOW, evenly spread
// from a tenth below it to a tenth above. Values outside the bounds count as the bounds.
func ParseShape(text string, grid *mechanisms.Grid) (*Shape, error) {
	s := &Shape{text: text}
	unknown := fmt.Errorf("shape %q; want %s", text, shapes)
	name, rest, given := strings.Cut(text, ":")
	var parameters []float64
	for part := range strings.SplitSeq(rest, ",") {
		if !given {
			break
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("shape %q: %q is not a number", text, part)
		}
		parameters = append(parameters, x)
	}
	if name == "uniform" && !given {
		parameters = []float64{grid.Lower().InexactFloat64(), grid.Upper().InexactFloat64()}
	}
	for _, k := range kinds {
		if k.name != name {
			continue
		}
		if len(parameters) != k.parameters {
			return nil, unknown
		}
		if !k.possible(parameters) {
			return nil, fmt.Errorf("shape %q; want %s", text, k.want)
		}
		s.quantile = k.quantile(parameters)
		return s, nil
	}
	return nil, unknown
}

// kinds are the shapes by name.
var kinds = []struct {
	name       string
	parameters int
	possible   func(x []float64) bool
	want       string
	quantile   func(x []float64) func(u float64) float64
}{
	{"uniform", 2, func(x []float64) bool { return x[0] < x[1] }, "LOW less than HIGH",
		func(x []float64) func(float64) float64 { return distuv.Uniform{Min: x[0], Max: x[1]}.Quantile }},
	{"normal", 2, func(x []float64) bool { return x[1] > 0 }, "SD greater than 0",
		func(x []float64) func(float64) float64 { return distuv.Normal{Mu: x[0], Sigma: x[1]}.Quantile }},
	{"lognormal", 2, func(x []float64) bool { return x[0] > 0 && x[1] > 0 }, "MEDIAN and SIGMA greater than 0",
		func(x []float64) func(float64) float64 {
			return distuv.LogNormal{Mu: math.Log(x[0]), Sigma: x[1]}.Quantile
		}},
	{"zeros", 3, func(x []float64) bool { return inside(x[0]) && x[1] > 0 && x[2] > 0 },
		"SHARE between 0 and 1, MEDIAN and SIGMA greater than 0",
		func(x []float64) func(float64) float64 {
			nothing := func(float64) float64 { return 0 }
			return divided(x[0], nothing, distuv.LogNormal{Mu: math.Log(x[1]), Sigma: x[2]}.Quantile)
		}},
	{"two", 3, func(x []float64) bool { return inside(x[0]) && near(x[1])(1) < near(x[2])(0) },
		"SHARE between 0 and 1, LOW less than HIGH by more than a tenth of each",
		func(x []float64) func(float64) float64 { return divided(1-x[0], near(x[1]), near(x[2])) }},
}

func inside(share float64) bool { return 0 < share && share < 1 }

// near is evenly spread from a tenth below a value to a tenth above.
func near(x float64) func(u float64) float64 {
	return func(u float64) float64 { return x + math.Abs(x)*(2*u-1)/10 }
}

// divided has one law for this share of the users and another, of larger values, for the rest.
func divided(share float64, first, second func(u float64) float64) func(u float64) float64 {
	return func(u float64) float64 {
		if u < share {
			return first(u / share)
		}
		return second((u - share) / (1 - share))
	}
}

// String returns the text that the shape was read from.
func (s *Shape) String() string { return s.text }

// index returns the grid point of the shape's u-quantile.
func (s *Shape) index(u float64, grid *mechanisms.Grid) int64 {
	x := math.Round((s.quantile(u) - grid.Lower().InexactFloat64()) / grid.Step().InexactFloat64())
	if !(x > 0) {
		return 0
	}
	return int64(min(x, float64(grid.Last())))
}
