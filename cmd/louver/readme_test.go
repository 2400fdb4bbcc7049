package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/cmd/louver/internal/generate"
	"github.com/louver/louver/mechanisms"
)

// The table of statistics and mechanisms says what the catalogue says. go generate ./cmd/louver writes it anew.
func TestReadmeListsTheCatalogue(t *testing.T) {
	const heading = "## Statistics and mechanisms\n\n"
	path := filepath.Join("..", "..", "deploy", "STATISTICS.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(text), heading)
	got, rest, ends := strings.Cut(after, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table under %q", path, heading)
	}
	want := mechanismTable(t)
	if *update {
		if err := os.WriteFile(path, []byte(before+heading+want+"\n\n"+rest), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if d := cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")); d != "" {
		t.Errorf("the table in %s differs from the catalogue (-, +):\n%s", path, d)
	}
}

// mechanismTable has a row for the statistics that have the same mechanisms, and one for the smooth_* ones, which many
// have.
func mechanismTable(t *testing.T) string {
	w := table.NewWriter()
	w.AppendHeader(table.Row{"statistic", "mechanisms, the default first"})
	var smooth []string
	seen := map[string]bool{}
	for _, s := range mechanisms.Statistics() {
		if seen[string(s)] {
			continue
		}
		var same, names []string
		for _, other := range mechanisms.Statistics() {
			if slices.Equal(mechanisms.Available(s), mechanisms.Available(other)) {
				same, seen[string(other)] = append(same, "`"+string(other)+"`"), true
			}
		}
		if len(mechanisms.Available(s)) == 0 {
			w.AppendRow(table.Row{strings.Join(same, ", "), "none: it is computed `from:` a `histogram`"})
			continue
		}
		some := []string{}
		for _, name := range mechanisms.Available(s) {
			marked := "`" + name + "`" + promiseMark(t, s, name)
			if strings.HasPrefix(name, "smooth_") {
				if some = append(some, marked); len(some) == 1 {
					names = append(names, "all `smooth_*`")
				}
				continue
			}
			names = append(names, marked)
		}
		if len(some) > 0 {
			smooth = some
		}
		w.AppendRow(table.Row{strings.Join(same, ", "), strings.Join(names, ", ")})
	}
	w.AppendRow(table.Row{"`smooth_*`", strings.Join(smooth, ", ")})
	return w.RenderMarkdown()
}

// promiseMark marks what is not ε-differential privacy.
func promiseMark(t *testing.T, s mechanisms.Statistic, name string) string {
	t.Helper()
	grid, err := mechanisms.NewGrid(decimal.Zero, decimal.New(10, 0), decimal.New(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	q := mechanisms.Query{Statistic: s, Mechanism: name, Epsilon: decimal.New(1, -1), Grid: grid}
	for _, p := range mechanisms.Parameters() {
		if p.Required && p.Takes(s) {
			tenth := mechanisms.Setting{Numbers: []decimal.Decimal{decimal.New(1, -1)},
				Buckets: &mechanisms.Bucketing{Native: true}}
			if err := p.Set(&q, tenth); err != nil {
				t.Fatal(err)
			}
		}
	}
	m, err := mechanisms.New(q)
	if err != nil {
		q.Delta = decimal.New(1, -6)
		if m, err = mechanisms.New(q); err != nil {
			t.Fatal(err)
		}
	}
	return map[privacy.Kind]string{privacy.ZCDP: " (zCDP)", privacy.Approximate: " (ε, δ)"}[m.Promise().Kind]
}

// The README's streams file is sound, also with each of the blocks that PRIVACY.md shows, and its budget has to be as
// large as they say.
func TestReadmeBlocks(t *testing.T) {
	text := readme(t) + privacyText(t)
	block := func(begins string) string {
		t.Helper()
		_, rest, found := strings.Cut(text, "```yaml\n"+begins)
		inside, _, ends := strings.Cut(rest, "```")
		if !found || !ends {
			t.Fatalf("there is no block that begins with %q", begins)
		}
		return begins + inside
	}
	const output, budget = "    output:", "budget: {epsilon: 3.7, delta: 0.000000001, per: 24h}"
	of := func(epsilon string) string { return strings.Replace(budget, "3.7", epsilon, 1) }
	whole, watches, calm := block("version: 1\n"), block("    watches:\n"), block("    releases:\n")
	_, calm, _ = strings.Cut(calm, "\n")
	const capped = "max_windows: {count: 8, per: 24h}"
	if !strings.Contains(text, "`"+capped+"`") || !strings.Contains(whole, budget) {
		t.Fatal("PRIVACY.md shows another max_windows, or another budget")
	}
	for _, c := range []struct{ name, more, budget, want string }{
		{"the file", output, budget, ""},
		{"max_windows", "    " + capped + "\n" + output, budget, ""},
		{"watches and too small a budget", watches + output, budget, "want an epsilon of at least 4.40752"},
		{"watches", watches + output, of("4.41"), ""},
		{"on_change", calm + output, of("4.3"), ""},
	} {
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", strings.NewReplacer(output, c.more, budget,
			c.budget).Replace(whole)))
		if (got.code == cli.ExitDone) != (c.want == "") || !strings.Contains(got.err, c.want) || c.want == "" &&
			got.err != "" {
			t.Errorf("%s: %d, %s", c.name, got.code, got.err)
		}
	}
}

// The streams of contributions that add up, in the README and in STREAMS.md, are sound as they stand there, and check
// says of each what a user counts with and what is published.
func TestExamplesOfAddingAreSound(t *testing.T) {
	t.Setenv("COLUMNS", "200")
	text := readme(t) + document(t, filepath.Join("deploy", "STREAMS.md"))
	for name, want := range map[string][]string{
		"checkout-requests": {"one user counts with the number of their events in a window, from 0 to 20 requests\n",
			"│ requests │ sum", "± 5,991 requests", "the schedule needs ε 2."},
		"revenue": {"one user counts with the sum of their values in a window, from 0 to 500 EUR\n",
			"total today adds up values, of one user at most 1000 EUR, since midnight (UTC)"},
		"errors": {"one user counts with the number of their events in a window, from 0 to 10 errors\n",
			"│ troubled │ count "},
	} {
		_, rest, found := strings.Cut(text, "  - name: "+name+"\n")
		stream, _, ends := strings.Cut(rest, "```")
		if !found || !ends {
			t.Fatalf("there is no example of a stream %s", name)
		}
		got := commandLine(t, "", "check", clitest.File(t, "s.yaml", "version: 1\nstreams:\n  - name: "+name+"\n"+stream))
		if got.code != cli.ExitDone || got.err != "" {
			t.Errorf("%s: %d, %s", name, got.code, got.err)
		}
		for _, w := range want {
			if !strings.Contains(got.out, w) {
				t.Errorf("%s: check does not say %q:\n%s", name, w, got.out)
			}
		}
	}
}

// The table of what a δ saves is what check says of the README's streams file, rounded up.
func TestReadmeSaysWhatADeltaSaves(t *testing.T) {
	_, example, _ := strings.Cut(readme(t), "```yaml\nversion: 1\n")
	example, _, _ = strings.Cut(example, "```")
	for _, c := range []struct{ every, windows string }{{"1h", "24"}, {"15m", "96"}, {"1m", "1,440"}} {
		got := commandLine(t, "", "check", "--json",
			clitest.File(t, "s.yaml", "version: 1\n"+strings.NewReplacer("size: 15m, every: 15m", "size: "+c.every,
				"epsilon: 3.7, delta: 0.000000001,", "epsilon: 300,").Replace(example)))
		var found struct {
			Budgets []struct {
				Wanted float64 `json:"epsilon_wanted"`
				With   struct {
					Wanted decimal.Decimal `json:"epsilon_wanted"`
				} `json:"with_delta"`
			}
		}
		if err := json.Unmarshal([]byte(got.out), &found); err != nil || len(found.Budgets) != 1 {
			t.Fatalf("%v: %+v", err, got)
		}
		b := found.Budgets[0]
		if row := fmt.Sprintf("| `%s`, %s of them | ε %v | ε %s |", c.every, c.windows, b.Wanted,
			b.With.Wanted.RoundUp(2)); !strings.Contains(privacyText(t), row) {
			t.Errorf("PRIVACY.md does not have the row %s", row)
		}
	}
}

// Commands that the README lists and that need no Kafka run as they stand there.
func TestReadmeListsCommandsThatRun(t *testing.T) {
	text := readme(t)
	_, streams, _ := strings.Cut(text, "```yaml\n")
	streams, _, _ = strings.Cut(streams, "```")
	t.Chdir(t.TempDir())
	t.Setenv("LOUVER_STREAMS", "streams.yaml")
	if err := os.WriteFile("streams.yaml", []byte(streams), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^louver ((?:plan|rules) [^#>\n]*)`).FindAllStringSubmatch(text, -1)
	if len(commands) != 2 {
		t.Fatalf("the commands are %q", commands)
	}
	for _, c := range commands {
		if got := commandLine(t, "", strings.Fields(c[1])...); got.code != cli.ExitDone || got.out == "" {
			t.Errorf("louver %s: exit code %d, %s", c[1], got.code, got.err)
		}
	}
}

// The alerts that the README and the help of louver rules write as examples are rarely false: noise raises all of them
// together less than once in 30 days.
func TestExamplesOfAlertsAreQuiet(t *testing.T) {
	_, streams, _ := strings.Cut(readme(t), "```yaml\n")
	streams, _, _ = strings.Cut(streams, "```")
	file := clitest.File(t, "streams.yaml", streams)
	help := strings.ReplaceAll(generate.RulesCommand{}.Help(), "\\\n", "")
	for name, text := range map[string]string{"README.md": readme(t), "the help": help} {
		commands := regexp.MustCompile(`(?m)^ *louver rules (?:streams.yaml )?(--(?:above|below) [^#>\n]*)`).
			FindAllStringSubmatch(text, -1)
		if len(commands) == 0 {
			t.Errorf("%s has no example of an alert", name)
		}
		for _, c := range commands {
			got := commandLine(t, "", append([]string{"rules", file}, strings.Fields(c[1])...)...)
			if got.code != cli.ExitDone || got.err != "" {
				t.Errorf("%s: louver rules %s: exit code %d, %s", name, c[1], got.code, got.err)
			}
			sum := 0.0
			for _, m := range regexp.MustCompile(`false_alarms_30d: "([^"]*)"`).FindAllStringSubmatch(got.out, -1) {
				alarms, err := strconv.ParseFloat(m[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += alarms
			}
			if sum <= 0 || sum >= 1 {
				t.Errorf("%s: noise raises the alerts of louver rules %s %v times in 30 days; want less than once",
					name, c[1], sum)
			}
		}
	}
}

// PRIVACY.md says how many users a name needs to be found, as the command there does.
func TestReadmeSaysWhatANameNeeds(t *testing.T) {
	text := strings.Join(strings.Fields(privacyText(t)), " ")
	const command = "plan --statistic groups --epsilon 1 --delta 0.000001"
	for args, sentence := range map[string]string{
		command + " --names-per-user 8": "%d to be found with a probability of 50 %%, %d with 95 %%.",
		command:                         "If a name is the only one of its users, %d and %d are enough.",
	} {
		var found struct {
			Plans []struct {
				Half   int `json:"users_50"`
				Nearly int `json:"users_95"`
			}
		}
		got := commandLine(t, "", append(strings.Fields(args), "--json")...)
		if err := json.Unmarshal([]byte(got.out), &found); err != nil || len(found.Plans) != 1 {
			t.Fatalf("%v: %+v", err, got)
		}
		p := found.Plans[0]
		if want := fmt.Sprintf(sentence, p.Half, p.Nearly); !strings.Contains(text, want) {
			t.Errorf("louver %s: PRIVACY.md does not say %q", args, want)
		}
	}
	if !strings.Contains(text, command+" --names-per-user 8") {
		t.Error("PRIVACY.md shows another command")
	}
}

func readme(t *testing.T) string { return document(t, "README.md") }

func privacyText(t *testing.T) string { return document(t, filepath.Join("deploy", "PRIVACY.md")) }

// document is a file of the tree.
func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Links of the documents lead to files that are there, and to headings that these have.
func TestLinksOfDocuments(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]+))?\)`)
	heading := regexp.MustCompile("(?m)^#+ (.*)$")
	unlike := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	paths, err := filepath.Glob(filepath.Join("..", "..", "deploy", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, path := range append(paths, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			to := path
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere: %v", path, m[0], err)
				continue
			}
			if m[2] == "" {
				continue
			}
			target, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			there := slices.ContainsFunc(heading.FindAllStringSubmatch(string(target), -1), func(h []string) bool {
				return strings.ReplaceAll(unlike.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == m[2]
			})
			if !there {
				t.Errorf("%s: %s: there is no such heading", path, m[0])
			}
		}
	}
	if links < 30 {
		t.Errorf("only %d links were found", links)
	}
}
