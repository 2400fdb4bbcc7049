package form

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

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
