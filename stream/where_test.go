package stream_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// TestForeignEventsAreSkipped mixes the events of a stream with others, which have other fields, times that no window
// holds, or values that would change every figure. The figures are those of the stream's own events. The others are
// counted as skipped, and are never copied.
func TestForeignEventsAreSkipped(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		const fields = "user: user, value: value, time: time, group: group"
		w := newWorld(t, b, 1, strings.Replace(exactly, fields, fields+
			", where: {kind: sale, status: [200, 201], amount: {above: 0}, tenant: {not: test}, refund: {exists: false}}", 1))
		rejects := b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
		w.streams[0].Rejects, w.streams[0].Late = rejects, rejects
		events := history(rand.New(rand.NewPCG(3, 5)), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 300)
		var all []txn.Record
		skipped := 0
		add := func(e event, more string) {
			value, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, txn.Record{Value: []byte(strings.TrimSuffix(string(value), "}") + more + "}")})
		}
		for i, e := range events {
			add(e, fmt.Sprintf(`,"kind":"sale","status":%d,"amount":0.01`, 200+i%2))
			e.Value = 900
			for _, foreign := range []string{`,"kind":"view","status":200,"amount":1`, `,"status":200,"amount":1`,
				`,"kind":"sale","status":404,"amount":1`, `,"kind":"sale","status":"200","amount":1`,
				`,"kind":"sale","status":200,"amount":0`, `,"kind":"sale","status":200,"amount":1,"tenant":"test"`,
				`,"kind":"sale","status":200,"amount":1,"refund":0`} {
				add(e, foreign)
				skipped++
			}
		}
		for _, foreign := range []string{`{"kind":"view"}`, `{"kind":"view","time":"2099-01-01T00:00:00Z","user":{}}`, `{}`} {
			all = append(all, txn.Record{Value: []byte(foreign)})
			skipped++
		}
		all = append(all, txn.Record{Value: []byte(`{"kind":"view"`)}) // nobody can tell what it is
		b.Produce(t, w.input, 0, all...)
		s := w.start()
		for _, r := range w.await(7 * 14) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
				t.Error(err)
			}
		}
		s.expect(t, skipped, "louver_events_skipped_total", "where")
		s.expect(t, len(events)+1, "louver_events_total")
		s.expect(t, 1, "louver_events_rejected_total", "malformed")
		for _, reason := range []string{"bad_value", "bad_user", "bad_time", "bad_group", "future"} {
			s.expect(t, 0, "louver_events_rejected_total", reason)
		}
		for _, m := range b.Consume(t, rejects, 0) {
			if m.Headers["louver-reason"] != "malformed" && !strings.Contains(m.Value, `"amount":0.01`) {
				t.Errorf("%s is copied as %s", m.Value, m.Headers["louver-reason"])
			}
		}
		s.end(t)
		w.audit()
	})
}
