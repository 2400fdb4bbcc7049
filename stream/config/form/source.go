package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Source is a file that is being read, and its faults.
type Source struct {
	file   string
	getenv func(string) (string, bool)
	faults []fault
	noted  map[fault]bool // by the last part of their paths
	// refused counts all faults, including repeated ones.
	refused int
}

// NewSource is a file that will be read. file is its name in errors. getenv looks up the variables that it refers to.
func NewSource(file string, getenv func(string) (string, bool)) *Source {
	return &Source{file: file, getenv: getenv, noted: map[fault]bool{}}
}

// fault is a mistake and its place. Its text says what was found; what would be right.
type fault struct {
	at         *yaml.Node
	path, text string
}

// refuse records a fault. If aliases repeat a place, its faults are recorded only once.
func (s *Source) refuse(at *yaml.Node, path, format string, args ...any) {
	f := fault{at, strings.Map(oneLine, path), strings.Map(oneLine, fmt.Sprintf(format, args...))}
	key := fault{at, path[strings.LastIndexByte(path, '.')+1:], f.text}
	s.refused++
	if !s.noted[key] {
		s.noted[key] = true
		s.faults = append(s.faults, f)
	}
}

// Errors returns the faults, sorted by line.
func (s *Source) Errors() []error {
	slices.SortStableFunc(s.faults, func(a, b fault) int { return cmp.Compare(a.at.Line, b.at.Line) })
	errs := make([]error, len(s.faults))
	for i, f := range s.faults {
		if f.path != "" {
			f.path += ": "
		}
		errs[i] = fmt.Errorf("%s:%d: %s%s", s.file, f.at.Line, f.path, f.text)
	}
	return errs
}

// FaultsOutside reports whether there are faults whose paths do not begin with a prefix.
func (s *Source) FaultsOutside(prefix string) bool {
	return slices.ContainsFunc(s.faults, func(f fault) bool { return !strings.HasPrefix(f.path, prefix) })
}

// oneLine replaces line ends in names and values, so that an error stays on one line.
func oneLine(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
