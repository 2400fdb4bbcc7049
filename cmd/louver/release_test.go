package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// At ε = 1000 a draw is the exact figure but with probability e^−200 and less.
var exactly = []string{"release", "--lower", "0", "--upper", "100", "--step", "0.5", "--epsilon", "1000"}

func with(args ...string) []string { return append(append([]string{}, exactly...), args...) }

func TestReleaseFile(t *testing.T) {
	path := clitest.File(t, "numbers", "1\r\n2\r\n3\r\n")
	for _, args := range [][]string{with(path), with("--", path)} {
		if got := commandLine(t, "not read", args...); got != (outcome{out: "2\n"}) {
			t.Errorf("%+v", got)
		}
	}
	if got := commandLine(t, "1 2 3", with("-")...); got != (outcome{out: "2\n"}) {
		t.Errorf("- is not standard input: %+v", got)
	}
}

func TestReleaseJSON(t *testing.T) {
	got := commandLine(t, "1 2 3", with("--json", "--repeat", "2")...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%+v", got)
	}
	const want = `{"statistic":"median","mechanism":"permute_and_flip","epsilon":1000,"delta":0,"p":0.5,"value":2,` +
		`"low":null,"high":null,"level":null,"basis":"ranks","usual_95":null,"rank_error_95":`
	for _, line := range lines {
		if !strings.HasPrefix(line, want) || !json.Valid([]byte(line)) {
			t.Errorf("%s, want %s…", line, want)
		}
	}
	got = commandLine(t, "1 2 3", with("--json", "--statistic", "count")...)
	if want := `{"statistic":"count","mechanism":"geometric","epsilon":1000,"delta":0,"p":null,"value":3,"raw":3,` +
		`"low":3,"high":3,"level":0.95,"basis":"noise","usual_95":null,"rank_error_95":null,"error_95":0,"quality":"useful",` +
		`"charge":[{"kind":"pure","epsilon":1000,"rho":1000,"times":1}],"epsilon_lost":1000,"delta_lost":0}` + "\n"; got.out != want {
		t.Errorf("%+v, want %s", got, want)
	}
	// A Gaussian has no ε and no δ of its own: what it costs is a ρ, and more than the ε that was asked for.
	got = commandLine(t, "1 2 3", "release", "--statistic", "count", "--mechanism", "gaussian", "--epsilon", "1", "--json")
	if want := `"charge":[{"kind":"zcdp","epsilon":1,"rho":0.5,"times":1}],"epsilon_lost":6.491248,"delta_lost":0.000000001}` +
		"\n"; !strings.HasSuffix(got.out, want) {
		t.Errorf("%+v, want %s", got, want)
	}
}
