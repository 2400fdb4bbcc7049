package parse

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/stream/config"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", strings.Replace(least, "budget: {epsilon: 1, per: 7d}", "budget: shared", 1))
	write("b.yml", strings.Replace(strings.Replace(least, "version: 1",
		"version: 1\nbudgets: [{name: shared, epsilon: 2, per: 1d}]", 1), "name: s\n", "name: b\n", 1))
	write("notes.txt", "not a streams file")
	names := func(f *config.File) (names []string) {
		for _, s := range f.Streams {
			names = append(names, s.Name+" "+s.Budget.Name)
		}
		for _, b := range f.Budgets {
			names = append(names, b.Name)
		}
		return names
	}
	want := []string{"s shared", "b b", "shared", "b"}
	for _, pattern := range []string{dir, filepath.Join(dir, "*.y*ml"), filepath.Join(dir, "[ab].*")} {
		f, err := Load(pattern, noVariables)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		if got := names(f); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
	both, err := LoadAll([]string{filepath.Join(dir, "a.yaml"), dir}, noVariables)
	if err != nil || !slices.Equal(names(both), want) {
		t.Errorf("a file named twice: %v, %v", err, both)
	}
	write("c.yaml", least)
	_, err = Load(dir, noVariables)
	if want := fmt.Sprintf(
		`%s/c.yaml:3: streams[s]: the name "s" is taken by the stream at %s/a.yaml:3; choose another `+
			`name`, dir, dir); err == nil || err.Error() != want {
		t.Errorf("the same name in two files:\n got %v\nwant %s", err, want)
	}
	for pattern, want := range map[string]string{
		"":                      "no streams file is given",
		dir + "/none.yaml":      "no such streams file",
		dir + "/*.json":         "no such streams file",
		dir + "/[":              "syntax error in pattern",
		filepath.Dir(dir) + "/": "no streams file in this directory",
	} {
		if _, err := Load(pattern, noVariables); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", pattern, err, want)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(least))
	f.Add([]byte(right))
	for _, s := range []string{"", "#", "---\n---", "a: &a [*a]", "streams: &s [*s]",
		"version: 1\nstreams: [{name: &n s, input: *n}]", "? [a]\n: b", "${", "\ufeffversion: 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := File("f.yaml", data, func(name string) (string, bool) { return "1", name != "NONE" })
		if (file == nil) != (err != nil) {
			t.Fatalf("file %v, error %v", file, err)
		}
		if err == nil {
			return
		}
		for line := range strings.Lines(err.Error()) {
			var n int
			if _, e := fmt.Sscanf(line, "f.yaml:%d: ", &n); e != nil || n < 1 {
				t.Fatalf("error %q does not begin with a line", line)
			}
		}
	})
}
