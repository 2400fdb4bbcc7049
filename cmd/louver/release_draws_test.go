package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
)

// The draws of all processors together have the law P(x) ∝ e^{−ε·max(L, G)} of margin on a median, for L users with
// less than x and G with more.
//
// With k = 5 degrees of freedom the statistic exceeds k + 2√(kx) + 2x with a probability of at most e^−x (Laurent &
// Massart 2000, Lemma 1); x = ln 10⁶ gives 49.3. The same draws have to be far from the laws of 0.7ε and 1.3ε.
func TestRepeatHasTheLaw(t *testing.T) {
	const n = 40_000
	values := []int{0, 1, 1, 3, 3, 3, 4}
	got := commandLine(t, strings.Trim(fmt.Sprint(values), "[]"), "release", "--lower", "0", "--upper", "5", "--step",
		"1", "--mechanism", "margin", "--prior", "uniform", "--epsilon", "0.8", "--repeat", strconv.Itoa(n))
	var seen [6]float64
	for _, line := range strings.Fields(got.out) {
		x, err := strconv.Atoi(line)
		if err != nil || x < 0 || x > 5 {
			t.Fatalf("a draw of %q", line)
		}
		seen[x]++
	}
	distance := func(epsilon float64) (chi2 float64) {
		var weight [6]float64
		total := 0.
		for x := range weight {
			less, more := 0, 0
			for _, v := range values {
				if v < x {
					less++
				} else if v > x {
					more++
				}
			}
			weight[x] = math.Exp(-epsilon * float64(max(less, more)))
			total += weight[x]
		}
		for x, w := range weight {
			want := n * w / total
			chi2 += (seen[x] - want) * (seen[x] - want) / want
		}
		return chi2
	}
	x := math.Log(1e6)
	threshold := 5 + 2*math.Sqrt(5*x) + 2*x
	if chi2 := distance(0.8); chi2 > threshold {
		t.Errorf("χ² = %.1f, more than %.1f: %v", chi2, threshold, seen)
	}
	for _, wrong := range []float64{0.8 * 0.7, 0.8 * 1.3} {
		if chi2 := distance(wrong); chi2 < 2*threshold {
			t.Errorf("ε %v is not told from 0.8: χ² = %.1f", wrong, chi2)
		}
	}
}

func TestReleaseJSONOfSeveralValues(t *testing.T) {
	got := commandLine(t, "1 2 3", with("--json", "--statistic", "quantiles", "--p", "0.4", "--p", "0.6", "--mechanism",
		"split")...)
	var q struct {
		Values []struct{ P, Value float64 }
	}
	if err := json.Unmarshal([]byte(got.out), &q); err != nil || fmt.Sprint(q.Values) != "[{0.4 2} {0.6 2}]" {
		t.Errorf("%v: %+v", err, got)
	}
	got = commandLine(t, "2 2 2 2 2", with("--json", "--interval", "0.95")...)
	var i struct {
		Value    float64
		Interval struct{ Level, Low, High float64 }
	}
	if err := json.Unmarshal([]byte(got.out), &i); err != nil || i.Value != 2 || i.Interval.Level != 0.95 ||
		i.Interval.Low != 2 || i.Interval.High != 2 {
		t.Errorf("%v: %+v", err, got)
	}
}

// Every mechanism of every statistic draws and is named in JSON.
func TestReleaseOffersEveryMechanism(t *testing.T) {
	t.Parallel()
	for statistic, args := range map[mechanisms.Statistic][]string{
		mechanisms.Median: nil, mechanisms.Quantile: {"--p", "0.9"}, mechanisms.Quantiles: {"--p", "0.5", "--p", "0.9"},
		mechanisms.Mode: nil,
		mechanisms.Mean: nil, mechanisms.Sum: nil, mechanisms.TrimmedMean: {"--trim", "0.05"},
		mechanisms.Count: {"--above", "2"}, mechanisms.Outside: nil,
	} {
		available := mechanisms.Available(statistic)
		if len(available) == 0 {
			t.Errorf("%s has no mechanism", statistic)
		}
		for _, name := range available {
			all := append([]string{"release", "--statistic", string(statistic), "--mechanism", name, "--lower", "0",
				"--upper", "10", "--step", "0.5", "--epsilon", "1", "--repeat", "3", "--json"}, args...)
			if name == "smooth_laplace" || name == "smooth_gaussian" {
				all = append(all, "--delta", "0.000001")
			}
			got := commandLine(t, "1 2 3 4 5 6 7 8", all...)
			if got.code != cli.ExitDone || strings.Count(got.out, `"mechanism":"`+name+`"`) != 3 ||
				strings.Count(got.out, "\n") != 3 {
				t.Errorf("%s by %s: %+v", statistic, name, got)
			}
		}
	}
}

// A third of the users far away is not cut off from a mean, nor a tenth of buyers from a sum: half of the draws are
// near the truth, and all of them are what their band, their quality and cut_95 say of them.
func TestReleaseCutsNobodyOff(t *testing.T) {
	many := func(first string, n int, second string, m int) string {
		return strings.Repeat(first+"\n", n) + strings.Repeat(second+"\n", m)
	}
	const draws = 200
	for _, c := range []struct {
		statistic, in, upper string
		truth, close         float64
	}{
		{"mean", many("12", 1400, "30000", 600), "60000", 9008.4, 1000},
		{"sum", many("0", 4500, "3000", 500), "100000", 1_500_000, 300_000},
	} {
		got := commandLine(t, c.in, "release", "--statistic", c.statistic, "--epsilon", "0.1", "--lower", "0", "--upper",
			c.upper, "--step", "1", "--json", "--repeat", strconv.Itoa(draws))
		near, within, wrong := 0, 0, 0
		for line := range strings.Lines(got.out) {
			var d struct {
				Value   float64
				Error95 float64 `json:"error_95"`
				Cut95   float64 `json:"cut_95"`
				Outside *struct{ Value, Error95 int64 }
				Quality string
			}
			if err := json.Unmarshal([]byte(line), &d); err != nil || d.Outside == nil {
				t.Fatalf("%s: %s, %v", c.statistic, line, err)
			}
			off := math.Abs(d.Value - c.truth)
			if off <= c.close {
				near++
			}
			if off <= d.Error95+d.Cut95 {
				within++
			}
			if d.Quality == "useful" && off > 2*d.Error95 {
				wrong++
			}
		}
		// Binomial(200, 0.95): fewer than 172 has a probability below 10⁻⁶. Of 3,000 sums 3 were useful and off by more
		// than twice their error; if it were one in 200, more than 8 would have a probability below 10⁻⁶. A mechanism
		// that cut them off would have none near, and all wrong.
		if near < draws/2 || within < 172 || wrong > 8 {
			t.Errorf("%s: of %d draws %d are within %v, %d within their errors, %d useful and wrong", c.statistic,
				draws, near, c.close, within, wrong)
		}
	}
}
