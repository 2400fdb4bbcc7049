package stream_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

type option = func(*stream.Service)

// observed lets the service log to an observer.
func observed() (option, *observer.ObservedLogs) {
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

// unusual are the lines that a service in good order does not write.
func unusual(logs *observer.ObservedLogs) []string {
	return slices.DeleteFunc(messages(logs), func(line string) bool {
		return strings.HasPrefix(line, "INFO partitions assigned") || strings.HasPrefix(line, "INFO louver works: ")
	})
}

var shareOfEvents = regexp.MustCompile(`([\d,]+) of ([\d,]+) events`)

// everyEvent replaces "n of n events" by "all events": on a busy machine rejected events may be reported while others
// are still being read.
func everyEvent(line string) string {
	if m := shareOfEvents.FindStringSubmatch(line); m != nil && m[1] == m[2] {
		return strings.Replace(line, m[0], "all events", 1)
	}
	return line
}

// TestLinesOfSituations compares the whole log of a service in which something is wrong.
func TestLinesOfSituations(t *testing.T) {
	t.Parallel()
	start := time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)
	hour := func(n int) string { return start.Add(time.Duration(n) * time.Hour).Format(time.TimeOnly) }
	at := func(n int, user string, value any) event {
		return event{User: user, Value: value, Time: start.Add(time.Duration(n) * time.Hour)}
	}
	for _, c := range []struct {
		name, budget string
		do           func(t *testing.T, w *world, logs *observer.ObservedLogs, observe option)
		// The log, INPUT and so on replaced, besides the lines about partitions assigned.
		want []string
		run  func(*testing.T, func(*testing.T, *kafkatest.Broker))
	}{
		{"nothing is wrong", "1000000000", func(t *testing.T, w *world, _ *observer.ObservedLogs, observe option) {
			w.broker.Produce(t, w.input, 0, records(at(0, "a", 1), at(1, "b", 2))...)
			s := w.start(observe)
			w.await(3)
			s.end(t)
		}, nil, kafkatest.Bubble},
		{"no value in any event", "1000000000", func(t *testing.T, w *world, logs *observer.ObservedLogs,
			observe option) {
			w.streams[0].Input.Value = "bytes"
			for i := range 1010 {
				w.broker.Produce(t, w.input, i%2, records(at(0, fmt.Sprint(i), 1), at(1, fmt.Sprint(i), 2),
					at(2, fmt.Sprint(i), 2))...)
			}
			s := w.start(observe)
			w.await(3)
			kafkatest.Await(t, "the line", func() bool { return len(unusual(logs)) > 0 })
			s.end(t)
		}, []string{`WARN stream users: all events rejected in the last minute (bad_value: no field "bytes")`},
			kafkatest.Bubble},
		{"the budget pays for two windows", "2000000",
			func(t *testing.T, w *world, _ *observer.ObservedLogs, observe option) {
				s := w.start(observe)
				w.await(3)
				s.end(t)
			}, []string{"WARN stream users: budget users exhausted until the stream ends; windows are withheld"},
			kafkatest.Bubble},
		{"the budget pays for a window in two hours", "1000000",
			func(t *testing.T, w *world, _ *observer.ObservedLogs, observe option) {
				w.streams[0].Budget.Per = 2 * time.Hour
				s := w.start(observe)
				w.await(3)
				s.end(t)
			}, []string{"WARN stream users: budget users exhausted until " + hour(3) + "; windows are withheld",
				"INFO stream users: budget users can pay again"}, kafkatest.Bubble},
		{"an open transaction", "1000000000", func(t *testing.T, w *world, logs *observer.ObservedLogs,
			observe option) {
			w.broker.Produce(t, w.input, 1, records(at(0, "a", 1))...)
			hung := w.broker.Begin(t, kafkatest.Name(t))
			hung.Produce(t, w.input, 1, records(at(1, "b", 1))...)
			s := w.start(observe)
			kafkatest.Await(t, "the line", func() bool { return len(unusual(logs)) > 0 })
			hung.Commit(t)
			kafkatest.Await(t, "the end of it", func() bool { return len(unusual(logs)) > 1 })
			s.end(t)
			for _, e := range logs.FilterMessageSnippet("windows wait").All() {
				if id, ok := e.ContextMap()["producer_id"].(int64); !ok || id != hung.ProducerID() ||
					e.ContextMap()["offset"] != int64(1) {
					t.Errorf("the line says %v, want producer %d at offset 1", e.ContextMap(), hung.ProducerID())
				}
			}
		}, []string{"WARN windows are waiting for an open transaction on INPUT/1",
			"INFO windows no longer wait for the end of INPUT/1"}, kafkatest.BubbleAndReal},
		{"no input topic", "1000000000", func(t *testing.T, w *world, logs *observer.ObservedLogs, observe option) {
			w.streams[0].Input.Topic = w.input + "-later"
			s := w.start(observe)
			kafkatest.Await(t, "the line", func() bool { return len(unusual(logs)) > 0 })
			if r := s.Health.Report(); r.Ready || !strings.Contains(r.String(), w.input+"-later does not exist") {
				t.Errorf("readiness: %v", r)
			}
			w.broker.CreateTopic(t, w.input+"-later", 1, map[string]string{"retention.ms": "-1"})
			w.await(3)
			s.end(t)
		}, []string{"WARN cannot start yet: topic missing: INPUT-later does not exist, or you may not describe it; " +
			"create it or grant Read", "INFO all topics are ready"}, kafkatest.BubbleAndReal},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 2,
					withBudget(c.budget, configtest.Start(start), configtest.End(start.Add(3*time.Hour))))
				observe, logs := observed()
				c.do(t, w, logs, observe)
				var got []string
				for _, line := range unusual(logs) {
					got = append(got, everyEvent(strings.ReplaceAll(line, w.input, "INPUT")))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestKafkaIsLost kills the broker under load, for two windows. The log says so once, and says once that it is over;
// readiness goes off and comes back.
func TestKafkaIsLost(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := kafkatest.Own(t)
	start := time.Now().UTC().Truncate(5 * time.Second).Add(5 * time.Second)
	w := newWorld(t, b, 3, configtest.File(configtest.Stream("web", configtest.Window(5*time.Second, 2*time.Second),
		configtest.Start(start), configtest.Releases("{name: users, statistic: count, epsilon: 1}"))))
	observe, logs := observed()
	s := w.start(observe)
	kafkatest.Await(t, "figures", func() bool { return s.Ready() && len(w.published()) > 0 })
	noticed, recovered := openWhenKilled(t, b) // another service
	quiet := logs.Len()
	if lines := unusual(logs); len(lines) > 0 {
		t.Errorf("the start is not quiet: %q", lines)
	}

	b.Kill(t)
	lost := time.Now()
	kafkatest.Await(t, "readiness goes off", func() bool { return !s.Ready() })
	t.Logf("not ready after %s: %s", time.Since(lost), s.Health.Report())
	noticed()
	kafkatest.Await(t, "two windows without Kafka", func() bool { return time.Since(lost) >= 10*time.Second })
	if s.Ready() {
		t.Error("ready without Kafka")
	}
	b.Start(t)
	back := time.Now()
	before := len(w.published())
	kafkatest.Await(t, "readiness and figures again", func() bool { return s.Ready() && len(w.published()) > before+3 })
	t.Logf("ready and at work again after %s: %s", time.Since(back), s.Health.Report())
	for i, line := range messages(logs)[quiet:] {
		t.Logf("%s %s", logs.All()[quiet+i].Time.Format(time.TimeOnly), line)
	}
	// A broker on a busy machine takes a while to come back. Each full minute without it has a line.
	minutes := int(time.Since(lost) / time.Minute)
	lines := unusual(logs)
	if i := slices.Index(lines, "WARN the broker was away: windows that are due wait for the grace again"); i >= 0 {
		lines = slices.Delete(lines, i, i+1)
	}
	// The broker ended, or the partitions were assigned once more, between draws and their commits. The log says so of
	// each such window, once.
	const again = "a window was drawn but not committed: it is committed now as it was drawn"
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "INFO "+again })
	ends := map[any]bool{}
	for _, line := range logs.FilterMessage(again).All() {
		end := line.ContextMap()["window_end"]
		if end == nil || ends[end] {
			t.Errorf("the log says %q twice of the window that ends at %v", again, end)
		}
		ends[end] = true
	}
	got := strings.Join(lines, "\n")
	want := fmt.Sprintf(
		`^(WARN Kafka lost: .*connection refused\n){1,%d}INFO Kafka back after (\d+m)?\d+s, \d+ windows were late$`,
		1+minutes)
	if !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("the log says\n%s\nwant\n%s", got, want)
	}
	s.end(t)
	w.audit()
	recovered()
}
