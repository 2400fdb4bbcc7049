package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// choices are those of the first stream of plan --json.
type choices []struct {
	Epsilon float64
	Buckets string
	Values  []struct {
		Release         string
		Epsilon         float64
		Drawn, Computed struct {
			Typical *float64 `json:"typical_error"`
			Error95 *float64 `json:"error_95"`
		}
	}
}

func choicesOf(t *testing.T, args ...string) choices {
	t.Helper()
	got := commandLine(t, "", append(args, "--json")...)
	var p struct{ Streams []struct{ Choices choices } }
	if err := json.Unmarshal([]byte(got.out), &p); err != nil || got.code != cli.ExitDone || len(p.Streams) != 1 {
		t.Fatalf("%v in %+v", err, got)
	}
	return p.Streams[0].Choices
}

// withLatencies is a stream with a histogram and two quantiles from it.
var withLatencies = strings.Replace(clitest.StreamsFile, "      - {name: p50, statistic: median, epsilon: 0.05}\n", `
      - {name: latency, statistic: histogram, buckets: {scale: 2}, epsilon: 0.1}
      - {name: mid, statistic: median, from: latency}
      - {name: p99, statistic: quantile, p: 0.99, from: latency}
`, 1)

// Plan compares several quantiles with those of a histogram for the same cost, and the other way round.
func TestPlanComparesQuantilesWithAHistogram(t *testing.T) {
	t.Parallel()
	shape := []string{"--shape", "lognormal:120,0.6"}
	three := append(planOf("--statistic", "quantiles", "--p", "0.5,0.9,0.99"), shape...)
	for _, c := range []struct {
		epsilon, users, buckets string
	}{{"0.1", "1000", "{scale: 2}"}, {"1", "5000", "{scale: 3}"}} {
		all := choicesOf(t, append(three, "--epsilon", c.epsilon, "--users", c.users)...)
		if len(all) != 1 || all[0].Buckets != c.buckets || len(all[0].Values) != 3 {
			t.Fatalf("ε %s, %s users: %+v", c.epsilon, c.users, all)
		}
		// At p90, a joint draw and a histogram of the same ε are off by about as much; at p99 the histogram's +Inf is
		// near.
		if v := all[0].Values[1]; *v.Computed.Typical > 3*(*v.Drawn.Typical+1) ||
			*v.Computed.Error95 < *v.Computed.Typical {
			t.Errorf("ε %s, %s users: %+v", c.epsilon, c.users, v)
		}
	}
	for name, args := range map[string][]string{
		"one quantile": append(planOf("--statistic", "median", "--epsilon", "1", "--users", "1000"), shape...),
		"no shape":     planOf("--statistic", "quantiles", "--p", "0.5,0.9", "--epsilon", "1", "--users", "1000"),
	} {
		if all := choicesOf(t, args...); all != nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
	// Half of ε 0.1 for each of two; with a δ the histogram's ρ is 0.1²/2, and √(8·ρ/2) of ε costs half of that.
	path := clitest.File(t, "s.yaml", withLatencies)
	pure := choicesOf(t, append([]string{"plan", path}, shape...)...)
	if len(pure) != 1 || len(pure[0].Values) != 2 || pure[0].Values[0].Release != "mid" ||
		pure[0].Values[0].Epsilon != 0.05 {
		t.Errorf("%+v", pure)
	}
	path = clitest.File(t, "s.yaml", strings.Replace(withLatencies, "epsilon: 24,", "epsilon: 24, delta: 0.000001,", 1))
	withDelta := choicesOf(t, append([]string{"plan", path}, shape...)...)
	if v := withDelta[0].Values[0]; v.Epsilon != 0.14 || *v.Computed.Typical > *pure[0].Values[0].Computed.Typical {
		t.Errorf("%+v against %+v", withDelta, pure)
	}
}

func TestPlanSaysWhichIsCloser(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	got := commandLine(t, "", "plan", clitest.File(t, "s.yaml", withLatencies), "--shape", "lognormal:120,0.6")
	for _, want := range []string{"  mid and p99 computed from the histogram with buckets: {scale: 2} and ε 0.1, or " +
		"drawn one by one for the same cost:\n", "│ figure │ ε if drawn │ typical error, drawn │ computed │ 19 of 20 " +
		"within, drawn │ computed │", "closer", "A histogram also gives any other quantile"} {
		if !strings.Contains(got.out, want) || got.code != cli.ExitDone {
			t.Errorf("%q is not in\n%s%s", want, got.out, got.err)
		}
	}
	got = commandLine(t, "", planOf("--statistic", "histogram", "--buckets", "100,200,400", "--epsilon", "1",
		"--users", "1000", "--shape", "lognormal:120,0.6")...)
	if !strings.Contains(got.out, "p50, p90 and p99 computed from the histogram with buckets: [100, 200, 400]") {
		t.Errorf("%+v", got)
	}
}
