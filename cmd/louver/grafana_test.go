package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// The boards have what Grafana's published types have, and nothing else. grafana/board.ts says which types.
func TestBoardsFollowGrafana(t *testing.T) {
	path := os.Getenv("LOUVER_TEST_GRAFANA_SCHEMA")
	if path == "" {
		t.Skip("LOUVER_TEST_GRAFANA_SCHEMA is not set: .ci/run makes it from Grafana's types and " +
			"deploy/grafana/board.ts")
	}
	schema, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	follows := func(text string) error {
		board, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(board)
	}
	for _, name := range []string{"grafana/louver.json", "grafana/operators.json"} {
		text := clitest.DeployedText(t, name)
		if err := follows(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A control: what Grafana would overlook is refused.
		for right, wrong := range map[string]string{`"spanNulls"`: `"spanNull"`, `"stepAfter"`: `"stepsAfter"`,
			`"placement"`: `"placed"`, `"gridPos"`: `"grid"`, `"timezone"`: `"zone"`} {
			if changed := strings.Replace(text, right, wrong, 1); changed == text || follows(changed) == nil {
				t.Errorf("%s: %s instead of %s passes", name, wrong, right)
			}
		}
	}
}
