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

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"
)

// kind is a sort of value: what the reference and errors say of it, and how it is read. Whatever read finds wrong, it
// notes; ok then says whether the rest can be used all the same.
type kind[V any] struct {
	spec
	read func(n node) (v V, ok bool)
}

// spec is what is known of a kind without reading a value.
type spec struct {
	// name is the type in the reference; want ends errors: "want a duration, for example 15m".
	name, want string
	schema     schema
	// words are all the values that there are; nil: there are others.
	words []string
	// keys are those of a mapping, or of the mappings in a list.
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

// errUnwanted is a mistake that needs no words: the value is shown, and what is wanted.
var errUnwanted = errors.New("")

// scalar makes a kind of values that are written as one text. What parse finds wrong follows the value in the error:
// "is not a number; write 0.05". Without a semicolon, what is wanted follows too.
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
			n.refuse("%q is text, because of the quotes; write %s", text, text)
		case err == nil:
			return v, true
		case strings.Contains(err.Error(), "; "):
			n.refuse("%s %s", show(text), err)
		default:
			n.refuse("%s; want %s", strings.TrimSpace(show(text)+" "+err.Error()), s.want)
		}
		return v, false
	}}
}

// textTypes are what YAML may take a text for that is not quoted.
var textTypes = []string{"string", "number", "boolean"}

// prose is any text.
func prose() kind[string] {
	return scalar(spec{name: "text", want: "a text", schema: schema{"type": textTypes}}, func(text string) (string, error) { return text, nil })
}

// name is a text of at most most characters that a regular expression, of Go's and of JSON Schema's, describes.
func name(typ, want, form string, most int) kind[string] {
	exp := regexp.MustCompile(form)
	return scalar(spec{name: typ, want: want, schema: schema{"type": textTypes, "pattern": form, "maxLength": most}}, func(text string) (string, error) {
		if !exp.MatchString(text) || utf8.RuneCountInString(text) > most {
			return "", errUnwanted
		}
		return text, nil
	})
}

// oneOf is one of a few words.
func oneOf(words ...string) kind[string] {
	return scalar(spec{name: strings.Join(words, ", "), want: list(words, "or"), words: words, schema: schema{"type": "string", "enum": words}}, func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", errUnwanted
		}
		return text, nil
	})
}

// boolean is true or false; YAML 1.1 had more words for them.
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

// span limits a number: greater than over, at least least, less than under; "" is no limit.
type span struct{ over, least, under string }

// number is a decimal number, exact.
func number(in span) kind[decimal.Decimal] {
	want, limits := "a number", schema{"type": "number"}
	for _, l := range []struct{ key, words, limit string }{
		{"exclusiveMinimum", "greater than", in.over}, {"minimum", "of at least", in.least}, {"exclusiveMaximum", "less than", in.under},
	} {
		if l.limit == "" {
			continue
		}
		if len(limits) > 1 {
			want += " and"
		}
		want += " " + l.words + " " + l.limit
		limits[l.key] = decimal.RequireFromString(l.limit).InexactFloat64()
	}
	name := strings.TrimPrefix(want, "a ")
	if len(limits) == 1 {
		want += ", for example 12.5"
	}
	return scalar(spec{name: name, want: want, schema: limits}, func(text string) (decimal.Decimal, error) {
		d, err := parseNumber(text)
		beyond := func(limit string, sign int) bool {
			return limit != "" && d.Cmp(decimal.RequireFromString(limit)) == sign
		}
		if err == nil && (beyond(in.over, -1) || beyond(in.over, 0) || beyond(in.least, -1) || beyond(in.under, 1) || beyond(in.under, 0)) {
			err = errUnwanted
		}
		return d, err
	})
}

// whole is an integer of at least 1.
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

// duration is one of whole seconds, as 90s, 15m, 1h30m or 7d, of at least least.
func duration(least time.Duration) kind[time.Duration] {
	return scalar(spec{name: "duration", want: "a duration of whole seconds, for example 15m", schema: schema{"type": "string", "pattern": `^([0-9.]+(h|m|s))+$|^[0-9]+d$`}},
		func(text string) (time.Duration, error) { return parseDuration(text, least) })
}

// instant is a time of whole seconds, in Unix nanoseconds.
func instant() kind[int64] {
	return scalar(spec{name: "time", want: "a time of whole seconds, for example 2026-11-20T08:00:00Z", schema: schema{"type": "string", "format": "date-time"}}, parseInstant)
}

// orWord is a kind that has a word as well, which is read as nil.
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

// most is how long a list may be that has no limit of its own.
const most = 1 << 20

// listOf is a list of at least least and at most limit values. Texts in it differ.
func listOf[V any](item kind[V], what string, least, limit int) kind[[]V] {
	s := spec{name: "list", want: "a list of " + what, keys: item.keys, schema: schema{"type": "array", "items": item.schema, "minItems": least}}
	if limit < most {
		s.schema["maxItems"] = limit
	}
	return kind[[]V]{s, func(n node) ([]V, bool) {
		text, isText := n.text()
		switch length := len(n.yaml.Content); {
		case isText && item.keys == nil:
			n.refuse("%s is not a list; write [%s]", show(text), text)
			return nil, false
		case n.yaml.Kind != yaml.SequenceNode:
			n.refuse("%s; want %s", n.shown(), s.want)
			return nil, false
		case length == 0 && least > 0:
			n.refuse("an empty list; want %s", s.want)
			return nil, false
		case length < least || length > limit:
			n.refuse("a list of %d; want %s", length, s.want)
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
					at.refuse("%q is in the list already; want it once", text)
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

// named puts the name of a list's item into its path, in place of its number.
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

// mappingOf is a mapping that is read into a T. check, if not nil, looks at what has been read; ok says that nothing was
// wrong with it so far.
func mappingOf[T any](f form, check func(m mapping, t *T, ok bool)) kind[T] {
	return kind[T]{spec{name: "mapping", want: f.want(), keys: f, schema: f.schema()}, func(n node) (t T, ok bool) {
		m, ok := f.read(n, &t)
		if check != nil && m.values != nil {
			check(m, &t, ok)
		}
		return t, m.values != nil
	}}
}

// list joins words as a sentence does: "a, b or c".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
