package config_test

import (
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

func TestNames(t *testing.T) {
	p := func(texts ...string) (ps []decimal.Decimal) {
		for _, s := range texts {
			ps = append(ps, decimal.RequireFromString(s))
		}
		return ps
	}
	r := config.Release{Head: config.Head{Name: "tail"}, Query: mechanisms.Query{Statistic: mechanisms.Quantiles,
		P: p("0.001", "0.05", "0.10", "0.5", "0.9", "0.99", "0.999")}}
	want := []string{"tail.p001", "tail.p05", "tail.p10", "tail.p50", "tail.p90", "tail.p99", "tail.p999"}
	if got := r.Names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Query = mechanisms.Query{Statistic: mechanisms.Quantile, P: p("0.9")}
	if got := r.Names(); !slices.Equal(got, []string{"tail"}) {
		t.Errorf("a single quantile is released as %q", got)
	}
}

// TestCounting: the count with the least error serves the other figures, wherever it stands in the file. A Gaussian
// count has a smaller error than a geometric one of the same ε.
func TestCounting(t *testing.T) {
	grid, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(100), decimal.NewFromInt(1))
	if err != nil {
		t.Fatal(err)
	}
	release := func(name, mechanism, epsilon string, above *decimal.Decimal) *config.Release {
		q := mechanisms.Query{Statistic: mechanisms.Count, Mechanism: mechanism, Above: above,
			Epsilon: decimal.RequireFromString(epsilon), Grid: grid}
		m, err := mechanisms.New(q)
		if err != nil {
			t.Fatal(err)
		}
		return &config.Release{Head: config.Head{Name: name}, Query: q, Mechanism: m}
	}
	rough, fine := release("rough", "geometric", "0.01", nil), release("fine", "geometric", "0.1", nil)
	gaussian, part := release("gaussian", "gaussian", "0.1", nil), release("part", "geometric", "3", new(decimal.Zero))
	for _, c := range []struct {
		want string
		all  []*config.Release
	}{
		{"rough", []*config.Release{part, rough}},
		{"fine", []*config.Release{rough, fine}},
		{"fine", []*config.Release{fine, part, rough}},
		{"gaussian", []*config.Release{fine, gaussian, rough}},
		{"gaussian", []*config.Release{gaussian, fine}},
		{"first", []*config.Release{release("first", "geometric", "0.1", nil), fine}},
	} {
		s := config.Stream{}
		for _, r := range c.all {
			s.Add(r)
		}
		if got := s.Counting(); got == nil || got.Name != c.want {
			t.Errorf("got %+v, want %s", got, c.want)
		}
	}
	of := config.Stream{}
	of.Add(part)
	if got := of.Counting(); got != nil {
		t.Errorf("a count of some users serves all figures: %+v", got)
	}
}
