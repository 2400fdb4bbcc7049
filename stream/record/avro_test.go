package record_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"

	"github.com/louver/louver/stream/record"
)

// The schema of records in Avro. Programs and registries of users have it: a field may be added that has a default, and
// no field may change.
const avroGolden = `{"type":"record","name":"Release","namespace":"louver.v1","fields":[{"name":"schema","type":"string"},{"name":"id","type":"string"},{"name":"stream","type":"string"},` +
	`{"name":"group","type":"string"},{"name":"release","type":"string"},{"name":"window_start","type":{"logicalType":"timestamp-millis","type":"long"}},` +
	`{"name":"window_end","type":{"logicalType":"timestamp-millis","type":"long"}},{"name":"due_at","type":{"logicalType":"timestamp-millis","type":"long"}},` +
	`{"default":null,"name":"incomplete","type":["null","boolean"]},{"name":"statistic","type":"string"},{"default":null,"name":"p","type":["null","double"]},` +
	`{"name":"mechanism","type":"string"},{"name":"unit","type":"string"},{"default":null,"name":"value","type":["null","double"]},{"name":"status","type":"string"},` +
	`{"default":null,"name":"reason","type":["null","string"]},{"name":"epsilon","type":"double"},{"name":"delta","type":"double"},` +
	`{"default":null,"name":"rank_error_95","type":["null","double"]},{"default":null,"name":"error_95","type":["null","double"]},` +
	`{"default":null,"name":"clip","type":["null",{"items":"double","type":"array"}]},{"default":null,"name":"quality","type":["null","string"]},` +
	`{"default":null,"name":"users","type":["null","long"]},{"default":null,"name":"p_low","type":["null","double"]},{"default":null,"name":"p_high","type":["null","double"]},` +
	`{"default":null,"name":"interval","type":["null",{"type":"record","name":"interval","fields":[{"name":"level","type":"double"},{"name":"low","type":"double"},{"name":"high","type":"double"}]}]},` +
	`{"default":null,"name":"smoothed","type":["null",{"type":"record","name":"smoothed","fields":[{"name":"value","type":"double"},` +
	`{"default":null,"name":"low","type":["null","double"]},{"default":null,"name":"high","type":["null","double"]}]}]},` +
	`{"default":null,"name":"stream_epsilon_spent","type":["null","double"]},{"name":"budget","type":"string"},{"default":null,"name":"budget_epsilon_spent","type":["null","double"]},` +
	`{"name":"budget_epsilon_limit","type":"double"},{"name":"budget_windows_left","type":"long"}]}`

// A release that adds fields still writes all fields of the first schema, and what it adds has a default: readers with
// either schema understand the records of both.
func TestAvroSchemaOnlyGrows(t *testing.T) {
	text, err := record.AvroSchema()
	if err != nil {
		t.Fatal(err)
	}
	var first, now struct{ Fields []map[string]any }
	for text, into := range map[string]any{avroGolden: &first, string(text): &now} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	known := map[any]map[string]any{}
	for _, f := range first.Fields {
		known[f["name"]] = f
	}
	for _, f := range now.Fields {
		old, there := known[f["name"]]
		if _, defaults := f["default"]; !there && !defaults {
			t.Errorf("the new field %s has no default", f["name"])
		}
		if d := cmp.Diff(old, f); there && d != "" {
			t.Errorf("%s has changed (-, +):\n%s", f["name"], d)
		}
		delete(known, f["name"])
	}
	for name := range known {
		t.Errorf("%s is gone", name)
	}
	writer, reader := avro.MustParse(string(text)), avro.MustParse(avroGolden)
	if _, err := avro.Resolve(writer, reader); err != nil {
		t.Error(err)
	}
	if _, err := avro.Resolve(reader, writer); err != nil {
		t.Error(err)
	}
}

// A record of an older release lacks fields, one of a newer release has more.
func TestAvroOfOtherReleases(t *testing.T) {
	text, err := record.AvroSchema()
	if err != nil {
		t.Fatal(err)
	}
	const added = `{"default":null,"name":"news","type":["null","double"]},{"name":"statistic"`
	newer := strings.Replace(string(text), `{"name":"statistic"`, added, 1)
	older := strings.Replace(string(text), `{"default":null,"name":"quality","type":["null","string"]},`, "", 1)
	value := []byte(exampleRecord(t))
	want, err := record.AvroContent(value)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ schema, gone string }{"newer": {newer, ""},
		"older": {older, `"quality":"rough",`}} {
		reader, err := record.NewAvroReader(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		numbers := json.NewDecoder(bytes.NewReader(value))
		numbers.UseNumber()
		if err := numbers.Decode(&v); err != nil {
			t.Fatal(err)
		}
		datum, err := avro.MustParse(c.schema).Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := reader.JSON(datum)
		if err != nil {
			t.Fatal(err)
		}
		got, err := record.AvroContent(back)
		if d := cmp.Diff(strings.Replace(string(want), c.gone, "", 1), string(got)); err != nil || d != "" {
			t.Errorf("%s: %v (-, +)\n%s", name, err, d)
		}
		if _, err := reader.JSON(append(datum, 0)); err == nil {
			t.Errorf("%s: a byte too many passes", name)
		}
	}
	reader, err := record.NewAvroReader(`{"type":"record","name":"Release","namespace":"louver.v1","fields":[{"name":"value","type":"double"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} { // written by somebody else
		if got, err := reader.JSON(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))); err == nil {
			t.Errorf("%v passes as %s", v, got)
		}
	}
	for _, foreign := range []string{`"string"`, `{"type":"record","name":"Release","fields":[]}`, `nonsense`} {
		if _, err := record.NewAvroReader(foreign); !errors.Is(err, record.ErrForeign) {
			t.Errorf("%s: %v, want ErrForeign", foreign, err)
		}
	}
}

// Any other value of a record has another content.
func TestAvroContent(t *testing.T) {
	content := func(text string) string {
		t.Helper()
		b, err := record.AvroContent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	same := content(`{"value":812.50,"smoothed":{"low":null,"value":1},"clip":[1,2]}`)
	for text, equal := range map[string]bool{
		`{"clip":[1.0,2],"value":812.5,"reason":null,"smoothed":{"value":1}}`: true,
		`{"clip":[1,2],"value":812.51,"smoothed":{"value":1}}`:                false,
		`{"clip":[2,1],"value":812.5,"smoothed":{"value":1}}`:                 false,
		`{"value":812.5,"smoothed":{"value":1}}`:                              false,
	} {
		if got := content(text); (got == same) != equal {
			t.Errorf("%s is %s beside %s", text, got, same)
		}
	}
	if _, err := record.AvroContent([]byte("\x00\x00")); err == nil {
		t.Error("nonsense passes")
	}
}
