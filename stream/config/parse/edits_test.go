package parse

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.yaml.in/yaml/v3"
)

// TestEdits runs the scripts in testdata/edits: what people write in streams files, and what they are told.
//
//	replace of=right   the first line is a text of a right file (see editedFiles), and each further line is what somebody
//	                   writes instead; \n stands for the end of a line, and \t for a tab
//
// Under ---- each of these lines stands again, with "(schema)" behind it if the JSON Schema refuses the file as well.
// Below it are all mistakes that are found, each with its line, or "accepted".
//
// go test ./stream/config/parse -run Edits -rewrite writes what is found into the scripts. Then nothing checks it but
// the one who reads the difference. Each line should say what was found and what would be right, and should name the
// line that somebody has to change.
func TestEdits(t *testing.T) {
	schema, files := compiled(t, Schema()), editedFiles(t)
	environment := map[string]string{"EPSILON": "0.05", "SIZE": "15m"}
	getenv := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	datadriven.Walk(t, "testdata/edits", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var of string
			d.ScanArgs(t, "of", &of)
			lines := strings.Split(d.Input, "\n")
			if n := strings.Count(files[of], written(lines[0])); n != 1 {
				d.Fatalf(t, "%q is %d times in the file %q", lines[0], n, of)
			}
			var told strings.Builder
			for _, line := range lines[1:] {
				text := strings.Replace(files[of], written(lines[0]), written(line), 1)
				_, err := File("s.yaml", []byte(text), getenv)
				shape := ""
				if yaml.Unmarshal([]byte(text), new(yaml.Node)) == nil && schema.Validate(asEditorsSee(t, text)) != nil {
					shape = " (schema)"
				}
				if shape != "" && err == nil {
					d.Fatalf(t, "%q is refused by the schema, and not by the parser", line)
				}
				fmt.Fprintf(&told, "%s%s\n", line, shape)
				for _, mistake := range strings.Split(fmt.Sprint(err), "\n") {
					mistake = strings.TrimPrefix(strings.Replace(mistake, "<nil>", "accepted", 1), "s.yaml:")
					fmt.Fprintf(&told, "  %s\n", mistake)
				}
			}
			return told.String()
		})
	})
}

// written is a text as it stands in a file, from the form in which a script has it in one line.
func written(line string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", "(nothing)", "").Replace(line)
}

// editedFiles are the right files, and some more that scripts edit.
func editedFiles(t *testing.T) map[string]string {
	files := maps.Clone(rightFiles(t))
	maps.Copy(files, map[string]string{
		"total": withTotals(today), "so_far": withTotals(slow9, spread), "watch": withWatches(fire),
		"change": withOnChange(steady), "typed": typed("INPUT"), "follower": withFollower(found),
	})
	return files
}
