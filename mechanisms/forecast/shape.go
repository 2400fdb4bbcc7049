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

// ParseShape reads "lognormal:MEDIAN,SIGMA", "normal:MEAN,SD", "uniform:LOW,HIGH" or "uniform", which covers the whole
// grid. Values outside the bounds count as the bounds.
func ParseShape(text string, grid *mechanisms.Grid) (*Shape, error) {
	s := &Shape{text: text}
	unknown := fmt.Errorf("shape %q; want lognormal:MEDIAN,SIGMA, normal:MEAN,SD, uniform:LOW,HIGH or uniform", text)
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
	if len(parameters) != 2 {
		return nil, unknown
	}
	a, b := parameters[0], parameters[1]
	switch {
	case name == "uniform" && a < b:
		s.quantile = distuv.Uniform{Min: a, Max: b}.Quantile
	case name == "normal" && b > 0:
		s.quantile = distuv.Normal{Mu: a, Sigma: b}.Quantile
	case name == "lognormal" && a > 0 && b > 0:
		s.quantile = distuv.LogNormal{Mu: math.Log(a), Sigma: b}.Quantile
	case name == "uniform":
		return nil, fmt.Errorf("shape %q; want LOW less than HIGH", text)
	case name == "normal":
		return nil, fmt.Errorf("shape %q; want SD greater than 0", text)
	case name == "lognormal":
		return nil, fmt.Errorf("shape %q; want MEDIAN and SIGMA greater than 0", text)
	default:
		return nil, unknown
	}
	return s, nil
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
