package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/mechanisms/running"
)

// A day of the distribution so far has 96 windows of 15 minutes, an ε of 1 and buckets of scale 3. As many users come
// in each window. The figures are looked at after some hours.
const (
	soFarLeaves  = 96
	soFarAnHour  = 4
	soFarBuckets = 3
)

var soFarHours, soFarQuantiles = []int{3, 12, 24}, []string{"0.5", "0.9", "0.99"}

// soFarInputs are latencies. The first are those of the documents.
func soFarInputs() []input {
	all := []input{inputs()[0]}
	for _, in := range otherInputs() {
		switch in.name {
		case "latencies":
			in.name = "latencies, σ 0.9"
			all = append(all, in)
		case "timeouts", "bimodal", "pareto":
			all = append(all, in)
		}
	}
	return all
}

// soFar simulates days of the distribution so far, and compares its quantiles with those of the users so far. It also
// counts how often figures are within a tenth of the truth, by the width of their bands. That is what a useful one says
// with 95 % confidence.
func soFar(s *session) error {
	t := newTable("input", "mechanism", "users_a_day", "hours", "p", "typical_factor", "one_in_twenty_beyond", "held",
		"useful", "rough", "noise")
	bands, sizes := newSoFarBands(), []int{1000, 5000, 50_000}
	if s.quick {
		sizes = sizes[:1]
	}
	var lines []line
	for _, in := range soFarInputs() {
		for _, mechanism := range mechanisms.TotalMechanisms() {
			for _, n := range sizes {
				c, err := newSoFarCase(in, mechanism, n)
				if err != nil {
					return err
				}
				for number := range s.reps(200, 2) {
					if err := c.day(number); err != nil {
						return err
					}
				}
				c.write(t)
				bands.add(c)
				if in.name == "latencies" {
					lines = append(lines, c.line("0.99"))
				}
			}
		}
		s.log("  %s", in.name)
	}
	if err := s.write("so-far", t); err != nil {
		return err
	}
	if err := s.chart("so-far", "p99 of the latencies so far, epsilon 1 a day", "hours", "typical factor", false, true,
		lines...); err != nil {
		return err
	}
	return s.write("so-far-bands", bands.table())
}

// soFarCase is an input with so many users a day, and what became of its figures.
type soFarCase struct {
	in        input
	mechanism string
	n         int
	total     *mechanisms.Total
	figures   []*mechanisms.Computed
	seen      map[soFarPlace][]soFarFigure
}

// soFarPlace is where a figure stands: after so many hours, and at which quantile.
type soFarPlace struct {
	hours int
	p     string
}

// soFarFigure is a quantile and the truth. shown is false if the histogram showed nobody.
type soFarFigure struct {
	value, low, high, truth float64
	quality                 mechanisms.Quality
	shown                   bool
}

func newSoFarCase(in input, mechanism string, n int) (*soFarCase, error) {
	c := &soFarCase{in: in, mechanism: mechanism, n: n, seen: map[soFarPlace][]soFarFigure{}}
	g, err := in.grid(), error(nil)
	c.total, err = mechanisms.NewTotal(mechanisms.TotalQuery{Statistic: mechanisms.Histogram, Mechanism: mechanism,
		Epsilon: decimal.NewFromInt(1), ZCDP: true, Grid: g, Groups: 1,
		Buckets: &mechanisms.Bucketing{Native: true, Scale: soFarBuckets},
		Period:  running.Period{Leaves: soFarLeaves, Longest: soFarLeaves + soFarAnHour}})
	if err != nil {
		return nil, err
	}
	for _, p := range soFarQuantiles {
		f, err := mechanisms.NewComputed(mechanisms.Query{Statistic: mechanisms.Quantile, Grid: g,
			P: []decimal.Decimal{decimal.RequireFromString(p)}}, c.total.Buckets)
		if err != nil {
			return nil, err
		}
		c.figures = append(c.figures, f)
	}
	return c, nil
}

// day draws all leaves of a day, and looks at the figures in between.
func (c *soFarCase) day(number int) error {
	values, random := c.in.values(c.n, number), repeatable("so far", c.in.name, c.mechanism, c.n, number)
	open, known := make([]running.Open, c.total.Numbers()), make([]running.Known, c.total.Numbers())
	for leaf := 1; leaf <= soFarLeaves; leaf++ {
		came, until := c.n*(leaf-1)/soFarLeaves, c.n*leaf/soFarLeaves
		if err := c.leaf(int64(leaf), values[came:until], open, known, random); err != nil {
			return err
		}
		if hours := leaf / soFarAnHour; leaf%soFarAnHour == 0 && slices.Contains(soFarHours, hours) {
			c.look(hours, int64(leaf), known, slices.Sorted(slices.Values(values[:until])))
		}
	}
	return nil
}

