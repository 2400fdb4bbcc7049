package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fault that appears in several files, or in several places through an alias, is reported once. Errors that only
// follow from it are not reported.
func TestEveryFaultOnce(t *testing.T) {
	const shared = "version: 1\nbudgets: [{name: shared, epsilon: 2, per: 1d}]"
	pays := func(text, name string) string {
		return strings.NewReplacer("name: s\n", "name: "+name+"\n", "budget: {epsilon: 1, per: 7d}",
			"budget: shared").Replace(text)
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"each file shares the budget's definition", map[string]string{
			"a.yaml": strings.Replace(pays(least, "a"), "version: 1", shared, 1),
			"b.yaml": strings.Replace(pays(least, "b"), "version: 1", shared, 1),
			"c.yaml": strings.Replace(pays(least, "c"), "version: 1", shared, 1),
		}, []string{`b.yaml:2: budgets[shared]: the name "shared" is taken by the budget at a.yaml:2 and c.yaml:2; choose ` +
			`another name`}},
		{"copies of one file", map[string]string{"a.yaml": least, "b.yaml": least, "c.yaml": least},
			[]string{`b.yaml:3: streams[s]: the name "s" is taken by the stream at a.yaml:3 and c.yaml:3; choose another name`}},
		{"the file with the budget cannot be read", map[string]string{
			"a.yaml": "version: 1\nbudgets:\n\t- {name: shared, epsilon: 2, per: 1d}\n",
			"b.yaml": pays(least, "b"), "c.yaml": pays(least, "c"),
		}, []string{`a.yaml:3: a tab; indent YAML with spaces`}},
		{"the budget is wrong", map[string]string{
			"a.yaml": strings.Replace(pays(least, "a"), "version: 1",
				strings.Replace(shared, "epsilon: 2", "epsilon: 0", 1), 1),
			"b.yaml": pays(least, "b"),
		}, []string{`a.yaml:2: budgets[shared].epsilon: 0; want a number greater than 0`}},
		{"faults in two files", map[string]string{
			"a.yaml": strings.Replace(least, "size: 1d", "size: 1x", 1),
			"b.yaml": strings.NewReplacer("name: s\n", "name: b\n", "epsilon: 0.1", "epsilon: 0").Replace(least),
		}, []string{`a.yaml:6: streams[s].window.size: 1x is not a duration; want a duration of whole seconds, for example ` +
			`15m`,
			`b.yaml:7: streams[b].releases[mid].epsilon: 0; want a number greater than 0`}},
		{"one topic in two formats", map[string]string{
			"a.yaml": least,
			"b.yaml": strings.NewReplacer("name: s\n", "name: b\n", "{topic: out}",
				"{topic: out, format: avro}").Replace(least),
		}, []string{`b.yaml:8: streams[b].output: format avro, but stream s writes json into topic out; want one format in ` +
			`a topic`}},
		{"an alias repeats a fault", map[string]string{
			"a.yaml": strings.Replace(least, "window: {size: 1d, grace: 0s}", "window: &w {size: 1x}", 1) +
				strings.NewReplacer("version: 1\nstreams:\n", "", "name: s\n", "name: t\n", "{size: 1d, grace: 0s}",
					"*w").Replace(least),
		}, []string{`a.yaml:6: streams[s].window.size: 1x is not a duration; want a duration of whole seconds, for example ` +
			`15m`,
			`a.yaml:6: streams[s].window.grace: missing; add it, for example grace: 30s (how long a window waits for late ` +
				`events after its end)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Load(dir, noVariables)
			if err == nil {
				t.Fatal("accepted")
			}
			if got, want := strings.ReplaceAll(err.Error(), dir+"/", ""), strings.Join(c.want, "\n"); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
	// One file by two names.
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, []byte(least), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAll([]string{dir, dir + "/./a.yaml"}, noVariables); err != nil {
		t.Errorf("one file by three names: %v", err)
	}
}

// A file of people's data that somebody took for a streams file is not repeated in the error, which may go to a log.
func TestErrorsRepeatNoData(t *testing.T) {
	csv := "time,client,bytes\n" + strings.Repeat("2026-11-20T08:00:00Z,SECRET1,25230\n", 40)
	long := strings.Repeat("SECRET ", 12)
	for name, text := range map[string]string{
		"CSV":                  csv,
		"CSV with semicolons":  strings.ReplaceAll(csv, ",", ";"),
		"CSV with tabs":        strings.ReplaceAll(csv, ",", "\t"),
		"CSV without a header": strings.Join(strings.Split(csv, "\n")[1:], "\n"),
		"one number a line":    strings.Repeat("7\n", 50),
		"a column with colons": strings.ReplaceAll(csv, ",", ": "),
		"JSON lines":           strings.Repeat(`{"SECRET":"SECRET1"}`+"\n", 3),
		"a JSON object":        `{"SECRET1": 5, "SECRET2": 7}`,
		"a JSON array":         `[{"user": "SECRET1"}]`,
		"a text for a number":  strings.Replace(right, "upper: 60000", "upper: "+long, 1),
		"a text for a list":    strings.Replace(right, "groups: [eu, us, ap]", "groups: "+long, 1),
		"a text for a mapping": strings.Replace(right, "bounds: {lower: 0, upper: 60000, step: 1, prior: cells}",
			"bounds: "+long, 1),
		"a text for a mapping of 1": strings.Replace(right, "output: {topic: checkout.private}", "output: "+long, 1),
		"a text for a word":         strings.Replace(right, "statistic: median", "statistic: "+long, 1),
		"a text for a key":          strings.Replace(right, "unit: ms", long+": ms", 1),
	} {
		_, err := File("f", []byte(text), noVariables)
		if err == nil || strings.Contains(err.Error(), "SECRET") || len(err.Error()) > 400 {
			t.Errorf("%s: %.500v", name, err)
		}
	}
}
