package cli

import (
	"strings"
	"time"
)

// Instant writes a time in RFC 3339, in UTC.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// tie stands for a space at which a table does not fold.
const tie = "\ue000"

// Stamp writes a time for a table, in UTC and as short as it can be read now: 08:06:00Z for today, 20 Nov 08:06Z for
// this year, 2025-11-20 08:06Z for others. Other days have seconds only if they are not 0. It does not fold.
func Stamp(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	clock := "15:04Z"
	if t.Second() != 0 {
		clock = "15:04:05Z"
	}
	layout := "2 Jan " + clock
	switch {
	case t.Year() != now.Year():
		layout = "2006-01-02 " + clock
	case t.YearDay() == now.YearDay():
		layout = "15:04:05Z"
	}
	return strings.ReplaceAll(t.Format(layout), " ", tie)
}
