package form

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Source is a file that is being read, and its mistakes.
type Source struct {
	file     string
	getenv   func(string) (string, bool)
	mistakes []*Mistake
	noted    map[fault]bool
	// refused counts all mistakes, including repeated ones.
	refused int
}

// NewSource is a file that will be read. file is its name in errors. getenv looks up the variables that it refers to.
func NewSource(file string, getenv func(string) (string, bool)) *Source {
	return &Source{file: file, getenv: getenv, noted: map[fault]bool{}}
}

// fault tells mistakes apart: by the last part of their keys, since aliases repeat a place under other keys.
type fault struct {
	at        *yaml.Node
	key, text string
}

// refuse records a mistake, once for each place. The text says what was found; what would be right.
func (s *Source) refuse(at *yaml.Node, path, format string, args ...any) {
	text := strings.Map(oneLine, fmt.Sprintf(format, args...))
	key := fault{at, path[strings.LastIndexByte(path, '.')+1:], text}
	s.refused++
	if !s.noted[key] {
		s.noted[key] = true
		s.mistakes = append(s.mistakes, &Mistake{s.file, at.Line, strings.Map(oneLine, path), text})
	}
}

// Errors returns the mistakes, each a [*Mistake], sorted by line.
func (s *Source) Errors() []error {
	slices.SortStableFunc(s.mistakes, func(a, b *Mistake) int { return cmp.Compare(a.Line, b.Line) })
	errs := make([]error, len(s.mistakes))
	for i, m := range s.mistakes {
		errs[i] = m
	}
	return errs
}

// MistakesOutside reports whether there are mistakes whose keys do not begin with a prefix.
func (s *Source) MistakesOutside(prefix string) bool {
	return slices.ContainsFunc(s.mistakes, func(m *Mistake) bool { return !strings.HasPrefix(m.Key, prefix) })
}

// oneLine replaces line ends in names and values, so that an error stays on one line.
func oneLine(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}
