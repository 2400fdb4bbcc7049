package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/outputs"
)

// random is a source of noise that tests can repeat.
type random struct{ *rand.ChaCha8 }

func seeded(n byte) random { return random{rand.NewChaCha8([32]byte{n})} }

func query(t *testing.T, q mechanisms.Query) mechanisms.Mechanism {
	t.Helper()
	m, err := mechanisms.New(q)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func grid(t *testing.T, upper int64) *mechanisms.Grid {
	t.Helper()
	g, err := mechanisms.NewGrid(decimal.Decimal{}, decimal.NewFromInt(upper), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func sample(g *mechanisms.Grid, values ...int64) *mechanisms.Sample {
	counts := map[int64]int64{}
	for _, v := range values {
		counts[v]++
	}
	var points []mechanisms.Point
	for v := int64(0); v <= g.Last(); v++ {
		if counts[v] > 0 {
			points = append(points, mechanisms.Point{Index: v, Count: counts[v]})
		}
	}
	return mechanisms.NewSample(g, points)
}

// far is how far the share of n independent trials may be from its probability, except with one of 10^-6 in one of k
// comparisons (Hoeffding): 2k·e^{−2n·far²} ≤ 1e-6.
func far(n, k int) float64 { return math.Sqrt(math.Log(2e6*float64(k)) / 2 / float64(n)) }

// The chance that noise alone makes a difference is what real draws of counts do, for equal and for different ε.
func TestChanceOfCounts(t *testing.T) {
	const n = 60000
	distances := []int{1, 2, 5, 10, 20, 40, 80}
	g := grid(t, 10)
	values := make([]int64, 5000)
	draw := func(l law, epsilon float64, source random) []int64 {
		named := map[law]string{geometric: "geometric", gaussian: "gaussian"}[l]
		m := query(t, mechanisms.Query{Statistic: mechanisms.Count, Mechanism: named,
			Epsilon: decimal.NewFromFloat(epsilon), Grid: g})
		s := sample(g, values...)
		drawn := make([]int64, n)
		for i := range drawn {
			d, err := m.Draw(s, mechanisms.Public{}, source)
			if err != nil {
				t.Fatal(err)
			}
			drawn[i] = d.Values[0].Number
		}
		return drawn
	}
	for i, e := range [][2]float64{{0.1, 0.1}, {0.1, 0.3}, {1, 1}, {0.1, 0.1}, {0.1, 0.3}, {0.7, 0.7}} {
		l := geometric
		if i >= 3 {
			l = gaussian
		}
		a, b := draw(l, e[0], seeded(byte(2*i))), draw(l, e[1], seeded(byte(2*i+1)))
		worst := func(x, y float64) (off float64) {
			for _, d := range distances {
				hits := 0
				for k := range a {
					if math.Abs(float64(a[k]-b[k])) >= float64(d) {
						hits++
					}
				}
				p, ok := chance(noise{l, 1 / x}, noise{l, 1 / y}, float64(d))
				if !ok {
					t.Fatal("no chance")
				}
				off = max(off, math.Abs(p-float64(hits)/n))
			}
			return off
		}
		limit := far(n, 6*len(distances))
		if off := worst(e[0], e[1]); off > limit {
			t.Errorf("law %d, ε %v: off by %.4f; want at most %.4f", l, e, off, limit)
		}
		// The test would see an ε that is wrong by a tenth.
		if off := worst(1.1*e[0], 1.1*e[1]); off <= limit {
			t.Errorf("ε %v taken for a tenth more is off by %.4f only; want it to be seen, beyond %.4f", e, off, limit)
		}
	}
}

func TestChance(t *testing.T) {
	const n = 200000
	source := rand.New(seeded(9).ChaCha8)
	exponential := func(scale float64) float64 { return scale * (source.ExpFloat64() - source.ExpFloat64()) } // Laplace
	bell := func(scale float64) float64 { return scale * source.NormFloat64() }
	for _, c := range []struct {
		law  law
		draw func(scale float64) float64
		a, b float64
	}{{laplace, exponential, 3, 3}, {laplace, exponential, 3, 10}, {normal, bell, 3, 10}} {
		distances := []float64{0.5, 2, 5, 10, 30}
		hits := make([]int, len(distances))
		for range n {
			d := math.Abs(c.draw(c.a) - c.draw(c.b))
			for i, limit := range distances {
				if d >= limit {
					hits[i]++
				}
			}
		}
		for i, d := range distances {
			p, _ := chance(noise{c.law, c.a}, noise{c.law, c.b}, d)
			if got := float64(hits[i]) / n; math.Abs(got-p) > far(n, 15) {
				t.Errorf("law %d, scales %g and %g: a difference of %g has a chance of %.4f; drawn %.4f", c.law, c.a,
					c.b, d, p, got)
			}
		}
	}
	// Scales that are nearly equal give nearly the same, whichever formula is used.
	for _, l := range []law{geometric, laplace} {
		equal, _ := chance(noise{l, 10}, noise{l, 10}, 7)
		near, _ := chance(noise{l, 10}, noise{l, 10.0001}, 7)
		if math.Abs(equal-near) > 1e-4 {
			t.Errorf("law %d: %g and %g", l, equal, near)
		}
	}
	if _, ok := chance(noise{laplace, 1}, noise{normal, 1}, 1); ok {
		t.Error("errors of different kinds have a chance")
	}
	// The reach of a law is exceeded as often as its level says.
	for _, l := range []law{laplace, normal} {
		x := ofReach(l, 12, 0.95)
		out := 0
		draw := map[law]func(float64) float64{laplace: exponential, normal: bell}[l]
		for range n {
			if math.Abs(draw(x.scale)) > 12 {
				out++
			}
		}
		if got := float64(out) / n; math.Abs(got-0.05) > far(n, 2) {
			t.Errorf("law %d: the reach of 95 %% is exceeded in %.4f", l, got)
		}
	}
}

// Medians of windows in which nothing changes differ "by more than noise" in no more than 5 % of all comparisons, and
// those of an incident do.
func TestMediansThatDoNotChange(t *testing.T) {
	const windows = 1000
	g := grid(t, 60000)
	source := rand.New(seeded(5).ChaCha8)
	people := func(middle float64) *mechanisms.Sample {
		values := make([]int64, 3000)
		for i := range values {
			values[i] = int64(min(60000, middle*math.Exp(0.6*source.NormFloat64())))
		}
		return sample(g, values...)
	}
	q := mechanisms.Query{Statistic: mechanisms.Median, Epsilon: decimal.NewFromFloat(0.02), Grid: g, Prior: "adaptive",
		ExpectedUsers: 3000}
	m := query(t, q)
	filter, err := mechanisms.NewFilter(q)
	if err != nil {
		t.Fatal(err)
	}
	noisy := seeded(6)
	release := func(s *mechanisms.Sample) outputs.Record {
		users := &mechanisms.NoisyCount{Value: 3000, Epsilon: 0.05}
		d, err := m.Draw(s, mechanisms.Public{Measure: filter.Measure(), Users: users}, noisy)
		if err != nil {
			t.Fatal(err)
		}
		filter.Update(d.Values[0].Number, &users.Value)
		band := filter.Smoothed(d.Values[0].Number, &users.Value)
		filter.Predict()
		n := func(x int64) *json.Number { return new(json.Number(fmt.Sprint(x))) }
		r := outputs.Record{Release: "p50", Statistic: "median", Mechanism: "margin", Unit: "ms",
			Value: n(d.Values[0].Number)}
		err = json.Unmarshal(fmt.Appendf(nil, `{"smoothed":{"value":%d,"low":%d,"high":%d}}`, band.Value, band.Low,
			band.High), &r)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	calm := people(120)
	last, changes, seen := release(calm), 0, 0
	var figures []outputs.Record
	for range windows {
		next := release(calm)
		figures = append(figures, next)
		if c := Figures(last, next); c.Verdict == "change" {
			changes++
		}
		if c := Figures(narrowed(last), narrowed(next)); c.Verdict == "change" {
			seen++
		}
		last = next
	}
	// Neighbouring comparisons share a figure, so every second one is independent. With n = 500 of them and a
	// probability of 5 %, more than t = 11 % are changes with a probability of at most e^{−n·KL(t, 0.05)} = 3e-7.
	if changes > windows*11/100 {
		t.Errorf("%d of %d comparisons see a change where there is none; want at most 11 %%", changes, windows)
	}
	if seen <= windows*11/100 {
		t.Errorf("with bands of a tenth of their width %d of %d comparisons see a change; want the test to see that",
			seen, windows)
	}
	// Of 100 pairs of ranges of five windows, more than t = 20 % change with a probability of at most
	// e^{−100·KL(t, 0.05)} = 9e-7.
	changes, seen = 0, 0
	for ; len(figures) >= 10; figures = figures[10:] {
		if Means(AverageOf(figures[:5]), AverageOf(figures[5:10])).Verdict == "change" {
			changes++
		}
		narrow := make([]outputs.Record, 10)
		for i, f := range figures[:10] {
			narrow[i] = narrowed(f)
		}
		if Means(AverageOf(narrow[:5]), AverageOf(narrow[5:])).Verdict == "change" {
			seen++
		}
	}
	if changes > 20 || seen <= 20 {
		t.Errorf("%d of 100 pairs of ranges see a change where there is none, and %d with bands of a tenth of their "+
			"width; want at most 20, and more", changes, seen)
	}
	slow := people(360)
	release(slow)
	c := Figures(last, release(slow))
	if c.Verdict != "change" || *c.Basis != "smoothed" {
		t.Errorf("an incident: %+v %s", c, c.Sentence)
	}
}

// narrowed is a record that claims a band of a tenth of its width.
func narrowed(r outputs.Record) outputs.Record {
	s := *r.Smoothed
	value := numberOf(*r.Value)
	for _, end := range []**json.Number{&s.Low, &s.High} {
		*end = new(exactly(value.Add(numberOf(**end).Sub(value).Shift(-1))))
	}
	r.Smoothed = &s
	return r
}

func TestCompared(t *testing.T) {
	record := func(fields string) outputs.Record {
		r := outputs.Record{Release: "r", Unit: "ms"}
		if err := json.Unmarshal([]byte(`{"status":"ok","window_end":"2026-11-20T08:15:00Z",`+fields+`}`),
			&r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	count := func(value string) outputs.Record {
		return record(`"mechanism":"geometric","epsilon":0.1,"error_95":30,"unit":"users","value":` + value)
	}
	gaussians := func(value string) outputs.Record {
		return record(`"mechanism":"gaussian","epsilon":0.1,"error_95":20,"unit":"users","value":` + value)
	}
	for _, c := range []struct {
		name     string
		a, b     outputs.Record
		verdict  string
		sentence string
	}{
		{"counts", count("812"), count("822"), "noise", "810 → 820 users: noise alone does this in 57 of 100 cases."},
		{"counts far apart", count("812"), count("400"), "change",
			"810 → 400 users: noise alone does this in fewer than 1 of 1,000 cases."},
		{"counts with Gaussian noise", gaussians("812"), gaussians("822"), "noise",
			"812 → 822 users: noise alone does this in 50 of 100 cases."},
		{"counts of different laws", count("812"), gaussians("822"), "unknown",
			"812 → 822 users: nothing public says how often noise alone makes such a difference."},
		{"counts some way apart", count("812"), count("870"), "change",
			"810 → 870 users: noise alone does this in 1 of 100 cases."},
		{"the same", count("812"), count("812"), "noise",
			"810 → 810 users: the two figures are the same. The noise may still hide a difference."},
		{"withheld", count("812"), record(`"value":null,"reason":"too_few_users"`), "unknown",
			"Nothing can be compared: the figure of the window that ends at 2026-11-20T08:15:00Z is withheld " +
				"(too_few_users)."},
		{"means", record(`"mechanism":"clipped","value":100,"error_95":10`),
			record(`"mechanism":"clipped","value":106,"error_95":10`), "noise",
			"100 → 106 ms: noise alone does this in 31 of 100 cases."},
		{"means with Gaussian noise", record(`"mechanism":"clipped_gaussian","value":100,"error_95":10`),
			record(`"mechanism":"clipped_gaussian","value":106,"error_95":10`), "noise",
			"100 → 106 ms: noise alone does this in 41 of 100 cases."},
		{"of different mechanisms", record(`"mechanism":"clipped_gaussian","value":100,"error_95":10`),
			record(`"mechanism":"clipped","value":106,"error_95":10`), "unknown",
			"100 → 106 ms: nothing public says how often noise alone makes such a difference."},
		{"a quantile alone", record(`"value":100,"p_low":0.4,"p_high":0.6`),
			record(`"value":106,"p_low":0.4,"p_high":0.6`),
			"unknown", "100 → 106 ms: nothing public says how often noise alone makes such a difference."},
		// Only the sides that face each other matter.
		{"bands", record(`"value":100,"smoothed":{"value":100,"low":0,"high":104}`),
			record(`"value":120,"smoothed":{"value":120,"low":116,"high":900}`), "change",
			"100 → 120 ms: noise alone does this in fewer than 1 of 1,000 cases."},
		{"intervals", record(`"value":100,"interval":{"level":0.9,"low":80,"high":120}`),
			record(`"value":120,"interval":{"level":0.9,"low":100,"high":130}`), "noise",
			"100 → 120 ms: noise alone does this in 22 of 100 cases."},
		{"a value at the end of its band", record(`"value":100,"interval":{"level":0.9,"low":80,"high":100}`),
			record(`"value":101,"interval":{"level":0.9,"low":101,"high":130}`), "noise",
			"100 → 101 ms: noise alone does this in 22 of 100 cases."},
	} {
		got := Figures(c.a, c.b)
		if got.Verdict != c.verdict || got.Sentence != c.sentence {
			t.Errorf("%s: %s, %s; want %s, %s", c.name, got.Verdict, got.Sentence, c.verdict, c.sentence)
		}
	}
}
