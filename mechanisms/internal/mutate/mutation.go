package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the list
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed mutations.yaml
var list []byte

// mutation is one change of the code that takes privacy away.
type mutation struct {
	// Package is the directory of the code, from the module's root. Its tests are run, or those of In.
	Package, In string
	// What says what is wrong after the change.
	What string
	// From occurs exactly once in the package, tests aside, and is replaced by To.
	From, To string
	// Import, if not empty, is a package that To needs and the file does not import, with a name if it wants one.
	Import string
	// Tests is a regular expression of the names of the tests that ought to notice.
	Tests string

	at     string // file and line
	file   string
	source []byte
	// binary, if not empty, has the target's tests, with the change where the environment has its number.
	binary string
	number int           // from 1
	limit  time.Duration // of its tests
}

// load reads the list and finds each mutation's place below the module's root.
func load(root string) ([]mutation, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(list))
	decoder.KnownFields(true)
	var all []mutation
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("mutations.yaml: %w", err)
	}
	var lost []error
	for i := range all {
		if err := all[i].locate(root); err != nil {
			lost = append(lost, err)
		}
	}
	return all, errors.Join(lost...)
}

// locate finds the one place of From.
func (m *mutation) locate(root string) error {
	files, err := filepath.Glob(filepath.Join(root, m.Package, "*.go"))
	if err != nil {
		return err
	}
	places := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if n := bytes.Count(source, []byte(m.From)); n > 0 {
			places += n
			before, _, _ := bytes.Cut(source, []byte(m.From))
			m.file, m.source = file, source
			m.at = fmt.Sprintf("%s/%s:%d", m.Package, filepath.Base(file), 1+bytes.Count(before, []byte("\n")))
		}
	}
	if places != 1 {
		return fmt.Errorf("mutations.yaml: %s: %s occurs %d times in %s; want once", m.What, m.From, places, m.Package)
	}
	return nil
}

// changed returns the file with the change.
func (m *mutation) changed() []byte {
	changed := bytes.Replace(m.source, []byte(m.From), []byte(m.To), 1)
	if m.Import != "" {
		changed = bytes.Replace(changed, []byte(imports), []byte(imports+"\t"+m.Import+"\n"), 1)
	}
	return changed
}

// imports begins the imports of a file.
const imports = "import (\n"

// target is the package whose tests are run.
func (m *mutation) target() string { return "./" + cmp.Or(m.In, m.Package) }

// result is the outcome of a mutation: the tests that failed, or why they could not be run.
type result struct {
	failed []string
	err    error
}

func (r result) verdict() string {
	switch {
	case r.err != nil:
		return "BROKEN"
	case len(r.failed) == 0:
		return "SURVIVED"
	}
	return "caught"
}

func (r result) String() string {
	if r.err != nil {
		return r.verdict() + " " + r.err.Error()
	}
	return strings.TrimSpace(r.verdict() + " " + strings.Join(r.failed, " "))
}

// try runs the tests on the changed code. A test that takes longer than the limit fails.
func (m *mutation) try(ctx context.Context, dir string) result {
	failed, err := m.run(ctx, dir)
	return result{failed, err}
}

func (m *mutation) run(ctx context.Context, dir string) (failed []string, err error) {
	if m.binary != "" {
		failed, _, err = tests{m.target(), m.binary, m.Tests}.run(ctx, m.number, m.limit)
		return failed, err
	}
	changed := filepath.Join(dir, fmt.Sprintf("%d.go", m.number))
	if err := os.WriteFile(changed, m.changed(), 0o600); err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, fmt.Sprintf("%d.test", m.number))
	if err := build(ctx, m.target(), binary, map[string]string{m.file: changed}); err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(binary) }() // the whole directory is removed at the end
	failed, _, err = tests{m.target(), binary, m.Tests}.run(ctx, 0, m.limit)
	return failed, err
}

// longest limits the tests of a package that is sound, and shortest is the least limit of tests on changed code. Some
// changes make the code run for ever, which a test notices by its limit.
const longest, shortest = 10 * time.Minute, 20 * time.Second

