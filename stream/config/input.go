package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/louver/louver/stream/codec"
)

const aTopic = "the name of a topic: 1–249 of the characters a–z, A–Z, 0–9, ., _ and -"

const (
	topicForm    = `^\.*[A-Za-z0-9_-][A-Za-z0-9._-]*$`
	longestTopic = 249
)

var topicExp = regexp.MustCompile(topicForm)

func topicName() kind[string] { return name("topic", aTopic, topicForm, longestTopic) }

// IsTopic reports whether Kafka takes a topic of that name. It takes more: names of three dots or more, and nothing else.
func IsTopic(name string) bool { return len(name) <= longestTopic && topicExp.MatchString(name) }

// columnar limits a key to formats with columns, schematic to those with a schema.
func columnar() when  { return formatsThat(func(f codec.Format) bool { return f.Columnar }) }
func schematic() when { return formatsThat(codec.Format.Schematic) }

func formatsThat(have func(codec.Format) bool) when {
	w := when{key: "format"}
	for _, f := range codec.Formats() {
		if have(f) {
			w.is = append(w.is, f.Name)
		}
	}
	return w
}

// formats are the names of formats, the default first.
func formats() (names []string) {
	for _, f := range codec.Formats() {
		names = append(names, f.Name)
	}
	return names
}

var inputForm = form{
	{name: "topic", required: true, example: "checkout.events", meaning: "the topic that holds the events",
		value: into(topicName(), func(in *Input, v string) { in.Topic = v })},
	{name: "format", fallback: formats()[0], example: "csv", meaning: "how a record's value is written. `cloudevents`: CloudEvents 1.0 with data in JSON, structured or binary; a field is an attribute such as `time`, or a path such as `data.user_id`",
		value: into(oneOf(formats()...), func(in *Input, v string) { in.Format = v })},
	{name: "user", required: true, example: "user_id",
		meaning: "the field that says whose value it is. Its content is a JSON string or integer. `$key`: the record's key",
		value:   into(field(codec.KeyField, "a field, or $key for the record's key"), func(in *Input, v string) { in.User = v })},
	{name: "value", required: true, example: "latency_ms",
		meaning: "the field that holds the number. Dots lead into nested objects: `order.total`. `$value`: the record's value is a bare number",
		value:   into(field(codec.ValueField, "a field, or $value for a bare number"), func(in *Input, v string) { in.Value = v })},
	{name: "time", fallback: codec.TimestampField, example: "ts",
		meaning: "the field that says when it happened: RFC 3339, or seconds, milli-, micro- or nanoseconds since 1970. `$timestamp`: the record's timestamp",
		value:   into(field(codec.TimestampField, "a field, or $timestamp for the record's timestamp"), func(in *Input, v string) { in.Time = v })},
	{name: "group", absent: "one group, without a name", example: "region", meaning: "the field that says which of the `groups` the event belongs to",
		value: into(field("", "a field"), func(in *Input, v string) { in.Group = v })},
	{name: "user_partitioned", fallback: "false", example: "true",
		meaning: "has no effect: Louver always compares users across partitions, because adding partitions moves users",
		value:   into(boolean(), func(in *Input, v bool) { in.UserPartitioned = v })},
	{name: "columns", required: true, only: columnar(), example: "[ts, user_id, latency_ms]", meaning: "the names of the columns, in order",
		value: into(listOf(name("column", "the name of a column", `.`, 200), "names of columns, in order", 1, most), func(in *Input, v []string) { in.Columns = v })},
	{name: "delimiter", only: columnar(), fallback: `","`, example: `";"`, meaning: "the character between two columns",
		value: into(delimiter(), func(in *Input, v rune) { in.Delimiter = v })},
	{name: "schema", required: true, only: schematic(), example: "{file: checkout.avsc}",
		meaning: "the schema of the records. `registry`: each record begins with the number of its schema, as the serializers of Confluent write it, and LOUVER_SCHEMA_REGISTRY_URL names the registry. A schema from a file becomes a part of the stream's definition: all processes read with the same one, and a change begins with a new window",
		value:   into(recordSchema(), func(in *Input, v codec.Schema) { in.Schema = v })},
	{name: "max_future", fallback: "5m", example: "1m",
		meaning: "how far an event's time may be ahead of its record's timestamp. Events further ahead are rejected",
		value:   into(duration(0), func(in *Input, v time.Duration) { in.MaxFuture = v })},
}

// field is a path of fields, or the one special name that is allowed here.
func field(special, want string) kind[string] {
	return scalar(spec{name: "field", want: want, schema: schema{"type": "string", "pattern": `^[^.]+(\.[^.]+)*$`}}, func(text string) (string, error) {
		switch {
		case text == special && text != "":
			return text, nil
		case text == "" || strings.HasPrefix(text, "$"):
			return "", errUnwanted
		case slices.Contains(strings.Split(text, "."), ""):
			return "", errors.New("has an empty part; want a field, for example user.id")
		}
		return text, nil
	})
}

// delimiter is a character that may separate two columns.
func delimiter() kind[rune] {
	s := spec{name: "character", want: `one character other than a quote or a line break, for example ";"`, schema: schema{"type": "string", "pattern": `^[^"\r\n]$`}}
	return scalar(s, func(text string) (rune, error) {
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || size != len(text) || r == utf8.RuneError || strings.ContainsRune("\"\r\n", r) {
			return 0, errUnwanted
		}
		return r, nil
	})
}

// check checks that a record can hold the fields.
func (in *Input) check(m mapping) {
	if mistakes := in.Mistakes(); len(mistakes) > 0 {
		for _, wrong := range mistakes {
			m.values[wrong.Part].refuse("%s", wrong)
		}
		return
	}
	for _, f := range []struct{ key, field, special string }{
		{"user", in.User, codec.KeyField}, {"value", in.Value, codec.ValueField}, {"time", in.Time, codec.TimestampField}, {"group", in.Group, ""},
	} {
		v, given := m.values[f.key]
		if !given || f.field == f.special && f.key != "value" {
			continue
		}
		switch {
		case in.Columnar() && f.field == codec.ValueField:
			v.refuse("%q, but format is %s; want the name of a column", f.field, in.Format)
		case in.Columnar() && !slices.Contains(in.Columns, f.field):
			v.refuse("%q is not one of the columns; want %s", f.field, list(in.Columns, "or"))
		case in.Value == codec.ValueField && f.field != codec.ValueField:
			want := f.special
			if want == "" {
				want = "no group"
			}
			v.refuse("%q, but value is $value: a bare number has no fields; want %s", f.field, want)
		}
	}
}

func input() kind[Input] {
	return mappingOf(inputForm, func(m mapping, in *Input, ok bool) {
		if ok {
			in.check(m)
		}
	})
}

// topic is {topic: NAME}.
func topic(meaning, example string) kind[string] {
	return mappingOf[string](form{{name: "topic", required: true, example: example, meaning: meaning,
		value: into(topicName(), func(s *string, v string) { *s = v })}}, nil)
}
