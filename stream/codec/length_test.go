package codec_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/louver/louver/stream/codec"
)

// BenchmarkLength decodes records that are deep, long or full of escapes, and sixteen times as long ones. Both are read
// at about the same speed: time is linear in the length. A decoder that goes back over what it has read is sixteen
// times slower at the longer ones.
func BenchmarkLength(b *testing.B) {
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
		"json":        {decoder(b, jsonSpec()), texts},
		"cloudevents": {decoder(b, cloudSpec()), map[string]func(n int) string{}},
		"csv": {decoder(b, csvSpec()), map[string]func(n int) string{
			"plain": cells("u"), "columns": cells("u,"), "quoted": func(n int) string {
				return `1,"` + strings.Repeat("u", n) + `",eu,1`
			}, "quotes": func(n int) string { return `1,"` + strings.Repeat(`""`, n/2) + `",eu,1` },
			"open quote": func(n int) string { return `1,"` + strings.Repeat(`""`, n/2) }, "lines": cells("u\n")}},
		"protobuf": {decoder(b, protobufSpec(b)), map[string]func(n int) string{
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
		"avro": {decoder(b, avroSpec()), map[string]func(n int) string{
			"a long user": func(n int) string {
				return encoded(b, request(map[string]any{"user": map[string]any{"id": strings.Repeat("u", n)}}))
			},
			"noise": func(n int) string { return strings.Repeat("\x02", n) }}},
	}
	for what, of := range texts {
		shapes["cloudevents"].of[what] = cloud(of)
	}
	for _, format := range slices.Sorted(maps.Keys(shapes)) {
		s := shapes[format]
		for _, what := range slices.Sorted(maps.Keys(s.of)) {
			for _, n := range []int{1 << 15, 1 << 19} {
				b.Run(fmt.Sprintf("%s/%s/%d", format, strings.ReplaceAll(what, " ", "-"), n), func(b *testing.B) {
					record := codec.Record{Value: []byte(s.of[what](n)), Time: recordTime}
					b.SetBytes(int64(len(record.Value)))
					for b.Loop() {
						var e codec.Event
						s.decoder.Decode(record, &e)
					}
				})
			}
		}
	}
}
