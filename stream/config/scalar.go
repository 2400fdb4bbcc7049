package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"
)

// prose reads a scalar as it is written; want says what it should be.
func (n node) prose(want string) (string, bool) {
	if n.yaml.Kind != yaml.ScalarNode || n.yaml.Tag == "!!null" {
		n.refuse("%s; want %s", n.shown(), want)
		return "", false
	}
	return n.expand()
}

// text reads a scalar that is not "".
func (n node) text(want string) (string, bool) {
	text, ok := n.prose(want)
	if ok && text == "" {
		n.refuse(`""; want %s`, want)
		return "", false
	}
	return text, ok
}

// oneOf reads one of a few words.
func (n node) oneOf(words ...string) (string, bool) {
	want := list(words, "or")
	text, ok := n.text(want)
	if ok && !slices.Contains(words, text) {
		n.refuse("%q; want %s", text, want)
		return "", false
	}
	return text, ok
}

// list joins words as a sentence does: "a, b or c".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func (n node) boolean() bool {
	text, _ := n.oneOf("true", "false")
	return text == "true"
}

// number reads a decimal number exactly.
func (n node) number(want string) (decimal.Decimal, bool) {
	text, ok := n.text(want)
	if !ok {
		return decimal.Decimal{}, false
	}
	d, err := Number(text)
	if err != nil {
		n.refuse("%q; want %s", text, want)
		return decimal.Decimal{}, false
	}
	return d, true
}

// Number reads a decimal number exactly. Beyond 60 digits exact arithmetic would take for ever, and nothing that
// people measure lies there.
func Number(text string) (decimal.Decimal, error) {
	d, err := decimal.NewFromString(text)
	if err != nil || len(text) > 60 || d.Exponent() < -60 || d.Exponent() > 60 {
		return decimal.Decimal{}, fmt.Errorf("%q; want a number of at most 60 digits", text)
	}
	return d, nil
}

// positive reads a number greater than 0.
func (n node) positive(want string) decimal.Decimal {
	d, ok := n.number(want)
	if ok && d.Sign() <= 0 {
		n.refuse("%q; want %s", d, want)
	}
	return d
}

// whole reads an integer of at least 1.
func (n node) whole(want string) (int64, bool) {
	text, ok := n.text(want)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil || i < 1 {
		n.refuse("%q; want %s", text, want)
		return 0, false
	}
	return i, true
}

// duration reads a duration of whole seconds, as 90s, 15m, 1h30m or 7d, of at least least.
func (n node) duration(least time.Duration, want string) time.Duration {
	text, ok := n.text(want)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var i uint64
		if i, err = strconv.ParseUint(days, 10, 32); err == nil && i > math.MaxInt64/uint64(24*time.Hour) {
			err = strconv.ErrRange
		}
		d = time.Duration(i) * 24 * time.Hour
	}
	switch {
	case err != nil:
		n.refuse("%q; want %s", text, want)
	case d < least:
		n.refuse("%q is less than %s; want %s", text, Duration(least), want)
	case d%time.Second != 0:
		n.refuse("%q has a fraction of a second; want %s", text, want)
	default:
		return d
	}
	return 0
}

// instant reads a time as Unix nanoseconds.
func (n node) instant(want string) int64 {
	text, ok := n.text(want)
	if !ok {
		return 0
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1970 || t.Year() > 2200 || t.Nanosecond() != 0 {
		n.refuse("%q; want %s", text, want)
		return 0
	}
	return t.UnixNano()
}

// texts reads a list of different texts.
func (n node) texts(want string) ([]string, bool) {
	items, ok := n.items(want)
	if !ok {
		return nil, false
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		text, good := item.text(want)
		if good && slices.Contains(texts, text) {
			item.refuse("%q is there twice; want it once", text)
			good = false
		}
		texts = append(texts, text)
		ok = ok && good
	}
	return texts, ok
}

// Duration writes a duration as streams files do: 15m instead of 15m0s, 7d instead of 168h0m0s.
func Duration(d time.Duration) string {
	if day := 24 * time.Hour; d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
