package stream_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafkatest"
)

// observed lets the service log to an observer.
func observed() (func(*stream.Service), *observer.ObservedLogs) {
	core, logs := observer.New(zap.InfoLevel)
	return func(s *stream.Service) { s.Log = zap.New(core) }, logs
}

// messages are the lines of a log, with the error if there is one.
func messages(logs *observer.ObservedLogs) []string {
	var out []string
	for _, e := range logs.All() {
		line := e.Level.CapitalString() + " " + e.Message
		for _, f := range e.Context {
			if f.Type == zapcore.ErrorType {
				line += ": " + fmt.Sprint(f.Interface)
			}
		}
		out = append(out, line)
	}
	return out
}

// TestKafkaIsLost kills the broker under load for half a minute. The log says so once, and says once that it is over;
// readiness goes off and comes back.
func TestKafkaIsLost(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := kafkatest.Own(t)
	start := time.Now().UTC().Truncate(5 * time.Second).Add(5 * time.Second)
	w := newWorld(t, b, 3, fmt.Sprintf(`
version: 1
streams:
  - name: web
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 5s, every: 5s, grace: 2s, start: %s}
    contribution: last
    releases:
      - {name: users, statistic: count, epsilon: 1}
    output: {topic: OUTPUT}
    budget: {epsilon: 1000000, per: 24h}
`, start.Format(time.RFC3339)))
	observe, logs := observed()
	s := w.start(observe)
	kafkatest.Await(t, "figures", func() bool { return s.Ready() && len(w.published()) > 0 })
	for _, line := range messages(logs) {
		if !strings.HasPrefix(line, "INFO partitions assigned") {
			t.Errorf("a start that is not quiet: %s", line)
		}
	}
	quiet := logs.Len()

	b.Kill(t)
	lost := time.Now()
	kafkatest.Await(t, "readiness goes off", func() bool { return !s.Ready() })
	t.Logf("not ready after %s: %s", time.Since(lost), s.Health.Report())
	kafkatest.Await(t, "half a minute without Kafka", func() bool { return time.Since(lost) >= 30*time.Second })
	if s.Ready() {
		t.Error("ready without Kafka")
	}
	b.Start(t)
	back := time.Now()
	before := len(w.published())
	kafkatest.Await(t, "readiness and figures again", func() bool { return s.Ready() && len(w.published()) > before+6 })
	t.Logf("ready and at work again after %s: %s", time.Since(back), s.Health.Report())
	var got []string
	for i, line := range messages(logs)[quiet:] {
		t.Logf("%s %s", logs.All()[quiet+i].Time.Format(time.TimeOnly), line)
		if !strings.HasPrefix(line, "INFO partitions assigned") {
			got = append(got, line)
		}
	}
	want := []string{`^WARN Kafka lost: .*connection refused$`, `^INFO Kafka back after \d+s, \d+ windows were late$`}
	if len(got) != len(want) || !regexp.MustCompile(want[0]).MatchString(got[0]) || !regexp.MustCompile(want[1]).MatchString(got[1]) {
		t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.end(t)
	w.audit()
}
