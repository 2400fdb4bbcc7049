package ingest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/windows"
)

// benchEvents are JSON events of 100,000 users in one window.
func benchEvents(n int) [][]byte {
	random := rand.New(rand.NewPCG(1, 1))
	events := make([][]byte, n)
	for i := range events {
		events[i] = fmt.Appendf(nil,
			`{"user_id":"user-%06d","latency_ms":%d,"ts":"2026-11-20T08:%02d:%02d.123Z","region":"eu"}`,
			random.IntN(100_000), random.IntN(60000), i*60/n, random.IntN(60))
	}
	return events
}

func benchStream(b *testing.B) *streamInput {
	s := testStream(b)
	s.Window.Size, s.Window.Every = time.Hour, time.Hour
	s.Groups, s.Input.Group = []string{"eu", "us"}, "region"
	in, err := newStreamInput(editionOf(s, 0), benchHasher, nil)
	if err != nil {
		b.Fatal(err)
	}
	return in
}

var benchHasher = windows.NewHasher([16]byte{1})

var benchTime = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).UnixNano()

// BenchmarkDecodeAndBag is the event path behind the fetch, in steady state: every user is in the bag already.
func BenchmarkDecodeAndBag(b *testing.B) {
	for _, streams := range []int{1, 20} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) { benchDecodeAndBag(b, streams) })
	}
}

func benchDecodeAndBag(b *testing.B, n int) {
	events := benchEvents(1 << 18)
	var streams []*streamInput
	for range n {
		streams = append(streams, benchStream(b))
		streams[len(streams)-1].share(streams)
	}
	add := func(i int, rec *fetch.Record) {
		for _, in := range streams {
			lane{in}.add(int64(i), rec)
		}
	}
	for i, e := range events {
		add(i, &fetch.Record{Value: e, Time: benchTime / int64(time.Millisecond)})
	}
	rec := fetch.Record{Time: benchTime / int64(time.Millisecond)}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		rec.Value = events[i%len(events)]
		add(i, &rec)
	}
	for _, in := range streams {
		if in.counts.late != 0 || in.counts.rejected != [len(in.counts.rejected)]int{} {
			b.Fatalf("late %d, rejected %v", in.counts.late, in.counts.rejected)
		}
	}
}

// BenchmarkItems is the event path behind the fetch for spans, a hundred in a record, as the Collector writes them.
func BenchmarkItems(b *testing.B) {
	const perRecord, records = 100, 200
	s := testStream(b)
	s.Window.Size, s.Window.Every = time.Hour, time.Hour
	s.Groups = []string{"/cart", "/checkout"}
	s.Input = config.Input{Topic: "in", Spec: codec.Spec{Format: "otlp_traces", User: "user.id", Value: "span.duration_ms",
		Time: "span.end_time_unix_nano", Group: "http.route", MaxFuture: time.Hour,
		Where: []codec.Condition{{Field: "span.kind", Is: []codec.Operand{{Text: "server"}}}}}}
	in, err := newStreamInput(editionOf(s, 0), benchHasher, nil)
	if err != nil {
		b.Fatal(err)
	}
	var values [][]byte
	for i := range records {
		values = append(values, benchSpans(i, perRecord))
	}
	p := partition{reader: reader{Ingest: &Ingest{}}}
	take := func(i int) {
		rec := fetch.Record{Value: values[i%records], Time: benchTime / int64(time.Millisecond), Offset: int64(i)}
		if n, err := p.takeAll(b.Context(), []lane{{in}}, int64(i), &rec); n != perRecord || err != nil {
			b.Fatal(n, err)
		}
	}
	for i := range records {
		take(i)
	}
	b.SetBytes(int64(len(values[0]) / perRecord))
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += perRecord {
		take(records + i/perRecord)
	}
	if in.counts.late != 0 || in.counts.rejected != [len(in.counts.rejected)]int{} {
		b.Fatalf("late %d, rejected %v", in.counts.late, in.counts.rejected)
	}
}

// benchSpans is a record with spans of 550 bytes.
func benchSpans(record, n int) []byte {
	lengthed := func(to []byte, number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), content)
	}
	var spans []byte
	for i := range n {
		var span []byte
		pair := func(key, value string) {
			of := lengthed(nil, 2, lengthed(nil, 1, []byte(value)))
			span = lengthed(span, 9, lengthed(of, 1, []byte(key)))
		}
		for _, key := range []string{"http.request.method", "url.scheme", "server.address", "server.port",
			"network.peer.address", "network.peer.port", "network.protocol.version", "http.response.status_code",
			"http.response.body.size", "deployment.environment.name", "thread.id", "url.path"} {
			pair(key, "some value")
		}
		pair("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101")
		pair("http.route", []string{"/cart", "/checkout"}[i%2])
		pair("user.id", fmt.Sprintf("user-%06d", (record*n+i)*7919%20_000))
		at := benchTime - int64(record)*int64(time.Second)
		for number, v := range map[protowire.Number]int64{7: at - int64(i)*int64(time.Millisecond), 8: at} {
			span = protowire.AppendFixed64(protowire.AppendTag(span, number, protowire.Fixed64Type), uint64(v))
		}
		span = protowire.AppendVarint(protowire.AppendTag(span, 6, protowire.VarintType), 2)
		span = lengthed(lengthed(span, 5, []byte("GET /cart")), 4, []byte("76543210"))
		spans = lengthed(spans, 2, lengthed(lengthed(span, 2, []byte("01234567")), 1, []byte("0123456789abcdef")))
	}
	return lengthed(nil, 1, lengthed(nil, 2, spans))
}
