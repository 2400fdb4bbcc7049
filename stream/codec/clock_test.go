package codec_test

import (
	"testing"
	"time"

	"github.com/twmb/avro"

	"github.com/louver/louver/stream/codec"
)

// The date and the time of day may be in two fields.
func TestTimeInTwoFields(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 20, 7, 5, 3, 0, time.UTC).UnixNano()
	csv := codec.Spec{Format: "csv", Columns: []string{"date", "user", "v", "at"}, User: "user", Value: "v", Time: "date",
		Clock: "at", Zone: berlin}
	zoned := csv
	zoned.Zone = nil
	log := zoned
	log.Delimiter = ' '
	json := codec.Spec{Format: "json", User: "user", Value: "v", Time: "when.date", Clock: "when.at", Zone: berlin}
	cloud := codec.Spec{Format: "cloudevents", User: "subject", Value: "data.v", Time: "data.date", Clock: "data.at",
		Zone: berlin}
	for _, c := range []struct {
		spec    codec.Spec
		record  string
		want    codec.Reason
		missing bool
	}{
		{csv, "2026-11-20,u1,1,08:05:03", codec.OK, false},
		{csv, " 2026-11-20 ,u1,1, 08:05:03 ", codec.OK, false},
		{csv, "2026-11-20,u1,1,07:05:03Z", codec.OK, false},
		{csv, "20/Nov/2026,u1,1,08:05:03", codec.OK, false},
		{csv, "2026-11-20,u1,1,", codec.BadTime, false},
		{csv, ",u1,1,08:05:03", codec.BadTime, false},
		{csv, "1795161600,u1,1,08:05:03", codec.BadTime, false},
		{zoned, "2026-11-20,u1,1,08:05:03", codec.BadTime, false},
		{zoned, "2026-11-20,u1,1,08:05:03 +0100", codec.OK, false},
		{log, "[20/Nov/2026:08:05:03 u1 1 +0100]", codec.OK, false},
		{json, `{"user":"u1","v":0.1,"when":{"at":"08:05:03","date":"2026-11-20"}}`, codec.OK, false},
		{json, `{"user":"u1","v":0.1,"when":{"at":"08:05:03"}}`, codec.BadTime, true},
		{json, `{"user":"u1","v":0.1,"when":{"date":"2026-11-20"}}`, codec.BadTime, true},
		{json, `{"user":"u1","v":0.1,"when":{"at":80503,"date":"2026-11-20"}}`, codec.BadTime, false},
		{json, `{"user":"u1","v":0.1,"when":{"at":"08:05:03","date":20261120}}`, codec.BadTime, false},
		{cloud, `{"specversion":"1.0","subject":"u1","data":{"v":0.1,"at":"08:05:03","date":"2026-11-20"}}`, codec.OK, false},
	} {
		d := decoder(t, c.spec)
		var e codec.Event
		r := d.Decode(codec.Record{Value: []byte(c.record), Time: recordTime}, &e)
		if r != c.want || r == codec.OK && (e.Time != at || string(e.User) != "u1") || d.Missing() != c.missing {
			t.Errorf("%s: %v, %s, missing %v; want %v, missing %v", c.record, r, time.Unix(0, e.Time).UTC(), d.Missing(),
				c.want, c.missing)
		}
	}
	const schema = `{"type": "record", "name": "R", "fields": [{"name": "user", "type": "string"},
		{"name": "v", "type": "int"}, {"name": "date", "type": "string"}, {"name": "at", "type": "string"}]}`
	datum, err := avro.MustParse(schema).Encode(map[string]any{"user": "u1", "v": int32(7), "date": "2026-11-20",
		"at": "08:05:03"})
	if err != nil {
		t.Fatal(err)
	}
	s := codec.Spec{Format: "avro", Schema: codec.Schema{Text: schema}, User: "user", Value: "v", Time: "date",
		Clock: "at",
		Zone:  berlin}
	read(t, decoder(t, s), nil, event{"u1", 0, at, 70}, string(datum))
	if s.Clock, s.Grid = "v", grid(t); true {
		if _, err := codec.New(s); err == nil {
			t.Error("an int is taken for a time of day")
		}
	}
}
