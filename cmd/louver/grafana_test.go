package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/outputs"
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

// The board looks back for what louver export sends: a window's points are as far apart as windows are, and Prometheus
// sees a point for five minutes only. Everything that is exported is asked for so, and nothing that is only scraped.
func TestBoardLooksBack(t *testing.T) {
	exported := map[string]bool{"louver_distribution": true} // of which the buckets are
	for _, m := range outputs.Metrics() {
		exported[m.Prometheus()] = true
	}
	asked := regexp.MustCompile(`(last_over_time\()?\b(louver_\w+?)(?:_bucket)?\{(?:[^{}]|\$\{\w+:raw\})*\}(\[\$lookback\])?`)
	var board struct {
		Templating struct{ List []struct{ Query any } }
		Panels     []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(clitest.DeployedText(t, "grafana/louver.json")), &board); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, v := range board.Templating.List {
		if q, ok := v.Query.(map[string]any); ok && !strings.HasPrefix(q["query"].(string), "label_values(") {
			queries = append(queries, q["query"].(string))
		}
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	n := 0
	for _, q := range queries {
		for _, m := range asked.FindAllStringSubmatch(q, -1) {
			if looks := m[1] != "" && m[3] != ""; looks != exported[m[2]] {
				t.Errorf("%s: %s is exported: %v; looks back: %v", q, m[2], exported[m[2]], looks)
			} else if looks {
				n++
			}
		}
	}
	if n < 20 {
		t.Errorf("%d look back; want at least 20", n)
	}
}

// unitOfMetric says in which unit a metric of the boards is. What is published has the unit of its series.
var unitOfMetric = regexp.MustCompile(`^louver_(?:(release_(?:value|low|high|smoothed))|` +
	`\w*?(seconds|bytes|records|windows|epsilon|clock_doubted|armed|firing|release_withheld|quality)\w*)$`)

// A panel has one unit: seconds are not drawn on the axis of windows. Figures are alone with their unit, one series in
// a panel.
func TestPanelsHaveOneUnit(t *testing.T) {
	type target struct{ Expr string }
	for _, name := range []string{"grafana/louver.json", "grafana/operators.json"} {
		var board struct {
			Panels []struct {
				Title, Type, Repeat string
				Targets             []target
				GridPos             struct{ X, Y, W, H int }
			}
		}
		if err := json.Unmarshal([]byte(clitest.DeployedText(t, name)), &board); err != nil {
			t.Fatal(err)
		}
		taken, several := map[[2]int]string{}, 0
		for _, p := range board.Panels {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x > 23 {
						t.Fatalf("%s: %q lies on %q, or beside the board", name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type != "timeseries" {
				continue
			}
			units := map[string]bool{}
			for _, of := range p.Targets {
				metric := regexp.MustCompile(`louver_\w+`).FindString(of.Expr)
				switch m := unitOfMetric.FindStringSubmatch(metric); {
				case strings.Contains(metric, "_info"):
					continue // it says the unit
				case m != nil && m[1] != "":
					units["of a series"] = true
					if !strings.Contains(of.Expr, "{job=~\"$job\", instance=~\"$instance\", ${"+p.Repeat+":raw}}") {
						t.Errorf("%s: %q has figures of several units: %s", name, p.Title, of.Expr)
					}
				case m != nil:
					units[m[2]] = true
				default:
					units["events"] = true
				}
			}
			if len(units) != 1 {
				t.Errorf("%s: %q has the units %v", name, p.Title, units)
			}
			if len(p.Targets) > 1 {
				several++
			}
		}
		if several == 0 {
			t.Errorf("%s: no panel has several lines, so this proves nothing", name)
		}
	}
}
