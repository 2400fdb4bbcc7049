package main

import (
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// Every mutation in the list has its place in the code, can be parsed, and names tests that exist. So the list cannot
// fall behind the code: a change of a line in it needs a change of the list.
func TestListMatchesTheCode(t *testing.T) {
	all, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	seen := map[string]bool{}
	for _, m := range all {
		if m.What == "" || m.From == m.To || seen[m.Package+m.What] {
			t.Errorf("%s: %q changes nothing, or has the name of an earlier change", m.at, m.What)
		}
		seen[m.Package+m.What] = true
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, m.changed(),
			parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", m.What, err)
		}
		target := m.target()
		if names[target] == nil {
			names[target] = testsIn(t, target)
		}
		for _, name := range strings.Split(m.Tests, "|") {
			if !matches(t, name, names[target]) {
				t.Errorf("%s: %s has no test %s", m.What, target, name)
			}
		}
	}
}

// The tests of a package that is sound pass, and one of them sees a change.
func TestChangeIsNoticed(t *testing.T) {
	all, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	for _, m := range all {
		if m.Package != "windows" || m.Tests != "TestHashesAreFixed" {
			continue
		}
		if err := m.locate("."); err != nil {
			t.Fatal(err)
		}
		limits, err := sound(t.Context(), []mutation{m})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ to, want string }{{m.To, "caught"}, {m.From, "SURVIVED"}, {"(", "BROKEN"}} {
			m.To = c.to
			if got := m.try(t.Context(), t.TempDir(), 0, limits[m.target()]); got.verdict() != c.want {
				t.Errorf("%s, changed to %q: %s; want %s", m.What, c.to, got, c.want)
			}
		}
		return
	}
	t.Fatal("no mutation to try")
}

// testsIn lists the names of a package's tests.
func testsIn(t *testing.T, target string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, target, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := format.Source(source); err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names
}

func matches(t *testing.T, name string, names []string) bool {
	t.Helper()
	expression, err := regexp.Compile("^(" + name + ")$")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if expression.MatchString(n) {
			return true
		}
	}
	return false
}
