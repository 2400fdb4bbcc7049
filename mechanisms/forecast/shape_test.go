package forecast

import (
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
