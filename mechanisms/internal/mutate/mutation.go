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
		changed = bytes.Replace(changed, []byte("import (\n"), []byte("import (\n\t"+m.Import+"\n"), 1)
	}
	return changed
}

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
func (m *mutation) try(ctx context.Context, dir string, number int, limit time.Duration) result {
	failed, err := m.run(ctx, dir, number, limit)
	return result{failed, err}
}

func (m *mutation) run(ctx context.Context, dir string, number int, limit time.Duration) (failed []string, err error) {
	changed := filepath.Join(dir, fmt.Sprintf("%d.go", number))
	if err := os.WriteFile(changed, m.changed(), 0o600); err != nil {
		return nil, err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return nil, err
	}
	layer := changed + ".json"
	if err := os.WriteFile(layer, overlay, 0o600); err != nil {
		return nil, err
	}
	return test(ctx, m.target(), m.Tests, limit, "-overlay", layer)
}

// longest limits the tests of a package that is sound, and shortest is the least limit of tests on changed code. Some
// changes make the code run for ever, which a test notices by its limit.
const longest, shortest = 10 * time.Minute, time.Minute

// sound shows that all tests pass as long as nothing is changed. It returns the limit for each package's tests on
// changed code: several times as long as they take on sound code.
func sound(ctx context.Context, mutations []mutation) (limits map[string]time.Duration, err error) {
	tests := map[string][]string{}
	limits = map[string]time.Duration{}
	for _, m := range mutations {
		tests[m.target()] = append(tests[m.target()], m.Tests)
	}
	for _, target := range slices.Sorted(maps.Keys(tests)) {
		slices.Sort(tests[target])
		began := time.Now()
		failed, err := test(ctx, target, strings.Join(slices.Compact(tests[target]), "|"), longest)
		if err != nil {
			return nil, err
		}
		if len(failed) > 0 {
			return nil, fmt.Errorf("%s fails in %s although nothing was changed", strings.Join(failed, ", "), target)
		}
		limits[target] = max(shortest, 4*time.Since(began))
	}
	return limits, nil
}

// test runs some tests of a package and returns those that fail. A test that has begun and not ended has failed too: it
// panicked in another goroutine, or took longer than the limit. It is an error if the code does not compile, or if
// there is no such test.
func test(ctx context.Context, target, tests string, limit time.Duration,
	options ...string) (failed []string, err error) {
	args := slices.Concat([]string{"test", "-json", "-vet=off", "-pgo=off", "-timeout", limit.String(),
		"-run", "^(" + tests + ")$"}, options, []string{target})
	rapid, err := usesRapid(target)
	if err != nil {
		return nil, err
	}
	if rapid {
		args = append(args, "-args", "-rapid.nofailfile") // the failure is wanted, its file below testdata is not
	}
	command := exec.CommandContext(ctx, "go", args...)
	var output, complaint bytes.Buffer
	command.Stdout, command.Stderr = &output, &complaint
	exit := command.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	begun := map[string]bool{}
	ended := map[string]bool{}
	for decoder := json.NewDecoder(&output); ; {
		var event struct{ Action, Test, Output string }
		if err := decoder.Decode(&event); err != nil {
			break // the end of the output
		}
		switch {
		case event.Action == "build-output":
			complaint.WriteString(event.Output)
		case event.Test == "" || strings.Contains(event.Test, "/"):
		case event.Action == "run":
			begun[event.Test] = true
		case event.Action == "fail":
			failed = append(failed, event.Test)
			ended[event.Test] = true
		case event.Action == "pass" || event.Action == "skip":
			ended[event.Test] = true
		}
	}
	for name := range begun {
		if !ended[name] {
			failed = append(failed, name)
		}
	}
	if exit != nil && len(failed) == 0 {
		return nil, fmt.Errorf("go test %s: %w\n%s", target, exit, complaint.String())
	}
	if len(begun) == 0 {
		return nil, fmt.Errorf("%s has no test %s", target, tests)
	}
	slices.Sort(failed)
	return failed, nil
}

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
