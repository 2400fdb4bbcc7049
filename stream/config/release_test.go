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
	r := config.Release{Name: "tail", Query: mechanisms.Query{Statistic: mechanisms.Quantiles,
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
