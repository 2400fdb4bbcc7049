package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// books are which streams were charged to each budget, as "budget: stream topic".
type books []string

func (b books) charged(_ context.Context, budget string) (bool, error) {
	return slices.ContainsFunc(b, func(line string) bool { return strings.HasPrefix(line, budget+": ") }), nil
}

// meant is a file that is meant to replace all before it, whatever streams they had.
func meant(revision int, streams []*config.Stream) Wanted {
	return Wanted{Streams: streams, Revision: revision, Removed: []string{"s", "other", "new", "third"}}
}

// paid are streams with their input topics, budgets and words, as "stream topic budget: word".
func paid(t *testing.T, lines ...string) []*config.Stream {
	t.Helper()
	seen := map[string]bool{}
	budgets, streams := "", ""
	for _, line := range lines {
		line, word, said := strings.Cut(line, "; ")
		f := strings.Fields(line)
		if !seen[f[2]] {
			budgets += fmt.Sprintf("  - {name: %s, epsilon: 100, per: 24h}\n", f[2])
		}
		seen[f[2]] = true
		streams += fmt.Sprintf(`  - name: %s
    input: {topic: %s, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 1s, start: now}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: %s
`, f[0], f[1], f[2])
		if said {
			streams += "    " + word + "\n"
		}
	}
	file, err := parse.File("s.yaml", []byte("version: 1\nbudgets:\n"+budgets+"streams:\n"+streams), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return file.Streams
}

// lineage is that of the budget in a line as paid reads it.
func lineage(s *State, line string) string {
	line, _, _ = strings.Cut(line, ";")
	return strings.Join(s.Lineage(strings.Fields(line)[2]), " ")
}

// TestClaims runs the scripts in testdata/claims: no change of the files forgets what was spent.
//
//	app      an app that has not begun
//	charge   windows are charged to budgets, each as "budget: stream topic"
//	files    a process begins with these streams: "stream topic budget; word"
//
// Under ---- stands the budget of the first stream with all whose spending it has taken over, or why the files are
// refused. go test ./stream/control -run Claims -rewrite writes that into the scripts. Then whoever reads the difference
// has to see that no budget forgets another one's spending without a word in the files.
func TestClaims(t *testing.T) {
	datadriven.Walk(t, "testdata/claims", func(t *testing.T, path string) {
		var log *memory
		var spent books
		revision := 0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines := strings.Split(d.Input, "\n")
			switch d.Cmd {
			case "app":
				log, spent, revision = &memory{}, nil, 0
				return ""
			case "charge":
				spent = append(spent, lines...)
				return ""
			}
			state, err := Load(t.Context(), log, meant(revision, paid(t, lines...)), spent.charged)
			switch revision++; {
			case errors.Is(err, ErrRefused):
				return err.Error()
			case err != nil:
				d.Fatalf(t, "%v", err)
			}
			return "paid by " + lineage(state, lines[0])
		})
	})
}

// TestSameFileIsNotJudgedAgain reads a file with a word often: the control topic grows once.
func TestSameFileIsNotJudgedAgain(t *testing.T) {
	log := &memory{}
	spent := books{"a: s in"}
	for revision, file := range []string{"s in a", "s in b; continues: a"} {
		before := 0
		for i := range 3 {
			if _, err := Load(context.Background(), log, meant(revision, paid(t, file)), spent.charged); err != nil {
				t.Fatal(err)
			}
			if i > 0 && len(log.records) != before {
				t.Errorf("%s wrote %d more records when it was read again", file, len(log.records)-before)
			}
			before = len(log.records)
		}
	}
}
