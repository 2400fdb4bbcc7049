package compare

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/record"
)

// The chance that two means differ is that of two values if each is the mean of one, and that of real sums of errors.
func TestChanceOfMeans(t *testing.T) {
	for _, d := range []float64{0.1, 1, 5, 20, 60} {
		for _, c := range [][2]noise{{{laplace, 3}, {laplace, 3}}, {{laplace, 3}, {laplace, 10}},
			{{normal, 3}, {normal, 10}}} {
			exact, _ := chance(c[0], c[1], d)
			// Scales are rounded up by at most a thousandth, which moves no chance by more than that.
			if p := chanceOfMeans(c[:1], c[1:], d); math.Abs(p-exact) > 1e-3 || p < exact-1e-6 {
				t.Errorf("%v, a difference of %g: %.7f; want %.7f, or a little more", c, d, p, exact)
			}
		}
	}
	if p, want := chanceOfMeans([]noise{{gaussian, 30}}, []noise{{gaussian, 40}}, 50),
		math.Erfc(1/math.Sqrt2); math.Abs(p-want) > 1e-6 {
		t.Errorf("Gaussian counts: %.7f; want %.7f", p, want)
	}
	const n = 100000
	source := rand.New(seeded(7).ChaCha8)
	x := []noise{{laplace, 4}, {laplace, 9}, {geometric, 5}, {laplace, 4}}
	y := []noise{{normal, 6}, {laplace, 2}}
	mean := func(laws []noise) (sum float64) {
		for _, e := range laws {
			switch e.law {
			case normal:
				sum += e.scale * source.NormFloat64()
			case laplace:
				sum += e.scale * (source.ExpFloat64() - source.ExpFloat64())
			case geometric: // a difference of two geometric variables: an exponential one, rounded down, is geometric
				sum += math.Floor(e.scale*source.ExpFloat64()) - math.Floor(e.scale*source.ExpFloat64())
			}
		}
		return sum / float64(len(laws))
	}
	distances := []float64{0.5, 2, 5, 10, 20}
	hits := make([]int, len(distances))
	for range n {
		d := math.Abs(mean(x) - mean(y))
		for i, limit := range distances {
			if d >= limit {
				hits[i]++
			}
		}
	}
	// A geometric error counts as a Laplace one, and the variance of that is larger by about 1/6. Here this is 1/96 of
	// 74.1, the variance of the four, and moves a chance by less than 1e-3.
	limit, seen := far(n, 2*len(distances))+2e-3, false
	for i, d := range distances {
		got := float64(hits[i]) / n
		if p := chanceOfMeans(x, y, d); math.Abs(got-p) > limit {
			t.Errorf("a difference of %g has a chance of %.4f; drawn %.4f", d, p, got)
		}
		wrong := []noise{{normal, 6}, {laplace, 4}}
		seen = seen || math.Abs(got-chanceOfMeans(x, wrong, d)) > limit
	}
	if !seen {
		t.Error("a scale that is twice too large is not noticed")
	}
}

// Ranges of quantiles that have intervals are compared by how far their own figures lie apart, if most of the intervals
// do not meet and there are enough of them.
func TestRangesOfIntervals(t *testing.T) {
	values := []float64{300, 304, 297, 301, 299, 303, 298, 302, 900, 911, 893, 904, 898, 907, 895, 901}
	for name, c := range map[string]struct {
		text     string
		first    int
		to       int
		sentence string
	}{
		"a change": {anInterval, 8, 16,
			"300.5 → 900.5 ms, medians of 8 and 8 windows: noise and the usual variation do this in fewer than 1 of " +
				"1,000 cases."},
		"too few": {anInterval, 8, 12, "300.5 → 902.0 ms, medians of 8 and 4 windows: nothing public says how often " +
			"noise and usual variation make such a difference."},
		"wide intervals": {strings.Replace(anInterval, `"low":%[1]v`, `"low":0`, 1), 8, 16,
			"300.5 → 900.5 ms, medians of 8 and 8 windows: nothing public says how often noise and usual variation " +
				"make such a difference."},
	} {
		records := minutes(t, c.text, values...)
		if got := Ranges(AverageOf(records[:c.first]), AverageOf(records[c.first:c.to])); got.Sentence != c.sentence {
			t.Errorf("%s: %s; want %s", name, got.Sentence, c.sentence)
		}
	}
}

