package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Compiling and linking take most of the time that a mutation needs. So all mutations of a target that change the body
// of a function are compiled at once: beside the function stands a copy of it with the change, and the function calls
// that copy where an environment variable has the mutation's number. What changes anything else, such as a constant, is
// compiled for itself.

const (
	// switchName is the environment variable, and switchVar the variable of a package that has its value.
	switchName, switchVar = "LOUVER_MUTATION", "switchedMutation"
	switchFile            = "package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\n" +
		"var " + switchVar + ", _ = strconv.Atoi(os.Getenv(\"" + switchName + "\"))\n"
)

// weave numbers mutations, and compiles those that can be switched on into one binary for each target. One that does
// not compile is left out, and tried for itself.
func weave(ctx context.Context, dir string, mutations []mutation) error {
	targets := map[string][]*mutation{}
	for i := range mutations {
		m := &mutations[i]
		m.number = i + 1
		targets[m.target()] = append(targets[m.target()], m)
	}
	for target, all := range targets {
		for {
			wrong, err := weaveTarget(ctx, dir, target, all)
			if err != nil && len(wrong) == 0 {
				return err
			}
			if err == nil {
				break
			}
			all = slices.DeleteFunc(all, func(m *mutation) bool { return slices.Contains(wrong, m.number) })
		}
	}
	return nil
}

// weaveTarget compiles mutations of a target. With an error, it returns the numbers of those that are to blame.
func weaveTarget(ctx context.Context, dir, target string, all []*mutation) (wrong []int, err error) {
	files, woven := map[string]*wovenFile{}, []*mutation{}
	for _, m := range all {
		if files[m.file] == nil {
			if files[m.file], err = newWovenFile(m); err != nil {
				return nil, err
			}
		}
		if files[m.file].add(m) {
			woven = append(woven, m)
		}
	}
	if len(woven) == 0 {
		return nil, nil
	}
	binary := filepath.Join(dir, strings.ReplaceAll(filepath.Clean(target), "/", "_")+".test")
	replaced, texts := map[string]string{}, map[string][]byte{}
	put := func(file string, text []byte) error {
		changed := fmt.Sprintf("%s.%d.go", binary, len(texts))
		replaced[file], texts[changed] = changed, text
		return os.WriteFile(changed, text, 0o600)
	}
	for file, of := range files {
		if len(of.edits) == 0 {
			continue
		}
		at := filepath.Join(filepath.Dir(file), switchVar+".go")
		if err := errors.Join(put(file, of.text()),
			put(at, fmt.Appendf(nil, switchFile, of.tree.Name.Name))); err != nil {
			return nil, err
		}
	}
	if err := build(ctx, target, binary, replaced); err != nil {
		return culprits(err.Error(), texts), err
	}
	for _, m := range woven {
		m.binary = binary
	}
	return nil, nil
}

// culprits are the numbers of the mutations in whose copies a compiler found errors.
func culprits(complaint string, texts map[string][]byte) (numbers []int) {
	for file, text := range texts {
		lines := bytes.SplitAfter(text, []byte("\n"))
		at := regexp.MustCompile(regexp.QuoteMeta(file) + `:(\d+):`)
		for _, found := range at.FindAllStringSubmatch(complaint, -1) {
			line, _ := strconv.Atoi(found[1])
			before := bytes.Join(lines[:min(line, len(lines))], nil)
			if copies := copied.FindAllSubmatch(before, -1); len(copies) > 0 {
				number, _ := strconv.Atoi(string(copies[len(copies)-1][1]))
				numbers = append(numbers, number)
			}
		}
	}
	return numbers
}

// copied is the beginning of a copy of a function.
var copied = regexp.MustCompile(`(?m)^func .*Mutation(\d+)[(\[]`)

// wovenFile is a file with mutations that can be switched on.
type wovenFile struct {
	source   []byte
	set      *token.FileSet
	tree     *ast.File
	edits    []edit
	imported []string
}

