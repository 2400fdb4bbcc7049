package period

import (
	"testing"
	"time"
)

func TestText(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		0:                              {"0s", "0s"},
		500 * time.Millisecond:         {"500ms", "500ms"},
		90 * time.Second:               {"1m30s", "1m30s"},
		10 * time.Minute:               {"10m", "10m"},
		24 * time.Hour:                 {"24h", "24h"},
		time.Hour + time.Second:        {"1h0m1s", "1h0m1s"},
		7 * 24 * time.Hour:             {"7d", "168h"},
		7*24*time.Hour + 2*time.Minute: {"168h2m", "168h2m"},
	} {
		if got := [2]string{Text(d), Hours(d)}; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
		if back, err := time.ParseDuration(Hours(d)); err != nil || back != d {
			t.Errorf("%v reads back as %v, %v", d, back, err)
		}
	}
}
