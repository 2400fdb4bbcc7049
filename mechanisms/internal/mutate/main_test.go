package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
		if m.Package != "windows" || m.What != "a user's hash has 64 bits" {
			continue
		}
		if err := m.locate("."); err != nil {
			t.Fatal(err)
		}
		wants := []struct{ to, want string }{{m.To, "caught"}, {m.From, "SURVIVED"}, {m.To + " + nothing", "BROKEN"}}
		dir, all := t.TempDir(), slices.Repeat([]mutation{m}, len(wants))
		for i, c := range wants {
			all[i].To = c.to
		}
		if err := weave(t.Context(), dir, all); err != nil || all[0].binary == "" || all[1].binary == "" ||
			all[2].binary != "" {
			t.Fatal(all, err)
		}
		if err := sound(t.Context(), dir, all); err != nil {
			t.Fatal(err)
		}
		all, wants = append(all, all[0]), append(wants, wants[0])
		all[3].binary = "" // what cannot be woven in
		for i, c := range wants {
			if got := all[i].try(t.Context(), dir); got.verdict() != c.want {
				t.Errorf("%s, changed to %q: %s; want %s", m.What, c.to, got, c.want)
			}
		}
		return
	}
	t.Fatal("no mutation to try")
}

// TestWeave: functions of every shape call their copies, several of one function too, and what is none is left out.
func TestWeave(t *testing.T) {
	const source = `package p

import (
	"fmt"
)

const size = 1

type of[T any] struct{ x T }

func (o *of[T]) method(_, y int, more ...string) (n int, err error) { return y + size, fmt.Errorf("%v", o.x) }

func (*of[T]) unnamed(int, ...string) { println(2) }

func generic[K comparable, V any](m map[K]V, _ K) int { return len(m) + 3 }
`
	f, err := newWovenFile(&mutation{file: "p.go", source: []byte(source)})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []mutation{{From: "y + size", To: "len(more)"}, {From: "y + size", To: "min(math.MaxInt8, y)",
		Import: `"math"`}, {From: "println(2)", To: "_ = math.Pi", Import: `"math"`}, {From: "3", To: "4"}} {
		if m.number = i + 1; !f.add(&m) {
			t.Errorf("%q is not woven in", m.To)
		}
	}
	for _, from := range []string{"size = 1", "x T", "y int", "\n\nfunc generic"} {
		if f.add(&mutation{From: from, To: from + " "}) {
			t.Errorf("%q is woven in", from)
		}
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, text := range []string{string(f.text()), fmt.Sprintf(switchFile, "p")} {
		file, err := parser.ParseFile(set, "p.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		files = append(files, file)
	}
	config := types.Config{Error: func(err error) {
		if !strings.Contains(err.Error(), "could not import") { // what a test's importer finds depends on how it is compiled
			t.Errorf("%v in\n%s", err, f.text())
		}
	}}
	p, _ := config.Check("p", set, files, nil)
	for n, name := range []string{"methodMutation1", "methodMutation2", "unnamedMutation3", "genericMutation4"} {
		if !strings.Contains(string(f.text()), fmt.Sprintf("if %s == %d {", switchVar, n+1)) ||
			!strings.Contains(string(f.text()), name+"(") && !strings.Contains(string(f.text()), name+"[") {
			t.Errorf("no call of %s in\n%s", name, f.text())
		}
	}
	if p.Scope().Lookup("genericMutation4") == nil {
		t.Error("no copy of a generic function")
	}
	line := 1 + strings.Count(strings.Split(string(f.text()), "_ = math.Pi")[0], "\n")
	if got := culprits(fmt.Sprintf("p.go:%d:3: undefined", line), map[string][]byte{"p.go": f.text()}); !slices.Equal(got, []int{3}) {
		t.Errorf("an error in line %d is of mutations %d; want 3", line, got)
	}
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
