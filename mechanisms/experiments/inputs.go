package main

import (
	"math"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/experiments/laws"
)

// input is a population of users with one value each, on a public grid.
type input struct {
	name, unit   string
	lower, upper float64
	step         float64
	value        func(random *stream) float64
}

// last returns the last grid index.
func (in input) last() int64 { return int64(math.Round((in.upper - in.lower) / in.step)) }

// anchor returns the index of the value nearest to 0.
func (in input) anchor() int64 { return in.index(0) }

// index returns the grid index nearest to a value.
func (in input) index(v float64) int64 {
	return min(max(int64(math.Floor((v-in.lower)/in.step+0.5)), 0), in.last())
}

// grid returns the input's grid for the library.
func (in input) grid() *mechanisms.Grid {
	number := decimal.NewFromFloat
	g, err := mechanisms.NewGrid(number(in.lower), number(in.upper), number(in.step))
	if err != nil {
		panic(err) // the inputs are constants in this file
	}
	return g
}

// librarySample converts a sample for the library.
func librarySample(g *mechanisms.Grid, s *laws.Sample) *mechanisms.Sample {
	points := make([]mechanisms.Point, len(s.Sorted))
	for i, v := range s.Sorted {
		points[i] = mechanisms.Point{Index: v, Count: 1}
	}
	return mechanisms.NewSample(g, points)
}

// sample draws n users. The same n and number always give the same sample.
func (in input) sample(n, number int) *laws.Sample {
	return laws.NewSample(in.values(n, number), in.last())
}

// samples draws several samples of n users.
func (in input) samples(n, count int) (all []*laws.Sample) {
	for number := range count {
		all = append(all, in.sample(n, number))
	}
	return all
}

// fineSample does the same on a fine grid.
func (in input) fineSample(n, number int) *laws.Sample {
	return laws.Fine(in.values(n, number), in.last())
}

func (in input) values(n, number int) []int64 {
	random := repeatable(in.name, " ", n, " ", number)
	values := make([]int64, n)
	for i := range values {
		values[i] = in.index(in.value(random))
	}
	return values
}

func lognormal(random *stream, median, sigma float64) float64 {
	return median * math.Exp(sigma*distuv.UnitNormal.Quantile(random.uniform()))
}

// inputs returns the inputs of the study of defaults.
func inputs() []input {
	return []input{
		{name: "latencies", unit: "ms", upper: 60000, step: 1,
			value: func(r *stream) float64 { return lognormal(r, 120, 0.6) }},
		{name: "normal", lower: -10, upper: 10, step: 0.001,
			value: func(r *stream) float64 { return distuv.UnitNormal.Quantile(r.uniform()) }},
		// A population with fewer people at each age above 55.
		{name: "ages", unit: "years", upper: 120, step: 1, value: func(r *stream) float64 {
			for {
				if age := 95 * r.uniform(); age < 55 || r.uniform() < (95-age)/40 {
					return math.Floor(age)
				}
			}
		}},
		{name: "ratings", unit: "stars", lower: 1, upper: 5, step: 1, value: func(r *stream) float64 {
			u, stars := r.uniform(), 1.0
			for _, upTo := range []float64{0.10, 0.18, 0.33, 0.64} {
				if u > upTo {
					stars++
				}
			}
			return stars
		}},
		// Amounts that people state from memory: half of them are multiples of fifty, a third multiples of ten.
		{name: "heaped", unit: "euro", upper: 10000, step: 1, value: func(r *stream) float64 {
			v, u := lognormal(r, 200, 0.8), r.uniform()
			switch {
			case u < 0.5:
				return 50 * math.Round(v/50)
			case u < 0.83:
				return 10 * math.Round(v/10)
			}
			return v
		}},
		{name: "zero-inflated", unit: "euro", upper: 10000, step: 1, value: func(r *stream) float64 {
			if r.uniform() < 0.4 {
				return 0
			}
			return lognormal(r, 50, 1)
		}},
	}
}

// otherInputs returns the inputs of the wider study. The first is far from 0, where the tapered measure is worst.
func otherInputs() []input {
	wide := func(name string, value func(r *stream) float64) input {
		return input{name: name, unit: "ms", upper: 60000, step: 1, value: value}
	}
	return []input{
		wide("far from 0", func(r *stream) float64 { return 45000 + 1500*distuv.UnitNormal.Quantile(r.uniform()) }),
		wide("uniform", func(r *stream) float64 { return 60000 * r.uniform() }),
		wide("timeouts", func(r *stream) float64 { // 3 % of the requests
			if v := lognormal(r, 120, 0.6); r.uniform() > 0.03 {
				return v
			}
			return 30000
		}),
		wide("bimodal", func(r *stream) float64 {
			if r.uniform() < 0.5 {
				return lognormal(r, 5, 0.3)
			}
			return lognormal(r, 2000, 0.3)
		}),
		wide("pareto", func(r *stream) float64 { return 50 * math.Pow(r.uniform(), -1/1.2) }),
		wide("latencies", func(r *stream) float64 { return lognormal(r, 120, 0.9) }),
		{name: "balances", unit: "euro", lower: -10000, upper: 10000, step: 1, value: func(r *stream) float64 {
			return -200 + 800*distuv.UnitNormal.Quantile(r.uniform())/math.Sqrt(r.uniform())
		}},
		{name: "scores", unit: "points", upper: 100, step: 1,
			value: func(r *stream) float64 { return 100 * math.Sqrt(r.uniform()) }},
	}
}
