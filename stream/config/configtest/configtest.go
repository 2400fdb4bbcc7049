// Package configtest writes streams files for tests. A file is text, because that is what processes read.
package configtest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The topics of a stream without Topics. A test replaces them by its own.
const (
	Input  = "INPUT"
	Output = "OUTPUT"
)

// File is a streams file. Lines of the top level, such as budgets, can be appended.
func File(streams ...string) string {
	return "version: 1\nstreams:\n" + strings.Join(streams, "")
}

// Stream is a stream of a file. It counts the users of windows of an hour at ε 1,000,000, so that the count is exact,
// and its budget pays for a million of them a day. Values are whole numbers from 0 to 100. Later options replace
// earlier ones.
func Stream(name string, options ...Option) string {
	s := &stream{size: time.Hour, topics: strings.NewReplacer()}
	for _, o := range []Option{
		Set("input", "{topic: "+Input+", user: user, value: value, time: time}"),
		Set("bounds", "{lower: 0, upper: 100, step: 1}"),
		Set("contribution", "last"), Releases("{name: users, statistic: count, epsilon: 1000000}"),
		Set("output", "{topic: "+Output+"}"), Budget("1000000000000", "24h"),
	} {
		o(s)
	}
	for _, o := range options {
		o(s)
	}
	Set("window", s.window())(s)
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: %s\n", name)
	for _, f := range s.fields {
		fmt.Fprintf(&b, "    %s: %s\n", f.key, s.topics.Replace(f.value))
	}
	return b.String()
}

// Option says something about a stream.
type Option func(*stream)

type stream struct {
	size, every, grace time.Duration
	start, end         string
	topics             *strings.Replacer
	fields             []field
}

type field struct{ key, value string }

func (s *stream) window() string {
	every := s.every
	if every == 0 {
		every = s.size
	}
	text := fmt.Sprintf("size: %s, every: %s, grace: %s", s.size, every, s.grace)
	if s.start != "" {
		text += ", start: " + s.start
	}
	if s.end != "" {
		text += ", end: " + s.end
	}
	return "{" + text + "}"
}

// Set gives a key of the stream a value in YAML. Without a value the key is left out.
func Set(key, value string) Option {
	return func(s *stream) {
		i := slices.IndexFunc(s.fields, func(f field) bool { return f.key == key })
		switch {
		case i < 0 && value != "":
			s.fields = append(s.fields, field{key, value})
		case i >= 0 && value != "":
			s.fields[i].value = value
		case i >= 0:
			s.fields = slices.Delete(s.fields, i, i+1)
		}
	}
}

// Topics are the topics of the stream.
func Topics(input, output string) Option {
	return func(s *stream) { s.topics = strings.NewReplacer(Input, input, Output, output) }
}

// Groups are the stream's groups. Events name theirs in the field group.
func Groups(names ...string) Option {
	return func(s *stream) {
		Set("input", "{topic: "+Input+", user: user, value: value, time: time, group: group}")(s)
		Set("groups", "["+strings.Join(names, ", ")+"]")(s)
	}
}

// Releases are the releases, each a mapping in YAML.
func Releases(lines ...string) Option { return Set("releases", "["+strings.Join(lines, ", ")+"]") }

// Budget is a budget that the stream has for itself.
func Budget(epsilon, per string) Option {
	return Set("budget", fmt.Sprintf("{epsilon: %s, per: %s}", epsilon, per))
}

// Window is how long the windows are, and how long each waits after its end. They follow one another unless Every says
// otherwise.
func Window(size, grace time.Duration) Option {
	return func(s *stream) { s.size, s.grace = size, grace }
}

// Every is the time from the start of a window to that of the next.
func Every(step time.Duration) Option { return func(s *stream) { s.every = step } }

// Start is the start of the first window.
func Start(at time.Time) Option { return func(s *stream) { s.start = at.Format(time.RFC3339) } }

// StartNow lets the first window begin when the service first reads the file.
func StartNow(s *stream) { s.start = "now" }

// End is the end of the last window.
func End(at time.Time) Option { return func(s *stream) { s.end = at.Format(time.RFC3339) } }
