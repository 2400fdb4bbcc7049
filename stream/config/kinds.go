package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"
	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/louver/louver/mechanisms"
)

// kind is a type of value: its description in the reference and in errors, and how it is read. read records all faults;
// ok says whether the value can be used nevertheless.
type kind[V any] struct {
	spec
	read func(n node) (v V, ok bool)
}

// spec describes a kind.
type spec struct {
	// name is the type in the reference. want is the end of an error: "want a duration, for example 15m".
	name, want string
	schema     schema
	// words are all possible values, or nil if there are others.
	words []string
	// keys are the keys of a mapping, or of the mappings in a list.
	keys form
}

// schema is a JSON Schema.
type schema map[string]any

// text reads a scalar, with the variables in it replaced.
func (n node) text() (string, bool) {
	if n.yaml.Kind != yaml.ScalarNode || n.isNull() {
		return "", false
	}
	return n.expand()
}

// errUnwanted is a mistake that needs no explanation beyond the value and what is wanted.
var errUnwanted = errors.New("")

// scalar makes a kind for values that are written as one text. An error of parse follows the value: "is not a number;
// write 0.05". If it has no semicolon, what is wanted is added.
func scalar[V any](s spec, parse func(text string) (V, error)) kind[V] {
	bare := slices.Contains([]any{"number", "integer", "boolean"}, s.schema["type"])
	s.schema = variableOr(s.schema)
	return kind[V]{s, func(n node) (v V, ok bool) {
		if n.yaml.Kind != yaml.ScalarNode || n.isNull() {
			n.refuse("%s; want %s", n.shown(), s.want)
			return v, false
		}
		text, ok := n.expand()
		if !ok {
			return v, false
		}
		v, err := parse(text)
		quoted := n.yaml.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && text == n.yaml.Value
		switch {
		case err == nil && quoted && bare:
			n.refuse("%q is text because of the quotes; write %s", text, text)
		case err == nil:
			return v, true
		case tooLong(text):
			n.refuse("%s; want %s", show(text), s.want)
		case strings.Contains(err.Error(), "; "):
			n.refuse("%s %s", show(text), err)
		default:
			n.refuse("%s; want %s", strings.TrimSpace(show(text)+" "+err.Error()), s.want)
		}
		return v, false
	}}
}

// textTypes are the types that YAML may give to text without quotes.
var textTypes = []string{"string", "number", "boolean"}

// prose is any text.
func prose() kind[string] {
	return scalar(spec{name: "text", want: "a text", schema: schema{"type": textTypes}}, func(text string) (string, error) { return text, nil })
}

// plainName is the form of the names of streams and budgets.
const plainName = `^[a-z0-9-]+$`

var unplain = regexp.MustCompile(`[^a-z0-9]+`)

// name is a text of at most most characters that matches a regular expression, valid both in Go and in JSON Schema.
func name(typ, want, form string, most int) kind[string] {
	exp := regexp.MustCompile(form)
	return scalar(spec{name: typ, want: want, schema: schema{"type": textTypes, "pattern": form, "maxLength": most}}, func(text string) (string, error) {
		if !exp.MatchString(text) || utf8.RuneCountInString(text) > most {
			if plain := strings.Trim(unplain.ReplaceAllString(strings.ToLower(text), "-"), "-"); form == plainName && plain != "" && len(plain) <= most {
				return "", fmt.Errorf("has other characters than a–z, 0–9 and -; write %s", plain)
			}
			return "", errUnwanted
		}
		return text, nil
	})
}

// oneOf is one of a few words.
func oneOf(words ...string) kind[string] {
	return scalar(spec{name: strings.Join(words, ", "), want: list(words, "or"), words: words, schema: schema{"type": "string", "enum": words}}, func(text string) (string, error) {
		if slices.Contains(words, text) {
			return text, nil
		}
		if near := nearest(strings.ToLower(text), words); near != "" {
			return "", fmt.Errorf("is unknown; did you mean %q?", near)
		}
		return "", errUnwanted
	})
}

// boolean is true or false. YAML 1.1 had more words for them, such as yes and off.
func boolean() kind[bool] {
	meant := map[string]string{"yes": "true", "y": "true", "on": "true", "no": "false", "n": "false", "off": "false"}
	return scalar(spec{name: "true, false", want: "true or false", schema: schema{"type": "boolean"}}, func(text string) (bool, error) {
		if word := meant[strings.ToLower(text)]; word != "" {
			return false, fmt.Errorf("is not true or false; write %s", word)
		}
		if text != "true" && text != "false" {
			return false, errUnwanted
		}
		return text == "true", nil
	})
}

