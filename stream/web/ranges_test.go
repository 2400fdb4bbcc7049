package web

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// The chance that two means differ is that of two values if each is the mean of one, and that of real sums of errors.
func TestChanceOfMeans(t *testing.T) {
	for _, d := range []float64{0.1, 1, 5, 20, 60} {
		for _, c := range [][2]noise{{{laplace, 3}, {laplace, 3}}, {{laplace, 3}, {laplace, 10}}, {{normal, 3}, {normal, 10}}} {
			exact, _ := chance(c[0], c[1], d)
			// Scales are rounded up by at most a thousandth, which moves no chance by more than that.
			if p := chanceOfMeans(c[:1], c[1:], d); math.Abs(p-exact) > 1e-3 || p < exact-1e-6 {
				t.Errorf("%v, a difference of %g: %.7f; want %.7f, or a little more", c, d, p, exact)
			}
		}
	}
	if p, want := chanceOfMeans([]noise{{gaussian, 30}}, []noise{{gaussian, 40}}, 50), math.Erfc(1/math.Sqrt2); math.Abs(p-want) > 1e-6 {
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

// Ranges are the means of their windows, without those that are withheld.
func TestCompareRanges(t *testing.T) {
	w := newWorld(t, 1<<20)
	for i, value := range []string{"100", "110", "90", "160", "150"} {
		w.publish(0, text("s", "eu", "users", i, value))
		w.publish(0, strings.NewReplacer(`"error_95":30`, `"error_95":null`).Replace(text("s", "eu", "top", i, value)))
	}
	w.publish(0, withheld("eu", 5))
	ask := func(release, from, middle, to string) (c struct {
		A, B       average
		Difference float64
		Verdict    string
		Sentence   string
		Basis      *string
	}, status int) {
		at := func(from, to string) string {
			return "s/eu/2026-11-20T" + from + "Z..2026-11-20T" + to + "Z/" + release
		}
		r := w.get("/api/v1/compare?" + url.Values{"a": {at(from, middle)}, "b": {at(middle, to)}}.Encode())
		_ = json.Unmarshal(r.Body.Bytes(), &c) // a problem is none
		return c, r.Code
	}
	c, status := ask("users", "08:00:00", "08:03:00", "08:06:00")
	if status != 200 || c.A.Windows != 3 || c.B.Windows != 2 || c.B.Withheld != 1 || c.Difference != 55 || c.Verdict != "change" || *c.Basis != "error_95" ||
		c.Sentence != "100 → 155 users, means of 3 and 2 windows: noise alone does this in fewer than 1 of 1,000 cases. Without 1 withheld window." {
		t.Errorf("%d %+v", status, c)
	}
	if c, _ := ask("users", "08:00:00", "08:01:00", "08:03:00"); c.Verdict != "noise" || !strings.HasPrefix(c.Sentence, "100 → 100 users, means of 1 and 2 windows: noise alone does this nearly always.") {
		t.Errorf("%+v", c)
	}
	if c, _ := ask("top", "08:00:00", "08:03:00", "08:05:00"); c.Verdict != "unknown" || c.Basis != nil || !strings.HasSuffix(c.Sentence, "nothing public says how often noise alone makes such a difference.") {
		t.Errorf("%+v", c)
	}
	if c, _ := ask("users", "08:00:00", "08:05:00", "08:06:00"); c.Verdict != "unknown" || c.Sentence != "Nothing can be compared: all figures of a range are withheld." {
		t.Errorf("%+v", c)
	}
	if c, status := ask("users", "08:00:00", "08:06:00", "09:00:00"); status != 404 {
		t.Errorf("%d %+v", status, c)
	}
	for _, bad := range [][2]string{{"s/eu/2026-11-20T08:00:00Z/users", "s/eu/2026-11-20T08:00:00Z..2026-11-20T08:02:00Z/users"},
		{"s/eu/2026-11-20T08:00:00Z..2026-11-20T08:03:00Z/users", "s/eu/2026-11-20T08:02:00Z..2026-11-20T08:05:00Z/users"},
		{"s/eu/2026-11-20T08:02:00Z..2026-11-20T08:00:00Z/users", "s/eu/2026-11-20T08:00:00Z..2026-11-20T08:02:00Z/users"}} {
		if r := w.get("/api/v1/compare?" + url.Values{"a": {bad[0]}, "b": {bad[1]}}.Encode()); r.Code != 400 {
			t.Errorf("%q: %d; want 400", bad, r.Code)
		}
	}
}
