package stream_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// foundGroups has windows of a minute long ago. The noise of its discoveries is at most 1, and not 0 with a probability
// of less than 10⁻¹⁰ for a name.
const foundGroups = `
version: 1
streams:
  - name: web
    input: {topic: INPUT, user: user, value: value, time: time, group: group}
    groups:
      discover: [{name: often, every: 5m, epsilon: 24, delta: 0.00001, at_least: 3}]
      keep: 10m
      max: 20
      other: (other)
      always: [/]
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1m, grace: 1s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T00:20:00Z}
    releases:
      - {name: users, statistic: count, mechanism: geometric, epsilon: 30}
    rejects: {topic: INPUT.rejects}
    late: {topic: INPUT.late}
    output: {topic: OUTPUT}
    budget: {epsilon: 10000, delta: 0.09, per: 24h}
`

// rareName is in all names that one user alone has.
const rareName = "xyzzy-7391"

// groupEvents are the events of twenty minutes. /shoes has five users in each of the first ten minutes, and each rare
// name has one user.
func groupEvents(rare int) (all []event) {
	start := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
	for minute := range 20 {
		at := start.Add(time.Duration(minute) * time.Minute)
		for u := range 5 {
			if minute < 10 {
				all = append(all, event{User: fmt.Sprintf("u%d", u), Value: 10, Time: at, Group: "/shoes"})
			}
		}
		for i := range rare / 20 {
			n := minute*rare/20 + i
			all = append(all, event{User: fmt.Sprintf("r%d", n), Value: 10, Time: at,
				Group: fmt.Sprintf("/%s/%d", rareName, n)})
		}
	}
	return all
}

// alternately sends records to the two partitions of the input in turn.
func (w *world) alternately(records []txn.Record) {
	w.t.Helper()
	var of [2][]txn.Record
	for i, r := range records {
		of[i%2] = append(of[i%2], r)
	}
	for p := range of {
		w.broker.Produce(w.t, w.input, p, of[p]...)
	}
}

// groupRecords is how many output records the events give. Windows have records for two groups, or for three from the
// discovery after five minutes until the one after twenty. And there are the records of four discoveries, of which two
// find something.
const groupRecords = 4*2 + 15*3 + 1*2 + 2*2 + 2*1

// TestGroupsAreFound: names that many share are groups from the end of a period until they are old. Workers that stop
// at any moment change nothing.
func TestGroupsAreFound(t *testing.T) {
	kafkatest.BubbleAndReal(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, foundGroups)
		events := recent(groupEvents(200))
		w.alternately(events)
		random := rand.New(rand.NewPCG(5, 6))
		for range 6 {
			s := w.start()
			s.works(t, time.Duration(random.IntN(2500))*time.Millisecond)
			s.end(t)
		}
		w.start()
		all := w.await(groupRecords)
		start := w.streams[0].Window.Start
		for minute := range 20 {
			at := record.Whole(time.Unix(0, start).Add(time.Duration(minute) * time.Minute))
			value := func(group string) string {
				r, ok := all["web/"+group+"/"+at.String()+"/users"]
				if !ok {
					return "none"
				}
				return r.Value.String()
			}
			shoes, other := "none", "15" // with those whose group nobody knows yet
			switch {
			case minute >= 19:
				other = "10"
			case minute >= 10:
				shoes, other = "0", "10"
			case minute >= 4:
				shoes, other = "5", "10"
			}
			if got := value("%2Fshoes"); got != shoes || value("(other)") != other || value("%2F") != "0" {
				t.Errorf("minute %d: /shoes has %s, (other) %s and / %s; want %s, %s and 0", minute, got,
					value("(other)"), value("%2F"), shoes, other)
			}
		}
		for _, e := range w.audit() {
			if e.Incomplete || e.Reason != "" {
				t.Errorf("%s is incomplete, or withheld for %q", e.Name(), e.Reason)
			}
		}
	})
}

