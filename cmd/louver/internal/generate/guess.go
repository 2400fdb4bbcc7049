package generate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/louver/louver/stream/shape"
)

// Guess lists the fields that could hold the parts of an event, by their paths and in the order of the fields.
type Guess struct{ Users, Values, Times []string }

// Usual names of fields, as [words] writes them: of who and when, of ids, and of what has been measured.
var (
	userName = regexp.MustCompile(`(^|_)(user|client|customer|account|member|person|patient|visitor|household|` +
		`subscriber|buyer|guest|passenger|employee|student|player|driver|rider|reviewer)(_?(id|key|hash))?$|(^|_)uid$`)
	timeName = regexp.MustCompile(`(^|_)(time|timestamp|ts|datetime|created_at|event_time)$`)
	idName   = regexp.MustCompile(`(^|_|[a-z])id$`)
	noID     = regexp.MustCompile(`(^|_)(humid|(in|in_)?valid|(un|pre|re)?paid|bid|grid|(in)?fluid|liquid|void|solid|acid|` +
		`rapid|aid|covid|android|hybrid|mid|lipid)$`)
	valueName = regexp.MustCompile(`(^|_)(value|amount|total|price|cost|revenue|duration|latency|delay|ms|millis|` +
		`seconds|bytes|size|rating|score|temp|temperature)(_|$)`)
	calendarName = regexp.MustCompile(`^(year|quarter|month|week|day|weekday|hour|minute|second|day_of_week)$`)
)

// capital is a capital letter that begins a word: the I of userId.
var capital = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// words writes a name in small letters with _ between its words, and without what some programs put behind it, such as
// :float.
func words(name string) string {
	name, _, _ = strings.Cut(strings.ReplaceAll(name, `\`, ""), ":") // without escapes
	name = capital.ReplaceAllString(name, "${1}_$2")
	return strings.Trim(strings.NewReplacer(".", "_", "-", "_", " ", "_", "(", "_", ")", "").Replace(
		strings.ToLower(name)), "_")
}

// Candidates looks only at names and types. With one candidate there is little doubt. With several, somebody has to
// choose: `louver init` leaves the choice open, and `louver try` looks at the values.
func Candidates(fields []shape.Field) (g Guess) {
	var texts []string // fields of numbers in strings: values if their names say so, or if there are no others
	for _, f := range fields {
		name := words(f.Path)
		number, text := f.Type == shape.Number, f.Type == shape.String || f.Type == shape.Digits
		switch who, when := userName.MatchString(name), timeName.MatchString(name); {
		case f.Hidden:
		case who && (number || text):
			g.Users = append(g.Users, f.Path)
		case when && (number || text):
			g.Times = append(g.Times, f.Path)
		case Identifies(f.Path) || calendarName.MatchString(name):
		case number, f.Type == shape.Digits && valueName.MatchString(name):
			g.Values = append(g.Values, f.Path)
		case f.Type == shape.Digits:
			texts = append(texts, f.Path)
		}
	}
	if len(g.Values) == 0 {
		g.Values = texts
	}
	return g
}

// Identifies reports whether a field's name says that it holds an id.
func Identifies(path string) bool {
	name := words(path)
	return idName.MatchString(name) && !noID.MatchString(name)
}

// NamesUser reports whether a field's name says who somebody is.
func NamesUser(path string) bool { return userName.MatchString(words(path)) }

// thingName are names of ids that are no person's.
var thingName = regexp.MustCompile(`(^|_)(product|item|sku|article|movie|film|book|song|track|video|post|order|basket|` +
	`cart|invoice|payment|transaction|session|request|trace|span|event|message|row|record|store|shop|branch|page|` +
	`campaign|coupon|ad|host|server|pod|flight|trip|ride|ticket|category)(_|$)`)

// IsThing reports whether a field's name says that it is about a thing, such as an order, and not about a person.
func IsThing(path string) bool {
	name := words(path)
	return thingName.MatchString(strings.TrimSuffix(name, "id"))
}

// tookName are names of how long something took.
var tookName = regexp.MustCompile(`(^|_)(latency|duration|delay|elapsed|response_time|ms|millis|seconds)(_|$)`)

// Measured returns those candidates for values whose names usually say what was measured, or else all of them. Times
// that something took come before its size.
func (g Guess) Measured() []string {
	var measured []string
	for _, of := range []*regexp.Regexp{tookName, valueName} {
		for _, path := range g.Values {
			if of.MatchString(words(path)) && !slices.Contains(measured, path) {
				measured = append(measured, path)
			}
		}
	}
	if len(measured) > 0 {
		return measured
	}
	return g.Values
}
