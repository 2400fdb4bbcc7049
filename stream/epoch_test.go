package stream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
)

// TestFileChangesUnderRunningProcesses starts a process with another file beside one that runs: other windows, another
// step, another budget. No event is lost or counts in two windows, and both processes follow. A third one with the
// first file follows too.
//
// In fake time alone: a definition is a record like others to a broker.
func TestFileChangesUnderRunningProcesses(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const grace = 2 * time.Second // of both files
		both := configtest.Releases("{name: users, statistic: count, epsilon: 1000000}",
			"{name: p50, statistic: median, epsilon: 1000000}")
		w := newWorld(t, b, 2, configtest.File(configtest.Stream("s", configtest.Window(4*time.Second, grace),
			configtest.StartNow, both)))
		before := w.streams
		one := w.start()
		kafkatest.Await(t, "the first is ready", one.Ready)
		type sending struct{ at, there time.Time } // there: the broker has the event
		var events []sending
		send := func() {
			now := time.Now().UTC()
			for p := range 2 {
				b.Produce(t, w.input, p, records(event{User: fmt.Sprint("u", len(events)), Value: 50, Time: now})...)
				events = append(events, sending{now, time.Now()})
			}
		}
		kafkatest.Await(t, "figures by the first file", func() bool { send(); return len(w.published()) >= 2 })
		w.reconfigure(configtest.File(configtest.Stream("s", configtest.Window(2*time.Second, grace),
			configtest.StartNow, both,
			configtest.Set("bounds", "{lower: 0, upper: 100, step: 0.1}"), configtest.Set("budget", "another"),
			configtest.Set("continues", "s"))) + "budgets: [{name: another, epsilon: 1000000000000, per: 1h}]\n")
		after := w.streams[0].Definition.Fingerprint()
		two := w.start()
		short := func(r outputs.Record) bool { return r.WindowEnd.Sub(r.WindowStart) == 2*time.Second }
		kafkatest.Await(t, "figures by the second file", func() bool {
			send()
			n := 0
			for _, r := range w.published() {
				if short(r) {
					n++
				}
			}
			return n >= 6
		})
		core, logs := observer.New(zap.WarnLevel)
		w.streams = before
		three := w.start(func(s *stream.Service) { s.Log = zap.New(core) })
		kafkatest.Await(t, "the third one says that its file is older", func() bool {
			return slices.ContainsFunc(logs.All(), func(e observer.LoggedEntry) bool {
				return strings.Contains(e.Message, "older than the current definitions")
			})
		})
		for i, r := range []*running{one, two, three} {
			want := []string{fmt.Sprintf(`epoch:"2" fingerprint:%q stream:"s"`, after)}
			kafkatest.Await(t, fmt.Sprintf("process %d shows the definition that it works by", i),
				func() bool { return slices.Equal(r.definitions(t), want) })
		}
		one.end(t)
		two.end(t)
		three.end(t)

		all := w.published()
		slices.SortFunc(all, func(a, b outputs.Record) int { return a.WindowEnd.Compare(b.WindowEnd) })
		counted := 0
		var end time.Time
		for _, r := range all {
			if r.Release != "users" {
				if n := figure(t, r); n != 50 {
					t.Errorf("%s = %v, want 50: every value is", r.ID, n)
				}
				continue
			}
			if !end.IsZero() && !r.WindowStart.Equal(end) {
				t.Errorf("%s begins at %s; the window before ends at %s", r.ID, r.WindowStart, end)
			}
			end = r.WindowEnd
			if r.Incomplete {
				t.Errorf("%s is incomplete", r.ID)
			}
			inTime, all := 0, 0 // what came after the window was due, because the machine is busy, may be late
			for _, e := range events {
				if e.at.Before(r.WindowStart) || !e.at.Before(r.WindowEnd) {
					continue
				}
				if all++; e.there.Before(r.WindowEnd.Add(grace)) {
					inTime++
				}
			}
			got := int(figure(t, r))
			if got < inTime || got > all {
				t.Errorf("%s = %v, want %d to %d", r.ID, got, inTime, all)
			}
			counted += got
			if budget := map[bool]string{true: "another", false: "s"}[short(r)]; r.Budget != budget {
				t.Errorf("%s is charged to %s, want %s", r.ID, r.Budget, budget)
			}
		}
		if counted == 0 {
			t.Error("nothing was counted")
		}
		w.audit()
	})
}

// definitions are the labels of the metric that tells which ones the process works by.
func (r *running) definitions(t *testing.T) (all []string) {
	t.Helper()
	families, err := r.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != "louver_config_info" {
				continue
			}
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s:%q", l.GetName(), l.GetValue()))
			}
			all = append(all, strings.Join(labels, " "))
		}
	}
	return all
}

func figure(t *testing.T, r outputs.Record) float64 {
	t.Helper()
	if r.Value == nil {
		t.Fatalf("%s has no value: %s", r.ID, *r.Reason)
	}
	f, err := r.Value.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}
