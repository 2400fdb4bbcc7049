package form

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Form declares the keys of a mapping.
type Form []Key

// Key declares one key of a mapping: how it is read and what the reference says about it. Nothing else lists the keys.
// go generate ./cmd/louver updates deploy/STREAMS.md.
type Key struct {
	Name string
	// Meaning begins in lower case. The error for a missing key quotes it up to the first colon or full stop.
	Meaning string
	// Example is a sample value, as written in a file.
	Example  string
	Required bool
	// Fallback is the default, as written in a file. If it is "", Absent says what happens without the key.
	Fallback, Absent string
	// Only limits the key to mappings in which another key has one of these values. A name may be declared several
	// times, for different values.
	Only When
	// Unless is another key of the same mapping, which must be declared earlier. A mapping has at most one of the two.
	// A required key may be missing if the other is there.
	Unless string
	Value  Value
}

// When is a condition on another key of the same mapping, which must be declared earlier. The zero value always holds.
type When struct {
	Key string
	Is  []string
}

// Value reads a kind into a field of a mapping's result.
type Value struct {
	Spec
	read func(n Node, into any)
}

// Into makes a value that reads a kind and puts the result into a *T.
func Into[T, V any](k Kind[V], put func(*T, V)) Value {
	return Value{k.Spec, func(n Node, to any) {
		if v, ok := k.Read(n); ok {
			put(to.(*T), v)
		}
	}}
}

// Missed says what to write where a key is missing that is needed only in some mappings.
func (f Form) Missed(name string) string { return f.key(name).missed() }

// missed says what to write where the key is missing.
func (k Key) missed() string {
	if k.Value.Words != nil {
		return "want " + k.Value.Want
	}
	return fmt.Sprintf("add it, for example %s: %s (%s)", k.Name, k.Example, beginning.FindString(k.Meaning))
}

var beginning = regexp.MustCompile(`^([^.:]|[.:][^ ])*`)

// names returns the keys that a mapping may have.
func (f Form) names() (names []string) {
	for _, k := range f {
		if !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// key returns the first declaration of a key. The key must be declared.
func (f Form) key(name string) Key {
	return f[slices.IndexFunc(f, func(k Key) bool { return k.Name == name })]
}

// sole is the one key that must be given, or "" if there are several or none.
func (f Form) sole() (name string) {
	for _, k := range f {
		switch {
		case k.Required && name != "":
			return ""
		case k.Required:
			name = k.Name
		}
	}
	return name
}

// want shows the keys that a mapping must have.
func (f Form) want() string {
	var keys []string
	for _, k := range f {
		if k.Required && k.Only.Key == "" {
			keys = append(keys, k.Name+": …")
		}
	}
	return "{" + strings.Join(keys, ", ") + "}"
}
