package record_test

import (
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/record/recordtest"
)

// exampleRecord is the contract's example.
func exampleRecord(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/example.json")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestSchemaRefusesOtherRecords(t *testing.T) {
	s, example := recordtest.Compile(t), exampleRecord(t)
	for _, edit := range [][2]string{
		{`"schema":"louver.release.v1"`, `"schema":"louver.release.v2"`}, {`"value":812`, `"value":"812"`},
		{`"value":812,`, ``},
		{`"status":"ok"`, `"status":"fine"`}, {`"reason":null`, `"reason":"unknown"`},
		{`"window_end":"2026-11-20T08:15:00Z"`, `"window_end":"2026-11-20T08:15:00.123Z"`},
		{`"p":0.99`, `"p":99`}, {`"users":10412`, `"users":10412.5`}, {`"quality":"rough"`, `"quality":"good"`},
		{`"high":840}`, `"hi":840}`}, {`"level":0.95`, `"level":95`}, {`"basis":"scatter"`, `"basis":"luck"`},
		{`"usual_95":61`, `"usual_95":-61`},
	} {
		if strings.Count(example, edit[0]) != 1 {
			t.Fatalf("%s is not there once", edit[0])
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(example, edit[0], edit[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) == nil {
			t.Errorf("taken: %s", edit[1])
		}
	}
}

func TestReferenceHasEveryField(t *testing.T) {
	described := recordtest.Compile(t).Fields
	reference, err := record.Reference()
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