// Two numbers of a sentence have equally many digits: those that the error allows, or as many as tell them apart.
func TestNumbersAreRoundedAlike(t *testing.T) {
	number := decimal.RequireFromString
	for _, c := range []struct {
		x, y string
		off  float64
		want string
	}{{"12", "12.25", 0, "12.00 → 12.25"}, {"812", "860", 0, "812 → 860"}, {"1e3", "860", 0, "1,000 → 860"},
		{"812", "860", 30, "810 → 860"}, {"812", "860", 29, "812 → 860"}, {"4000.1", "2600", 30, "4,000 → 2,600"},
		{"-1234.5", "1234567", 0, "−1,234.5 → 1,234,567.0"},
		{"812", "814", 300, "812 → 814"}, {"812", "848", 300, "810 → 850"}, {"812", "812", 300, "800 → 800"}} {
		if got := both(number(c.x), number(c.y), c.off); got != c.want {
			t.Errorf("%s and %s, ± %g: %s; want %s", c.x, c.y, c.off, got, c.want)
		}
	}
}

// Figures over the newest time share windows, and so their noise: each that overlaps the one before it is left out, and
// ranges whose figures overlap are not compared.
func TestRangesOfTheNewestTime(t *testing.T) {
	records := minutes(t, anInterval, 300, 304, 297, 301, 299, 303, 298, 302)
	for i := range records { // of four minutes each
		records[i].Release, records[i].Windows = "p50.last_4m", &record.Windows{Of: 4, Released: 4}
		records[i].WindowStart = records[i].WindowEnd.Add(-4 * time.Minute)
	}
	if a := AverageOf(records); a.Windows != 2 {
		t.Errorf("the mean is of %d figures; want the first and the fifth", a.Windows)
	}
	if !AverageOf(records[:3]).Shares(AverageOf(records[3:])) || AverageOf(records[:3]).Shares(AverageOf(records[6:])) {
		t.Error("figures that overlap share windows, and others do not")
	}
}

// Neighbouring totals, numbers of active users and repeated values share noise. If each had noise of its own, noise
// alone would make the difference of these means in fewer than 1 of 1,000 cases.
func TestRangesOfValuesThatShareNoise(t *testing.T) {
	of := func(shared func(*record.Value)) (a, b Average) {
		records := minutes(t, anInterval, slices.Concat(slices.Repeat([]float64{500}, 50),
			slices.Repeat([]float64{515}, 50))...)
		for i := range records {
			r := &records[i]
			r.Statistic, r.P, r.Unit, r.Mechanism = "count", nil, "users", "centred_gaussian"
			r.Interval, r.Error95 = nil, new(json.Number("20"))
			shared(r)
		}
		return AverageOf(records[:50]), AverageOf(records[50:])
	}
	for name, shared := range map[string]func(*record.Value){
		"total":     func(r *record.Value) { r.Final = new(false) },
		"active":    func(r *record.Value) { r.Active = "15m" },
		"on change": func(r *record.Value) { r.Changed = new(false) },
	} {
		if c := Ranges(of(shared)); c.Verdict != "unknown" || c.Probability != nil ||
			!strings.Contains(c.Sentence, "share noise") {
			t.Errorf("%s: %s, %s; want that nothing is said", name, c.Verdict, c.Sentence)
		}
	}
	if c := Ranges(of(func(*record.Value) {})); c.Verdict != "change" {
		t.Errorf("values with noise of their own: %s; want a change", c.Sentence)
	}
}

// Noise of square_root and of centred_gaussian is normal. A difference of 1.4 times the published error is one that
// two normal noises make in 5.2 of 100 cases, and two of Laplace in 4.6.
func TestNormalNoiseOfInstances(t *testing.T) {
	for name, of := range map[string]func(*record.Value){
		"total":  func(r *record.Value) { r.Final = new(false) },
		"active": func(r *record.Value) { r.Active = "15m" },
	} {
		records := minutes(t, aCount, 5000, 5140)
		for i := range records {
			records[i].Mechanism, records[i].Error95 = "centred_gaussian", new(json.Number("100"))
			of(&records[i])
		}
		c := Figures(records[0], records[1])
		if want := math.Erfc(1.4 * 1.96 / 2); c.Probability == nil || *c.Probability < want || *c.Probability > want+0.002 {
			t.Errorf("%s: %s; want noise in %.4f of the cases, or a little more", name, c.Sentence, want)
		}
	}
}
