package codec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/avro"

	"github.com/louver/louver/stream/codec"
)

// True and false are names of groups in all formats, and nothing else.
func TestBooleansAreGroups(t *testing.T) {
	spec := func(format string, schema codec.Schema) codec.Spec {
		return codec.Spec{Format: format, User: "user", Value: "ms", Group: "member", Groups: []string{"true", "false"},
			Columns: map[string][]string{"csv": {"user", "ms", "member"}}[format], Schema: schema, Grid: grid(t)}
	}
	const schema = `{"type":"record","name":"r","fields":[{"name":"user","type":"string"},{"name":"ms","type":"long"},
		{"name":"member","type":["null","boolean"]}]}`
	path := filepath.Join(t.TempDir(), "r.proto")
	if err := os.WriteFile(path, []byte(`syntax = "proto3"; message R { string user = 1; int64 ms = 2; bool member = 3; }`),
		0o600); err != nil {
		t.Fatal(err)
	}
	message, err := codec.CompileProto(path)
	if err != nil {
		t.Fatal(err)
	}
	datum := func(member any) string {
		b, err := avro.MustParse(schema).Encode(map[string]any{"user": "u1", "ms": int64(5), "member": member})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct {
		spec             codec.Spec
		of               func(member bool) string
		missing, another string
	}{
		{spec("json", codec.Schema{}), func(m bool) string { return fmt.Sprintf(`{"user":"u1","ms":5,"member":%t}`, m) },
			`{"user":"u1","ms":5,"member":null}`, `{"user":"u1","ms":5,"member":1}`},
		{spec("csv", codec.Schema{}), func(m bool) string { return fmt.Sprintf("u1,5,%t", m) }, "u1,5,", "u1,5,yes"},
		{spec("avro", codec.Schema{Text: schema}), func(m bool) string { return datum(m) }, datum(nil), datum(nil)},
		{spec("protobuf", codec.Schema{Text: message, Message: "R"}), func(m bool) string {
			if !m {
				return lengthed(1, "u1") + varint(2, 5) // as proto3 writes false
			}
			return lengthed(1, "u1") + varint(2, 5) + varint(3, 1)
		}, "", ""},
	} {
		d := decoder(t, c.spec)
		for i, member := range []bool{true, false} {
			var e codec.Event
			if r := d.Decode(codec.Record{Value: []byte(c.of(member)), Time: recordTime}, &e); r != codec.OK || e.Group != i {
				t.Errorf("%s: %t is %v, group %d; want group %d", c.spec.Format, member, r, e.Group, i)
			}
		}
		for _, value := range []string{c.missing, c.another} {
			if value != "" {
				checkRejected(t, d, nil, value, codec.BadGroup)
			}
		}
	}
	for _, wrong := range []codec.Spec{{Format: "json", User: "member", Value: "ms"}, {Format: "json", User: "user",
		Value: "member"}, {Format: "json", User: "user", Value: "ms", Time: "member"}} {
		wrong.Grid = grid(t)
		want := codec.BadUser
		switch {
		case wrong.Value == "member":
			want = codec.BadValue
		case wrong.Time != "":
			want = codec.BadTime
		}
		checkRejected(t, decoder(t, wrong), nil, `{"user":"u1","ms":5,"member":true}`, want)
	}
}

// Names with dots and names that begin with $ are fields like others.
func TestNamesWithDots(t *testing.T) {
	d := decoder(t, codec.Spec{Format: "json", User: `user\.id`, Value: `\$m.la\.ms`, Grid: grid(t)})
	check(t, d, nil, `{"user":{"id":"no"},"user.id":"u1","$m":{"la":{"ms":1},"la.ms":12.3}}`,
		event{"u1", 0, recordTime, 123})
	event := decoder(t, codec.Spec{Format: "cloudevents", User: `data.user\.id`, Value: "data.ms", Grid: grid(t)})
	var e codec.Event
	r := event.Decode(codec.Record{Value: []byte(
		`{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"user.id":"u1","ms":5}}`), Time: recordTime}, &e)
	if r != codec.OK || string(e.User) != "u1" {
		t.Errorf("%v, user %q", r, e.User)
	}
}
