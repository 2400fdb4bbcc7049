package forecast

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/louver/louver/mechanisms"
)

// Shape is a public guess of how values are distributed. It is immutable and safe for concurrent use.
type Shape struct {
	text     string
	quantile func(u float64) float64
}

// MostUsers is the largest ideal sample.
const MostUsers = 1 << 20

// ParseShape reads "lognormal:MEDIAN,SIGMA", "normal:MEAN,SD", "uniform:LOW,HIGH" or "uniform", which is over the whole
// grid. Values beyond the bounds will count as the bounds.
func ParseShape(text string, grid *mechanisms.Grid) (*Shape, error) {
	s := &Shape{text: text}
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
		parameters = []float64{grid.Float(0), grid.Float(grid.Last())}
	}
	if len(parameters) != 2 {
		return nil, fmt.Errorf("shape %q; want lognormal:MEDIAN,SIGMA, normal:MEAN,SD, uniform:LOW,HIGH or uniform", text)
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
		return nil, fmt.Errorf("shape %q: want LOW less than HIGH", text)
	case name == "normal":
		return nil, fmt.Errorf("shape %q: want SD greater than 0", text)
	case name == "lognormal":
		return nil, fmt.Errorf("shape %q: want MEDIAN and SIGMA greater than 0", text)
	default:
		return nil, fmt.Errorf("shape %q; want lognormal:MEDIAN,SIGMA, normal:MEAN,SD, uniform:LOW,HIGH or uniform", text)
	}
	return s, nil
}

// String is the text that the shape was read from.
func (s *Shape) String() string { return s.text }

// sorted are n values on a grid: distinct ones with how many users hold each, and how many users there are up to each.
type sorted struct {
	points []mechanisms.Point
	upTo   []int64
}

// ideal is the ideal sample of a shape.
func (s *Shape) ideal(grid *mechanisms.Grid, n int64) (*sorted, error) {
	if n > MostUsers {
		return nil, fmt.Errorf("shape %q with %d users; want at most %d: beyond them, only ranks are forecast", s.text, n, MostUsers)
	}
	x := &sorted{}
	for i := range n {
		v := s.quantile((float64(i) + 0.5) / float64(n))
		if math.IsInf(v, 0) {
			v = math.Copysign(math.MaxFloat64, v)
		}
		index, err := grid.Index(v)
		if err != nil {
			return nil, fmt.Errorf("shape %q: %w", s.text, err)
		}
		index = min(max(index, 0), grid.Last())
		if last := len(x.points) - 1; last >= 0 && x.points[last].Index == index {
			x.points[last].Count++
			x.upTo[last]++
			continue
		}
		x.points = append(x.points, mechanisms.Point{Index: index, Count: 1})
		x.upTo = append(x.upTo, i+1)
	}
	return x, nil
}

func (x *sorted) users() int64 { return x.upTo[len(x.upTo)-1] }

// at is the i-th smallest value, from 1 on; those before it are the lower end of the grid and those after it the upper.
func (x *sorted) at(i int64, grid *mechanisms.Grid) float64 {
	switch {
	case i < 1:
		return 0
	case i > x.users():
		return float64(grid.Last())
	}
	return float64(x.points[sort.Search(len(x.upTo), func(j int) bool { return x.upTo[j] >= i })].Index)
}

// truths are the values that count as the statistic, each from lo to hi, in steps of the grid.
type truths []struct{ lo, hi float64 }

// off is the distance from the nearest of them.
func (t truths) off(value float64) float64 {
	least := math.Inf(1)
	for _, r := range t {
		least = min(least, max(0, r.lo-value, value-r.hi))
	}
	return least
}

// truth is the statistic's value for each value of a draw. All between the two neighbours of a quantile is the quantile.
func (x *sorted) truth(q mechanisms.Query) []truths {
	n := x.users()
	between := func(num, den int64) truths {
		return truths{{x.at((num*n+den-1)/den, q.Grid), x.at(num*n/den+1, q.Grid)}}
	}
	switch q.Statistic {
	case mechanisms.Median:
		return []truths{between(1, 2)}
	case mechanisms.Mode:
		var all truths
		most := int64(0)
		for _, p := range x.points {
			if p.Count > most {
				most, all = p.Count, nil
			}
			if at := float64(p.Index); p.Count == most {
				all = append(all, struct{ lo, hi float64 }{at, at})
			}
		}
		return []truths{all}
	case mechanisms.Mean, mechanisms.TrimmedMean:
		cut := q.Trim.Mul(decimalOf(n)).IntPart()
		sum := 0.
		for j, p := range x.points {
			// The ranks of a value that are left after cutting.
			from, to := max(x.upTo[j]-p.Count, cut), min(x.upTo[j], n-cut)
			sum += float64(p.Index) * float64(max(0, to-from))
		}
		mean := sum / float64(n-2*cut)
		return []truths{{{mean, mean}}}
	}
	var all []truths
	for _, p := range q.P {
		r := p.Rat()
		all = append(all, between(r.Num().Int64(), r.Denom().Int64()))
	}
	return all
}
