package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/simulate"
)

// The file of requests that the README tries is simulated. go generate ./cmd/louver writes it anew.
func TestReadmeFileIsSimulated(t *testing.T) {
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	var b strings.Builder
	b.WriteString("time,user,region,ms\n")
	simulate.New(simulate.Config{Seed: 1, Users: 200, Rate: 1.5}).Events(start, start.Add(30*time.Minute),
		func(e simulate.Event) {
			fmt.Fprintf(&b, "%s,%s,%s,%d\n", e.Time.Format(time.RFC3339), e.User, e.Region, e.Latency)
		})
	path := filepath.Join("..", "..", "deploy", "examples", "requests.csv")
	if *update {
		//nolint:gosec // not secret
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(b.String(), "\n")); d != "" {
		t.Errorf("%s is not what is simulated (-, +):\n%s", path, d)
	}
}

// What the README says to try runs as it stands there.
func TestReadmeTryIt(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "## Try it on a file\n")
	_, block, _ := strings.Cut(rest, "```\n")
	block, _, found := strings.Cut(block, "```")
	lines := strings.Split(strings.TrimSpace(block), "\n")
	if !found || len(lines) != 6 || lines[0] != `make build && PATH="$PWD/bin:$PATH"` {
		t.Fatalf("the block is\n%s", block)
	}
	arguments := func(command string) []string {
		return strings.Fields(strings.TrimPrefix(strings.ReplaceAll(command, " deploy/", " ../../deploy/"), "louver "))
	}
	streams := filepath.Join(t.TempDir(), "streams.yaml")
	if got := commandLine(t, "", append(arguments(lines[1]), "--out", streams)...); got.code != cli.ExitDone ||
		!strings.Contains(got.out, "Chosen: windows of 5m with ε 1 each.") {
		t.Errorf("%s\nhas exit code %d, and says %s%s", lines[1], got.code, got.out, got.err)
	}
	// what came from the data is warned of, value by value
	if got := commandLine(t, "", "check", streams); got.code != cli.ExitDone ||
		strings.Count(got.err, " came from the data, and is published; ") != 10 ||
		!strings.Contains(got.err, "streams.yaml:22: warning: streams[requests].window.size: came from the data") {
		t.Errorf("check of what %s wrote has exit code %d, and says %s", lines[1], got.code, got.err)
	}
	demo := commandLine(t, "", append(arguments(lines[2]), "--http-addr", "127.0.0.1:0", "--metrics-addr",
		"127.0.0.1:0")...)
	if n := strings.Count(demo.out, "\n"); demo.code != cli.ExitDone || n != 1+30*4 ||
		!strings.Contains(demo.err, "\n  - name: requests\n") {
		t.Errorf("%s\nhas exit code %d and %d lines, and says\n%s", lines[2], demo.code, n, demo.err)
	}
	numbers, release, _ := strings.Cut(lines[3], " | ")
	numbers = strings.TrimPrefix(numbers, `printf '%s\n' `)
	if got := commandLine(t, strings.ReplaceAll(numbers, " ", "\n"), arguments(release)...); got.code != cli.ExitDone ||
		strings.Count(got.out, "\n") != 1 {
		t.Errorf("%s\nhas exit code %d, and says %s%s", lines[3], got.code, got.out, got.err)
	}
	if got := commandLine(t, "", arguments(lines[4])...); got.code != cli.ExitDone ||
		strings.Count(got.out, "\n") != 60 {
		t.Errorf("%s\nhas exit code %d, and says %s%s", lines[4], got.code, got.out, got.err)
	}
	// Each region has 187 users or more, and 17 are enough.
	if got := commandLine(t, "", arguments(lines[5])...); got.code != cli.ExitDone ||
		strings.Count(got.out, "\n") != 3 {
		t.Errorf("%s\nhas exit code %d, and says %s%s", lines[5], got.code, got.out, got.err)
	}
}
