package parse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
)

// Load reads the streams files that a pattern names as one. A pattern is a file, a directory (for its *.yaml and
// *.yml) or a glob. getenv looks up the variables that the files refer to; [os.LookupEnv] does.
//
// The error lists every mistake, one a line. If a file cannot be read at all, the line begins with the pattern.
func Load(pattern string, getenv func(string) (string, bool)) (*config.File, error) {
	return LoadAll([]string{pattern}, getenv)
}

// LoadAll is [Load] for several patterns. A file that several of them match is read only once.
func LoadAll(patterns []string, getenv func(string) (string, bool)) (*config.File, error) {
	all, err := readAll(patterns, getenv)
	if err != nil {
		return nil, err
	}
	return all.file()
}

// LoadUnpaid is [Load] for a file whose budgets may be too small for its streams: unpaid is the error that Load gives
// for that alone, or nil.
func LoadUnpaid(pattern string, getenv func(string) (string, bool)) (f *config.File, unpaid, err error) {
	all, err := readAll([]string{pattern}, getenv)
	if err != nil {
		return nil, nil, err
	}
	return all.unpaid()
}

// readAll reads all files that patterns name, each once.
func readAll(patterns []string, getenv func(string) (string, bool)) (*parser, error) {
	var names []string
	for _, pattern := range patterns {
		more, err := find(pattern)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	var all parser
	var read []os.FileInfo
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && slices.ContainsFunc(read, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		read = append(read, info)
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("streams file: %w", err)
		}
		all.read(name, data, getenv)
	}
	return &all, nil
}

// File is [Load] for the content of one file. name is the file's name in errors.
func File(name string, data []byte, getenv func(string) (string, bool)) (*config.File, error) {
	var one parser
	one.read(name, data, getenv)
	return one.file()
}

// Definition reads a definition back. The stream's start is "now", because a definition does not hold the real one.
func Definition(d config.Definition) (*config.Stream, error) {
	one := parser{alone: true}
	// Variables were replaced when the definition was made.
	one.read("definition", []byte(d), func(name string) (string, bool) { return "${" + name + "}", true })
	f, err := one.resolve()
	if err != nil {
		return nil, err
	}
	return f.Streams[0], nil
}

// find resolves a pattern to the names of files, sorted.
func find(pattern string) ([]string, error) {
	if pattern == "" {
		return nil, errors.New("no streams file is given; want a file, a directory or a glob")
	}
	info, err := os.Stat(pattern)
	switch {
	case err == nil && !info.IsDir():
		return []string{pattern}, nil
	case err == nil:
		entries, err := os.ReadDir(pattern)
		if err != nil {
			return nil, fmt.Errorf("streams files: %w", err)
		}
		var names []string
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
				names = append(names, filepath.Join(pattern, e.Name()))
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: no streams file in this directory; want at least one *.yaml", pattern)
		}
		return names, nil
	}
	names, globErr := filepath.Glob(pattern)
	if globErr != nil {
		return nil, fmt.Errorf("%s: %w; want a file, a directory or a glob", pattern, globErr)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.IsDir()
	})
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: no such streams file; want a file, a directory or a glob", pattern)
	}
	return names, nil
}

// Schema is the JSON Schema (draft 2020-12) of streams files. It covers keys, types and ranges. Only [File] checks how
// keys fit together.
func Schema() map[string]any { return fileForm.JSONSchema("Louver streams file") }

// Reference returns the reference of streams files, in Markdown.
func Reference() string { return fileForm.Reference() }

// document is the content of one file.
type document struct {
	revision int
	removed  []string
	budgets  []budgetNode
	streams  []streamNode
}

var fileForm = form.Form{
	{Name: "version", Required: true, Example: "1", Meaning: "the version of this format",
		Value: form.Into(version(), func(*document, int) {})},
	{Name: "revision", Absent: "0", Example: "1",
		Meaning: "raise it to go back to an earlier definition. Without that, a process with an older file follows " +
			"the newer definitions of the others",
		Value: form.Into(form.Whole(""), func(d *document, v int64) { d.revision = int(v) })},
	{Name: "removed", Absent: "none", Example: "[checkout-latency]",
		Meaning: "streams that have been taken out of the files and should end. Louver refuses files that lack a " +
			"stream and do not list it here",
		Value: form.Into(form.ListOf(streamName(), "names of streams", 0, form.Most),
			func(d *document, v []string) { d.removed = v })},
	{Name: "budgets", Absent: "each stream has its own", Example: "[{name: shoppers, epsilon: 24, per: 24h}]",
		Meaning: "budgets that several streams share",
		Value: form.Into(
			form.ListOf(sharedBudget(), "budgets, for example {name: shoppers, epsilon: 24, per: 24h}", 0, form.Most),
			func(d *document, v []budgetNode) { d.budgets = v })},
	{Name: "streams", Required: true, Example: "[{name: checkout-latency, …}]",
		Meaning: "the streams: each reads one topic and publishes to another",
		Value: form.Into(form.ListOf(streams(), "streams", 1, form.Most),
			func(d *document, v []streamNode) { d.streams = v })},
}

func version() form.Kind[int] {
	s := form.Spec{Name: "1", Want: "1", Words: []string{"1"}, Schema: form.Schema{"type": "integer", "const": 1}}
	return form.Scalar(s, func(text string) (int, error) {
		if text != "1" {
			return 0, form.ErrUnwanted
		}
		return 1, nil
	})
}
