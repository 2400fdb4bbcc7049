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
