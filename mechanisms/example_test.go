package mechanisms_test

import (
	"crypto/rand"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// waits are the seconds that 999 callers have waited, on a grid from 0 to 600 in steps of half a second: 1.5 s, 2 s,
// 2.5 s and so on. One more caller has waited for five minutes.
func waits() (*mechanisms.Grid, *mechanisms.Sample) {
	grid, err := mechanisms.NewGrid(dec("0"), dec("600"), dec("0.5"))
	if err != nil {
		panic(err)
	}
	var points []mechanisms.Point
	for i := range int64(111) {
		points = append(points, mechanisms.Point{Index: 3 + i, Count: 9})
	}
	return grid, mechanisms.NewSample(grid, append(points, mechanisms.Point{Index: 600, Count: 1}))
}

// draw makes one draw of the waits and formats it as a decimal.
func draw(q mechanisms.Query) (string, mechanisms.Draw) {
	grid, sample := waits()
	q.Grid = grid
	m, err := mechanisms.New(q)
	if err != nil {
		panic(err)
	}
	d, err := m.Draw(sample, mechanisms.Public{}, rand.Reader)
	if err != nil {
		panic(err)
	}
	return q.Scale(m).Text(d.Values[0].Number), d
}

// All steps of a release: bounds and step, the users' values, the query, and a draw. The ε here is so large that there
// is almost no noise and the output is predictable. An ε of 1 or less gives protection.
func Example() {
	grid, err := mechanisms.NewGrid(dec("0"), dec("600"), dec("0.5"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var points []mechanisms.Point
	for _, seconds := range []float64{12.5, 14, 14, 17, 90} {
		index, err := grid.Index(seconds)
		if err != nil {
			fmt.Println(err)
			return
		}
		points = append(points, mechanisms.Point{Index: index, Count: 1})
	}
	sample := mechanisms.NewSample(grid, points)

	query := mechanisms.Query{Statistic: mechanisms.Median, Epsilon: dec("500"), Grid: grid}
	median, err := mechanisms.New(query)
	if err != nil {
		fmt.Println(err)
		return
	}
	draw, err := median.Draw(sample, mechanisms.Public{}, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("median:", query.Scale(median).Text(draw.Values[0].Number), "s, drawn by", median.Name())
	// Output: median: 14 s, drawn by permute_and_flip
}

// The cost of a draw is known before there are any data: it depends only on the query. A budget that adds up ρ charges
// a quarter for a mechanism of bounded range.
func ExampleMechanism_promise() {
	grid, _ := waits()
	for _, name := range []string{"permute_and_flip", "margin", "smooth_lln"} {
		m, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Median, Mechanism: name, Epsilon: dec("0.2"),
			Grid: grid})
		if err != nil {
			fmt.Println(err)
			return
		}
		p := m.Promise()
		fmt.Printf("%s: %s, ε %s, ρ %s\n", m.Name(), p.Kind, p.Epsilon, p.Rho)
	}
	// Output:
	// permute_and_flip: pure, ε 0.2, ρ 0.02
	// margin: bounded_range, ε 0.2, ρ 0.005
	// smooth_lln: zcdp, ε 0.2, ρ 0.02
}

// A quantile comes with a bound on its error in ranks, computed from public figures alone.
func ExampleNew_quantile() {
	p95, d := draw(mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{dec("0.95")},
		Epsilon: dec("200")})
	fmt.Println("95 % wait no longer than", p95, "s")
	fmt.Println("off by less than one caller in a hundred:", d.Values[0].RankError95 < 10)
	// Output:
	// 95 % wait no longer than 54 s
	// off by less than one caller in a hundred: true
}

// Several quantiles of one window share an ε and are in order.
func ExampleNew_quantiles() {
	_, d := draw(mechanisms.Query{Statistic: mechanisms.Quantiles, P: []decimal.Decimal{dec("0.5"), dec("0.9")},
		Epsilon: dec("1")})
	fmt.Println("in order:", d.Values[0].Number <= d.Values[1].Number)
	// Output: in order: true
}

// The mode is the value that most people hold.
func ExampleNew_mode() {
	grid, err := mechanisms.NewGrid(dec("1"), dec("5"), dec("1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	stars := mechanisms.NewSample(grid,
		[]mechanisms.Point{{Index: 0, Count: 40}, {Index: 3, Count: 310}, {Index: 4, Count: 290}})
	query := mechanisms.Query{Statistic: mechanisms.Mode, Epsilon: dec("5"), Grid: grid}
	mode, err := mechanisms.New(query)
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := mode.Draw(stars, mechanisms.Public{}, rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("most often:", query.Scale(mode).Text(d.Values[0].Number), "stars")
	// Output: most often: 4 stars
}

// A mean first looks for a narrow interval and cuts values to it, so that one long wait costs little accuracy. The
// interval is part of the release. Error95 bounds the noise and does not include the cut.
func ExampleNew_mean() {
	_, d := draw(mechanisms.Query{Statistic: mechanisms.Mean, Epsilon: dec("1")})
	fmt.Println("cut to an interval:", len(d.Clip) == 2)
	fmt.Println("the noise is bounded:", d.Values[0].Error95 > 0)
	// Output:
	// cut to an interval: true
	// the noise is bounded: true
}

// A trimmed mean leaves out the lowest and the highest tenth of the people.
func ExampleNew_trimmedMean() {
	mean, _ := draw(mechanisms.Query{Statistic: mechanisms.TrimmedMean, Trim: dec("0.1"), Epsilon: dec("1000")})
	fmt.Println("near 29 s:", dec(mean).Sub(dec("29")).Abs().LessThan(dec("0.5")))
	// Output: near 29 s: true
}

// A count of the people whose value is above a threshold. Counts are numbers of people, not points of the grid.
func ExampleNew_count() {
	above := dec("50")
	count, _ := draw(mechanisms.Query{Statistic: mechanisms.Count, Above: &above, Epsilon: dec("100")})
	fmt.Println("waited for more than 50 s:", count)
	// Output: waited for more than 50 s: 118
}

// A sum of all values, shown in hours: about a thousand waits of half a minute.
func ExampleNew_sum() {
	seconds, d := draw(mechanisms.Query{Statistic: mechanisms.Sum, Clip: "none", Epsilon: dec("1000")})
	fmt.Println("hours:", dec(seconds).Div(dec("3600")).Round(0))
	fmt.Println("off by a few seconds:", d.Values[0].Error95 < 5)
	// Output:
	// hours: 8
	// off by a few seconds: true
}

// The variance is in squared seconds.
func ExampleNew_variance() {
	variance, _ := draw(mechanisms.Query{Statistic: mechanisms.Variance, Clip: "none", Epsilon: dec("100000")})
	fmt.Println("near 330 s²:", dec(variance).Sub(dec("330")).Abs().LessThan(dec("5")))
	// Output: near 330 s²: true
}

// The standard deviation is the root of the variance, in seconds again.
func ExampleNew_standardDeviation() {
	deviation, _ := draw(mechanisms.Query{Statistic: mechanisms.StdDev, Clip: "none", Epsilon: dec("100000")})
	fmt.Println("near 18 s:", dec(deviation).Round(0))
	// Output: near 18 s: 18
}

// A median, with an interval that contains it with 95 % confidence. The interval costs half of ε.
func ExampleNew_median() {
	level := dec("0.95")
	median, d := draw(mechanisms.Query{Statistic: mechanisms.Median, Interval: &level, Epsilon: dec("20")})
	fmt.Println("near 29 s:", dec(median).Sub(dec("29")).Abs().LessThan(dec("1")))
	fmt.Println("inside the interval:", d.Low <= d.Values[0].Number && d.Values[0].Number <= d.High)
	// Output:
	// near 29 s: true
	// inside the interval: true
}

// The number of people with a value outside the bounds. All other statistics count it as the nearest bound.
func ExampleNew_outside() {
	outside, _ := draw(mechanisms.Query{Statistic: mechanisms.Outside, Epsilon: dec("100")})
	fmt.Println("longer than the bounds allow:", outside)
	// Output: longer than the bounds allow: 0
}

// The expected error of a draw is known before there are any data.
func ExampleMechanism_errors() {
	grid, _ := waits()
	count, err := mechanisms.New(mechanisms.Query{Statistic: mechanisms.Count, Epsilon: dec("0.1"), Grid: grid})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("users, 95 % of the time at most:", count.Errors(mechanisms.Public{})[0].Error95)
	// Output: users, 95 % of the time at most: 30
}