// edit puts a text in place of another one.
type edit struct {
	at, end int
	text    string
}

func newWovenFile(m *mutation) (*wovenFile, error) {
	f := &wovenFile{source: m.source, set: token.NewFileSet()}
	var err error
	f.tree, err = parser.ParseFile(f.set, m.file, m.source, parser.SkipObjectResolution)
	return f, err
}

func (f *wovenFile) offset(p token.Pos) int { return f.set.Position(p).Offset }

// text is the file with all edits.
func (f *wovenFile) text() []byte {
	text := slices.Clone(f.source)
	slices.SortStableFunc(f.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	for _, e := range slices.Backward(f.edits) {
		text = slices.Replace(text, e.at, e.end, []byte(e.text)...)
	}
	return text
}

// add adds a mutation, or reports false if it does not change the body of a function alone.
func (f *wovenFile) add(m *mutation) bool {
	at := bytes.Index(f.source, []byte(m.From))
	i := slices.IndexFunc(f.tree.Decls, func(d ast.Decl) bool {
		return f.offset(d.Pos()) <= at && at+len(m.From) <= f.offset(d.End())
	})
	if i < 0 {
		return false
	}
	d, ok := f.tree.Decls[i].(*ast.FuncDecl)
	if !ok || d.Body == nil || d.Name.Name == "init" || d.Name.Name == "main" {
		return false
	}
	begin, body, end := f.offset(d.Pos()), f.offset(d.Body.Lbrace)+1, f.offset(d.End())
	changed := bytes.Replace(f.source[begin:end], []byte(m.From), []byte(m.To), 1)
	if !bytes.HasPrefix(changed, f.source[begin:body]) {
		return false
	}
	copyName := fmt.Sprintf("%sMutation%d", d.Name.Name, m.number)
	name := f.offset(d.Name.Pos()) - begin
	f.edit(len(f.source), len(f.source), fmt.Sprintf("\n%s%s%s\n", changed[:name], copyName,
		changed[name+len(d.Name.Name):]))

	call := copyName
	if d.Recv != nil {
		call = f.names(d.Recv)[0] + "." + copyName
	}
	if d.Type.TypeParams != nil {
		call += "[" + strings.Join(f.names(d.Type.TypeParams), ", ") + "]"
	}
	call += "(" + strings.Join(f.names(d.Type.Params), ", ") + ")"
	if d.Type.Results == nil {
		call += "\n\treturn"
	} else {
		call = "return " + call
	}
	f.edit(body, body, fmt.Sprintf("\nif %s == %d {\n\t%s\n}\n", switchVar, m.number, call))
	if m.Import != "" && !slices.Contains(f.imported, m.Import) {
		f.imported = append(f.imported, m.Import)
		at := bytes.Index(f.source, []byte(imports)) + len(imports)
		f.edit(at, at, "\t"+m.Import+"\n")
	}
	return true
}

// names are the names of parameters, as one passes them on. It gives a name to those that have none.
func (f *wovenFile) names(list *ast.FieldList) (all []string) {
	for _, field := range list.List {
		rest := ""
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			rest = "..."
		}
		for _, name := range field.Names {
			given := name.Name
			if given == "_" {
				given = fmt.Sprintf("unnamed%d", f.offset(name.Pos()))
				f.edit(f.offset(name.Pos()), f.offset(name.End()), given)
			}
			all = append(all, given+rest)
		}
		if len(field.Names) == 0 {
			given := fmt.Sprintf("unnamed%d", f.offset(field.Pos()))
			f.edit(f.offset(field.Pos()), f.offset(field.Pos()), given+" ")
			all = append(all, given+rest)
		}
	}
	return all
}

// edit notes an edit, unless it has been noted for another mutation of the same function.
func (f *wovenFile) edit(at, end int, text string) {
	if e := (edit{at, end, text}); !slices.Contains(f.edits, e) {
		f.edits = append(f.edits, e)
	}
}
