package form

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/windows/period"
)

// Durations and times as people write them, and what they probably mean by other spellings.

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
		return 0, fmt.Errorf("is less than %s", period.Text(least))
	case err == nil && d%time.Second != 0:
		return 0, errors.New("has a fraction of a second")
	case err == nil:
		return d, nil
	case digits.MatchString(text):
		return 0, fmt.Errorf("has no unit; write %ss, %sm, %sh or %sd", text, text, text, text)
	}
	if meant := meantDuration(text); meant > 0 {
		return 0, fmt.Errorf("is not a duration; write %s", period.Text(meant))
	}
	return 0, errors.New("is not a duration")
}

var (
	amount  = regexp.MustCompile(`([0-9]{1,6}) *([a-z]+) *`)
	amounts = regexp.MustCompile(`^(` + amount.String() + `)+$`)
	units   = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "hr": time.Hour,
		"day": 24 * time.Hour, "week": 7 * 24 * time.Hour}
)

// meantDuration understands 15min, 2 hours, day, daily, 1w, 1d12h and PT15M. It returns 0 for anything else.
func meantDuration(text string) (sum time.Duration) {
	text = strings.ToLower(text)
	word := strings.TrimSuffix(strings.Replace(text, "daily", "day", 1), "ly")
	if one := units[word]; one > 0 {
		return one
	}
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
			return 0, ErrUnwanted
		}
		return t.UnixNano(), nil
	}
	for _, layout := range []string{
		"2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return 0, fmt.Errorf("has no time zone; write %s for UTC", t.UTC().Format(time.RFC3339))
		}
	}
	if t, err := time.Parse("2006-01-02 15:04:05Z07:00", text); err == nil {
		return 0, fmt.Errorf("is not a time; write %s", t.Format(time.RFC3339))
	}
	return 0, ErrUnwanted
}
