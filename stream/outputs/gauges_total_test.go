package outputs

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A running total with an hour between two values is shown until three of these have passed, and from when on it
// counts.
func TestGaugesOfATotal(t *testing.T) {
	first := strings.Replace(published, `"budget_windows_left":46}`,
		`"budget_windows_left":46,"since":"2026-11-20T00:00:00Z","instance":1,"final":false}`, 1)
	next := strings.NewReplacer("T08:00:00", "T09:00:00", "T08:15:00", "T09:15:00", "T08:15:30", "T09:15:30",
		"812", "900").
		Replace(first)
	const want = `# HELP louver_release_since_timestamp_seconds From when on the newest value of a running total counts, in seconds since 1970.
# TYPE louver_release_since_timestamp_seconds gauge
louver_release_since_timestamp_seconds{group="eu",release="p50",stream="s"} 1.7951328e+09
`
	for now, shown := range map[string]string{"2026-11-20T09:16:00Z": want, "2026-11-20T12:15:00Z": want,
		"2026-11-20T12:16:00Z": ""} {
		g := gauges(t, now, first, next)
		if err := testutil.CollectAndCompare(g, strings.NewReader(shown),
			"louver_release_since_timestamp_seconds"); err != nil {
			t.Errorf("at %s: %v", now, err)
		}
	}
}

// A number of active users is shown as long: until three times have passed that lie between two of its values.
func TestGaugesOfActiveUsers(t *testing.T) {
	first := strings.Replace(published, `"budget_windows_left":46}`,
		`"budget_windows_left":46,"active":"2h","instance":1}`, 1)
	next := strings.NewReplacer("T08:00:00", "T09:00:00", "T08:15:00", "T09:15:00", "T08:15:30", "T09:15:30").Replace(first)
	for now, shown := range map[string]int{"2026-11-20T09:16:00Z": 1, "2026-11-20T12:15:00Z": 1, "2026-11-20T12:16:00Z": 0} {
		g := gauges(t, now, first, next)
		if got := testutil.CollectAndCount(g, "louver_release_value"); got != shown {
			t.Errorf("at %s: %d values; want %d", now, got, shown)
		}
	}
}
