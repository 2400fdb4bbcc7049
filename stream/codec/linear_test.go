package codec_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/louver/louver/stream/codec"
)

// TestTimeIsLinear decodes records that are deep, long or full of escapes, and sixteen times as long ones. They may
// take some sixteen times as long. A decoder that goes back over what it has read takes 256 times as long. A busy
// machine makes single runs slower, so the fastest of several is taken.
func TestTimeIsLinear(t *testing.T) {
	object := func(inner string) func(n int) string {
		return func(n int) string { return `{"user_id":"` + strings.Repeat(inner, n/len(inner)) + `","latency_ms":1}` }
	}
	list := func(inner string) func(n int) string {
		return func(n int) string {
			return `{"user_id":"u","latency_ms":1,"x":[` + strings.Repeat(inner+",", n/len(inner)) + `1]}`
		}
	}
	cloud := func(of func(n int) string) func(n int) string {
		return func(n int) string { return `{"specversion":"1.0","data":` + of(n) + "}" }
	}
	texts := map[string]func(n int) string{
		"plain text":      object("u"),
		"escapes":         object(`\n`),
		"unicode escapes": object(`\u00e9`),
		"surrogates":      object(`\ud83d\ude00`),
		"UTF-8":           object("é"),
		"open text":       func(n int) string { return `{"user_id":"` + strings.Repeat(`\"`, n/2) },
		"deep lists":      list(strings.Repeat("[", 250) + strings.Repeat("]", 250)),
		"deep objects":    list(strings.Repeat(`{"a":`, 250) + "1" + strings.Repeat("}", 250)),
		"too deep":        func(n int) string { return strings.Repeat("[", n) },
		"names":           list(`{"user_id":1,"\u0061":2,"b":{}}`),
		"digits":          func(n int) string { return `{"latency_ms":` + strings.Repeat("9", n) + `}` },
		"exponents":       func(n int) string { return `{"latency_ms":1e` + strings.Repeat("0", n) + `1}` },
		"spaces":          func(n int) string { return "{" + strings.Repeat(" ", n) + "}" },
	}
	cells := func(inner string) func(n int) string {
		return func(n int) string { return "1," + strings.Repeat(inner, n/len(inner)) + ",eu,1" }
	}
	bytes := func(head protowire.Number) func(n int) string {
		return func(n int) string { return lengthed(head, strings.Repeat("u", n)) + aRegion + aLatency + aTime }
	}
	type shape struct {
		decoder codec.Decoder
		of      map[string]func(n int) string
	}
	shapes := map[string]shape{
		"json":        {decoder(t, jsonSpec()), texts},
		"cloudevents": {decoder(t, cloudSpec()), map[string]func(n int) string{}},
		"csv": {decoder(t, csvSpec()), map[string]func(n int) string{
			"plain": cells("u"), "columns": cells("u,"), "quoted": func(n int) string {
				return `1,"` + strings.Repeat("u", n) + `",eu,1`
			}, "quotes": func(n int) string { return `1,"` + strings.Repeat(`""`, n/2) + `",eu,1` },
			"open quote": func(n int) string { return `1,"` + strings.Repeat(`""`, n/2) }, "lines": cells("u\n")}},
		"protobuf": {decoder(t, protobufSpec(t)), map[string]func(n int) string{
			"a long user": bytes(1), "an unknown text": bytes(15),
			"unknown numbers": func(n int) string { return strings.Repeat("\x78\x01", n/2) },
			"open groups":     func(n int) string { return strings.Repeat("\x7b", n) },
			"deep messages": func(n int) string {
				inner := ""
				for len(inner) < 1000 {
					inner = lengthed(7, inner)
				}
				return strings.Repeat(lengthed(7, inner), n/len(inner))
			}}},
		"avro": {decoder(t, avroSpec()), map[string]func(n int) string{
			"a long user": func(n int) string {
				return encoded(t, request(map[string]any{"user": map[string]any{"id": strings.Repeat("u", n)}}))
			},
			"noise": func(n int) string { return strings.Repeat("\x02", n) }}},
	}
	for what, of := range texts {
		shapes["cloudevents"].of[what] = cloud(of)
	}
	for format, s := range shapes {
		for what, of := range s.of {
			fastest := func(n int) time.Duration {
				record, least := codec.Record{Value: []byte(of(n)), Time: recordTime}, time.Duration(math.MaxInt64)
				for range 7 {
					var e codec.Event
					begin := time.Now()
					s.decoder.Decode(record, &e)
					least = min(least, time.Since(begin))
				}
				return least
			}
			const short, times = 1 << 15, 16
			one, many := fastest(short), fastest(times*short)
			// What takes no time at either length is refused at once; half a millisecond is a step of the scheduler.
			if many > 4*times*max(one, 20*time.Microsecond) {
				t.Errorf("%s, %s: %v for %d bytes, %v for %d", format, what, one, short, many, times*short)
			}
		}
	}
}
