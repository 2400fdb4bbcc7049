// Package recordtest helps tests that make output records.
package recordtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/louver/louver/stream/record"
)

// Schema is the compiled JSON Schema of output records.
type Schema struct {
	*jsonschema.Schema
	// Fields are the descriptions of the fields, by name.
	Fields map[string]any
}

// Compile compiles the schema.
func Compile(t testing.TB) Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(record.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("record.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("record.json")
	if err != nil {
		t.Fatal(err)
	}
	return Schema{s, doc.(map[string]any)["properties"].(map[string]any)}
}

// Follows fails the test if a record breaks the schema. It returns the record's fields.
func (s Schema) Follows(t testing.TB, name string, value []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatalf("%s: %s: %v", name, value, err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %s: %v", name, value, err)
	}
	return v.(map[string]any)
}

// Banded is a published figure and what every surface says of its band.
type Banded struct {
	// Name is the release, and Record the value of the record, in JSON.
	Name, Record string
	// Low and High are the ends of the band as JSON has them; "" for none.
	Low, High string
	// Value is how people read the value, with its unit, and Bound what they read of its error.
	Value, Bound string
}

// AllBanded lists figures of every statistic with bands of every basis: as they are published, and as surfaces show
// them. All are of one window of the stream "shown", and each of a release of its own.
func AllBanded(t testing.TB) (all []Banded) {
	t.Helper()
	add := func(name, fields, value, bound string) {
		all = append(all, banded(t, name, fields, value, bound))
	}
	add("scatter", `{"statistic":"median","p":0.5,"value":120,"low":109.6,"high":128.2,"level":0.95,"basis":"scatter",
		"usual_95":14,"p_low":0.4,"p_high":0.6,"smoothed":{"value":118,"low":109.6,"high":128.2}}`, "120 ms", "(109–129)")
	add("shape", `{"statistic":"quantile","p":0.9,"value":1250,"low":990,"high":2010,"level":0.95,"basis":"shape"}`,
		"1,300 ms", "(900–2,100)")
	add("ranks", `{"statistic":"quantile","p":0.99,"value":812,"low":null,"high":null,"level":null,"basis":"ranks",
		"p_low":0.906,"p_high":1}`, "812 ms", "90.6th–100th percentile")
	add("interval", `{"statistic":"median","p":0.5,"value":120.5,"low":119,"high":121,"level":0.9,"basis":"interval",
		"interval":{"level":0.9,"low":119,"high":121}}`, "120.5 ms", "(119.0–121.0)")
	add("computed", `{"statistic":"quantile","p":0.9,"value":300,"low":280,"high":340,"level":0.95,"basis":"histogram",
		"from":"latency","interval":{"level":0.95,"low":280,"high":340}}`, "300 ms", "(280–340)")
	add("share", `{"statistic":"share","unit":"","value":0.0312,"low":0.021,"high":0.0421,"level":0.95,
		"basis":"histogram"}`, "3.1 %", "(2.1–4.3)")
	add("latency", `{"statistic":"histogram","unit":"users","value":4000,"low":3850,"high":4150,"level":0.95,
		"basis":"noise","error_95":150}`, "4,000 users", "± 150")
	add("users", `{"statistic":"count","unit":"users","value":10412,"low":10262,"high":10562,"level":0.95,"basis":"noise",
		"error_95":150}`, "10,410 users", "± 150")
	add("few", `{"statistic":"count","unit":"users","value":3,"low":0,"high":18,"level":0.95,"basis":"noise",
		"error_95":15}`, "3 users", "at most 18")
	add("beyond", `{"statistic":"outside","unit":"users","value":0,"raw":-4,"low":0,"high":7,"level":0.95,
		"basis":"noise","error_95":7}`, "0 users", "at most 7")
	add("sum", `{"statistic":"sum","unit":"EUR","value":-2000,"low":-2500,"high":-1500,"level":0.95,"basis":"noise",
		"error_95":500}`, "-2,000 EUR", "± 500")
	add("exact", `{"statistic":"sum","unit":"EUR","value":5,"low":5,"high":5,"level":0.95,"basis":"noise","error_95":0}`,
		"5 EUR", "± 0")
	add("mean", `{"statistic":"mean","value":173,"low":163,"high":183,"level":0.95,"basis":"clipped","error_95":10,
		"clip":[0,1023],"outside":{"value":4,"error_95":14},"outside_95":18,"cut_95":1050,"users":1000}`, "173 ms",
		"± 10; at most 18 of about 1,000 users are outside 0–1,023")
	add("variance", `{"statistic":"variance","unit":"ms²","value":173,"low":163,"high":183,"level":0.95,"basis":"clipped",
		"error_95":10,"clip":[0,1023],"outside":{"value":0,"error_95":1},"outside_95":1}`, "173 ms²",
		"± 10; at most 1 user is outside 0–1,023")
	add("stddev", `{"statistic":"stddev","value":13.15,"low":12.7,"high":13.5,"level":0.95,"basis":"clipped",
		"clip":[0,1023]}`, "13.2 ms", "noise (12.7–13.5)")
	add("cold", `{"statistic":"median","p":0.5,"unit":"°C","value":-20,"low":-25,"high":-12,"level":0.95,
		"basis":"scatter"}`, "-20 °C", "(-25 to -12)")
	add("total", `{"statistic":"count","mechanism":"tree","unit":"users","value":600,"low":570,"high":630,"level":0.95,
		"basis":"noise","error_95":30,"final":false,"instance":1,"since":"2026-11-20T08:00:00Z"}`, "600 users", "± 30")
	add("mode", `{"statistic":"mode","value":120,"low":null,"high":null,"level":null,"basis":null}`, "120 ms", "")
	add("variation", `{"statistic":"stddev","value":301.5,"low":null,"high":null,"level":null,"basis":null,"clip":[0,1023],
		"outside":{"value":4,"error_95":14},"outside_95":18,"users":1000}`, "301.5 ms",
		"at most 18 of about 1,000 users are outside 0–1,023")
	add("trimmed", `{"statistic":"trimmed_mean","value":61.4,"low":null,"high":null,"level":null,"basis":null,
		"clip":[0,1023]}`, "61.4 ms", "")
	// A record of an earlier release has no band, whatever else it says.
	add("old", `{"statistic":"count","unit":"users","value":100,"error_95":30,"smoothed":{"value":1,"low":1,"high":2},
		"interval":{"level":0.9,"low":3,"high":4}}`, "100 users", "")
	return all
}

// banded makes one of them from the fields that differ from those of most.
func banded(t testing.TB, name, fields, value, bound string) Banded {
	t.Helper()
	r := map[string]any{"schema": "louver.release.v1", "id": "shown/eu/2026-11-20T08:00:00Z/" + name, "stream": "shown",
		"group": "eu", "release": name, "window_start": "2026-11-20T08:00:00Z", "window_end": "2026-11-20T08:15:00Z",
		"due_at": "2026-11-20T08:15:30Z", "incomplete": false, "p": nil, "mechanism": "m", "unit": "ms",
		"status": "ok", "reason": nil, "epsilon": 0.1, "delta": 0, "rank_error_95": nil, "error_95": nil,
		"quality": "useful", "users": nil, "p_low": nil, "p_high": nil, "interval": nil, "smoothed": nil,
		"stream_epsilon_spent": 1, "budget": "b", "budget_epsilon_spent": 1, "budget_epsilon_limit": 10,
		"budget_windows_left": 9}
	own := map[string]any{}
	if err := json.Unmarshal([]byte(fields), &own); err != nil {
		t.Fatal(name, err)
	}
	maps.Copy(r, own)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(name, err)
	}
	b := Banded{Name: name, Record: string(text), Value: value, Bound: bound}
	if r["low"] != nil {
		b.Low, b.High = fmt.Sprint(r["low"]), fmt.Sprint(r["high"])
	}
	return b
}
