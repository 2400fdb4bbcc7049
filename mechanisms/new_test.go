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
		{Query{}, `statistic "" is not known: one of median,`},
		{Query{Statistic: "average", Grid: g, Epsilon: one}, `statistic "average" is not known`},
		{Query{Statistic: Median, Epsilon: one}, "grid: bounds and step are required"},
		{Query{Statistic: Median, Grid: g}, "epsilon 0 must be greater than 0"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("-1")}, "epsilon -1 must be greater than 0"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("0.1234567890123456789")}, "epsilon 0.1234567890123456789 has too many digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("1e-9000")}, "epsilon 1e-9000 has too many digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: dec("1e9000")}, "epsilon 1e9000 has too many digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Mechanism: "geometric"}, `mechanism "geometric" is not available for statistic median; available: margin, duff, permute_and_flip, rank, mid_rank`},
		{Query{Statistic: Median, Grid: g, Epsilon: one, P: ps("0.5")}, "p [0.5] is not a parameter of statistic median"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one}, "p: a quantile takes one probability, not 0"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("0.5", "0.6")}, "p: a quantile takes one probability, not 2"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("1")}, "p 1 must lie between 0 and 1"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("0")}, "p 0 must lie between 0 and 1"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("0.12345678901")}, "p 0.12345678901 has too many digits"},
		{Query{Statistic: Quantile, Grid: g, Epsilon: one, P: ps("1e-9000")}, "p 1e-9000 has too many digits"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Tilt: [2]int64{0, 1}}, "tilt [0, 1] must be two whole numbers"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Tilt: [2]int64{1, 1}, Mechanism: "duff"}, "tilt [1 1] is not a parameter of mechanism duff"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Delta: one}, "delta 1 is not a parameter of mechanism margin"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Trim: one}, "trim 1 is not a parameter of statistic median"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Above: at("3")}, "above 3 is not a parameter of statistic median"},
		{Query{Statistic: Median, Grid: g, Epsilon: one, Prior: "wild"}, `prior "wild" is not known`},
		{Query{Statistic: Median, Grid: g, Epsilon: one, ExpectedUsers: -1}, "expected_users -1 must be at least 0"},
		{Query{Statistic: Count, Grid: g, Epsilon: one, Above: at("9.5")}, "above 9.5 must lie within the bounds, 0 to 9"},
		{Query{Statistic: Count, Grid: g, Epsilon: one, Above: at("3"), Below: at("4")}, "above 3 and below 4 leave no point"},
	} {
		m, err := New(c.query)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%+v) = %v, %v, want %q", c.query, m, err, c.want)
		}
	}
}

func TestDefaultFollowsExpectedUsers(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		name string
		q    Query
		want string
	}{
		{"nothing known", Query{Statistic: Quantile, P: ps("0.99"), Epsilon: dec("1")}, "margin"},
		{"few in the tail", Query{Statistic: Quantile, P: ps("0.99"), Epsilon: dec("1"), ExpectedUsers: 1000}, "above_threshold"},
		{"few in the lower tail", Query{Statistic: Quantile, P: ps("0.01"), Epsilon: dec("1"), ExpectedUsers: 1000}, "above_threshold"},
		{"enough", Query{Statistic: Quantile, P: ps("0.99"), Epsilon: dec("1"), ExpectedUsers: 1500}, "margin"},
		{"median", Query{Statistic: Median, Epsilon: dec("0.01"), ExpectedUsers: 100}, "margin"},
		{"adaptive", Query{Statistic: Quantile, P: ps("0.99"), Epsilon: dec("1"), ExpectedUsers: 1000, Prior: "adaptive"}, "margin"},
		{"tilt asked for", Query{Statistic: Quantile, P: ps("0.99"), Epsilon: dec("1"), ExpectedUsers: 1000, Tilt: [2]int64{1, 3}}, "margin"},
		{"named", Query{Statistic: Quantile, P: ps("0.99"), Epsilon: dec("1"), ExpectedUsers: 1000, Mechanism: "duff"}, "duff"},
	} {
		c.q.Grid = g
		if got := build(t, c.q).Name(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
