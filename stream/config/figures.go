package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/windows/period"
)

// Numbers, durations and times as people write them, and what they probably mean by other spellings.

var (
	digits     = regexp.MustCompile(`^[0-9]+$`)
	comma      = regexp.MustCompile(`^([-+]?[0-9]+),([0-9]+)$`)
	thousands  = regexp.MustCompile(`^[-+]?[1-9][0-9]{0,2}([ _'][0-9]{3})+$|^[-+]?[1-9][0-9]{0,2}(,[0-9]{3})+$`)
	percentage = regexp.MustCompile(`^[0-9.]+ ?%$`)
	exponent   = regexp.MustCompile(`^[-+]?[0-9.]+[eE][-+]?[0-9]+$`)
	leading    = regexp.MustCompile(`^([-+]?)0+([0-9].*)$`)
)

// Number reads a decimal number exactly. It refuses more than 60 digits, because exact arithmetic could then take for
// ever.
func Number(text string) (decimal.Decimal, error) {
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
		return d, errors.New("begins with a 0, which some YAML readers take as octal; write " + leading.ReplaceAllString(text, "$1$2"))
	case err != nil || len(text) > 60 || d.Exponent() < -60 || d.Exponent() > 60:
		return d, errors.New("is too long; want a number of at most 60 digits")
	}
	return d, nil
}

// parseDuration reads a duration in whole seconds, not below least.
func parseDuration(text string, least time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var i uint64
		if i, err = strconv.ParseUint(days, 10, 32); err == nil && i > math.MaxInt64/uint64(24*time.Hour) {
			return 0, errors.New("is too long; want less than 292 years")
		}
		d = time.Duration(i) * 24 * time.Hour
	}
	switch {
	case err == nil && d < least:
		return 0, fmt.Errorf("is less than %s", Duration(least))
	case err == nil && d%time.Second != 0:
		return 0, errors.New("has a fraction of a second")
	case err == nil:
		return d, nil
	case digits.MatchString(text):
		return 0, fmt.Errorf("has no unit; write %ss, %sm, %sh or %sd", text, text, text, text)
	}
	if meant := meantDuration(text); meant > 0 {
		return 0, fmt.Errorf("is not a duration; write %s", Duration(meant))
	}
	return 0, errors.New("is not a duration")
}

var (
	amount  = regexp.MustCompile(`([0-9]{1,6}) *([a-z]+) *`)
	amounts = regexp.MustCompile(`^(` + amount.String() + `)+$`)
	units   = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "hr": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}
)

// meantDuration understands 15min, 2 hours, 1w, 1d12h and PT15M. It returns 0 for anything else.
func meantDuration(text string) (sum time.Duration) {
	text = strings.ToLower(text)
	if iso, ok := strings.CutPrefix(text, "p"); ok {
		text = strings.Replace(iso, "t", "", 1)
	}
	if !amounts.MatchString(text) {
		return 0
	}
	for _, part := range amount.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(part[1])
		unit := time.Duration(0)
		for word, d := range units {
			if part[2] != "ms" && strings.HasPrefix(word+"s", part[2]) || part[2] == word[:min(3, len(word))]+"s" {
				unit = d
			}
		}
		if unit == 0 {
			return 0
		}
		sum += time.Duration(n) * unit
	}
	return sum
}

// parseInstant reads a time as Unix nanoseconds.
func parseInstant(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err == nil {
		if t.Year() < 1970 || t.Year() > 2200 || t.Nanosecond() != 0 {
			return 0, errUnwanted
		}
		return t.UnixNano(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return 0, fmt.Errorf("has no time zone; write %s for UTC", clock(t.UnixNano()))
		}
	}
	if t, err := time.Parse("2006-01-02 15:04:05Z07:00", text); err == nil {
		return 0, fmt.Errorf("is not a time; write %s", t.Format(time.RFC3339))
	}
	return 0, errUnwanted
}

func clock(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339) }

// Duration writes a duration as streams files do: 15m instead of 15m0s, 7d instead of 168h0m0s.
func Duration(d time.Duration) string { return period.Text(d) }