// TestNamesThatFewShareAreNowhere: only topics with personal data have them. No log has them, even if parts are
// damaged, no metric, and nothing that is published. A second name for the same data would be as bad, so the search is
// for a text that is in every rare name.
func TestNamesThatFewShareAreNowhere(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 2, foundGroups)
		events := groupEvents(10_000)
		late := events[0]
		late.Group, late.User = "/"+rareName+"/late", "late"
		bad := events[1]
		bad.Group = rareName + "\u0007"
		events = append(events, bad)
		var halves [2][]txn.Record
		for i, r := range recent(events) {
			halves[i%2] = append(halves[i%2], r)
		}
		for p, half := range halves {
			b.Produce(t, w.input, p, half...)
		}
		var log bytes.Buffer
		debug := func(s *stream.Service) {
			s.Log = zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewDevelopmentEncoderConfig()), zapcore.Lock(
				zapcore.AddSync(&log)), zap.DebugLevel))
		}
		names := topics.Names{App: w.app}
		s := w.start(debug, only(stream.Publish))
		kafkatest.Await(t, "there are topics", s.Ready)
		s.end(t)
		// Parts whose payloads are damaged, but not their messages. Each has names of its own, with one user.
		window := windows.Window{Start: w.streams[0].Window.Start, End: w.streams[0].Window.Start + int64(time.Minute)}
		place := topics.Place(w.streams[0].Budget.Name, topics.Partitions)
		for at := 0; ; at++ {
			bag := windows.NewBag(windows.BagSpec{Open: true, Policy: windows.Last, Window: window,
				Hasher: windows.NewHasher([16]byte{})})
			for u := range uint64(9) {
				bag.PutName(windows.UserHash{u << 40, u << 50}, fmt.Appendf(nil, "/%s/%d/%d", rareName, at, u),
					window.Start, 1)
			}
			payload := bag.Seal()
			end := len(payload) - 4
			if at >= end {
				break
			}
			payload[at] ^= byte(1 + at%7)
			binary.BigEndian.PutUint32(payload[end:], crc32.Checksum(payload[:end], crc32.MakeTable(crc32.Castagnoli)))
			part := windows.Part{Origin: windows.Origin{Stream: "web", To: 1,
				Attempt: [16]byte{byte(at), byte(at >> 8)}}, Slice: window, Payload: payload}
			for _, m := range part.Messages(1 << 20) {
				b.Produce(t, names.Partials(), place, txn.Record{Key: []byte("web"), Value: m})
			}
		}
		s = w.start(debug, only(stream.Ingest))
		kafkatest.Await(t, "parts are written", w.cut)
		s.end(t)
		damaged := 0
		for p := range topics.Partitions {
			for i, m := range b.Consume(t, names.Partials(), p) {
				for _, at := range []int{len(m.Value) / 3, len(m.Value) / 2, len(m.Value) - 3} {
					value := []byte(m.Value)
					value[at] ^= byte(1 + i%7)
					b.Produce(t, names.Partials(), p, txn.Record{Key: []byte(m.Key), Value: value},
						txn.Record{Key: []byte(m.Key), Value: value[:at]})
					damaged++
				}
			}
		}
		s = w.start(debug)
		kafkatest.Await(t, "everything is published", func() bool {
			return slices.ContainsFunc(w.published(), func(r record.Value) bool {
				return r.WindowEnd.UnixNano() == w.streams[0].Window.End && r.Group == "(other)"
			})
		})
		b.Produce(t, w.input, 0, recent([]event{late})...)
		kafkatest.Await(t, "a late record is copied", func() bool { return w.records(w.input+".late") > 0 })
		var exposed strings.Builder
		families, err := s.metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			exposed.WriteString(f.String())
		}
		s.end(t)
		for what, text := range map[string]string{"the log": log.String(), "a metric": exposed.String()} {
			if strings.Contains(text, rareName) {
				t.Errorf("%s tells a name that one user has", what)
			}
		}
		if damaged == 0 || !strings.Contains(log.String(), "unreadable") ||
			!strings.Contains(log.String(), "a part does not fit the stream") || !strings.Contains(exposed.String(),
			"louver_group_names") {
			t.Errorf("%d parts were damaged; the log and the metrics are\n%s\n%s", damaged, log.String(),
				exposed.String())
		}
		meta, err := w.broker.Conn.Client.Metadata(kafkatest.Context(t), &kafka.MetadataRequest{})
		if err != nil {
			t.Fatal(err)
		}
		personal := map[string]bool{w.input: true, w.input + ".late": true, w.input + ".rejects": true,
			names.Partials(): true}
		found := map[string]int{}
		for _, topic := range meta.Topics {
			for _, p := range topic.Partitions {
				for _, m := range b.Consume(t, topic.Name, p.ID) {
					if strings.Contains(m.Key+m.Value+fmt.Sprint(m.Headers), rareName) {
						found[topic.Name]++
					}
				}
			}
		}
		for topic, n := range found {
			if !personal[topic] {
				t.Errorf("%d records of topic %s tell a name that one user has", n, topic)
			}
		}
		for topic := range personal {
			if topic != names.Partials() && found[topic] == 0 { // parts compress names
				t.Errorf("no record of topic %s has a rare name: the search finds nothing", topic)
			}
		}
	})
}
