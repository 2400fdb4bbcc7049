// Package period writes lengths of time as people do, and divides time as calendars do.
package period

import (
	"fmt"
	"strings"
	"time"
)

// Text writes a duration as streams files do: 15m instead of 15m0s, 24h, 7d instead of 168h0m0s.
func Text(d time.Duration) string {
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return Hours(d)
}

// Hours writes a duration without days, so that [time.ParseDuration] reads it: 15m, 24h, 168h.
func Hours(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
