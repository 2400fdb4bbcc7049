package main

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

var wide = []string{"plan", "--lower", "0", "--upper", "60000", "--step", "1"}

func planOf(args ...string) []string { return append(append([]string{}, wide...), args...) }

// planned holds the fields of plan --json that a test reads.
type planned struct {
	Streams []struct {
		Stream      string
		Users       int64
		Shape       string
		Window, Day struct {
			Windows int64
			Epsilon float64
			Belief  float64
		}
		Advanced *struct{ Epsilon, Delta float64 } `json:"day_with_delta"`
		Releases []struct {
			Release, Mechanism string
			Epsilon            float64
			Values             []struct {
				Release      string
				RankError    *float64 `json:"rank_error_95"`
				Low          *float64 `json:"p_low"`
				High         *float64 `json:"p_high"`
				CountError   *int64   `json:"count_error_95"`
				Lead         *int64   `json:"lead_95"`
				ValueError   *float64 `json:"value_error_95"`
				TypicalError *float64 `json:"typical_error"`
				Error95      *float64 `json:"error_95"`
			}
			Needs *struct {
				Error   string
				Epsilon *float64
				Users   *int64
			}
		}
	}
}

func planJSON(t *testing.T, args ...string) planned {
	t.Helper()
	got := commandLine(t, "", append(args, "--json")...)
	var p planned
	if err := json.Unmarshal([]byte(got.out), &p); err != nil || got.code != cli.ExitDone || got.err != "" ||
		len(p.Streams) == 0 {
		t.Fatalf("%v in %+v", err, got)
	}
	return p
}

// The figures follow from the formulas: 2·½·(1/ε)·ln(60000/(2·0.05)) ranks by permute-and-flip, with 60000 points
// beside any one, and e^ε/(1+e^ε).
func TestPlanFromEpsilon(t *testing.T) {
	s := planJSON(t, planOf("--epsilon", "0.1", "--users", "5000", "--prior", "uniform", "--window",
		"15m")...).Streams[0]
	r := s.Releases[0]
	want := math.Log(60000/0.1) / 0.1
	if v := r.Values[0]; v.RankError == nil || math.Abs(*v.RankError-want) > 1e-6*want || *v.Low > 0.5-want/5000 ||
		*v.Low < 0.5-1.05*want/5000 || *v.High < 0.5+want/5000 {
		t.Errorf("%+v, want %v ranks", v, want)
	}
	if s.Window.Epsilon != 0.1 || math.Abs(s.Window.Belief-1/(1+math.Exp(-0.1))) > 1e-12 || s.Day.Windows != 96 ||
		s.Day.Epsilon != 9.6 || s.Advanced == nil || s.Advanced.Epsilon >= 9.6 {
		t.Errorf("%+v", s)
	}
	if r.Needs != nil || r.Mechanism != "permute_and_flip" {
		t.Errorf("%+v", r)
	}
	if s := planJSON(t, planOf("--epsilon", "0.1", "--max-groups", "3")...).Streams[0]; s.Window.Epsilon != 0.3 {
		t.Errorf("three groups cost %v", s.Window.Epsilon)
	}
}

func TestPlanWithAShape(t *testing.T) {
	t.Parallel()
	v := planJSON(t, planOf("--epsilon", "1", "--users", "1000", "--shape",
		"lognormal:120,0.6")...).Streams[0].Releases[0].Values[0]
	if v.TypicalError == nil || *v.TypicalError > 2 || *v.Error95 < *v.TypicalError || *v.Error95 > 10 {
		t.Errorf("%+v", v)
	}
	s := planJSON(t, "plan", "--lower", "0", "--upper", "200", "--step", "0.1", "--epsilon", "1", "--users", "1000",
		"--statistic", "trimmed_mean", "--trim", "0.1", "--spread", "10").Streams[0]
	if v := s.Releases[0].Values[0]; s.Shape != "normal:100,10" || v.TypicalError == nil || *v.TypicalError > 1 ||
		v.ValueError != nil {
		t.Errorf("%+v of %+v", v, s)
	}
	if v := planJSON(t, planOf("--epsilon", "1", "--users", "1000", "--statistic", "mean", "--clip",
		"none")...).Streams[0].Releases[0].Values[0]; v.ValueError == nil || *v.ValueError < 200 ||
		*v.ValueError > 300 {
		t.Errorf("a mean: %+v", v)
	}
}

