package form

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
)

// textTypes are the types that YAML may give to text without quotes.
var textTypes = []string{"string", "number", "boolean"}

// Prose is any text.
func Prose() Kind[string] {
	return Scalar(Spec{Name: "text", Want: "a text", Schema: Schema{"type": textTypes}},
		func(text string) (string, error) { return text, nil })
}

// PlainName is the pattern of names for which [Name] suggests a spelling.
const PlainName = `^[a-z0-9-]+$`

var unplain = regexp.MustCompile(`[^a-z0-9]+`)

// Name is a text of at most most characters that matches a regular expression, valid both in Go and in JSON Schema.
func Name(typ, want, pattern string, most int) Kind[string] {
	exp := regexp.MustCompile(pattern)
	s := Spec{Name: typ, Want: want, Schema: Schema{"type": textTypes, "pattern": pattern, "maxLength": most}}
	return Scalar(s, func(text string) (string, error) {
		if exp.MatchString(text) && utf8.RuneCountInString(text) <= most {
			return text, nil
		}
		plain := strings.Trim(unplain.ReplaceAllString(strings.ToLower(text), "-"), "-")
		if pattern == PlainName && plain != "" && len(plain) <= most {
			return "", fmt.Errorf("has other characters than a–z, 0–9 and -; write %s", plain)
		}
		return "", ErrUnwanted
	})
}

// OneOf is one of a few words.
func OneOf(words ...string) Kind[string] {
	s := Spec{Name: strings.Join(words, ", "), Want: List(words, "or"), Words: words,
		Schema: Schema{"type": "string", "enum": words}}
	return Scalar(s, func(text string) (string, error) {
		if slices.Contains(words, text) {
			return text, nil
		}
		lower := strings.ToLower(text)
		near, family := Nearest(lower, words), siblings(lower, words)
		switch {
		case len(family) > 1 && (near == "" || !strings.Contains(lower, "_")):
			return "", fmt.Errorf("is unknown; did you mean %s?", List(family, "or"))
		case near != "":
			return "", fmt.Errorf("is unknown; did you mean %q?", near)
		}
		return "", ErrUnwanted
	})
}

// siblings returns the words that have the first part of a word, as otlp_traces and otlp_logs have that of otlp_proto.
func siblings(word string, words []string) (all []string) {
	head, _, _ := strings.Cut(word, "_")
	for _, w := range words {
		if first, _, several := strings.Cut(w, "_"); several && first == head {
			all = append(all, w)
		}
	}
	return all
}

// booleans are the further words that YAML 1.1 has for true and false.
var booleans = map[string]string{"yes": "true", "y": "true", "on": "true", "no": "false", "n": "false", "off": "false"}

// Boolean is true or false.
func Boolean() Kind[bool] {
	s := Spec{Name: "true, false", Want: "true or false", Schema: Schema{"type": "boolean"}}
	return Scalar(s, func(text string) (bool, error) {
		if word := booleans[strings.ToLower(text)]; word != "" {
			return false, fmt.Errorf("is not true or false; write %s", word)
		}
		if text != "true" && text != "false" {
			return false, ErrUnwanted
		}
		return text == "true", nil
	})
}

// Number is an exact decimal number.
func Number(in mechanisms.Span) Kind[decimal.Decimal] {
	want, limits := in.Want(), Schema{"type": "number"}
	for key, limit := range map[string]string{
		"exclusiveMinimum": in.Over, "minimum": in.Least, "exclusiveMaximum": in.Under,
	} {
		if limit != "" {
			limits[key] = decimal.RequireFromString(limit).InexactFloat64()
		}
	}
	name := strings.TrimPrefix(want, "a ")
	if len(limits) == 1 {
		want += ", for example 12.5"
	}
	return Scalar(Spec{Name: name, Want: want, Schema: limits}, func(text string) (decimal.Decimal, error) {
		d, err := parseNumber(text)
		switch share := d.Shift(-2); {
		case err != nil || in.Holds(d):
			return d, err
		case slices.Contains([]string{"0.5", "1"}, in.Under) && d.Cmp(decimal.NewFromInt(1)) >= 0 && in.Holds(share):
			return d, fmt.Errorf("is too much; want %s: %s for %s %%", in.Want(), share, d) // written in per cent
		}
		return d, ErrUnwanted
	})
}

