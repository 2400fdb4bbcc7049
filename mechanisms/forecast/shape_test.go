package forecast

import (
	"math"
	"strings"
	"testing"

	"github.com/louver/louver/mechanisms"
)

func TestParseShapeRefuses(t *testing.T) {
	g := grid(t, "0", "10", "1")
	for text, want := range map[string]string{
		"":                 `shape ""; want lognormal:`,
		"gamma:1,2":        `shape "gamma:1,2"; want lognormal:`,
		"normal":           `shape "normal"; want lognormal:`,
		"normal:1":         `shape "normal:1"; want lognormal:`,
		"normal:1,2,3":     `shape "normal:1,2,3"; want lognormal:`,
		"normal:1,x":       `shape "normal:1,x": "x" is not a number`,
		"normal:NaN,1":     `shape "normal:NaN,1": "NaN" is not a number`,
		"normal:1,0":       `shape "normal:1,0"; want SD greater than 0`,
		"lognormal:0,1":    `shape "lognormal:0,1"; want MEDIAN and SIGMA greater than 0`,
		"lognormal:1,-1":   `shape "lognormal:1,-1"; want MEDIAN and SIGMA greater than 0`,
		"uniform:2,2":      `shape "uniform:2,2"; want LOW less than HIGH`,
		"uniform:":         `shape "uniform:": "" is not a number`,
		"zeros:1,2,3":      `shape "zeros:1,2,3"; want SHARE between 0 and 1, MEDIAN and SIGMA greater than 0`,
		"zeros:0.5,0,1":    `shape "zeros:0.5,0,1"; want SHARE between 0 and 1, MEDIAN and SIGMA`,
		"zeros:0.5,1":      `shape "zeros:0.5,1"; want lognormal:`,
		"two:0.3,7,8":      `shape "two:0.3,7,8"; want SHARE between 0 and 1, LOW less than HIGH by more than`,
		"two:0,1,8":        `shape "two:0,1,8"; want SHARE between 0 and 1`,
		"zeros:0.9,3,1":    "",
		"two:0.3,1,8":      "",
		"two:0.3,-8,-1":    "",
		"lognormal:1,1e99": "",
		"uniform: 1 , 2":   "",
		"uniform":          "",
	} {
		s, err := ParseShape(text, g)
		if (want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err == nil {
			if x := s.sampler(mechanisms.Query{Grid: g}, 101).next(); x.users() != 101 {
				t.Errorf("%q: a sample of %d users", text, x.users())
			}
		}
	}
	q := mechanisms.Query{Statistic: mechanisms.Median, Epsilon: dec("1"), Grid: g}
	if _, err := Of(q, build(t, q), Public{Users: MostUsers + 1, Shape: shape(t, "uniform", g)}); err == nil ||
		!strings.Contains(err.Error(), "want at most 1048576") {
		t.Errorf("too many users: %v", err)
	}
}

// Of the shapes with two groups, the shares and the middles are as they say, and larger shares are larger values.
func TestShapesOfTwoGroups(t *testing.T) {
	g := grid(t, "-1000", "60000", "1")
	for _, c := range []struct {
		text  string
		share float64 // of the first group
		u     []float64
		want  []float64
	}{
		{"zeros:0.9,3000,1", 0.9, []float64{0.01, 0.899, 0.95, 0.99}, []float64{0, 0, 3000, 10806}},
		{"two:0.3,10,30000", 0.7, []float64{0, 0.35, 0.6999, 0.85}, []float64{9, 10, 11, 30000}},
		{"two:0.5,-100,0", 0.5, []float64{0, 0.25, 0.75}, []float64{-110, -100, 0}},
	} {
		s := shape(t, c.text, g)
		for i, u := range c.u {
			if got := float64(s.index(u, g) - 1000); math.Abs(got-c.want[i]) > 1 {
				t.Errorf("%s: the value of %v is %v, want %v", c.text, u, got, c.want[i])
			}
		}
		for u := 0.; u < 0.999; u += 0.001 {
			if s.index(u, g) > s.index(u+0.001, g) {
				t.Errorf("%s: the value of %v is above that of %v", c.text, u, u+0.001)
			}
		}
	}
}
