package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Mistakes that people make, and the full error for each. Each edit changes right in one place.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a tab", "      topic: checkout.events", "\ttopic: checkout.events",
			`8: a tab; indent YAML with spaces`},
		{"a tab after spaces", "      user: user_id", "    \tuser: user_id",
			`10: a tab; indent YAML with spaces`},
		{"a tab before a list's item", "      - {name: p90", "\t- {name: p90",
			`24: a tab; indent YAML with spaces`},
		{"a decimal comma in braces", "{name: p50, statistic: median, epsilon: 0.05}",
			"{name: p50, statistic: median, epsilon: 0,05}",
			`23: streams[checkout].releases[p50].epsilon: 0,05 is not a number; write 0.05`},
		{"a decimal comma, keys after it", "{name: p50, statistic: median, epsilon: 0.05}",
			"{name: p50, epsilon: 0,05, statistic: median}",
			`23: streams[checkout].releases[p50].epsilon: 0,05 is not a number; write 0.05`},
		{"a decimal comma in a block", "- {name: p50, statistic: median, epsilon: 0.05}",
			"- name: p50\n        statistic: median\n        epsilon: 0,05",
			`25: streams[checkout].releases[p50].epsilon: 0,05 is not a number; write 0.05`},
		{"commas between thousands, in braces", "upper: 60000", "upper: 1,060,000",
			`18: streams[checkout].bounds.upper: 1,060,000 is not a number; write 1060000`},
		{"one comma and three digits", "upper: 60000", "upper: 60,000",
			`18: streams[checkout].bounds.upper: 60,000 is not a number; write 60000 or 60.000`},
		{"spaces between thousands", "upper: 60000", "upper: 60 000",
			`18: streams[checkout].bounds.upper: 60 000 is not a number; write 60000`},
		{"underscores between thousands", "upper: 60000", "upper: 60_000",
			`18: streams[checkout].bounds.upper: 60_000 is not a number; write 60000`},
		{"several quantiles", "p: 0.9,", "p: [0.9, 0.99],",
			`24: streams[checkout].releases[p90].p: a list; want one number, or statistic: quantiles`},
		{"a percentile", "statistic: median,", "statistic: p95,",
			`23: streams[checkout].releases[p50].statistic: "p95" is not a statistic; did you mean quantile with p 0.95?`},
		{"the average", "statistic: median,", "statistic: avg,",
			`23: streams[checkout].releases[p50].statistic: "avg" is not a statistic; did you mean mean?`},
		{"the maximum", "statistic: median,", "statistic: max,",
			`23: streams[checkout].releases[p50].statistic: "max" is not a statistic; did you mean quantile with p 0.99 (a ` +
				`single user decides a maximum)?`},
		{"a misspelt statistic", "statistic: median,", "statistic: meidan,",
			`23: streams[checkout].releases[p50].statistic: "meidan" is not a statistic; did you mean median?`},
		{"a misspelt mechanism", "statistic: median,", "statistic: median, mechanism: margim,",
			`23: streams[checkout].releases[p50].mechanism: "margim" is not a mechanism of median; did you mean "margin"?`},
		{"a misspelt word", "on_exhausted: refuse", "on_exhausted: Withhodl",
			`32: streams[checkout].on_exhausted: "Withhodl" is unknown; did you mean "withhold"?`},
		{"a release that is none", "release: users", "release: user",
			`27: streams[checkout].min_users.release: "user" is not a release of this stream; did you mean "users"?`},
		{"a name with capitals", "name: checkout", "name: Checkout_Latency",
			`5: streams[Checkout_Latency].name: "Checkout_Latency" has other characters than a–z, 0–9 and -; write ` +
				`checkout-latency`},
		{"a key out of line", "    bounds:", "   bounds:",
			`18: this line does not fit those before it: did not find expected '-' indicator; check its indentation, its ` +
				`brackets and its quotes`},
		{"a colon in a text", "description: time to", "description: time: to",
			`6: mapping values are not allowed in this context; quote a text that holds a colon and a space, and check the ` +
				`indentation`},
		{"a quote that is not closed", "description: time to", `description: "time to`,
			`6: a quote is not closed; close it`},
		{"on change, not said", "statistic: median,",
			"statistic: median, tolerance: 0.03, watch_epsilon: 0.1, at_most: 2,",
			`23: streams[checkout].releases[p50].tolerance: it means nothing without publish: on_change; add that, or remove ` +
				`it`},
		{"on change with a statistic that has no such thing", "statistic: median,",
			"statistic: mode, publish: on_change, tolerance: 0.03,",
			`23: streams[checkout].releases[p50].publish: mode has no publish; remove it, or use statistic: median or quantile`},
		{"a percentage", "p: 0.9,", "p: 90%,",
			`24: streams[checkout].releases[p90].p: 90% is not a number; write 0.9`},
		{"a number in quotes", "statistic: median, epsilon: 0.05", `statistic: median, epsilon: "0.05"`,
			`23: streams[checkout].releases[p50].epsilon: "0.05" is text because of the quotes; write 0.05`},
		{"a decimal comma in quotes", "statistic: median, epsilon: 0.05", `statistic: median, epsilon: "0,05"`,
			`23: streams[checkout].releases[p50].epsilon: 0,05 is not a number; write 0.05`},
		{"what looks octal", "expected_users: 5000", "expected_users: 010",
			`19: streams[checkout].expected_users: 010 begins with a 0, which some YAML readers take as octal; write 10`},
		{"what looks octal, in ε", "statistic: median, epsilon: 0.05", "statistic: median, epsilon: 01",
			`23: streams[checkout].releases[p50].epsilon: 01 begins with a 0, which some YAML readers take as octal; write 1`},
		{"hexadecimal", "expected_users: 5000", "expected_users: 0x10",
			`19: streams[checkout].expected_users: 0x10 is not a number; want a whole number of users of at least 1`},
		{"a boolean in quotes", "on_exhausted: refuse", `fresh: "true"`,
			`32: streams[checkout].fresh: "true" is text because of the quotes; write true`},
		{"no for false", "on_exhausted: refuse", "fresh: no",
			`32: streams[checkout].fresh: "no" is not true or false; write false`},
		{"On for true", "on_exhausted: refuse", "fresh: On",
			`32: streams[checkout].fresh: "On" is not true or false; write true`},
		{"a text for a list", "groups: [eu, us, ap]", "groups: eu, us",
			`16: streams[checkout].groups: "eu, us" is not a list; write [eu, us]`},
		{"a mapping for a list", "groups: [eu, us, ap]", "groups: {eu: 1}",
			`16: streams[checkout].groups.eu: unknown key; want from, discover, keep, max, other, always, match or except`},
		{"a list for a number", "statistic: median, epsilon: 0.05", "statistic: median, epsilon: [0.05]",
			`23: streams[checkout].releases[p50].epsilon: a list; want a number greater than 0`},
		{"a mapping for a number", "statistic: median, epsilon: 0.05", "statistic: median, epsilon: {value: 0.05}",
			`23: streams[checkout].releases[p50].epsilon: a mapping; want a number greater than 0`},
		{"a text for a mapping", "bounds: {lower: 0, upper: 60000, step: 1, prior: cells}", "bounds: 0-60000",
			`18: streams[checkout].bounds: 0-60000; want {lower: …, upper: …, step: …}`},
		{"a topic without its mapping", "output: {topic: checkout.private}", "output: checkout.private",
			`30: streams[checkout].output: "checkout.private" is not a mapping; write {topic: checkout.private}`},
		{"nothing after a key", "max_groups: 1", "max_groups:",
			`17: streams[checkout].max_groups: empty; want a whole number of groups of at least 1`},
		{"an unknown key, one letter off", "max_groups: 1", "max_group: 1",
			`17: streams[checkout].max_group: unknown key; did you mean "max_groups"?`},
		{"an unknown key, letters exchanged", "contribution: last", "contribtuion: last",
			`21: streams[checkout].contribtuion: unknown key; did you mean "contribution"?`},
		{"an unknown key far from all", "{count: 50, release: users}", "{count: 50, release: users, colour: red}",
			`27: streams[checkout].min_users.colour: unknown key; want count or release`},
		{"a key repeated", "max_groups: 1", "max_groups: 1\n    max_groups: 2",
			`18: streams[checkout].max_groups: already set on line 17; remove one of the two`},
		{"a mapping repeated", "    unit: ms\n", "    input:\n      topic: other\n",
			`15: streams[checkout].input: already set on line 7; remove one of the two`},
		{"a key repeated in braces", "statistic: median, epsilon: 0.05", "statistic: median, epsilon: 0.05, epsilon: 5",
			`23: streams[checkout].releases[p50].epsilon: already set on line 23; remove one of the two`},
		{"min for minutes", "size: 15m,", "size: 15min,",
			`20: streams[checkout].window.size: 15min is not a duration; write 15m`},
		{"a duration in words", "size: 15m,", "size: 15 minutes,",
			`20: streams[checkout].window.size: 15 minutes is not a duration; write 15m`},
		{"an ISO duration", "size: 15m,", "size: PT15M,",
			`20: streams[checkout].window.size: "PT15M" is not a duration; write 15m`},
		{"a key that is cut short", "statistic: median, epsilon: 0.05", "statistic: median, eps: 0.05",
			`23: streams[checkout].releases[p50].eps: unknown key; did you mean "epsilon"?`},
		{"a week", "epsilon: 24, per: 24h", "epsilon: 24, per: 1w",
			`3: budgets[shoppers].per: 1w is not a duration; write 7d`},
		{"a day", "epsilon: 24, per: 24h", "epsilon: 24, per: day",
			`3: budgets[shoppers].per: "day" is not a duration; write 24h`},
		{"an adverb", "epsilon: 24, per: 24h", "epsilon: 24, per: weekly",
			`3: budgets[shoppers].per: "weekly" is not a duration; write 7d`},
		{"days and hours", "epsilon: 24, per: 24h", "epsilon: 24, per: 1d12h",
			`3: budgets[shoppers].per: 1d12h is not a duration; write 36h`},
		{"a duration without a unit", "grace: 30s", "grace: 30",
			`20: streams[checkout].window.grace: 30 has no unit; write 30s, 30m, 30h or 30d`},
		{"milliseconds", "grace: 30s", "grace: 500ms",
			`20: streams[checkout].window.grace: 500ms has a fraction of a second; want a duration of whole seconds, for ` +
				`example 15m`},
		{"a time without a zone", "start: now", "start: 2026-11-20T08:00:00",
			`20: streams[checkout].window.start: 2026-11-20T08:00:00 has no time zone; write 2026-11-20T08:00:00Z for UTC`},
		{"a time with a space, without a zone", "start: now", "start: 2026-11-20 08:00",
			`20: streams[checkout].window.start: 2026-11-20 08:00 has no time zone; write 2026-11-20T08:00:00Z for UTC`},
		{"a date", "start: now", "start: 2026-11-20",
			`20: streams[checkout].window.start: 2026-11-20 has no time zone; write 2026-11-20T00:00:00Z for UTC`},
		{"a time with a space", "start: now", "start: 2026-11-20 08:00:00+01:00",
			`20: streams[checkout].window.start: 2026-11-20 08:00:00+01:00 is not a time; write 2026-11-20T08:00:00+01:00`},
		{"a day that does not exist", "start: now", "start: 2026-02-30T08:00:00Z",
			`20: streams[checkout].window.start: 2026-02-30T08:00:00Z; want a time of whole seconds, for example ` +
				`2026-11-20T08:00:00Z, or now`},
		{"a variable that is not set", "topic: checkout.events", "topic: ${TOPIC}",
			`8: streams[checkout].input.topic: the environment variable TOPIC is not set; set it, or write the value instead ` +
				`of ${TOPIC}`},
		{"a shell's default for a variable", "topic: checkout.events", "topic: ${TOPIC:-events}",
			`8: streams[checkout].input.topic: ${TOPIC:-events} is not the name of a variable; want ${NAME} of letters, ` +
				`digits and _`},
		{"an empty file", right, "",
			`1: the file is empty; want a streams file in YAML`},
		{"another format", right, "[1]",
			`1: not a streams file; want YAML that begins with version: 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n := strings.Count(right, c.old); n != 1 {
				t.Fatalf("%q occurs %d times", c.old, n)
			}
			_, err := File("streams.yaml", []byte(strings.Replace(right, c.old, c.new, 1)), noVariables)
			if want := "streams.yaml:" + c.want; err == nil || err.Error() != want {
				t.Errorf("\n got %v\nwant %s", err, want)
			}
		})
	}
}

// Input that looks like a mistake but is valid.
func TestNoMistakes(t *testing.T) {
	variables := map[string]string{"EPSILON": "0.05", "SIZE": "15m"}
	for _, c := range []struct{ name, old, new string }{
		{"Norway is a group, not false", "groups: [eu, us, ap]", "groups: [no, se, on]"},
		{"so are numbers", "groups: [eu, us, ap]", "groups: [010, 2, 1.5]"},
		{"a stream whose name is a number", "- name: checkout\n", "- name: 2026\n"},
		{"a day", "size: 15m, every: 15m", "size: 1d"},
		{"minutes of an hour and a half", "size: 15m, every: 15m", "size: 1h30m"},
		{"a number in a variable", "statistic: median, epsilon: 0.05", "statistic: median, epsilon: ${EPSILON}"},
		{"a variable in quotes", "statistic: median, epsilon: 0.05", `statistic: median, epsilon: "${EPSILON}"`},
		{"a duration in quotes", "size: 15m,", `size: "${SIZE}",`},
		{"tabs in a text and before a comment", "description: time to confirm an order", "description: \"a\tb\" \t# c"},
		{"a time in another zone", "start: now", "start: 2026-11-20T09:00:00+01:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n := strings.Count(right, c.old); n != 1 {
				t.Fatalf("%q occurs %d times", c.old, n)
			}
			if _, err := File("streams.yaml", []byte(strings.Replace(right, c.old, c.new, 1)),
				func(name string) (string, bool) { v, ok := variables[name]; return v, ok }); err != nil {
				t.Error(err)
			}
		})
	}
}

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
