package codec_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/codec"
)

// recordTime is 2026-11-20T08:00:01Z.
var recordTime = time.Date(2026, 11, 20, 8, 0, 1, 0, time.UTC).UnixNano()

// grid is 0..60000 step 0.1: N is 600000.
func grid(t testing.TB) *mechanisms.Grid {
	t.Helper()
	g, err := mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(60000), decimal.New(1, -1))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func decoder(t testing.TB, s codec.Spec) codec.Decoder {
	t.Helper()
	if s.Grid == nil {
		s.Grid = grid(t)
	}
	d, err := codec.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func jsonSpec() codec.Spec {
	return codec.Spec{Format: "json", User: "user_id", Value: "latency_ms", Time: "ts", Group: "region",
		Groups: []string{"eu", "us", "ap"}, MaxFuture: 5 * time.Minute}
}

func csvSpec() codec.Spec {
	s := jsonSpec()
	s.Format, s.Columns = "csv", []string{"ts", "user_id", "region", "latency_ms"}
	return s
}

func BenchmarkDecode(b *testing.B) {
	flat := jsonSpec()
	nested := jsonSpec()
	nested.User, nested.Value = "user.id", "timing.total.ms"
	bare := codec.Spec{Format: "json", User: codec.KeyField, Value: codec.ValueField}
	for _, bb := range []struct {
		name  string
		spec  codec.Spec
		value string
	}{
		{"json/rfc3339", flat,
			`{"user_id":"u-0012345","region":"eu","latency_ms":123.4,"ts":"2026-11-20T08:00:00.12Z"}`},
		{"json/access_log", flat,
			`{"user_id":"u-0012345","region":"eu","latency_ms":123.4,"ts":"20/Nov/2026:08:00:00 +0000"}`},
		{"json/texts", flat,
			`{"user_id":"u-0012345","region":"eu","latency_ms":"123.4","ts":"2026-11-20 08:00:00.12+0000"}`},
		{"json/epoch", flat, `{"user_id":"u-0012345","region":"eu","latency_ms":123.4,"ts":1795161600123}`},
		{"json/integers", flat, `{"user_id":12345,"region":"eu","latency_ms":123,"ts":1795161600}`},
		{"json/escapes", flat, `{"user_id":"ren\u00e9","region":"eu","latency_ms":123.4,"ts":1795161600123}`},
		{"json/nested", nested,
			`{"user":{"id":"u-0012345"},"region":"eu","timing":{"total":{"ms":123.4}},"ts":1795161600123}`},
		{"json/bare", bare, `123.4`},
		{"csv", csvSpec(), `2026-11-20T08:00:00.12Z,u-0012345,eu,123.4`},
		{"cloudevents", cloudSpec(), structuredEvent},
		{"avro", avroSpec(), encoded(b, request(nil))},
		{"protobuf", protobufSpec(b), aUser + aRegion + aLatency + aTime},
	} {
		b.Run(bb.name, func(b *testing.B) {
			d := decoder(b, bb.spec)
			var e codec.Event
			key, value := []byte("k"), []byte(bb.value)
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				if r := d.Decode(codec.Record{Key: key, Value: value, Time: recordTime}, &e); r != codec.OK {
					b.Fatal(r)
				}
			}
		})
	}
}

// A walk over a record allocates nothing.
func TestWalksDoNotAllocate(t *testing.T) {
	for _, c := range []struct {
		spec  codec.Spec
		value string
	}{
		{avroSpec(), encoded(t, request(nil))},
		{avroSpec(), encoded(t, request(map[string]any{"latency_ms": big.NewRat(123, 10)}))},
		{avroSpec(), encoded(t, request(map[string]any{"user": map[string]any{"id": int64(7)}}))},
		{protobufSpec(t), aUser + aRegion + aLatency + aTime + lengthed(7, aUser) + varint(6, math.MaxUint64)},
	} {
		d, value := decoder(t, c.spec), []byte(c.value)
		var e codec.Event
		read := func() { d.Decode(codec.Record{Value: value, Time: recordTime}, &e) }
		if n := testing.AllocsPerRun(100, read); n != 0 {
			t.Errorf("%s %q: %v allocations, want none", c.spec.Format, c.value, n)
		}
	}
}
