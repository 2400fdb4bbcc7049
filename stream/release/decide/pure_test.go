package decide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTheCoreIsPure: the core and the trackers import nothing that talks to Kafka, logs or counts, not even through
// another package. They read no clock, start no goroutine and wait for nothing. So tests, recorded topics and an audit
// see all that decides.
func TestTheCoreIsPure(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".", "../attendance").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for path := range strings.FieldsSeq(string(text)) {
		for _, part := range []string{"/stream/kafka/", "/stream/stage", "/kafka-go", "/zap", "/prometheus", "net/http"} {
			if strings.Contains(path, part) {
				t.Errorf("the core needs %s", path)
			}
		}
	}
	for _, folder := range []string{".", "../attendance"} {
		names, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(names) < 5 {
			t.Fatalf("%s has the files %q (%v): the test tests nothing", folder, names, err)
		}
		files := token.NewFileSet()
		for _, name := range names {
			f, err := parser.ParseFile(files, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, what := range impure(t, f) {
				if !strings.HasSuffix(name, "_test.go") {
					t.Errorf("%s: %T is not for a core", files.Position(what.Pos()), what)
				}
			}
		}
	}
	const bad = "package p\nimport (\"os\"; \"time\")\n" +
		"func f() { go f(); select {}; time.Sleep(1); _ = time.Now; os.Exit(1) }"
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", bad, 0)
	if err != nil || len(impure(t, f)) != 5 {
		t.Errorf("%d things are found in %q, want 5 (%v)", len(impure(t, f)), bad, err)
	}
}

// impure lists what a file has that a core may not have.
func impure(t *testing.T, f *ast.File) (all []ast.Node) {
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"context", "log", "log/slog", "net", "os", "sync", "sync/atomic"}, path) {
			all = append(all, i)
		}
	}
	clocks := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
			all = append(all, n)
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				all = append(all, n)
			}
		}
		return true
	})
	return all
}
