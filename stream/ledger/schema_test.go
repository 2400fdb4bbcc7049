package ledger

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
)

func compiledSchema(t *testing.T) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(RecordSchema()))
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
	return s, doc.(map[string]any)["properties"].(map[string]any)
}

// sound returns the fields of a record, which follows the schema.
func sound(t *testing.T, s *jsonschema.Schema, name string, record []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(record))
	if err != nil {
		t.Fatalf("%s: %s: %v", name, record, err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s: %s: %v", name, record, err)
	}
	return v.(map[string]any)
}

// Records of every kind, as they are encoded, are what the schema says; and the schema explains each of their fields,
// and no other. A new field of a record must be described in record.schema.json.
func TestRecordsFollowTheSchema(t *testing.T) {
	s, described := compiledSchema(t)
	exhausted, paid, old, cut := exampleEntry(), exampleEntry(), exampleEntry(), exampleEntry()
	exhausted.Reason = BudgetExhausted
	exhausted.Groups = []Group{{Name: ""}}
	paid.Groups[0].Values[0].Interval = &Interval{dec("0.95"), dec("-700.5"), dec("9000")}
	paid.Groups[0].Values[0].Smoothed = &Smoothed{Value: dec("0.001")}
	paid.Standing.StreamSpent, paid.Standing.BudgetSpent = nil, nil
	paid.Incomplete = true
	old.Format = 0
	for i := range cut.Groups[0].Values {
		cut.Groups[0].Values[i].Clip = &[2]decimal.Decimal{dec("0"), dec("1024")}
	}
	cut.Groups = cut.Groups[:1]
	cut.Cap = budget.Cap{Count: 8, Per: 24 * time.Hour}
	plain := maps.Clone(described) // fields of a record whose values were not cut, and in which everybody counts
	delete(plain, "clip")
	delete(plain, "max_windows")
	for _, name := range []string{"since", "changed", "instance", "excess_95"} { // of watches and figures on change
		delete(described, name)
		delete(plain, name)
	}
	for name, e := range map[string]Entry{"example": exampleEntry(), "exhausted": exhausted, "paid": paid, "old": old, "cut": cut} {
		for _, r := range records(t, e) {
			fields := sound(t, s, name, r.Value)
			if e.Format != Format {
				continue
			}
			all := plain
			if name == "cut" {
				all = described
			}
			if d := cmp.Diff(slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(fields))); d != "" {
				t.Fatalf("fields of the schema and of a record (-, +):\n%s", d)
			}
			for _, inner := range []string{"interval", "smoothed", "max_windows"} {
				if has, ok := fields[inner].(map[string]any); ok {
					want := described[inner].(map[string]any)["properties"].(map[string]any)
					if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(has))); d != "" {
						t.Errorf("fields of %s in the schema and in a record (-, +):\n%s", inner, d)
					}
				}
			}
		}
	}
}

func TestSchemaRefusesOtherRecords(t *testing.T) {
	s, _ := compiledSchema(t)
	for _, edit := range [][2]string{
		{`"schema":"louver.release.v1"`, `"schema":"louver.release.v2"`}, {`"value":812`, `"value":"812"`}, {`"value":812,`, ``},
		{`"status":"ok"`, `"status":"fine"`}, {`"reason":null`, `"reason":"unknown"`}, {`"window_end":"2026-11-20T08:15:00Z"`, `"window_end":"2026-11-20T08:15:00.123Z"`},
		{`"p":0.99`, `"p":99`}, {`"users":10412`, `"users":10412.5`}, {`"quality":"rough"`, `"quality":"good"`}, {`"high":840`, `"hi":840`},
	} {
		if strings.Count(exampleRecord, edit[0]) != 1 {
			t.Fatalf("%s is not there once", edit[0])
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(exampleRecord, edit[0], edit[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) == nil {
			t.Errorf("taken: %s", edit[1])
		}
	}
}

func TestReferenceHasEveryField(t *testing.T) {
	_, described := compiledSchema(t)
	reference, err := RecordReference()
	if err != nil {
		t.Fatal(err)
	}
	for name := range described {
		if !strings.Contains(reference, "| `"+name+"` | ") {
			t.Errorf("%s is not in the reference", name)
		}
	}
	if strings.Contains(reference, "|  |") {
		t.Errorf("an empty cell in\n%s", reference)
	}
}
