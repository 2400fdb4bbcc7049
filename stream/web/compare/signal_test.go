package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/louver/louver/stream/outputs"
)

// In 10,000 days of a window a minute, pure noise marks some window on at most 1 % of the days.
//
// The number of days with a mark is at most binomial with a probability of 0.01. Chernoff's bound for 100 expected
// days, e^{−100·((1+x)·ln(1+x)−x)}, is below 1e-6 for x = 0.56: more than 156 days would refute the bound. It is nearly
// exact for geometric and Laplace errors, so that about 95 days are expected. Fewer than 50 would say that the test is
// blind: e^{−95·((1+x)·ln(1+x)−x)} is below 1e-6 for x = −0.5. Sub-Gaussian tails are bounded less closely.
func TestNoiseIsSeldomMarked(t *testing.T) {
	const days, perDay, hour = 10_000, 1440, 60
	for _, c := range []struct {
		law   law
		least int
	}{{geometric, 50}, {laplace, 50}, {normal, 1}} {
		x := noise{c.law, 10}
		others := make([]noise, hour)
		for i := range others {
			others[i] = x
		}
		const alpha = FalseMarksPerDay / perDay
		limit := float64(sort.Search(100_000,
			func(i int) bool { return farFromMean(x, others, float64(i)/100) < alpha })) / 100
		source := rand.New(rand.NewPCG(3, uint64(c.law))) //nolint:gosec // to be repeated
		draw := map[law]func() float64{
			geometric: func() float64 {
				return math.Floor(x.scale*source.ExpFloat64()) - math.Floor(x.scale*source.ExpFloat64())
			},
			laplace: func() float64 { return x.scale * (source.ExpFloat64() - source.ExpFloat64()) },
			normal:  func() float64 { return x.scale * source.NormFloat64() },
		}[c.law]
		var last [hour]float64
		sum, marked := 0., 0
		for i := range last {
			last[i] = draw()
			sum += last[i]
		}
		for range days {
			mark := false
			for i := range perDay {
				value := draw()
				mark = mark || math.Abs(value-sum/hour) >= limit
				sum += value - last[i%hour]
				last[i%hour] = value
			}
			if mark {
				marked++
			}
		}
		t.Logf("law %d: %d of %d days, marked from %.2f on", c.law, marked, days, limit)
		if marked > 156 || marked < c.least {
			t.Errorf("law %d: %d of %d days have a mark; want at most 1 %%, and not many fewer", c.law, marked, days)
		}
	}
}

// points are the figures of neighbouring windows.
func points(t *testing.T, text string, values ...int) (all []*Point) {
	t.Helper()
	for i, v := range values {
		number := func(x int) string { return fmt.Sprint(x) }
		r, ok, err := outputs.Decode([]byte(strings.NewReplacer("ID", number(i), "VALUE", number(v), "LOW",
			number(v-10), "HIGH", number(v+10)).Replace(text)))
		if err != nil || !ok {
			t.Fatal(err)
		}
		all = append(all, PointOf(r))
	}
	return all
}

const (
	aCount    = `{"schema":"louver.release.v1","id":"ID","statistic":"count","mechanism":"geometric","unit":"users","epsilon":0.1,"error_95":30,"value":VALUE}`
	aQuantile = `{"schema":"louver.release.v1","id":"ID","statistic":"quantile","mechanism":"margin","unit":"ms","value":VALUE,` +
		`"smoothed":{"value":100,"low":LOW,"high":HIGH}}`
)

// A planted change is marked, up and down, and what noise explains is not. Nothing is said after counts that may have
// been cut.
func TestChangeIsMarked(t *testing.T) {
	const alpha = FalseMarksPerDay / 1440
	const before = ", the mean of the 6 windows before it, by more than noise explains."
	for what, c := range map[string]struct {
		points   []*Point
		sentence string
	}{
		"a rise": {points(t, aCount, 1000, 1010, 990, 1005, 995, 1000, 1300),
			"1,300 users is above 1,000.0" + before},
		"nobody": {points(t, aCount, 1000, 1010, 990, 1005, 995, 1000, 0),
			"0 users is below 1,000.0" + before},
		// e^{−8} is not rare in a day
		"noise":              {points(t, aCount, 1000, 1010, 990, 1005, 995, 1000, 1080), ""},
		"after a count of 0": {points(t, aCount, 1000, 0, 1000, 1000, 2000), ""},
		"after too few":      {points(t, aCount, 1000, 1000, 2000), ""},
		"a quantile": {points(t, aQuantile, 100, 104, 98, 102, 99, 101, 240),
			"240 ms is above 100.7" + before},
		"a quantile that stays": {points(t, aQuantile, 100, 104, 98, 102, 99, 101, 110), ""},
		"of another definition": {append(points(t, aQuantile, 100, 104, 98), points(t, aCount, 1000)...), ""},
		"of unknown uncertainty": {points(t, strings.Replace(aCount, `,"error_95":30`, "", 1), 1000, 1000, 1000, 2000),
			""},
	} {
		last := len(c.points) - 1
		got := c.points[last].Signal(c.points[:last], alpha)
		switch {
		case c.sentence == "" && got != nil:
			t.Errorf("%s: %+v; want no mark", what, got)
		case c.sentence != "" &&
			(got == nil || got.Sentence != c.sentence || got.Probability >= alpha || got.ID != fmt.Sprint(last)):
			t.Errorf("%s: %+v; want %q", what, got, c.sentence)
		}
	}
}
