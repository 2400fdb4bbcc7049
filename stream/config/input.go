package config

import (
	"slices"
	"strings"
	"unicode/utf8"
)

func (n node) input() Input {
	in := Input{Format: "json", Time: TimestampField, Delimiter: ',', MaxFuture: DefaultMaxFuture}
	m, ok := n.mapping("topic", "format", "schema", "user", "value", "time", "group", "user_partitioned", "columns", "delimiter", "max_future")
	if !ok {
		return in
	}
	if v, ok := m.require("topic", "the name of a topic"); ok {
		in.Topic = v.topicName()
	}
	if v, ok := m.get("format"); ok {
		in.Format, _ = v.oneOf("json", "csv", "avro", "protobuf")
		if in.Format == "avro" || in.Format == "protobuf" {
			v.refuse("%q is not available yet; want json or csv", in.Format)
		}
	}
	if v, ok := m.get("schema"); ok && (in.Format == "json" || in.Format == "csv") {
		v.refuse("%s has no schema; want no schema, which is for avro and protobuf", in.Format)
	}
	in.readFields(m)
	if v, ok := m.get("user_partitioned"); ok {
		in.UserPartitioned = v.boolean()
	}
	in.readColumns(m)
	if v, ok := m.get("max_future"); ok {
		in.MaxFuture = v.duration(0, "a duration, such as 5m")
	}
	return in
}

// readFields reads where in a record the parts of an event are.
func (in *Input) readFields(m mapping) {
	const userWant = "a field, or $key for the record's key"
	const valueWant = "a field, or $value for a bare number"
	if v, ok := m.require("user", userWant); ok {
		in.User, _ = v.field(KeyField, userWant)
	}
	if v, ok := m.require("value", valueWant); ok {
		in.Value, ok = v.field(ValueField, valueWant)
		if ok && in.Value == ValueField && in.Format == "csv" {
			v.refuse("%q, but format is csv; want the name of a column", in.Value)
		}
	}
	if v, ok := m.get("time"); ok {
		in.Time, _ = v.field(TimestampField, "a field, or $timestamp for the record's timestamp")
	}
	if v, ok := m.get("group"); ok {
		in.Group, _ = v.field("", "a field")
	}
	if in.Value != ValueField {
		return
	}
	for _, f := range []struct{ key, field, special string }{
		{"user", in.User, KeyField}, {"time", in.Time, TimestampField}, {"group", in.Group, ""},
	} {
		if v, ok := m.get(f.key); ok && f.field != "" && f.field != f.special {
			want := f.special
			if want == "" {
				want = "no group"
			}
			v.refuse("%q, but value is $value: a bare number has no fields; want %s", f.field, want)
		}
	}
}

// field reads a path of fields, or the one special that is allowed here.
func (n node) field(special, want string) (string, bool) {
	text, ok := n.text(want)
	if !ok || text == special {
		return text, ok
	}
	if strings.HasPrefix(text, "$") {
		n.refuse("%q; want %s", text, want)
		return "", false
	}
	if slices.Contains(strings.Split(text, "."), "") {
		n.refuse("%q has an empty part; want a field such as user.id", text)
		return "", false
	}
	return text, true
}

func (in *Input) readColumns(m mapping) {
	columns, listed := m.get("columns")
	delimiter, given := m.get("delimiter")
	if in.Format != "csv" {
		if listed && in.Format == "json" {
			columns.refuse("format is %s; want no columns, which are for csv", in.Format)
		}
		if given && in.Format == "json" {
			delimiter.refuse("format is %s; want no delimiter, which is for csv", in.Format)
		}
		return
	}
	if given {
		const want = `one character other than a quote or a line's end, such as ","`
		if text, ok := delimiter.text(want); ok {
			r, size := utf8.DecodeRuneInString(text)
			if size != len(text) || r == utf8.RuneError || strings.ContainsRune("\"\r\n", r) {
				delimiter.refuse("%q; want %s", text, want)
			}
			in.Delimiter = r
		}
	}
	columns, listed = m.require("columns", "the names of the columns, in order")
	if !listed {
		return
	}
	names, ok := columns.texts("names of columns")
	in.Columns = names
	if !ok {
		return
	}
	for _, f := range []struct{ key, field string }{
		{"user", in.User}, {"value", in.Value}, {"time", in.Time}, {"group", in.Group},
	} {
		if v, ok := m.get(f.key); ok && f.field != "" && f.field[0] != '$' && !slices.Contains(names, f.field) {
			v.refuse("%q is not one of the columns; want %s", f.field, list(names, "or"))
		}
	}
}
