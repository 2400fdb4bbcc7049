package codec_test

import (
	"bytes"
	"compress/zlib"
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
)

// glued puts the header of AWS Glue's serializers before a datum.
func glued(datum string) string { return "\x03\x00" + "0123456789abcdef" + datum }

// gluedZip is glued with compression.
func gluedZip(t *testing.T, datum string) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(datum)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "\x03\x05" + "0123456789abcdef" + b.String()
}

// read decodes records one after another, so that nothing of one may be left in the next.
func read(t *testing.T, d codec.Decoder, headers codec.Headers, want event, records ...string) {
	t.Helper()
	for _, record := range records {
		var e codec.Event
		r := d.Decode(codec.Record{Value: []byte(record), Time: recordTime, Headers: headers}, &e)
		if got := (event{string(e.User), e.Group, e.Time, e.Value}); r != codec.OK || got != want {
			t.Errorf("%q: %v, %+v; want %+v", record, r, got, want)
		}
	}
}

// The header of a registry's serializers is left out where nothing depends on the schema that it names.
func TestHeadersAreLeftOut(t *testing.T) {
	const text = `{"user_id":"u1","region":"eu","latency_ms":12.3,"ts":1795161600123}`
	of := event{"u1", 0, 1795161600123e6, 123}
	read(t, decoder(t, jsonSpec()), nil, of, text, numbered(7, text), numbered(1<<30, " "+text+"\n"), glued(text),
		gluedZip(t, text), text, gluedZip(t, text))
	bare := decoder(t, codec.Spec{Format: "json", User: codec.KeyField, Value: codec.ValueField})
	var e codec.Event
	if r := bare.Decode(codec.Record{Key: []byte("u"), Value: []byte(numbered(7, "12.3"))}, &e); r != codec.OK ||
		e.Value != 123 {
		t.Errorf("a bare number: %v, %d", r, e.Value)
	}

	cloud := decoder(t, cloudSpec())
	var plain codec.Event
	if r := cloud.Decode(codec.Record{Value: []byte(structuredEvent), Time: recordTime}, &plain); r != codec.OK {
		t.Fatal(r)
	}
	whole := event{string(plain.User), plain.Group, plain.Time, plain.Value}
	read(t, cloud, nil, whole, numbered(7, structuredEvent), glued(structuredEvent))
	read(t, cloud, binaryHeaders(nil), whole, eventData, numbered(7, eventData), gluedZip(t, eventData))

	datum, usual := encoded(t, request(nil)), event{"u1", 0, at, 123}
	read(t, decoder(t, avroSpec()), nil, usual, datum, glued(datum), gluedZip(t, datum), datum)
	message, zero := aUser+aRegion+aLatency+aTime, "\x00" // the number of the message in its file
	read(t, decoder(t, protobufSpec(t)), nil, usual, message, glued(zero+message), gluedZip(t, zero+message))
}

// A datum that begins like a header of Glue's is read as it is.
func TestDatumLikeHeader(t *testing.T) {
	const schema = `{"type": "record", "name": "R", "fields": [{"name": "v", "type": "long"},
		{"name": "n", "type": "long"}, {"name": "user", "type": "string"}]}`
	low := codec.Spec{Format: "avro", Schema: codec.Schema{Text: schema}, User: "user", Value: "n"}
	read(t, decoder(t, low), nil, event{"twenty letters in all", 0, recordTime, 0},
		"\x03\x00\x2a"+"twenty letters in all")
}

// What cannot be unpacked, or would be too large, is malformed, and so is a text behind two headers.
func TestHeadersWithNothingBehind(t *testing.T) {
	d := decoder(t, jsonSpec())
	huge := gluedZip(t, `{"user_id":"u1","x":"`+strings.Repeat("x", 5<<20)+`"}`)
	for _, record := range []string{numbered(7, ""), glued(""), "\x03\x05" + "0123456789abcdef", huge,
		"\x03\x05" + "0123456789abcdef" + "no zlib", numbered(7, numbered(7, "{}")), "\x03\x01" + "0123456789abcdef{}"} {
		var e codec.Event
		if r := d.Decode(codec.Record{Value: []byte(record), Time: recordTime}, &e); r != codec.Malformed {
			t.Errorf("%.40q: %v; want malformed", record, r)
		} else if cause := d.Cause(codec.Record{Value: []byte(record)}); cause == "" {
			t.Errorf("%.40q: no cause", record)
		}
	}
}
