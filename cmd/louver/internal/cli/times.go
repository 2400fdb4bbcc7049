package cli

import (
	"strings"
	"time"
)

// Instant writes a time in RFC 3339, in UTC.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Folding writes a time that may wrap in a table.
func Folding(t time.Time) string { return strings.Replace(Instant(t), "T", " ", 1) }
