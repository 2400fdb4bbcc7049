package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// What the README says to try runs as it stands there, one command in a block, and prints what stands below it, apart
// from the digits.
func TestReadmeTryIt(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "## Try it on a file\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	var commands []string
	printed := map[string][]string{} // the lines below a command
	for i, block := range strings.Split(section, "```\n") {
		if i%2 == 0 {
			continue
		}
		block = strings.ReplaceAll(block, "\\\n   ", "")
		for line := range strings.Lines(block) {
			if command, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ "); found {
				commands = append(commands, command)
			} else if last := commands[len(commands)-1]; line != "…\n" {
				printed[last] = append(printed[last], strings.TrimSuffix(line, "\n"))
			}
		}
	}
	if len(commands) != 4 || commands[0] != `make build && PATH="$PWD/bin:$PATH"` {
		t.Fatalf("the commands are %q", commands)
	}
	digits, spaces := regexp.MustCompile(`[0-9]+`), regexp.MustCompile(` +`)
	shape := func(line string) string {
		line, _, _ = strings.Cut(line, " (off by ") // on a terminal alone
		return spaces.ReplaceAllString(digits.ReplaceAllString(line, "0"), " ")
	}
	runs := func(command string, more ...string) outcome {
		line := strings.TrimPrefix(strings.ReplaceAll(command, " deploy/", " ../../deploy/"), "louver ")
		got := commandLine(t, "", append(strings.Fields(line), more...)...)
		if got.code != cli.ExitDone {
			t.Errorf("%s\nhas exit code %d, and says %s", command, got.code, got.err)
		}
		var shapes []string
		for line := range strings.Lines(got.out) {
			shapes = append(shapes, shape(strings.TrimSuffix(line, "\n")))
		}
		for _, line := range printed[command] {
			if !slices.Contains(shapes, shape(line)) {
				t.Errorf("%s\ndoes not print %q:\n%s", command, line, got.out)
			}
		}
		return got
	}
	streams := filepath.Join(t.TempDir(), "streams.yaml")
	if got := runs(commands[1], "--out", streams); !strings.Contains(got.out, "Chosen: windows of 5m with ε 1 each.") {
		t.Errorf("%s\nsays %s", commands[1], got.out)
	}
	// what came from the data is warned of, value by value
	if got := commandLine(t, "", "check", streams); got.code != cli.ExitDone ||
		strings.Count(got.err, " came from the data, and is published; ") != 10 ||
		!strings.Contains(got.err, "streams.yaml:22: warning: streams[requests].window.size: came from the data") {
		t.Errorf("check of what %s wrote has exit code %d, and says %s", commands[1], got.code, got.err)
	}
	demo := runs(commands[2], "--http-addr", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0")
	if n := strings.Count(demo.out, "\n"); n != 1+30*4 || !strings.Contains(demo.err, "\n  - name: requests\n") {
		t.Errorf("%s\nhas %d lines, and says\n%s", commands[2], n, demo.err)
	}
	if got := runs(commands[3]); strings.Count(got.out, "\n") != 1 {
		t.Errorf("%s\nprints %s", commands[3], got.out)
	}
}

// What louver check prints of the README's stream is what stands there, up to the ….
func TestReadmeShowsWhatCheckPrints(t *testing.T) {
	text := readme(t)
	_, streams, _ := strings.Cut(text, "```yaml\n")
	streams, _, _ = strings.Cut(streams, "```")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("streams.yaml", []byte(streams), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLUMNS", "200")
	got := commandLine(t, "", "check", "streams.yaml").out
	_, shown, _ := strings.Cut(text, "$ louver check\n")
	shown, _, found := strings.Cut(shown, "$ louver run")
	if !found || strings.Count(shown, "\n") < 4 {
		t.Fatalf("the README shows %q", shown)
	}
	for line := range strings.Lines(shown) {
		if line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "…"); !strings.Contains(got, line) {
			t.Errorf("louver check does not print %q:\n%s", line, got)
		}
	}
	lost := regexp.MustCompile(`can lose ε (\d\.\d\d)`).FindStringSubmatch(got)
	if lost == nil || !strings.Contains(text, "One window alone costs "+lost[1]+" then") {
		t.Errorf("the README says something else of one window than %q", lost)
	}
}
