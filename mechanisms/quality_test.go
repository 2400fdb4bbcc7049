package mechanisms

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"
)

func TestJudge(t *testing.T) {
	latencies, balance := grid(t, "0", "60000", "1"), grid(t, "-10", "10", "0.01")
	above := decimal.NewFromInt(800)
	gaussians := func(n int64) *NoisyCount { return &NoisyCount{Value: n, Epsilon: 0.1, Mechanism: "gaussian"} }
	users := func(n int64) *NoisyCount { return &NoisyCount{Value: n, Epsilon: 0.1} } // ± 30 users
	band := func(low, high float64) Bound { b := unbounded(); b.PLow, b.PHigh = low, high; return b }
	ranks := func(off float64) Bound { b := unbounded(); b.RankError95 = off; return b }
	noise := noiseBound
	outside := func(off float64, x Outsiders) Bound { b := noise(off); b.outside = &x; return b }
	quantile := func(p string) Query {
		return Query{Statistic: Quantile, P: []decimal.Decimal{decimal.RequireFromString(p)}, Grid: latencies}
	}
	for _, c := range []struct {
		name  string
		q     Query
		bound Bound
		value float64
		users *NoisyCount
		want  Quality
	}{
		{"p50 within 25–75 %", quantile("0.5"), band(0.251, 0.749), 100, users(1000), Rough},
		{"p50 within 20–75 %", quantile("0.5"), band(0.2, 0.74), 100, users(1000), Rough},
		{"p50 within 10–90 %", quantile("0.5"), band(0.101, 0.899), 100, users(1000), Rough},
		{"p50 beyond 10–90 %", quantile("0.5"), band(0.099, 0.901), 100, users(1000), Noise},
		{"p50 of anything", quantile("0.5"), band(0, 1), 100, users(1000), Noise},
		{"a median has p 0.5", Query{Statistic: Median, Grid: latencies}, band(0.4, 0.6), 100, users(1000), Rough},
		{"p99 within 97.1–99.6 %", quantile("0.99"), band(0.971, 0.996), 100, users(1000), Rough},
		{"p99 that may be the greatest value", quantile("0.99"), band(0.985, 1), 100, users(1000), Rough},
		{"the p99 of the record's documentation", quantile("0.99"), band(0.931, 1), 812, users(10412), Rough},
		{"p99 that may be p90", quantile("0.99"), band(0.9, 1), 100, users(1000), Noise},
		{"p01 that may be p10", quantile("0.01"), band(0, 0.1), 100, users(1000), Noise},
		{"p01 within 0.4–2.9 %", quantile("0.01"), band(0.004, 0.029), 100, users(1000), Rough},
		{"the second of several",
			Query{Statistic: Quantiles, P: append(quantile("0.5").P, quantile("0.9").P...), Grid: latencies},
			band(0.1, 1), 100, users(1000), Noise},
		{"3 ± 30 users", quantile("0.5"), band(0.4, 0.6), 100, users(3), Noise},
		{"29 ± 29 users", quantile("0.5"), band(0.4, 0.6), 100, users(NoisyCount{Epsilon: 0.1}.Error95()), Noise},
		{"19 ± 20 users", quantile("0.5"), band(0.4, 0.6), 100, gaussians(19), Noise},
		{"20 ± 20 users", quantile("0.5"), band(0.4, 0.6), 100, gaussians(20), Noise},
		{"21 ± 20 users", quantile("0.5"), band(0.4, 0.6), 100, gaussians(21), Rough},
		{"30 ± 29 users", quantile("0.5"), band(0.4, 0.6), 100, users(NoisyCount{Epsilon: 0.1}.Error95() + 1), Rough},
		{"100 ranks of 500 users", Query{Statistic: Median, Grid: latencies}, ranks(100), 100, users(500), Rough},
		{"240 ranks of 500 users", Query{Statistic: Median, Grid: latencies}, ranks(240), 100, users(500), Noise},
		{"1 rank of 10,000 expected users: they bound nothing", Query{Statistic: Median, ExpectedUsers: 10000,
			Grid: latencies}, ranks(1), 100, nil, ""},
		{"a released count goes before the expected", Query{Statistic: Median, ExpectedUsers: 5, Grid: latencies},
			band(0.4, 0.6), 100, users(1000), Rough},
		{"a quantile without a bound", quantile("0.99"), unbounded(), 100, users(1000), ""},

		{"a count of 300 ± 30", Query{Statistic: Count, Grid: latencies}, noise(30), 300, nil, Useful},
		{"a count of 299 ± 30", Query{Statistic: Count, Grid: latencies}, noise(30), 299, nil, Rough},
		{"a count of 30 ± 30", Query{Statistic: Count, Grid: latencies}, noise(30), 30, nil, Noise},
		{"of all users, whatever was expected", Query{Statistic: Count, ExpectedUsers: 5000,
			Grid: latencies}, noise(30), 3, nil, Noise},
		{"12 ± 30 slow ones among 600", Query{Statistic: Count, Above: &above, Grid: latencies},
			noise(30), 12, users(600), Useful},
		{"12 ± 30 slow ones among 599", Query{Statistic: Count, Above: &above, Grid: latencies},
			noise(30), 12, users(599), Rough},
		{"12 ± 30 slow ones among 61", Query{Statistic: Count, Above: &above, Grid: latencies},
			noise(30), 12, users(61), Rough},
		{"12 ± 30 slow ones among 60", Query{Statistic: Count, Above: &above, Grid: latencies},
			noise(30), 12, users(60), Noise},
		{"310 ± 30 slow ones among 400", Query{Statistic: Count, Above: &above, Grid: latencies},
			noise(30), 310, users(400), Useful},
		{"12 ± 30 of some", Query{Statistic: Count, Above: &above, Grid: latencies}, noise(30), 12, nil, Noise},
		{"0 ± 7 outside, of 200: at most 7", Query{Statistic: Outside, Grid: latencies}, noise(7), 0, users(200), Useful},
		{"0 ± 30 outside, of 3000 expected: they bound nothing", Query{Statistic: Outside, ExpectedUsers: 3000,
			Grid: latencies}, noise(30), 0, nil, Noise},
		{"a sum of 5 ± 30 on −10 to 10, of 10,000 expected", Query{Statistic: Sum, ExpectedUsers: 10000,
			Grid: balance}, noise(30), 5, nil, Noise},

		{"a mean of 120 ± 12", Query{Statistic: Mean, Grid: latencies}, noise(12), 120, users(1000), Useful},
		{"a mean of 120 ± 13", Query{Statistic: Mean, Grid: latencies}, noise(13), 120, users(1000), Rough},
		{"a mean of 120 ± 120", Query{Statistic: Mean, Grid: latencies}, noise(120), 120, users(1000), Noise},
		{"a mean of −0.01 ± 0.2 on −10 to 10", Query{Statistic: Mean, Grid: balance}, noise(0.2),
			-0.01, users(1000), Useful},
		{"a mean of −0.01 ± 2 on −10 to 10", Query{Statistic: Mean, Grid: balance}, noise(2),
			-0.01, users(1000), Noise},
		{"a mean of −8 ± 2 on −10 to 10", Query{Statistic: Mean, Grid: balance}, noise(2), -8, users(1000), Rough},
		{"a mean of 120 ± 12 with 50 of 1000 outside", Query{Statistic: Mean, Grid: latencies},
			outside(12, Outsiders{Users95: 50, fewest: 1000, counted: true}), 120, users(1100), Useful},
		{"a mean of 120 ± 13 with 50 of 1000 outside", Query{Statistic: Mean, Grid: latencies},
			outside(13, Outsiders{Users95: 50, fewest: 1000, counted: true}), 120, users(1100), Rough},
		{"a mean of 120 ± 0 with 51 of 1000 outside", Query{Statistic: Mean, Grid: latencies},
			outside(0, Outsiders{Users95: 51, fewest: 1000, counted: true}), 120, users(1100), Rough},
		{"a mean of 120 ± 0 with 334 of 1000 outside", Query{Statistic: Mean, Grid: latencies},
			outside(0, Outsiders{Users95: 334, fewest: 1000, counted: true}), 120, users(1100), Noise},
		{"a mean of 120 ± 120 with nobody outside", Query{Statistic: Mean, Grid: latencies},
			outside(120, Outsiders{fewest: 1000, counted: true}), 120, users(1100), Noise},
		{"a sum of users that are only expected", Query{Statistic: Sum, ExpectedUsers: 10000, Grid: latencies},
			outside(0, Outsiders{}), 120, nil, Rough},
		{"a variance with 334 of 1000 outside", Query{Statistic: Variance, Grid: latencies},
			outside(math.NaN(), Outsiders{Users95: 334, fewest: 1000, counted: true}), 120, users(1100), ""},
		{"a mean without an error", Query{Statistic: Mean, Grid: latencies}, unbounded(), 120, users(1000), ""},
		{"a mean without an error, of 3 ± 30 users", Query{Statistic: Mean, Grid: latencies},
			unbounded(), 120, users(3), Noise},

		{"a mode that leads by 140 of 500",
			Query{Statistic: Mode, Epsilon: decimal.RequireFromString("0.1"),
				Grid: latencies}, unbounded(), 7, users(500), ""},
		{"a mode that leads by 140 of 140", Query{Statistic: Mode, Epsilon: decimal.RequireFromString("0.1"),
			Grid: latencies}, unbounded(), 7, users(140), Noise},
		{"a mode of 140 expected users: they bound nothing", Query{Statistic: Mode,
			Epsilon: decimal.RequireFromString("0.1"), ExpectedUsers: 140, Grid: latencies}, unbounded(), 7, nil, ""},
		{"a mode of nobody knows how many",
			Query{Statistic: Mode, Epsilon: decimal.RequireFromString("0.1"),
				Grid: latencies}, unbounded(), 7, nil, ""},
	} {
		last := max(0, len(c.q.P)-1)
		if got := c.q.Judge(c.bound, last, c.value, c.users); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Half the width of a band is compared with the size of the value, in its unit.
func TestJudgeBand(t *testing.T) {
	latencies, balance := grid(t, "0", "60000", "1"), grid(t, "-10", "10", "0.01")
	many := &NoisyCount{Value: 1000, Epsilon: 0.1}
	for _, c := range []struct {
		name        string
		g           *Grid
		half, value float64
		basis       Basis
		users       *NoisyCount
		want        Quality
	}{
		{"120 ± 12", latencies, 12, 120, BasisScatter, many, Useful},
		{"120 ± 13", latencies, 13, 120, BasisScatter, many, Rough},
		{"120 ± 119", latencies, 119, 120, BasisScatter, many, Rough},
		{"120 ± 120", latencies, 120, 120, BasisScatter, many, Noise},
		{"120 ± 12, if the tail is heavy", latencies, 12, 120, BasisShape, many, Rough},
		{"120 ± 120, if the tail is heavy", latencies, 120, 120, BasisShape, many, Noise},
		{"120 ± 12 that was paid for", latencies, 12, 120, BasisInterval, nil, Useful},
		{"0 ± 1 of at least 10 steps", latencies, 1, 0, BasisScatter, many, Useful},
		{"0 ± 9 of at least 10 steps", latencies, 9, 0, BasisScatter, many, Rough},
		{"0 ± 10 of at least 10 steps", latencies, 10, 0, BasisScatter, many, Noise},
		{"0 ± 0.03 on −10 to 10, of at least a 64th", balance, 0.03, 0, BasisScatter, many, Useful},
		{"0 ± 0.3 on −10 to 10, of at least a 64th", balance, 0.3, 0, BasisScatter, many, Rough},
		{"0 ± 0.32 on −10 to 10, of at least a 64th", balance, 0.32, 0, BasisScatter, many, Noise},
		{"−5 ± 0.5", balance, 0.5, -5, BasisScatter, many, Useful},
		{"in a window that may be empty", latencies, 1, 120, BasisScatter, &NoisyCount{Value: 29, Epsilon: 0.1}, Noise},
	} {
		if got := (Query{Statistic: Median, Grid: c.g}).JudgeBand(c.half, c.value, c.basis, c.users); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Noise in a long tail may place a quantile near the upper end of its band. It says no more then than one at the lower
// end.
func TestJudgeEnds(t *testing.T) {
	latencies, balance := grid(t, "0", "60000", "1"), grid(t, "-10", "10", "0.01")
	for _, c := range []struct {
		name             string
		g                *Grid
		value, low, high float64
		want             Quality
	}{
		{"high up in nearly all of the bounds", latencies, 36643, 395, 60000, Noise},
		{"low down in them", latencies, 1010, 395, 60000, Noise},
		{"at the end of all of the bounds", latencies, 60000, 0, 60000, Noise},
		{"ends 5.9 times apart", latencies, 590, 100, 590, Noise},
		{"ends 5.8 times apart", latencies, 580, 100, 580, Rough},
		{"ends 1.2 times apart", latencies, 120, 100, 120, Useful},
		{"a value below the middle", latencies, 101, 100, 130, Rough},
		{"below 0", balance, -5, -5.5, -4.6, Useful},
		{"on both sides of 0", balance, 0, -0.03, 0.03, Useful},
	} {
		if got := (Query{Statistic: Quantile, Grid: c.g}).judgeEnds(c.value, c.low, c.high); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What is foreseen with a count is what the record then says, apart from medians and quantiles.
func TestForesee(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	many := &NoisyCount{Value: 1000, Epsilon: 0.1}
	median := Query{Statistic: Median, Grid: g}
	band := func(low, high float64) Bound { b := unbounded(); b.PLow, b.PHigh = low, high; return b }
	for name, c := range map[string]struct{ got, want Quality }{
		"25–75 %":  {median.Foresee(band(0.251, 0.749), 0, 0, many), Useful},
		"24–75 %":  {median.Foresee(band(0.24, 0.749), 0, 0, many), Rough},
		"9–91 %":   {median.Foresee(band(0.09, 0.91), 0, 0, many), Noise},
		"no count": {median.Foresee(band(0.4, 0.6), 0, 0, nil), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

// Every drawn count carries the error of its noise.
func TestCountsCarryTheirError(t *testing.T) {
	g := grid(t, "0", "100", "1")
	for _, s := range []Statistic{Count, Outside} {
		m, err := New(Query{Statistic: s, Epsilon: decimal.RequireFromString("0.02"), Grid: g})
		if err != nil {
			t.Fatal(err)
		}
		d, err := m.Draw(NewSample(g, []Point{{Index: 3, Count: 10}}), Public{}, rand.NewChaCha8([32]byte{}))
		if err != nil || len(d.Values) != 1 || d.Values[0].Error95 != 150 || m.Errors(Public{})[0].Error95 != 150 {
			t.Errorf("%s: %v, %v", s, d.Values, err)
		}
	}
}

// Three users where 10,000 are expected: no figure is called useful, whatever the mechanism. Nor is one of nobody.
func TestExpectedUsersMakeNothingUseful(t *testing.T) {
	random := rand.NewChaCha8([32]byte{91})
	g := grid(t, "0", "60000", "1")
	for _, q := range []Query{
		{Statistic: Mean}, {Statistic: Mean, Mechanism: "clipped_gaussian"}, {Statistic: Sum}, {Statistic: Median},
		{Statistic: Quantile, P: ps("0.99")}, {Statistic: Variance}, {Statistic: TrimmedMean, Trim: dec("0.1")},
		{Statistic: Mode}, {Statistic: Outside},
	} {
		q.Epsilon, q.Grid, q.ExpectedUsers = dec("0.1"), g, 10000
		m := build(t, q)
		for i := range 60 {
			points := []Point{{120, 1}, {180, 1}, {250, 1}}[:3*(i%2)]
			d := draw(t, m, NewSample(g, points), Public{}, random)
			for j, v := range d.Values {
				if got := q.Judge(v.Bound, j, q.Scale(m).Float(v.Number), nil); got == Useful {
					t.Errorf("%s by %s of %d users: %v ± %v is called useful", q.Statistic, m.Name(), len(points), v.Number,
						v.Error95)
				}
			}
		}
	}
}