// sound shows that all tests pass as long as nothing is changed. It sets the limit of each mutation's tests: several
// times as long as they take on sound code.
func sound(ctx context.Context, dir string, mutations []mutation) error {
	all := map[string]tests{}
	for _, m := range mutations {
		of := all[m.target()]
		of.target, of.binary, of.names = m.target(), cmp.Or(of.binary, m.binary), of.names+"|"+m.Tests
		all[m.target()] = of
	}
	took := map[string]map[string]time.Duration{}
	for _, target := range slices.Sorted(maps.Keys(all)) {
		of := all[target]
		names := strings.Split(of.names[1:], "|")
		slices.Sort(names)
		of.names = strings.Join(slices.Compact(names), "|")
		if of.binary == "" {
			of.binary = filepath.Join(dir, "sound.test")
			if err := build(ctx, target, of.binary, nil); err != nil {
				return err
			}
		}
		failed, each, err := of.run(ctx, 0, longest)
		if err != nil {
			return err
		}
		if len(failed) > 0 {
			return fmt.Errorf("%s fails in %s although nothing was changed", strings.Join(failed, ", "), target)
		}
		took[target] = each
	}
	for i := range mutations {
		m := &mutations[i]
		names, err := regexp.Compile("^(" + m.Tests + ")$")
		if err != nil {
			return fmt.Errorf("mutations.yaml: %s: %w", m.What, err)
		}
		for name, d := range took[m.target()] {
			if names.MatchString(name) {
				m.limit += 8 * d
			}
		}
		m.limit = max(shortest, m.limit)
	}
	return nil
}

// build makes the test binary of a target, with some files replaced.
func build(ctx context.Context, target, binary string, replaced map[string]string) error {
	overlay := map[string]map[string]string{"Replace": {}}
	for file, by := range replaced {
		original, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		overlay["Replace"][original] = by
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	layer := binary + ".json"
	if err := os.WriteFile(layer, text, 0o600); err != nil {
		return err
	}
	// Nobody debugs the binary.
	output, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-pgo=off", "-ldflags=-s -w",
		"-overlay", layer, "-o", binary, target).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("go test -c %s: %w\n%s", target, err, output)
	}
	return nil
}

// tests are some tests of a package, whose names match a regular expression.
type tests struct{ target, binary, names string }

// run runs the tests, with the mutation of that number if it is not 0, until one fails. It returns those that fail, and
// how long the others took. A test that has begun and not ended has failed too: it panicked in another goroutine, or
// took longer than the limit. It is an error if there is no such test.
func (t tests) run(ctx context.Context, number int, limit time.Duration) (failed []string,
	took map[string]time.Duration, err error) {
	args := []string{"-test.v=test2json", "-test.failfast", "-test.paniconexit0", "-test.timeout", limit.String(),
		"-test.run", "^(" + t.names + ")$"}
	rapid, err := usesRapid(t.target)
	if err != nil {
		return nil, nil, err
	}
	if rapid {
		// The failure is wanted. Its file below testdata is not, nor half a minute's search for a smaller one.
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	command := exec.CommandContext(ctx, t.binary, args...)
	command.Dir = t.target
	command.Env = append(command.Environ(), fmt.Sprintf("%s=%d", switchName, number))
	command.WaitDelay = 10 * time.Second // what a test has started may hold the output open
	output, exit := command.CombinedOutput()
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	begun := map[string]bool{}
	took = map[string]time.Duration{}
	for _, found := range reported.FindAllSubmatch(output, -1) {
		switch what, name := string(found[1]), string(found[2]); {
		case strings.Contains(name, "/"):
		case what == "=== RUN":
			begun[name] = true
		case what == "--- FAIL:":
			failed = append(failed, name)
			delete(begun, name)
		default:
			took[name], _ = time.ParseDuration(string(found[3]))
			delete(begun, name)
		}
	}
	failed = slices.AppendSeq(failed, maps.Keys(begun)) // and have not ended
	if exit != nil && len(failed) == 0 {
		return nil, nil, fmt.Errorf("the tests of %s: %w\n%s", t.target, exit, output)
	}
	if len(failed)+len(took) == 0 {
		return nil, nil, fmt.Errorf("%s has no test %s", t.target, t.names)
	}
	slices.Sort(failed)
	return failed, took, nil
}

// reported is what a test binary says of its tests, marked as `go tool test2json` wants it.
var reported = regexp.MustCompile(`\x16(=== RUN|--- (?:FAIL|PASS|SKIP):) +(\S+)(?: \((\S+)\))?`)

// usesRapid reports whether the tests of a package import rapid, which writes a file for each failure unless told not
// to.
func usesRapid(target string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(target, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if bytes.Contains(source, []byte(`"pgregory.net/rapid"`)) {
			return true, nil
		}
	}
	return false, nil
}
