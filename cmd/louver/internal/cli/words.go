package cli

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// Plural writes a number and a noun: 1 user, 2 users.
func Plural[N int | int64](n N, noun string) string {
	return fmt.Sprintf("%d %s", n, english.PluralWord(int(n), noun, ""))
}

// WithUnit writes a figure with its unit: 812 ms, 2 users, 1 user.
func WithUnit(figure, unit string) string {
	if figure == "1" && (unit == "users" || unit == "visits") {
		unit = strings.TrimSuffix(unit, "s")
	}
	return strings.TrimSpace(figure + " " + unit)
}
