package parse

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/windows/period"
)

// columnar limits a key to formats with columns, schematic to those with a schema.
func columnar() form.When  { return formatsThat(func(f codec.Format) bool { return f.Columnar }) }
func schematic() form.When { return formatsThat(codec.Format.Schematic) }

func formatsThat(have func(codec.Format) bool) form.When {
	w := form.When{Key: "format"}
	for _, f := range codec.Formats() {
		if have(f) {
			w.Is = append(w.Is, f.Name)
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

var inputForm = form.Form{
	{Name: "topic", Required: true, Example: "checkout.events", Meaning: "the topic that holds the events: " +
		"one, neither a list nor a pattern. To count the events of several topics together, merge them into one before " +
		"Louver, for example with Kafka Streams. Or give each topic a stream and let one of the `budgets` pay for all: a " +
		"person then counts in each stream, and loses what all of them cost",
		Value: form.Into(topicName(), func(in *config.Input, v string) { in.Topic = v })},
	{Name: "format", Fallback: formats()[0], Example: "csv",
		Meaning: "how a record's value is written. `json`: the header of a schema registry before the JSON is left " +
			"out, Confluent's or AWS Glue's. `cloudevents`: CloudEvents 1.0 with data in JSON, structured or " +
			"binary; a field is an attribute such as `time`, or a path such as `data.user_id`. `avro`: a union of records " +
			"has the fields of all of them, and a field may be named by an alias. `avro` and `protobuf`: fields that the " +
			"stream does not use are skipped, so what is wrong within one of them rejects no record. `otlp_traces`, " +
			"`otlp_logs`, `otlp_metrics`: what the Collector of OpenTelemetry writes, as `otlp_proto` or `otlp_json`. A " +
			"record holds many spans, log records or data points, and each is an event. A field is an attribute of it, or " +
			"else of its resource, by its name, such as `http.route`; `span.attributes[\"x\"]`, " +
			"`resource.attributes[\"x\"]` and `scope.attributes[\"x\"]` say exactly where. Others are `span.name`, " +
			"`.kind`, `.status.code`, `.root`, `.duration_ms`, `.duration_s`; `log.body`, `log.body[\"ms\"]`, " +
			"`.severity_number`, `.severity_text`, `.event_name`; `metric.name`, `metric.unit`, " +
			"`metric.aggregation_temporality`, `datapoint.value`; and `scope.name`. What has no user is skipped. Metrics " +
			"are gauges and sums, and need `where` with `metric.name`. Points of a cumulative sum are totals so far, " +
			"not events, and are skipped unless `where` asks for `metric.aggregation_temporality`",
		Value: form.Into(form.OneOf(formats()...), func(in *config.Input, v string) { in.Format = v })},
	{Name: "user", Required: true, Example: "user_id",
		Meaning: "the field that says whose value it is. Its content is a JSON string or integer. It counts as it " +
			"is written: ids that differ in a space, in case or in their Unicode form are different users. " +
			"`$key`: the record's key, byte for byte: keys of JSON that differ in white space, or in the order of their " +
			"members, are different users, and the log warns of them. A key that begins with the number of its schema " +
			"makes one person a user for each schema. With `schema: registry` the number is left out, and a key that is a text or an integer of Avro counts as that",
		Value: form.Into(field(codec.KeyField, "a field, or $key for the record's key"),
			func(in *config.Input, v string) { in.User = v })},
	{Name: "value", Absent: "required, unless `contribution` is `count`; with `otlp_traces` `span.duration_ms`, with " +
		"`otlp_metrics` `datapoint.value`", Example: "latency_ms",
		Meaning: "the field that holds the number, or a text that is one, such as `\"12.30\"`. " +
			"Dots lead into nested objects: `order.total`. A dot that is part " +
			"of a name has a backslash before it: `'order\\.total'`. `$value`: the record's value is a bare number. " +
			"Wrappers of Protocol Buffers are what is in them, and its `Duration` is a number of seconds. A decimal of " +
			"Kafka Connect in base64 is read if the record has its schema (`schemas.enable`), and Debezium's " +
			"`VariableScaleDecimal` always; otherwise set `decimal.handling.mode=string` in Debezium, or " +
			"`decimal.format=NUMERIC` in the JSON converter",
		Value: form.Into(field(codec.ValueField, "a field, or $value for a bare number"),
			func(in *config.Input, v string) { in.Value = v })},
	{Name: "time", Absent: "`" + codec.TimestampField + "`; with `otlp_…` the end of the span, or the time of the log " +
		"record or data point", Example: "ts",
		Meaning: "the field that says when it happened, with its zone unless `zone` is given: RFC 3339, also with a " +
			"space for the T, with a zone such as `+0000` or `UTC`, or without seconds; as access logs write it, " +
			"`17/May/2015:10:05:03 +0000`; or seconds, milli-, micro- or nanoseconds since 1970. " +
			"`$timestamp`: the record's timestamp",
		Value: form.Into(field(codec.TimestampField, "a field, or $timestamp for the record's timestamp"),
			func(in *config.Input, v string) { in.Time = v })},
	{Name: "time_of_day", Absent: "`time` is whole", Example: "at",
		Meaning: "the field of the time of day, if `time` has only the date, or of the rest of the time. Both are texts, " +
			"and are read as one with a space between them",
		Value: form.Into(field("", "a field"), func(in *config.Input, v string) { in.Clock = v })},
	{Name: "zone", Absent: "times name their zone", Example: "Europe/Berlin",
		Meaning: "the time zone of times that name none, by its name in the IANA database. An hour that clocks go back " +
			"over comes twice, and its times count as one of the two. Without this key, times without a zone are rejected",
		Value: form.Into(zone(), func(in *config.Input, v *time.Location) { in.Zone = v })},
	{Name: "group", Absent: "one group, without a name", Example: "region",
		Meaning: "the field that says which of the `groups` the event belongs to. Its content is a string, an " +
			"integer, or true or false. Names are compared in Unicode's form NFC and without spaces at their ends, " +
			"whether they are listed or found",
		Value: form.Into(field("", "a field"), func(in *config.Input, v string) { in.Group = v })},
	{Name: "where", Absent: "all events count; with `otlp_traces`, spans of servers: `{span.kind: server}`",
		Example: aWhere,
		Meaning: "which events of the topic count: a mapping of fields and what they must be, at most 8, all of which " +
			"must hold. A field is a text, a number, or one of a list; or a mapping says what it must not be, above " +
			"and below which numbers it lies, or whether it exists. Texts are compared byte by byte, and numbers by " +
			"their values: `\"200\"` is a text and `200` a number. `true` is the same as `\"true\"`. Columns of CSV " +
			"and headers are what the condition has. Other events are skipped: they are neither " +
			"rejected nor late, and are never copied. `where` is published with the definition: choose it without " +
			"looking at the data. It costs nothing, because whether an event counts depends on that event alone",
		Value: form.Into(where(), func(in *config.Input, v []codec.Condition) { in.Where = v })},
	{Name: "user_partitioned", Fallback: "false", Example: "true",
		Meaning: "has no effect: Louver always compares users across partitions, because adding partitions moves " +
			"users",
		Value: form.Into(form.Boolean(), func(in *config.Input, v bool) { in.UserPartitioned = v })},
	{Name: "columns", Required: true, Only: columnar(), Example: "[ts, user_id, latency_ms]",
		Meaning: "the names of the columns, in order",
		Value: form.Into(
			form.ListOf(form.Name("column", "the name of a column", `.`, 200), "names of columns, in order",
				1, form.Most),
			func(in *config.Input, v []string) { in.Columns = v })},
	{Name: "delimiter", Only: columnar(), Fallback: `","`, Example: `";"`,
		Meaning: "the character between two columns. `'\\t'`: a tab",
		Value:   form.Into(delimiter(), func(in *config.Input, v rune) { in.Delimiter = v })},
	{Name: "schema", Required: true, Only: schematic(), Example: "{file: checkout.avsc}",
		Meaning: "the schema of the records. `registry`: each record begins with the number of its schema, as the " +
			"serializers of Confluent write it, or names it in a header `__value_schema_id`, by its GUID or its number; " +
			"and LOUVER_SCHEMA_REGISTRY_URL names the registry. A record whose " +
			"schema the registry does not have waits until the grace of its windows is over. The registry of AWS Glue " +
			"is not asked: records of its serializers are read with a schema from a file, without their header. A " +
			"schema from a file becomes a part of the stream's definition: all processes read with the same one, and a " +
			"change begins with a new window",
		Value: form.Into(recordSchema(), func(in *config.Input, v codec.Schema) { in.Schema = v })},
	{Name: "max_future", Fallback: config.Duration(config.DefaultMaxFuture), Example: "1m",
		Meaning: "how far an event's time may be ahead of its record's timestamp. Events further ahead are rejected",
		Value:   form.Into(form.Duration(0), func(in *config.Input, v time.Duration) { in.MaxFuture = v })},
}

// field is a path of fields, or the one special name that is allowed here.
func field(special, want string) form.Kind[string] {
	s := form.Spec{Name: "field", Want: want, Schema: form.Schema{"type": "string", "pattern": `^[^.]+(\.[^.]+)*$`}}
	return form.Scalar(s, func(text string) (string, error) {
		switch {
		case text == special && text != "":
			return text, nil
		case text == "" || strings.HasPrefix(text, "$"):
			return "", form.ErrUnwanted
		case slices.Contains(codec.Path(text), ""):
			return "", errors.New("has an empty part; want a field, for example user.id")
		}
		return text, nil
	})
}

// zone is a time zone.
func zone() form.Kind[*time.Location] {
	s := form.Spec{Name: "text", Want: "the name of a time zone of the IANA database, for example Europe/Berlin",
		Schema: form.Schema{"type": "string"}}
	return form.Scalar(s, func(text string) (*time.Location, error) {
		c, err := period.NewCalendar(period.Midnight, text)
		if err != nil {
			return nil, form.ErrUnwanted
		}
		return c.Zone, nil
	})
}

// delimiter is a character that may separate two columns.
func delimiter() form.Kind[rune] {
	s := form.Spec{Name: "character", Want: `one character other than a quote or a line break, for example ";"`,
		Schema: form.Schema{"type": "string", "pattern": `^([^"\r\n]|\\t)$`}}
	return form.Scalar(s, func(text string) (rune, error) {
		if text == `\t` { // which YAML takes for a tab in double quotes only
			return '\t', nil
		}
		r, size := utf8.DecodeRuneInString(text)
		if size == 0 || size != len(text) || r == utf8.RuneError || strings.ContainsRune("\"\r\n", r) {
			return 0, form.ErrUnwanted
		}
		return r, nil
	})
}

// checkTime refuses keys about a time that is no field.
func checkTime(m form.Mapping, in *config.Input) {
	if in.Time != codec.TimestampField {
		return
	}
	if v, given := m.Values["time_of_day"]; given {
		v.Refuse("%q, but time is %s; want the field of the date as time", in.Clock, in.Time)
	}
	if v, given := m.Values["zone"]; given {
		v.Refuse("%q, but time is %s, which has no zone; remove it, or name the field of the time", in.Zone, in.Time)
	}
}

// checkFields checks that a record can hold the fields.
func checkFields(m form.Mapping, in *config.Input) {
	if mistakes := append(in.Mistakes(), in.Vain()...); len(mistakes) > 0 {
		for _, wrong := range mistakes {
			at, given := m.Values[wrong.Part]
			switch {
			case !given:
				m.Under(wrong.Part).Refuse("%s", wrong)
			case wrong.Part == "where" && wrong.Field != "":
				at.Under(wrong.Field).Refuse("%s", wrong)
			default:
				at.Refuse("%s", wrong)
			}
		}
		return
	}
	if v, given := m.Values["where"]; given {
		for _, c := range in.Where {
			switch {
			case in.Columnar() && !slices.Contains(in.Columns, c.Field):
				v.Under(c.Field).Refuse("%q is not one of the columns; want %s", c.Field, form.List(in.Columns, "or"))
			case in.Value == codec.ValueField:
				v.Under(c.Field).Refuse("%q, but value is $value: a bare number has no fields; want no where", c.Field)
			}
		}
	}
	for _, f := range []struct{ key, field, special string }{
		{"user", in.User, codec.KeyField},
		{"value", in.Value, codec.ValueField},
		{"time", in.Time, codec.TimestampField},
		{"group", in.Group, ""},
		{"time_of_day", in.Clock, ""},
	} {
		v, given := m.Values[f.key]
		if !given || f.field == f.special && f.key != "value" {
			continue
		}
		switch {
		case in.Columnar() && f.field == codec.ValueField:
			v.Refuse("%q, but format is %s; want the name of a column", f.field, in.Format)
		case in.Columnar() && !slices.Contains(in.Columns, f.field):
			v.Refuse("%q is not one of the columns; want %s", f.field, form.List(in.Columns, "or"))
		case in.Value == codec.ValueField && f.field != codec.ValueField:
			want := f.special
			if want == "" {
				want = "no group"
			}
			v.Refuse("%q, but value is $value: a bare number has no fields; want %s", f.field, want)
		}
	}
}

func input() form.Kind[config.Input] {
	return form.MappingOf(inputForm, func(m form.Mapping, in *config.Input, ok bool) {
		f, _ := codec.FormatOf(in.Format)
		in.Time = cmp.Or(in.Time, f.Time, codec.TimestampField)
		if _, given := m.Values["where"]; !given {
			in.Where = f.Where
		}
		if ok {
			checkTime(m, in)
			checkFields(m, in)
		}
	})
}
