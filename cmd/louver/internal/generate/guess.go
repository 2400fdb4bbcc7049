package generate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/louver/louver/stream/shape"
)

// Guess lists the fields that could hold the parts of an event, by their paths and in the order of the fields.
type Guess struct{ Users, Values, Times []string }

// Usual names of the fields that say who and when, and how much.
var (
	userName = regexp.MustCompile(
		`(?i)(^|[._-])(user|client|customer|account|member|person|patient|visitor)([._-]?id)?$` + `|(^|[._-])uid$`)
	timeName  = regexp.MustCompile(`(?i)(^|[._-])(time|timestamp|ts|datetime|created_at|event_time)$`)
	idName    = regexp.MustCompile(`(?i)(^|[._-]|[a-z])id$`)
	valueName = regexp.MustCompile(`(?i)(^|[._-])(value|amount|total|price|cost|revenue|duration|latency|delay|ms|` +
		`seconds|bytes|size|rating|score|temperature)([._-]|$)`)
)

// Candidates looks only at names and types. With one candidate there is little doubt. With several, somebody has to
// choose: `louver init` leaves the choice open, and `louver try` looks at the values.
func Candidates(fields []shape.Field) (g Guess) {
	for _, f := range fields {
		name := strings.ReplaceAll(f.Path, `\`, "") // without escapes
		number, text := f.Type == shape.Number, f.Type == shape.String
		switch who, when := userName.MatchString(name), timeName.MatchString(name); {
		case f.Hidden:
		case who && (number || text):
			g.Users = append(g.Users, f.Path)
		case when && (number || text):
			g.Times = append(g.Times, f.Path)
		case number && !idName.MatchString(name):
			g.Values = append(g.Values, f.Path)
		}
	}
	return g
}

// Identifies reports whether a field's name says that it holds an id.
func Identifies(path string) bool { return idName.MatchString(path) }

// Measured returns those candidates for values whose names usually say what was measured, or else all of them.
func (g Guess) Measured() []string {
	measured := slices.DeleteFunc(slices.Clone(g.Values), func(path string) bool { return !valueName.MatchString(path) })
	if len(measured) > 0 {
		return measured
	}
	return g.Values
}
