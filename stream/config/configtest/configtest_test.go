package configtest_test

import (
	"testing"
	"time"

	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/config/parse"
)

// TestStream: what the options say is what the file says.
func TestStream(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	text := configtest.File(
		configtest.Stream("s", configtest.Window(time.Minute, time.Second), configtest.Every(30*time.Second),
			configtest.Start(start), configtest.End(start.Add(time.Hour)), configtest.Set("unit", "ms"),
			configtest.Set("contribution", "max"), configtest.Budget("700000000", "1h")),
		configtest.Stream("t", configtest.Set("budget", "both"), configtest.StartNow,
			configtest.Set("contribution", "")),
	) + "budgets: [{name: both, epsilon: 1000000000, per: 24h}]\n"
	file, err := parse.File("streams.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s, other := file.Streams[0], file.Streams[1]
	w := s.Window
	if w.Size != time.Minute || w.Every != 30*time.Second || w.Grace != time.Second ||
		w.End-w.Start != int64(time.Hour) {
		t.Errorf("windows %+v", w)
	}
	if s.Name != "s" || s.Unit != "ms" || s.Budget.Epsilon.String() != "700000000" || other.Budget.Name != "both" {
		t.Errorf("streams %+v and %+v", s, other)
	}
	if other.Window.Every != time.Hour {
		t.Errorf("windows %+v of a stream without a step, want hours", other.Window)
	}
}
