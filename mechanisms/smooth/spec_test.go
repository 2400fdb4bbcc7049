package smooth

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"gonum.org/v1/gonum/mathext"

	"github.com/louver/louver/budget/privacy"
)

func TestErrorsNameTheParameter(t *testing.T) {
	good := Spec{Statistic: "trimmed_mean", Trim: dec("0.1"), Noise: "power", Epsilon: dec("1"), Last: 10}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(s *Spec)
		want   []string
	}{
		{func(s *Spec) { s.Epsilon = dec("0") }, []string{"epsilon 0", "a number from"}},
		{func(s *Spec) { s.Epsilon = dec("-1") }, []string{"epsilon -1", "a number from"}},
		{func(s *Spec) { s.Epsilon = dec("1000001") }, []string{"epsilon 1000001", "1000000"}},
		{func(s *Spec) { s.Epsilon = decimal.New(1, 1000000000) }, []string{"epsilon", "exponent", "1e1000000000"}},
		{func(s *Spec) { s.Trim = decimal.New(1, -1000000000) }, []string{"trim", "exponent", "1e-1000000000"}},
		{func(s *Spec) { s.Trim = dec("0.5") }, []string{"trim 0.5", "less than 0.5"}},
		{func(s *Spec) { s.Trim = dec("-0.1") }, []string{"trim -0.1", "at least 0"}},
		{func(s *Spec) { s.Trim = dec("0.0000000000000000001") }, []string{"trim", "18 decimals"}},
		{func(s *Spec) { s.P = dec("0.5") }, []string{"p 0.5", "trimmed_mean"}},
		{func(s *Spec) { s.Statistic = "mean" }, []string{"trim 0.1", "mean"}},
		{func(s *Spec) { s.Statistic = "mode" }, []string{"mode", `median`}},
		{func(s *Spec) { s.Statistic, s.Trim = "mode", dec("0") }, []string{`mode`, `median`}},
		{func(s *Spec) { s.Statistic, s.Trim = "quantile", dec("0") }, []string{"p 0", "greater than 0"}},
		{func(s *Spec) { s.Statistic, s.Trim, s.P = "quantile", dec("0"), dec("1") }, []string{"p 1", "less than 1"}},
		{func(s *Spec) { s.Noise = "snow" }, []string{`snow`, "arsinh", "uln"}},
		{func(s *Spec) { s.Delta = dec("0.1") }, []string{"delta 0.1", "power", "0"}},
		{func(s *Spec) { s.Noise = "laplace" }, []string{"delta 0", "laplace", "less than 0.1"}},
		{func(s *Spec) { s.Noise, s.Delta = "gaussian", dec("0.5") },
			[]string{"delta 0.5", "gaussian", "less than 0.1"}},
		{func(s *Spec) { s.Beta = dec("1") }, []string{"power", "beta 1", "epsilon"}},
		{func(s *Spec) { s.Beta = dec("-1") }, []string{"beta -1"}},
		{func(s *Spec) { s.Noise, s.Beta = "student_t", dec("0.34") }, []string{"student_t", "beta 0.34", "0.333"}},
		{func(s *Spec) { s.Noise, s.Beta = "lln", dec("1") }, []string{"lln", "beta 1"}},
		{func(s *Spec) { s.Noise, s.Beta = "uln", dec("1") }, []string{"uln", "beta 1"}},
		{func(s *Spec) { s.Noise, s.Beta = "arsinh", dec("0.5") }, []string{"arsinh", "beta 0.5", "epsilon"}},
		{func(s *Spec) { s.Noise, s.Delta, s.Beta = "laplace", dec("0.01"), dec("0.5") },
			[]string{"laplace", "beta 0.5"}},
		{func(s *Spec) { s.Noise, s.Delta, s.Beta = "gaussian", dec("0.01"), dec("0.1") },
			[]string{"gaussian", "beta 0.1"}},
		{func(s *Spec) { s.Noise, s.Delta, s.Epsilon = "gaussian", dec("0.01"), dec("1000") },
			[]string{"gaussian", "epsilon 1000"}},
		{func(s *Spec) { s.Noise, s.Delta, s.Published, s.Epsilon = "laplace", dec("0.01"), true, dec("9") },
			[]string{"laplace", "epsilon 9"}},
		{func(s *Spec) { s.Noise, s.Published, s.Beta = "cauchy", true, dec("0.1") }, []string{"cauchy", "beta 0.1"}},
		{func(s *Spec) { s.Published = true }, []string{"published", "power"}},
		{func(s *Spec) { s.Gamma = dec("3") }, []string{"gamma 3", "cauchy"}},
		{func(s *Spec) { s.Noise, s.Gamma = "cauchy", dec("1") }, []string{"cauchy", "gamma 1", "more than 1"}},
		{func(s *Spec) { s.Noise, s.Gamma = "cauchy", dec("-2") }, []string{"gamma -2"}},
		{func(s *Spec) { s.Last = -1 }, []string{"-1", "2^53"}},
	} {
		s := good
		c.change(&s)
		_, err := New(s)
		if err == nil {
			t.Errorf("%+v is accepted", s)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
}

func TestPromises(t *testing.T) {
	for _, s := range allNoises() {
		s.Statistic, s.Epsilon, s.Last = "median", dec("0.3"), 10
		m, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		p := m.Promise()
		if !p.Epsilon.Equal(s.Epsilon) || !p.Delta.Equal(s.Delta) {
			t.Errorf("%s promises %+v", s.Noise, p)
		}
		pure := s.Noise == "power" || s.Noise == "cauchy" || s.Noise == "student_t"
		want := privacy.Promise{Kind: privacy.ZCDP, Epsilon: s.Epsilon, Delta: s.Delta, Rho: dec("0.045")}
		switch {
		case pure:
			want.Kind = privacy.Pure
		case s.Delta.Sign() > 0:
			want.Kind = privacy.Approximate
		}
		if fmt.Sprint(p) != fmt.Sprint(want) {
			t.Errorf("%s promises %v, want %v", s.Noise, p, want)
		}
	}
}

// E|noise| at β = ε/8, ε = 1, in units of g: power beats all others.
func TestEfficiency(t *testing.T) {
	alpha := func(s Spec) float64 {
		s.Epsilon = dec("1")
		_, a, _ := noiseOf(t, s)
		return a
	}
	student := func(d float64, published bool) float64 {
		c := calibration{epsilon: big.NewRat(1, 1), published: published}
		n, _, err := newStudentOf(new(big.Rat).SetFloat64(d), c)
		if err != nil {
			return math.Inf(1)
		}
		// E|T| = 2√d·Γ((d+1)/2)/(√π·Γ(d/2)(d−1))
		mean := 2 * math.Sqrt(d) / (d - 1) / mathext.Beta(d/2, 0.5)
		return mean / spanOf(n.alpha(firstPrec)).hi
	}
	best := func(published bool) float64 {
		e := math.Inf(1)
		for d := 1.1; d < 8; d += 0.1 {
			e = min(e, student(d, published))
		}
		return e
	}
	m, _, _ := noiseOf(t, Spec{Noise: "lln", Epsilon: dec("1")})
	sigma, _ := m.noise.(*lln).sigma.exact.Float64()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"power", 1. / 7 / alpha(Spec{Noise: "power"}), 1.235}, // E|Z| = 1/(1−β/ε) − 1
		{"student_t, best d", best(false), 1.94},
		{"student_t, best d, published", best(true), 2.35},
		{"student_t, d = 3", student(3, false), 2.04},
		{"student_t, d = 3, published", student(3, true), 2.55},
		{"lln", math.Exp(sigma*sigma/2) / alpha(Spec{Noise: "lln"}), 1.99},
		{"arsinh", arsinhNoise(1, 0.125, 0.9), 3.47},
		{"arsinh, σ = 1", arsinhNoise(1, 0.125, 1), 3.50},
		{"uln", math.E / 2 / alpha(Spec{Noise: "uln"}), 16.9},
	} {
		t.Logf("%-30s %.3f", c.name, c.got)
		if math.Abs(c.got-c.want) > 0.006*c.want {
			t.Errorf("%s: E|noise| = %.3f g, want %.3f", c.name, c.got, c.want)
		}
	}
}
