// Package period writes lengths of time as people do, and divides time as calendars do.
package period

import (
	"fmt"
	"strconv"
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

const day = 24 * time.Hour

// Name writes a length of time as a short name: 15m, 1h, 1d, 7d. [Parse] reads it.
func Name(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return Hours(d)
}

// Parse reads what [Name] wrote. It refuses lengths that are not positive, or longer than ten years.
func Parse(name string) (time.Duration, error) {
	d, err := time.ParseDuration(name)
	if days, found := strings.CutSuffix(name, "d"); found {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 12)
		d = time.Duration(n) * day
	}
	if err != nil || d <= 0 || d > 3660*day {
		return 0, fmt.Errorf("%q is no length of a period; want one such as 1h or 7d", name)
	}
	return d, nil
}