// number is an exact decimal number.
func number(in mechanisms.Span) kind[decimal.Decimal] {
	want, limits := in.Want(), schema{"type": "number"}
	for key, limit := range map[string]string{"exclusiveMinimum": in.Over, "minimum": in.Least, "exclusiveMaximum": in.Under} {
		if limit != "" {
			limits[key] = decimal.RequireFromString(limit).InexactFloat64()
		}
	}
	name := strings.TrimPrefix(want, "a ")
	if len(limits) == 1 {
		want += ", for example 12.5"
	}
	return scalar(spec{name: name, want: want, schema: limits}, func(text string) (decimal.Decimal, error) {
		d, err := parseNumber(text)
		switch share := d.Shift(-2); {
		case err != nil || in.Holds(d):
			return d, err
		case slices.Contains([]string{"0.5", "1"}, in.Under) && d.Cmp(decimal.NewFromInt(1)) >= 0 && in.Holds(share): // written in per cent
			return d, fmt.Errorf("is too much; want %s: %s for %s %%", in.Want(), share, d)
		}
		return d, errUnwanted
	})
}

// whole is an integer, at least 1.
func whole(of string) kind[int64] {
	return scalar(spec{name: "whole number", want: "a whole number " + of + "of at least 1", schema: schema{"type": "integer", "minimum": 1}}, func(text string) (int64, error) {
		if _, err := parseNumber(text); err != nil {
			return 0, err
		}
		i, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i < 1 {
			return 0, errUnwanted
		}
		return i, nil
	})
}

// duration is a duration in whole seconds, not below least, written as 90s, 15m, 1h30m or 7d.
func duration(least time.Duration) kind[time.Duration] {
	return scalar(spec{name: "duration", want: "a duration of whole seconds, for example 15m", schema: schema{"type": "string", "pattern": `^([0-9.]+(h|m|s))+$|^[0-9]+d$`}},
		func(text string) (time.Duration, error) { return parseDuration(text, least) })
}

// instant is a time in whole seconds, returned in Unix nanoseconds.
func instant() kind[int64] {
	return scalar(spec{name: "time", want: "a time of whole seconds, for example 2026-11-20T08:00:00Z", schema: schema{"type": "string", "format": "date-time"}}, parseInstant)
}

// orWord also allows a word, which is read as nil.
func orWord[V any](word string, k kind[V], parse func(text string) (V, error)) kind[*V] {
	s := spec{name: k.name + ", or " + word, want: k.want + ", or " + word, schema: schema{"anyOf": []any{k.schema, schema{"const": word}}}}
	return scalar(s, func(text string) (*V, error) {
		if text == word {
			return nil, nil
		}
		v, err := parse(text)
		return &v, err
	})
}

// most is the length limit of lists that have no limit of their own.
const most = 1 << 20

// listOf is a list of least to limit values. No text may appear twice.
func listOf[V any](item kind[V], what string, least, limit int) kind[[]V] {
	s := spec{name: "list", want: "a list of " + what, keys: item.keys, schema: schema{"type": "array", "items": item.schema, "minItems": least}}
	if limit < most {
		s.schema["maxItems"] = limit
	}
	return kind[[]V]{s, func(n node) ([]V, bool) {
		text, isText := n.text()
		switch length := len(n.yaml.Content); {
		case isText && item.keys == nil && !tooLong(text):
			n.refuse("%s is not a list; write [%s]", show(text), text)
			return nil, false
		case n.yaml.Kind != yaml.SequenceNode:
			n.refuse("%s; want %s", n.shown(), s.want)
			return nil, false
		case length == 0 && least > 0:
			n.refuse("an empty list; want %s", s.want)
			return nil, false
		case length < least || length > limit:
			n.refuse("a list of %s; want %s", plural(length, "item"), s.want)
			return nil, false
		}
		var values []V
		seen := map[any]bool{}
		for i, y := range n.yaml.Content {
			at := n.child(y, fmt.Sprintf("%s[%d]", n.path, i))
			at.path = at.named(n.path)
			v, ok := item.read(at)
			if text, isText := any(v).(string); ok && isText {
				if seen[text] {
					at.refuse("%q is in the list twice; remove one", text)
				}
				seen[text] = true
			}
			if ok {
				values = append(values, v)
			}
		}
		return values, true
	}}
}

// named returns the path of a list's item with its name in place of its number.
func (n node) named(list string) string {
	if !n.isMapping() {
		return n.path
	}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		if v := n.yaml.Content[i+1]; n.yaml.Content[i].Value == "name" && v.Value != "" {
			return fmt.Sprintf("%s[%s]", list, unmark(v.Value))
		}
	}
	return n.path
}

// mappingOf is a mapping that is read into a T. check, if not nil, checks the result; ok says that there are no faults
// so far.
func mappingOf[T any](f form, check func(m mapping, t *T, ok bool)) kind[T] {
	return kind[T]{spec{name: "mapping", want: f.want(), keys: f, schema: f.schema()}, func(n node) (t T, ok bool) {
		m, ok := f.read(n, &t)
		if check != nil && m.values != nil {
			check(m, &t, ok)
		}
		return t, m.values != nil
	}}
}

// plural writes a number and a noun: 1 window, 2 windows.
func plural(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, english.PluralWord(n, noun, ""))
}

// list joins words as a sentence does: "a, b or c".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
