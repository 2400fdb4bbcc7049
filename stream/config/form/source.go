package form

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"
	"github.com/dustin/go-humanize/english"
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

// Mistake is one mistake in a file. Its JSON names are public.
type Mistake struct {
	// File and Line say where it is, "" and 0 if that is not known.
	File string `json:"file"`
	Line int    `json:"line"`
	// Key is the path of the key, such as streams[checkout].window.size, or "" if the file as a whole is wrong.
	Key string `json:"key"`
	// Message says what was found; what would be right.
	Message string `json:"message"`
}

// MistakeAt is a mistake at a place that is written as "file:line".
func MistakeAt(where, key, format string, args ...any) *Mistake {
	m := &Mistake{File: where, Key: key, Message: fmt.Sprintf(format, args...)}
	if i := strings.LastIndexByte(where, ':'); i >= 0 {
		if line, err := strconv.Atoi(where[i+1:]); err == nil {
			m.File, m.Line = where[:i], line
		}
	}
	return m
}

// Text is the mistake without its place: what is wrong with which key.
func (m *Mistake) Text() string { return strings.TrimPrefix(m.Key+": "+m.Message, ": ") }

// Where is the place as "file:line", or "".
func (m *Mistake) Where() string {
	if m.Line == 0 {
		return m.File
	}
	return fmt.Sprintf("%s:%d", m.File, m.Line)
}

// Error implements [error]: the mistake in one line.
func (m *Mistake) Error() string { return strings.TrimPrefix(m.Where()+": "+m.Text(), ": ") }

// Mistakes lists the mistakes that an error consists of. Any other error becomes a mistake without a place.
func Mistakes(err error) (all []Mistake) {
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, one := range joined.Unwrap() {
			all = append(all, Mistakes(one)...)
		}
		return all
	}
	if m := (*Mistake)(nil); errors.As(err, &m) {
		return []Mistake{*m}
	}
	return []Mistake{{Message: err.Error()}}
}

// Nearest returns the word that a misspelt one probably stands for, or "" if none is similar.
func Nearest(word string, words []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, w := range words {
		d := levenshtein.ComputeDistance(word, w)
		if w == word+"es" || len(word) > 2 && strings.HasPrefix(w, word) { // a singular, such as watch, or short for it
			d = 1
		}
		if d < least {
			best, least = w, d
		}
	}
	return best
}

// Instead says what to write instead of a word that is none of these: the one that was probably meant, or else any of
// them. Where there are none, it is what otherwise says.
func Instead(word string, words []string, otherwise string) string {
	switch near := Nearest(word, words); {
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	case len(words) == 0:
		return otherwise
	}
	return "want " + List(words, "or")
}

// Plural writes a number and a noun: 1 window, 2 windows.
func Plural(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, english.PluralWord(n, noun, ""))
}

// List joins words as a sentence does: "a, b or c".
func List(words []string, last string) string { return english.WordSeries(words, last) }