// Whole is an integer, at least 1.
func Whole(of string) Kind[int64] { return WholeUpTo(of, math.MaxInt64) }

// WholeUpTo is an integer from 1 to most.
func WholeUpTo(of string, most int64) Kind[int64] {
	s := Spec{Name: "whole number", Want: "a whole number " + of + "of at least 1",
		Schema: Schema{"type": "integer", "minimum": 1}}
	if most < math.MaxInt64 {
		s.Schema["maximum"] = most
	}
	return Scalar(s, func(text string) (int64, error) {
		if _, err := parseNumber(text); err != nil {
			return 0, err
		}
		i, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || i < 1:
			return 0, ErrUnwanted
		case i > most:
			return 0, fmt.Errorf("is too many; want at most %d", most)
		}
		return i, nil
	})
}

// Duration is a duration in whole seconds, not below least, written as 90s, 15m, 1h30m or 7d.
func Duration(least time.Duration) Kind[time.Duration] {
	s := Spec{Name: "duration", Want: "a duration of whole seconds, for example 15m",
		Schema: Schema{"type": "string", "pattern": `^([0-9.]+(h|m|s))+$|^[0-9]+d$`}}
	return Scalar(s, func(text string) (time.Duration, error) { return parseDuration(text, least) })
}

// Instant is a time in whole seconds, returned in Unix nanoseconds.
func Instant() Kind[int64] {
	s := Spec{Name: "time", Want: "a time of whole seconds, for example 2026-11-20T08:00:00Z",
		Schema: Schema{"type": "string", "format": "date-time"}}
	return Scalar(s, parseInstant)
}

// OrWord also allows a word, which is read as nil, in place of a scalar.
func OrWord[V any](word string, k Kind[V]) Kind[*V] {
	s := Spec{Name: k.Name + ", or " + word, Want: k.Want + ", or " + word,
		Schema: Schema{"anyOf": []any{k.Schema, Schema{"const": word}}}}
	return Scalar(s, func(text string) (*V, error) {
		if text == word {
			return nil, nil
		}
		v, err := k.parse(text)
		return &v, err
	})
}

// Numbers as people write them, and what they probably mean by other spellings.

var (
	digits     = regexp.MustCompile(`^[0-9]+$`)
	comma      = regexp.MustCompile(`^([-+]?[0-9]+),([0-9]+)$`)
	thousands  = regexp.MustCompile(`^[-+]?[1-9][0-9]{0,2}([ _'][0-9]{3})+$|^[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+$`)
	percentage = regexp.MustCompile(`^[0-9.]+ ?%$`)
	exponent   = regexp.MustCompile(`^[-+]?[0-9.]+[eE][-+]?[0-9]+$`)
	leading    = regexp.MustCompile(`^([-+]?)0+([0-9].*)$`)
)

// ParseNumber reads a decimal number exactly. It refuses more than 60 digits, because exact arithmetic on them could
// take for ever.
func ParseNumber(text string) (decimal.Decimal, error) {
	d, err := parseNumber(text)
	if err != nil {
		return d, fmt.Errorf("%s %w", show(text), err)
	}
	return d, nil
}

func parseNumber(text string) (decimal.Decimal, error) {
	d, err := decimal.NewFromString(text)
	switch {
	case err != nil && thousands.MatchString(text):
		plain := strings.NewReplacer(",", "", " ", "", "_", "", "'", "").Replace(text)
		if strings.Count(text, ",") == 1 {
			plain += " or " + strings.Replace(text, ",", ".", 1)
		}
		return d, errors.New("is not a number; write " + plain)
	case err != nil && comma.MatchString(text):
		return d, errors.New("is not a number; write " + comma.ReplaceAllString(text, "$1.$2"))
	case err != nil && percentage.MatchString(text):
		if d, err = decimal.NewFromString(strings.TrimRight(text, " %")); err == nil {
			return d, fmt.Errorf("is not a number; write %s", d.Shift(-2))
		}
		return d, errors.New("is not a number")
	case err != nil && !exponent.MatchString(text):
		return d, errors.New("is not a number")
	case leading.MatchString(text):
		return d, errors.New("begins with a 0, which some YAML readers take as octal; write " +
			leading.ReplaceAllString(text, "$1$2"))
	case err != nil || len(text) > 60 || d.Exponent() < -60 || d.Exponent() > 60:
		return d, errors.New("is too long; want a number of at most 60 digits")
	}
	return d, nil
}
