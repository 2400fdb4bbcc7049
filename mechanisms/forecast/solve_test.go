package forecast

import (
	"errors"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// The result achieves the wanted error, and the next smaller two-digit number does not.
func TestSolve(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	s := shape(t, "lognormal:120,0.6", g)
	p99 := []decimal.Decimal{dec("0.99")}
	for _, c := range []struct {
		q      mechanisms.Query
		public Public
		wanted Wanted
	}{
		{mechanisms.Query{Statistic: mechanisms.Count}, Public{}, Wanted{10, Ranks}},
		{mechanisms.Query{Statistic: mechanisms.Count}, Public{Users: 1000}, Wanted{0.01, Share}},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{}, Wanted{100, Ranks}},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{Users: 5000}, Wanted{0.01, Share}},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{Users: 1000, Shape: s}, Wanted{2, Value}},
		{mechanisms.Query{Statistic: mechanisms.Quantile, P: p99}, Public{Users: 1000, Shape: s}, Wanted{20, Value}},
		{mechanisms.Query{Statistic: mechanisms.Quantiles, P: p99}, Public{Users: 5000}, Wanted{0.005, Share}},
		{mechanisms.Query{Statistic: mechanisms.Mode}, Public{}, Wanted{50, Ranks}},
		{mechanisms.Query{Statistic: mechanisms.Mean, Clip: "none"}, Public{Users: 5000}, Wanted{100, Value}},
		{mechanisms.Query{Statistic: mechanisms.Mean}, Public{Users: 1000, Shape: s}, Wanted{5, Value}},
		{mechanisms.Query{Statistic: mechanisms.TrimmedMean, Trim: dec("0.05")}, Public{Users: 1000, Shape: s},
			Wanted{5, Value}},
	} {
		c.q.Grid, c.q.Epsilon = g, dec("1")
		name := string(c.q.Statistic)
		reached := func(q mechanisms.Query, p *population) bool {
			ok, err := c.wanted.reached(q, p)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return ok
		}
		epsilon, err := Epsilon(c.q, c.public, c.wanted)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		enough, less := c.q, c.q
		enough.Epsilon = epsilon
		less.Epsilon = epsilon.Mul(dec("0.9"))
		if p := (&population{Public: c.public}); !reached(enough, p) || reached(less, p) {
			t.Errorf("%s: ε %s does not fit %v", name, epsilon, c.wanted)
		}
		if c.wanted.In == Ranks {
			continue // these errors do not depend on the number of users
		}
		users, err := Users(c.q, c.public, c.wanted)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		most, fewer := &population{Public: c.public}, &population{Public: c.public}
		most.Users, fewer.Users = users, users*9/10
		if !reached(c.q, most) || reached(c.q, fewer) {
			t.Errorf("%s: %d users do not fit %v", name, users, c.wanted)
		}
	}
}

func TestSolveFails(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	for _, c := range []struct {
		q      mechanisms.Query
		public Public
		wanted Wanted
		want   error
	}{
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{}, Wanted{0.01, Ranks}, ErrUnreachable},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{}, Wanted{0.01, Share}, ErrUnknown},
		{mechanisms.Query{Statistic: mechanisms.Median}, Public{Users: 100}, Wanted{3, Value}, ErrUnknown},
		{mechanisms.Query{Statistic: mechanisms.TrimmedMean, Trim: dec("0.1")}, Public{Users: 100}, Wanted{3, Value},
			ErrUnknown},
		{mechanisms.Query{Statistic: mechanisms.Mean}, Public{Users: 100}, Wanted{3, Value}, ErrUnknown},
	} {
		c.q.Grid = g
		if _, err := Epsilon(c.q, c.public, c.wanted); !errors.Is(err, c.want) {
			t.Errorf("%s, %v: %v, want %v", c.q.Statistic, c.wanted, err, c.want)
		}
	}
	if _, err := Epsilon(mechanisms.Query{Statistic: mechanisms.Quantile, Grid: g}, Public{},
		Wanted{100, Ranks}); err == nil {
		t.Error("a wrong query has an ε")
	}
	q := mechanisms.Query{Statistic: mechanisms.Median, Epsilon: dec("0.0001"), Grid: g}
	if _, err := Users(q, Public{}, Wanted{0.000001, Share}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v, want %v", err, ErrUnreachable)
	}
}

// In a tail the number of users decides which mechanism is drawn. With few users there is no bound, so an ε for a
// wanted error must be one at which they are enough.
func TestUsersDecideTheMechanism(t *testing.T) {
	g := grid(t, "0", "60000", "1")
	q := mechanisms.Query{Statistic: mechanisms.Quantile, P: []decimal.Decimal{dec("0.99")}, Epsilon: dec("1"), Grid: g}
	for users, want := range map[int64]string{0: "", 500: "above_threshold", 2000: "permute_and_flip"} {
		f := of(t, q, Public{Users: users})
		if bounded := f.RankError != nil; f.Mechanism != want || bounded != (want == "permute_and_flip") {
			t.Errorf("%d users: %q, bounded %v, want %q", users, f.Mechanism, bounded, want)
		}
	}
	epsilon, err := Epsilon(q, Public{Users: 1000}, Wanted{Size: 0.05, In: Share})
	if err != nil {
		t.Fatal(err)
	}
	q.Epsilon = epsilon
	if f := of(t, q, Public{Users: 1000}); f.RankError == nil || *f.RankError > 50 {
		t.Errorf("ε %s: %+v", epsilon, f)
	}
	if _, err := Epsilon(q, Public{}, Wanted{Size: 50, In: Ranks}); !errors.Is(err, ErrUnknown) {
		t.Errorf("users unknown: %v", err)
	}
}