// Beside the error of a shape stands how wide the record's band will be, where there will be one: of an adaptive median
// in a stream that counts enough users.
func TestPlanTellsOfTheBand(t *testing.T) {
	t.Parallel()
	const note = "The record's band of a median or quantile will be about twice that"
	for _, c := range []struct {
		statistic, users string
		want             bool
	}{{"median", "5000", true}, {"median", "50", false}, {"mean", "5000", false}} {
		file := clitest.File(t, "s.yaml", strings.Replace(clitest.StreamsFile, "statistic: median",
			"statistic: "+c.statistic, 1))
		got := commandLine(t, "", "plan", file, "--users", c.users, "--shape", "lognormal:120,0.6")
		if got.code != cli.ExitDone || strings.Contains(strings.Join(strings.Fields(got.out), " "), note) != c.want {
			t.Errorf("%s of %s users: %+v", c.statistic, c.users, got)
		}
	}
}

// What plan finds for a wanted error has that error when it is planned.
func TestPlanFromAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		error func(p planned) float64
		most  float64
	}{
		{[]string{"--statistic", "count", "--error", "10"},
			func(p planned) float64 { return float64(*p.Streams[0].Releases[0].Values[0].CountError) }, 10},
		{[]string{"--statistic", "mode", "--error", "50"},
			func(p planned) float64 { return float64(*p.Streams[0].Releases[0].Values[0].Lead) }, 50},
		{[]string{"--error", "100"}, func(p planned) float64 { return *p.Streams[0].Releases[0].Values[0].RankError },
			100},
		{[]string{"--statistic", "quantile", "--p", "0.9", "--error", "2 %", "--users", "2000"},
			func(p planned) float64 { return *p.Streams[0].Releases[0].Values[0].RankError }, 40},
		{[]string{"--error", "3", "--users", "1000", "--shape", "lognormal:120,0.6"},
			func(p planned) float64 { return *p.Streams[0].Releases[0].Values[0].Error95 }, 3},
	} {
		p := planJSON(t, planOf(c.args...)...)
		needs := p.Streams[0].Releases[0].Needs
		if got := c.error(p); got > c.most || got < c.most/2 || needs == nil || needs.Epsilon == nil ||
			*needs.Epsilon != p.Streams[0].Releases[0].Epsilon {
			t.Errorf("%q: an error of %v, needs %+v", c.args, got, needs)
		}
	}
	p := planJSON(t, planOf("--epsilon", "0.1", "--error", "1%")...)
	r := p.Streams[0].Releases[0]
	if r.Needs == nil || r.Needs.Users == nil || *r.Needs.Users != p.Streams[0].Users ||
		*r.Values[0].RankError > 0.01*float64(*r.Needs.Users) {
		t.Errorf("%+v", p.Streams[0])
	}
	r = planJSON(t, planOf("--epsilon", "0.1", "--users", "1000", "--error", "1%")...).Streams[0].Releases[0]
	if r.Needs == nil || r.Needs.Epsilon == nil || r.Needs.Users == nil || r.Epsilon != 0.1 {
		t.Errorf("both ways: %+v", r)
	}
}

