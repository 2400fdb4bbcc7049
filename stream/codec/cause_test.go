package codec_test

import (
	"strings"
	"testing"

	"github.com/louver/louver/stream/codec"
)

// Every malformed record is told why it is malformed: in words that go on from "the record", without anything of it.
func TestCauses(t *testing.T) {
	points := grid(t)
	jsonSpec := codec.Spec{Format: "json", User: "user.id", Value: "ms", Grid: points}
	csvSpec := codec.Spec{Format: "csv", User: "u", Value: "v", Columns: []string{"u", "v"}, Grid: points}
	bare := codec.Spec{Format: "json", User: "$key", Value: "$value", Grid: points}
	const good = `{"user":{"id":"SECRET"},"ms":1}`
	for _, c := range []struct {
		spec        codec.Spec
		value, want string
	}{
		{jsonSpec, "", "is empty"},
		{jsonSpec, " \n", "is empty"},
		{jsonSpec, "\ufeff" + good, "begins with a byte order mark"},
		{jsonSpec, "\x1f\x8bSECRET", "is compressed with gzip"},
		{jsonSpec, "\x00\x00\x00\x00\x07" + good,
			"begins with the header of a schema registry (a zero byte and the number 7)"},
		{jsonSpec, "{\"user\":\"\xff\"}", "is not in UTF-8"},
		{jsonSpec, `{"user":{"id":"SECRET"},"ms":NaN}`, "has NaN or Infinity, which JSON does not have"},
		{jsonSpec, `{"ms": -Infinity , "x":1}`, "has NaN or Infinity, which JSON does not have"},
		{jsonSpec, `{"name":"NaN, Infinity",}`, "is not JSON"},
		{jsonSpec, "[" + good + "]", "is a JSON array and not an object"},
		{jsonSpec, `"{\"user\":{\"id\":\"SECRET\"}}"`, "is JSON within a JSON string"},
		{jsonSpec, `"SECRET"`, "is a JSON string and not an object"},
		{jsonSpec, `12`, "is a number and not an object"},
		{jsonSpec, `null`, "is null and not an object"},
		{jsonSpec, `true`, "is true or false and not an object"},
		{jsonSpec, good + good, "is more than one JSON text"},
		{jsonSpec, good[:12], "ends in the middle of JSON"},
		{jsonSpec, "SECRET", "is not JSON"},
		{jsonSpec, "{'user':'SECRET'}", "is not JSON"},
		{jsonSpec, `{"ms":1,"user":{"id":1,"x":[{}],"id":2}}`, "has the field user.id twice"},
		{jsonSpec, `{"ms":1,"other":{"ms":1},"ms":2}`, "has the field ms twice"},
		{jsonSpec, `{"ms":"\ud83d"}`, "has half a surrogate pair, which is no character"},
		{jsonSpec, `{"x":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + "}", "is nested too deeply"},
		{bare, "NaN", "is not JSON"}, {bare, "1 2", "is more than one JSON text"}, {bare, "\ufeff1", "begins with a byte order mark"},
		{csvSpec, "", "is empty"}, {csvSpec, "\n", "is empty"},
		{csvSpec, "\ufeffa,1", "begins with a byte order mark"},
		{csvSpec, "a,1,SECRET", "has 3 columns and not 2"},
		{csvSpec, "u,v", "repeats the names of the columns"},
		{csvSpec, "a,1\nb,2", "has more than one line"},
		{csvSpec, `"SECRET`, "is not a line of CSV: its quotes are wrong"},
		{csvSpec, "\x00\x00\x00\x00\x09a", "begins with the header of a schema registry (a zero byte and the number 9)"},
	} {
		d, err := codec.New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		r := codec.Record{Key: []byte("k"), Value: []byte(c.value), Time: recordTime}
		var e codec.Event
		if reason := d.Decode(r, &e); reason != codec.Malformed {
			t.Errorf("%s %q: %v; want malformed", c.spec.Format, c.value, reason)
			continue
		}
		got := d.Cause(r)
		if got != c.want || strings.Contains(got, "SECRET") {
			t.Errorf("%s %q: the record %s; want %s", c.spec.Format, c.value, got, c.want)
		}
	}
	d, err := codec.New(jsonSpec)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Cause(codec.Record{}); got != "has no value" {
		t.Errorf("no value: the record %s", got)
	}
}