// leaf adds the users who came in a leaf, and draws.
func (c *soFarCase) leaf(leaf int64, values []int64, open []running.Open, known []running.Known,
	random io.Reader) error {
	amounts := make([]int64, c.total.Places())
	for _, v := range values {
		amounts[c.total.Place(v)]++
	}
	c.total.Enter(open, leaf, amounts)
	for i := range open {
		draws, err := c.total.Draw(open[i], leaf, random)
		if err != nil {
			return err
		}
		c.total.Close(open[i], leaf)
		known[i] = c.total.Fold(known[i], leaf, draws)
	}
	return nil
}

// look notes the figures after a leaf.
func (c *soFarCase) look(hours int, leaf int64, known []running.Known, sorted []int64) {
	var numbers []int64
	for _, k := range known {
		numbers = append(numbers, histogram.Bounded(c.total.Total(k, leaf)))
	}
	buckets := c.total.Buckets
	e := buckets.Estimate(numbers[:buckets.Len()], numbers[buckets.Len():], mechanisms.TotalNoise(c.total, leaf), 1)
	for i, p := range soFarQuantiles {
		v, ok := c.figures[i].Of(e)
		rank := decimal.RequireFromString(p).Mul(decimal.NewFromInt(int64(len(sorted)))).Ceil().IntPart()
		f := soFarFigure{truth: c.in.lower + c.in.step*float64(sorted[max(1, rank)-1]), quality: v.Quality, shown: ok}
		if ok {
			f.value, f.low, f.high = v.Value.InexactFloat64(), v.Low.InexactFloat64(), v.High.InexactFloat64()
		}
		at := soFarPlace{hours, p}
		c.seen[at] = append(c.seen[at], f)
	}
}

// factor is how many times too large or too small a figure is. Values below a step count as one.
func (f soFarFigure) factor() float64 {
	if !f.shown {
		return math.Inf(1)
	}
	value, truth := max(f.value, 1), max(f.truth, 1)
	return max(value/truth, truth/value)
}

// factors are those of a figure, sorted.
func (c *soFarCase) factors(at soFarPlace) (all []float64) {
	for _, f := range c.seen[at] {
		all = append(all, f.factor())
	}
	slices.Sort(all)
	return all
}

// line is the typical factor of a quantile in the course of the day.
func (c *soFarCase) line(p string) line {
	l := line{name: fmt.Sprintf("%d users, %s", c.n, c.mechanism)}
	for _, hours := range soFarHours {
		of := c.factors(soFarPlace{hours, p})
		l.x, l.y = append(l.x, float64(hours)), append(l.y, of[len(of)/2])
	}
	return l
}

func (c *soFarCase) write(t *table) {
	for _, hours := range soFarHours {
		for _, p := range soFarQuantiles {
			at := soFarPlace{hours, p}
			held, qualities, all, factors := 0., map[mechanisms.Quality]float64{}, c.seen[at], c.factors(at)
			for _, f := range all {
				qualities[f.quality] += 1 / float64(len(all))
				if f.low <= f.truth && f.truth <= f.high {
					held += 1 / float64(len(all))
				}
			}
			t.add(c.in.name, c.mechanism, c.n, hours, p, factors[len(factors)/2], factors[len(factors)*19/20], held,
				qualities[mechanisms.Useful], qualities[mechanisms.Rough], qualities[mechanisms.Noise])
		}
	}
}

// soFarBands counts figures by half the width of their bands, as a share of the size with which it is compared.
type soFarBands struct {
	upTo []float64
	all  []soFarShare
	// least is the least share within a tenth in a setting with 20 or more such figures.
	least []float64
}

// soFarShare is how many of some figures are within a tenth of the truth.
type soFarShare struct{ figures, near float64 }

func newSoFarBands() *soFarBands {
	b := &soFarBands{upTo: []float64{0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1, math.Inf(1)}}
	b.all, b.least = make([]soFarShare, len(b.upTo)), slices.Repeat([]float64{1}, len(b.upTo))
	return b
}

func (b *soFarBands) add(c *soFarCase) {
	for _, seen := range c.seen {
		here := make([]soFarShare, len(b.upTo))
		for _, f := range seen {
			if !f.shown {
				continue
			}
			size := max(min(f.value, math.Sqrt(f.low*f.high)), 10*c.in.step)
			i := slices.IndexFunc(b.upTo, func(most float64) bool { return (f.high-f.low)/2/size <= most })
			here[i].figures++
			if math.Abs(f.value-f.truth) <= f.truth/10 {
				here[i].near++
			}
		}
		for i, x := range here {
			b.all[i].figures, b.all[i].near = b.all[i].figures+x.figures, b.all[i].near+x.near
			if x.figures >= 20 {
				b.least[i] = min(b.least[i], x.near/x.figures)
			}
		}
	}
}

func (b *soFarBands) table() *table {
	t := newTable("half_of_the_band_up_to", "figures", "within_a_tenth", "least_of_a_setting")
	for i, most := range b.upTo {
		t.add(most, b.all[i].figures, b.all[i].near/max(1, b.all[i].figures), b.least[i])
	}
	return t
}