func TestPlanFile(t *testing.T) {
	path := clitest.File(t, "s.yaml", clitest.StreamsFile)
	s := planJSON(t, "plan", path).Streams[0]
	if s.Stream != "checkout" || s.Users != 5000 || s.Window.Epsilon != 0.14 || s.Day.Windows != 96 ||
		len(s.Releases) != 2 || *s.Releases[1].Values[0].CountError != 150 {
		t.Errorf("%+v", s)
	}
	// The count that is released beside makes the percentiles wider.
	if v := s.Releases[0].Values[0]; !(*v.Low < 0.5-*v.RankError/5000) {
		t.Errorf("%+v", v)
	}
	if s := planJSON(t, "plan", path, "--users", "2000").Streams[0]; s.Users != 2000 {
		t.Errorf("%d users", s.Users)
	}
	for _, r := range planJSON(t, "plan", path, "--error", "5%").Streams[0].Releases {
		if r.Needs == nil || r.Needs.Epsilon == nil || r.Needs.Users == nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestPlanText(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	planText := func(args ...string) func(want ...string) {
		got := commandLine(t, "", args...)
		return func(want ...string) {
			t.Helper()
			for _, w := range want {
				if !strings.Contains(got.out, w) || got.code != cli.ExitDone {
					t.Errorf("%q is not in\n%s%s", w, got.out, got.err)
				}
			}
		}
	}
	planText("plan", clitest.File(t, "s.yaml", clitest.StreamsFile), "--error", "5%")(
		"  5,000 users expected in a window and group\n",
		"│ p50     │ median    │ margin    │ 0.05 │ 0.1               │ percentiles 41.4 to 55.7 │ ",
		"│ users   │ count     │ geometric │ 0.02 │ 0.04              │ ± 150 users ",
		"  p50: with a probability of 95 %, an error of at most 5% needs ε 0.08 with 5,000 users, or 8,000 users with ε 0.05.\n")
	planText(planOf("--epsilon", "0.1", "--max-groups", "3", "--window", "15m")...)(
		"windows of 15m\n  one user counts in 3 groups and can lose ε 0.3 in a window\n"+
			"    of 100 guesses whether you were in that window, at most 58 are right\n",
		" users above or below │\n",
		"\none person loses at most ε 28.8 in any 24 h, counting the windows that end in it\n"+
			"  of 100 guesses whether you were there, all may be right\n"+
			"with delta: 0.000000001 in a budget that would be ε ")
	// What is promised in ρ alone has an ε for a δ only.
	planText(planOf("--statistic", "mean", "--mechanism", "smooth_lln", "--epsilon", "0.1", "--users", "100")...)(
		", δ 0.000000001 in a window\n", ", δ 0.000000001 in any 24 h, ")
	tail := []string{"--statistic", "quantile", "--p", "0.99", "--epsilon", "0.1"}
	planText(planOf(tail...)...)("permute_and_flip or above_threshold", "depends on the number of users")
	planText(planOf(append(tail, "--users", "100")...)...)("│ above_threshold │", "depends on the data")
	planText(planOf("--statistic", "trimmed_mean", "--trim", "0.1", "--epsilon", "1", "--window",
		"24h")...)("│ depends on the data: see plan --shape │")
	planText(planOf("--statistic", "mean", "--epsilon", "1", "--users", "1000", "--shape",
		"lognormal:120,0.6")...)(" % of users cut off │", "│ useful  │")
}

// Check and plan say the same of a file whose streams share a budget.
func TestCheckAndPlanAgree(t *testing.T) {
	_, second, _ := strings.Cut(clitest.StreamsFile, "streams:\n")
	both := clitest.StreamsFile + strings.NewReplacer("name: checkout\n", "name: again\n", "size: 15m",
		"size: 20m").Replace(second)
	path := clitest.File(t, "s.yaml", both)
	checked, planned := commandLine(t, "", "check", path), commandLine(t, "", "plan", path)
	if planned.code != cli.ExitDone || !strings.HasPrefix(checked.out, planned.out) ||
		!strings.Contains(planned.out, "one person loses at most ε 23.52 in any 24 h") { // 96 · 0.14 + 72 · 0.14
		t.Errorf("check says\n%s\nand plan\n%s%s", checked.out, planned.out, planned.err)
	}
}

// TestPlanOfTwoCounts: their order in the file changes nothing.
func TestPlanOfTwoCounts(t *testing.T) {
	const rough, fine = "      - {name: rough, statistic: count, epsilon: 0.001}\n",
		"      - {name: fine, statistic: count, epsilon: 0.04}\n"
	if !strings.Contains(clitest.StreamsFile, "    releases:\n") {
		t.Fatal("the file has another form")
	}
	path := clitest.File(t, "s.yaml", "")
	lines := func(counts string) []string {
		text := strings.Replace(clitest.StreamsFile, "    releases:\n", "    releases:\n"+counts, 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := commandLine(t, "", "plan", path, "--users", "900")
		if got.code != cli.ExitDone {
			t.Fatal(got)
		}
		all := strings.Split(got.out, "\n")
		slices.Sort(all)
		return all
	}
	if diff := cmp.Diff(lines(rough+fine), lines(fine+rough)); diff != "" {
		t.Error(diff)
	}
}
