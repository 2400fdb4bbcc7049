package record

import (
	"encoding/json"
	"time"
)

// Second is a time in whole seconds, UTC, written as RFC 3339.
type Second struct{ time.Time }

// Whole drops fractions of a second: nothing finer than the public schedule may be published.
func Whole(t time.Time) Second { return Second{t.UTC().Truncate(time.Second)} }

// String returns the time as RFC 3339.
func (s Second) String() string { return s.Format(time.RFC3339) }

// MarshalText implements [encoding.TextMarshaler].
func (s Second) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON replaces that of the embedded time, which writes fractions.
func (s Second) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
