package config_test

import (
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "1m30s", 15 * time.Minute: "15m", time.Hour: "1h", 90 * time.Minute: "1h30m",
		24 * time.Hour: "24h",
		48 * time.Hour: "2d", 49 * time.Hour: "49h", 7 * 24 * time.Hour: "7d", 30 * time.Second: "30s",
		time.Hour + time.Second: "1h0m1s",
	} {
		if got := config.Duration(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}
