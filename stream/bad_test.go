package stream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// good is an event that counts; a bad record differs from it in one thing.
const good = `{"user":"u","value":5,"time":"2026-01-01T00:00:01Z","group":"eu"}`

// bad are records that are rejected, by reason.
var bad = map[codec.Reason][]string{
	codec.Malformed: {``, ` `, `x`, `{`, `{"user":"u"`, `[]`, `"u"`, `5`, `null`, `true`, `{"user":"u",}`,
		`{'user':'u'}`,
		`{user:"u"}`,
		good + good, good + `x`, "\xef\xbb\xbf" + good, with(`"u"`, "\"\xff\""), with(`5`, `05`), with(`5`, `NaN`),
		with(`5`, `Infinity`),
		with(`5`, `+5`), with(`5`, `.5`), with(`5`, `5.`), with(`5`, `0x5`), with(`5`, `1e`),
		strings.Repeat(`{"a":`, 400) +
			`1` + strings.Repeat(`}`, 400),
		with(`"value":5`, `"value":5,"value":6`), "\x00\x01\x02", "<event/>", "user=u"},
	codec.BadValue: {with(`"value":5,`, ``), with(`5`, `"five"`), with(`5`, `"5 "`), with(`5`, `null`), with(`5`, `true`), with(`5`, `[5]`),
		with(`5`, `{"a":5}`), with(`5`, `""`)},
	codec.BadUser: {with(`"user":"u",`, ``), with(`"u"`, `""`), with(`"u"`, `null`), with(`"u"`, `1.5`),
		with(`"u"`, `true`), with(`"u"`, `["u"]`),
		with(`"u"`, `{"id":"u"}`), with(`"u"`, `1e3`)},
	codec.BadTime: {with(`"time":"2026-01-01T00:00:01Z",`, ``), with(`"2026-01-01T00:00:01Z"`, `"yesterday"`),
		with(`"2026-01-01T00:00:01Z"`, `null`),
		with(`"2026-01-01T00:00:01Z"`, `-5`), with(`"2026-01-01T00:00:01Z"`, `"2026-13-01T00:00:01Z"`),
		with(`"2026-01-01T00:00:01Z"`, `{}`),
		with(`"2026-01-01T00:00:01Z"`, `1e99`), with(`"2026-01-01T00:00:01Z"`, `"01.01.2026"`)},
	codec.BadGroup: {with(`,"group":"eu"`, ``), with(`"eu"`, `"mars"`), with(`"eu"`, `""`), with(`"eu"`, `null`),
		with(`"eu"`, `7`), with(`"eu"`, `["eu"]`)},
	codec.Future: {with(`2026-01-01T00:00:01Z`, `2031-01-01T00:00:01Z`),
		with(`2026-01-01T00:00:01Z`, `2199-01-01T00:00:01Z`)},
}

func with(old, new string) string { return strings.Replace(good, old, new, 1) }

// TestBadRecordsHarmNobody puts every kind of bad record between good ones: the figures are those of the good ones,
// each bad one is counted by its reason and copied, and the service goes on.
func TestBadRecordsHarmNobody(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		rejects := b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
		w := newWorld(t, b, 1, exactly)
		w.streams[0].Rejects = rejects
		var events []event
		var all []txn.Record
		kinds := 0
		for reason, values := range bad {
			for i, value := range values {
				kinds++
				e := event{User: fmt.Sprintf("%s-%d", reason, i), Group: "us", Value: kinds,
					Time: time.Date(2026, 1, 1, 0, kinds%60, 0, 0, time.UTC)}
				events = append(events, e)
				all = append(all, txn.Record{Value: []byte(value)}, e.record())
			}
		}
		if kinds < 50 {
			t.Fatalf("only %d kinds of bad records", kinds)
		}
		all = append(all, txn.Record{Key: []byte("a tombstone")},
			txn.Record{Value: []byte(strings.Repeat("9", 500_000))})
		b.Produce(t, w.input, 0, all...)
		s := w.start()
		for _, r := range w.await(7 * 14) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
				t.Error(err)
			}
		}
		for reason, values := range bad {
			want := len(values)
			if reason == codec.Malformed {
				want += 2
			}
			s.expect(t, want, "louver_events_rejected_total", reason.String())
		}
		copied, sent := map[string]int{}, map[string]string{}
		for _, m := range b.Consume(t, w.input, 0) {
			sent[fmt.Sprintf("%s/0/%d", w.input, m.Offset)] = m.Value
		}
		for _, m := range b.Consume(t, rejects, 0) {
			copied[m.Headers["louver-reason"]]++
			reason, detail := m.Headers["louver-reason"], m.Headers["louver-detail"]
			wanted := reason == "malformed" || reason == "future"
			if told := strings.HasPrefix(detail, "the record "); told != wanted {
				t.Errorf("%.100q is %s, and the copy says in detail %q", m.Value, reason, detail)
			}
			of := m.Headers["louver-topic"] + "/" + m.Headers["louver-partition"] + "/" + m.Headers["louver-offset"]
			if value, known := sent[of]; !known || value != m.Value {
				t.Errorf("a copy says that it is of %s, where there is another record, or none", of)
			}
		}
		want := map[string]int{}
		for reason, values := range bad {
			want[reason.String()] = len(values)
		}
		want[codec.Malformed.String()] += 2
		if diff := cmp.Diff(want, copied); diff != "" {
			t.Errorf("copied to the rejects: %s", diff)
		}
		select {
		case err := <-s.err:
			t.Errorf("the service has ended: %v", err)
		default:
		}
		s.end(t)
		w.audit()
	})
}
