package compare

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
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
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		points = append(points, mechanisms.Point{Index: v, Count: counts[v]})
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
		x := ofReach(l, 12)
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
		return record(`"mechanism":"geometric","epsilon":0.1,"error_95":30,"low":0,"high":60,"unit":"users","value":` +
			value)
	}
	gaussians := func(value string) outputs.Record {
		return record(`"mechanism":"gaussian","epsilon":0.1,"error_95":20,"unit":"users","value":` + value)
	}
	scattered := func(value, usual string) outputs.Record {
		return record(`"statistic":"median","basis":"scatter","value":` + value + `,"usual_95":` + usual)
	}
	within := func(value, level, low, high string) outputs.Record {
		return record(`"statistic":"quantile","value":` + value + `,"interval":{"level":` + level + `,"low":` + low +
			`,"high":` + high + `}`)
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
			"812 → 822 users: nothing public says how often noise and usual variation make such a difference."},
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
			"100 → 106 ms: nothing public says how often noise and usual variation make such a difference."},
		{"a quantile alone", record(`"value":100,"p_low":0.4,"p_high":0.6`),
			record(`"value":106,"p_low":0.4,"p_high":0.6`),
			"unknown", "100 → 106 ms: nothing public says how often noise and usual variation make such a difference."},
		{"a median with a usual difference", scattered("100", "20"), scattered("106", "30"), "noise",
			"100 → 106 ms: noise and the usual variation do this in 53 of 100 cases."},
		{"a median far off", scattered("100", "20"), scattered("300", "30"), "change",
			"100 → 300 ms: noise and the usual variation do this in fewer than 1 of 1,000 cases."},
		{"of another basis", scattered("100", "20"), record(`"statistic":"median","basis":"shape","value":300`),
			"unknown",
			"100 → 300 ms: nothing public says how often noise and usual variation make such a difference."},
		{"a median of an earlier release",
			record(`"statistic":"median","value":100,"smoothed":{"value":100,"low":99,"high":101}`),
			record(`"statistic":"median","value":300,"smoothed":{"value":300,"low":299,"high":301}`), "unknown",
			"100 → 300 ms: nothing public says how often noise and usual variation make such a difference."},
		{"intervals that meet", within("100", "0.99", "80", "120"), within("130", "0.99", "120", "140"), "unknown",
			"100 → 130 ms: nothing public says how often noise and usual variation make such a difference."},
		{"intervals that do not", within("100", "0.99", "80", "119"), within("130", "0.99", "120", "140"), "change",
			"100 → 130 ms: the intervals do not meet. If nothing has changed, that happens in 2 of 100 cases at most."},
		{"intervals of a low level", within("100", "0.9", "80", "119"), within("130", "0.9", "120", "140"), "unknown",
			"100 → 130 ms: the intervals do not meet. If nothing has changed, that happens in 20 of 100 cases " +
				"at most."},
		{"a share of a histogram",
			record(`"statistic":"share","from":"h","value":0.100000,"error_95":0.01,"low":0.09,"high":0.11`),
			record(`"statistic":"share","from":"h","value":0.110000,"error_95":0.01,"low":0.1,"high":0.12`), "noise",
			"10.0 → 11.0 %: noise alone does this in 17 of 100 cases."},
	} {
		got := Figures(c.a, c.b)
		if got.Verdict != c.verdict || got.Sentence != c.sentence {
			t.Errorf("%s: %s, %s; want %s, %s", c.name, got.Verdict, got.Sentence, c.verdict, c.sentence)
		}
	}
}
