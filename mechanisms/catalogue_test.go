package mechanisms

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

func TestNewRefuses(t *testing.T) {
	g := smallGrid(t, 10)
	at := func(s string) *decimal.Decimal { d := dec(s); return &d }
	one := dec("1")
	for _, c := range []struct {
		query Query
		want  string
	}{
		{Query{}, `statistic ""; want median, quantile, quantiles, mode, mean, sum, trimmed_mean, variance, stddev, ` +
			"count, outside, histogram or share"},
		{Query{Statistic: "average", Grid: g, Epsilon: one}, `statistic "average"; want median`},
		{Query{Statistic: Median, Epsilon: one}, "bounds missing; want lower, upper and step"},
		{Query{Statistic: Median, Grid: g}, "epsilon 0; want a number greater than 0"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("-1")}, "epsilon -1; want a number greater than 0"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("0.1234567890123456789")},
			"epsilon 0.1234567890123456789; want at most 18 digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("1e-9000")}, "epsilon 1e-9000; want at most 18 digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("1e9000")}, "epsilon 1e9000; want at most 18 digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Mechanism: "geometric"},
			`mechanism "geometric"; want one of those for statistic median: permute_and_flip, above_threshold, ` +
				"margin, duff, rank, mid_rank"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, P: ps("0.5")},
			"p 0.5; want none: statistic median has no such parameter"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one}, "p a list of 0; want one number"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("0.5", "0.6")}, "p a list of 2; want one number"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("1")},
			"p 1; want a number greater than 0 and less than 1"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("0")},
			"p 0; want a number greater than 0 and less than 1"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("0.12345678901")},
			"p 0.12345678901; want at most 9 digits"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("1e-9000")}, "p 1e-9000; want at most 9 digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Tilt: [2]int64{0, 1}}, "tilt [0, 1]; want two whole numbers"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Tilt: [2]int64{1, 1}, Mechanism: "duff"},
			"tilt [1, 1]; want none: mechanism duff has no such parameter"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Delta: one},
			"delta 1; want none: mechanism permute_and_flip has no such parameter"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Trim: one},
			"trim 1; want none: statistic median has no such parameter"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Above: at("3")},
			"above 3; want none: statistic median has no such parameter"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Prior: "wild"},
			`prior "wild"; want adaptive, tapered, cells or uniform`},
		{Query{Statistic: Median, Grid: g, Epsilon: one, ExpectedUsers: -1}, "expected_users -1; want a whole number"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Clip: "none"},
			"clip none; want none: statistic median has no such parameter"},
		{Query{Statistic: Mean, Grid: g, Epsilon: one, Clip: "some"}, `clip "some"; want none, or nothing`},
		{Query{Statistic: Mean, Grid: g, Epsilon: one, Clip: "none", Mechanism: "clipped_gaussian"},
			"clip none; want another mechanism than clipped_gaussian"},
		{Query{Statistic: Count, Grid: g, Epsilon: one, Above: at("9.5")},
			"above 9.5; want a number within the bounds, 0 to 9"},
		{Query{Statistic: Count, Grid: g, Epsilon: one, Above: at("3"), Below: at("4")},
			"above 3; want a point of the grid between it and below, which is 4"},
		{Query{Statistic: Count, Grid: g, Epsilon: one, Above: at("9")},
			"above 9; want less than 9, the highest value: nobody is above that"},
		{Query{Statistic: Count, Grid: g, Epsilon: one, Below: at("0")},
			"below 0; want more than 0, the lowest value: nobody is below that"},
	} {
		m, err := New(c.query)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%+v) = %v, %v, want %q", c.query, m, err, c.want)
		}
	}
}

func TestDefaultsOfMeans(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		name string
		q    Query
		want string
	}{
		{"mean", Query{Statistic: Mean, Epsilon: dec("1")}, "clipped"},
		{"mean of all values", Query{Statistic: Mean, Epsilon: dec("1"), Clip: "none"}, "two_sums"},
		{"mean of all values, named", Query{Statistic: Mean, Epsilon: dec("1"), Clip: "none",
			Mechanism: "smooth_power"}, "smooth_power"},
		{"trimmed mean", Query{Statistic: TrimmedMean, Trim: dec("0.1"), Epsilon: dec("1")}, "clipped"},
		{"trimmed mean of all values", Query{Statistic: TrimmedMean, Trim: dec("0.1"), Epsilon: dec("1"), Clip: "none"},
			"smooth_power"},
		{"sum", Query{Statistic: Sum, Epsilon: dec("1")}, "clipped"},
		{"sum of all values", Query{Statistic: Sum, Epsilon: dec("1"), Clip: "none"}, "laplace"},
	} {
		c.q.Grid = g
		if got := build(t, c.q).Name(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
