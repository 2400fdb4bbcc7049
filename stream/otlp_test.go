package stream_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// theFields are those of exactly, and telemetry those of a stream of spans.
const (
	theFields = "user: user, value: value, time: time, group: group"
	telemetry = "format: otlp_traces, user: user.id, group: http.route"
)

func attribute(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key,
		Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

// span is a span of a server that an event would be; "" for a user is none.
func span(e event) *tracepb.Span {
	end := uint64(e.Time.UnixNano())
	s := &tracepb.Span{Kind: tracepb.Span_SPAN_KIND_SERVER, StartTimeUnixNano: end - uint64(e.Value.(int))*1e6,
		EndTimeUnixNano: end, Attributes: []*commonpb.KeyValue{attribute("http.route", e.Group)}}
	if e.User != "" {
		s.Attributes = append(s.Attributes, attribute("user.id", e.User))
	}
	return s
}

// exported writes spans as the records of an exporter: some in each, in two scopes.
func exported(spans []*tracepb.Span) *tracepb.TracesData {
	half := len(spans) / 2
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{attribute("service.name", "shop")}},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "a"}, Spans: spans[:half]},
			{Spans: spans[half:]}}}}}
}

// written is a request in an encoding. A broken one has one more span, which cannot be read.
func written(t *testing.T, encoding string, data *tracepb.TracesData, broken bool) []byte {
	t.Helper()
	if encoding == "json" {
		b, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		if broken {
			b = bytes.Replace(b, []byte(`"spans":[`), []byte(`"spans":[{"kind":2,"attributes":[{"key":}]},`), 1)
		}
		return b
	}
	b, err := proto.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if broken {
		one := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte("\x4a\x7f"))
		scope := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), one)
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), scope)
	}
	return b
}

// TestOpenTelemetry reads spans that an exporter wrote, some in each record and once three thousand of them. Among them
// are spans of clients, spans without a user, and spans that cannot be read: each concerns itself alone.
func TestOpenTelemetry(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"proto", "json"} {
		t.Run(encoding, func(t *testing.T) {
			kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
				w := newWorld(t, b, 1, strings.Replace(exactly, theFields, telemetry, 1))
				rejects := b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
				w.streams[0].Rejects, w.streams[0].Late = rejects, rejects
				random := rand.New(rand.NewPCG(21, 22))
				events := history(random, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 3600)
				var spans []*tracepb.Span
				var all []txn.Record
				clients, anonymous, broken, unknown := 0, 0, 0, 0
				for i, e := range events {
					events[i].Value = max(e.Value.(int), 0)
					spans = append(spans, span(events[i]))
					other := span(event{User: e.User, Group: e.Group, Value: 999, Time: e.Time})
					switch random.IntN(4) {
					case 0:
						other.Kind = tracepb.Span_SPAN_KIND_CLIENT
						clients++
					case 1:
						other = span(event{Group: e.Group, Value: 999, Time: e.Time})
						anonymous++
					case 2:
						other.Attributes[0] = attribute("http.route", "mars")
						unknown++
					default:
						other = nil
					}
					if other != nil {
						spans = append(spans, other)
					}
					if i > 2500 && random.IntN(5) == 0 || i == len(events)-1 {
						bad := random.IntN(3) == 0
						if bad {
							broken++
						}
						all = append(all, txn.Record{Value: written(t, encoding, exported(spans), bad)})
						spans = nil
					}
				}
				all = append(all, txn.Record{Value: []byte{}}, txn.Record{})
				b.Produce(t, w.input, 0, all...)
				s := w.start()
				for _, r := range w.await(7 * 14) {
					if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
						t.Error(err)
					}
				}
				s.expect(t, clients, "louver_events_skipped_total", "where")
				s.expect(t, anonymous, "louver_events_skipped_total", "no_user")
				s.expect(t, broken, "louver_events_rejected_total", "malformed")
				s.expect(t, unknown, "louver_events_rejected_total", "bad_group")
				s.expect(t, len(events)+broken+unknown, "louver_events_total")
				s.expect(t, 0, "louver_input_lost_records_total")
				copied := map[string]int{}
				reader, err := codec.New(w.streams[0].Codec())
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range b.Consume(t, rejects, 0) {
					items, reasons := itemsOf(reader.(codec.Batch), []byte(m.Value))
					reason := m.Headers["louver-reason"]
					if strconv.Itoa(items) != m.Headers["louver-items"] || len(m.Value) > 1<<20 {
						t.Errorf("a copy of %d items says %q", items, m.Headers["louver-items"])
					}
					copied[reason] += items
					others := func(r codec.Reason) bool { return r.String() != reason }
					if reason != "late" && slices.ContainsFunc(reasons, others) {
						t.Errorf("a copy of %s items has others: %v", reason, reasons)
					}
				}
				if copied["malformed"] != broken || copied["bad_group"] != unknown || len(copied) > 3 {
					t.Errorf("copied %v; want %d malformed and %d bad_group", copied, broken, unknown)
				}
				s.end(t)
				w.audit()
			})
		})
	}
}

// itemsOf counts the items of a record, and says what a decoder makes of them.
func itemsOf(b codec.Batch, value []byte) (n int, reasons []codec.Reason) {
	b.Begin(codec.Record{Value: value, Time: time.Date(2026, 1, 1, 5, 0, 0, 0, time.UTC).UnixNano()})
	for {
		var e codec.Event
		reason, more := b.Next(&e)
		if !more {
			return n, reasons
		}
		n++
		reasons = append(reasons, reason)
	}
}

// TestOpenTelemetryBrokenRecord: a record whose frames do not fit hides an unknown number of people's items. Those
// before the break count, it is rejected and copied once, and the windows that it may belong to are incomplete.
func TestOpenTelemetryBrokenRecord(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, strings.Replace(exactly, theFields, telemetry, 1))
		rejects := b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
		w.streams[0].Rejects = rejects
		var events []event
		var spans []*tracepb.Span
		for i := range 100 {
			at := time.Date(2026, 1, 1, 1, 0, i%60, 0, time.UTC)
			events = append(events, event{User: fmt.Sprint("u", i), Group: "eu", Value: i, Time: at})
			spans = append(spans, span(events[i]))
		}
		value := append(written(t, "proto", exported(spans), false), "\x0a\x7frest"...)
		b.Produce(t, w.input, 0, txn.Record{Value: value})
		s := w.start()
		incomplete := 0
		for _, r := range w.await(7 * 14) {
			if err := right(r, naive(events, r.WindowStart, r.WindowEnd, r.Group), 1000); err != nil {
				t.Error(err)
			}
			if r.Incomplete {
				incomplete++
			}
		}
		if incomplete == 0 {
			t.Error("no window is incomplete")
		}
		s.expect(t, 1, "louver_events_rejected_total", "malformed")
		s.expect(t, 1, "louver_input_lost_records_total")
		if copies := b.Consume(t, rejects, 0); len(copies) != 1 || copies[0].Value != string(value) ||
			!strings.Contains(copies[0].Headers["louver-detail"], "a length in it does not fit") {
			t.Errorf("%d copies", len(copies))
		}
		s.end(t)
		w.audit()
	})
}
