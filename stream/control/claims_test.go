package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

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

// step is a file that is read, and what becomes of it.
type step struct {
	file    []string // see paid
	charged []string // before, see books
	refused string   // part of the error; "": none
	line    string   // the lineage of the first stream's budget, if it is not refused
}

func TestNoChangeForgetsWhatWasSpent(t *testing.T) {
	first := step{file: []string{"s in a"}, line: "a"}
	charged := []string{"a: s in"}
	for name, steps := range map[string][]step{
		"another budget": {first,
			{file: []string{"s in b"}, charged: charged,
				refused: "s.yaml:5: stream s: budget \"a\" paid for input topic in before, but the file now names " +
					"\"b\"; write `continues: a` to count what it has spent, or `fresh: true` to ignore that"},
			{file: []string{"s in b; continues: a"}, line: "b a"},
			{file: []string{"s in b; continues: a"}, line: "b a"},
			{file: []string{"s in b"}, line: "b a"}},
		"another budget and another name": {first,
			{file: []string{"new in b"}, charged: charged, refused: "`continues: a`"},
			{file: []string{"new in b; continues: a"}, line: "b a"}},
		"nothing was charged yet": {first,
			{file: []string{"s in b"}, line: "b a"}, // what open windows are charged counts
			{file: []string{"s in b"}, charged: charged, line: "b a"}},
		"there and back": {first,
			{file: []string{"s in b; continues: a"}, charged: charged, line: "b a"},
			{file: []string{"s in a"}, charged: []string{"b: s in"},
				refused: "budget \"b\" paid for input topic in before"},
			{file: []string{"s in a; continues: b"},
				refused: "but b has already taken over what a spent, and two budgets cannot continue each other; use " +
					"a new budget with `continues: b`"},
			{file: []string{"s in c; continues: b"}, line: "c b a"}},
		"there and back under another name": {first,
			{file: []string{"new in b; continues: a"}, charged: charged, line: "b a"},
			{file: []string{"s in a"}, charged: []string{"b: new in"},
				refused: "budget \"b\" paid for input topic in before"},
			{file: []string{"third in a"}, refused: "budget \"b\" paid for input topic in before"},
			{file: []string{"s in a; fresh: true"}, line: "a"}},
		"back beside the one that took over": {first,
			{file: []string{"s in b; continues: a"}, charged: charged, line: "b a"},
			{file: []string{"s in b", "other there a"},
				refused: "stream other: budget \"a\" is closed, because budget \"b\" of stream s has taken over " +
					"its spending"},
			{file: []string{"s in b", "other in a; fresh: true"}, refused: "budget \"a\" is closed"},
			{file: []string{"s in b", "other there b"}, line: "b a"}},
		"fresh, and back": {first,
			{file: []string{"s in b; fresh: true"}, charged: charged, line: "b"},
			{file: []string{"s in b; fresh: true"}, charged: []string{"b: s in"}, line: "b"},
			{file: []string{"s in a"}, refused: "`continues: b`"},
			{file: []string{"s in a; continues: b"}, line: "a b"}},
		"fresh, then continues": {first,
			{file: []string{"s in b; fresh: true"}, charged: charged, line: "b"},
			{file: []string{"s in b; continues: a"}, line: "b a"},
			{file: []string{"s in b; fresh: true"},
				refused: "budget \"b\" has taken over what \"a\" spent, which cannot be undone"},
			{file: []string{"s in b"}, line: "b a"}},
		"a word that stayed in the file": {first,
			{file: []string{"s in b; continues: a"}, charged: charged, line: "b a"},
			{file: []string{"s in c; continues: a"}, charged: []string{"b: s in"},
				refused: "continues: a, but until now budget \"b\" paid for input topic in; write `continues: b`"},
			{file: []string{"s in c; continues: b"}, line: "c b a"}},
		"two budgets from the start": {
			{file: []string{"s in a", "other in b"},
				refused: "s.yaml:13: stream other: budget \"b\" would charge the users of input topic in, whom budget " +
					"\"a\" of stream s already charges; write `budget: a` to share that budget, or `fresh: true`"},
			{file: []string{"s in a", "other in b; fresh: true"}, line: "a"},
			{file: []string{"s in a", "other in b"}, line: "a"}},
		"two budgets from the start, the word in the first": {
			{file: []string{"s in a; fresh: true", "other in b"}, line: "a"}},
		"two budgets, then the other's": {
			{file: []string{"s in a", "other in b; fresh: true"}, line: "a"},
			{file: []string{"s in b", "other in b"}, charged: []string{"a: s in", "b: other in"},
				refused: "stream s: budget \"a\" paid for input topic in before"},
			{file: []string{"s in b; continues: a", "other in b"}, line: "b a"}},
		"two budgets, then the second stream": {
			{file: []string{"s in a", "other in b"}, charged: []string{"a: s in", "b: other in"},
				refused: "fresh: true"},
			{file: []string{"s in a", "other in b; fresh: true"}, line: "a"},
			{file: []string{"other in b"}, line: "b"}, // they were said to be two
			{file: []string{"third in c; continues: b"}, line: "c b"}},
		"continues of a budget that is in use": {
			{file: []string{"s in a", "other there a"}, line: "a"},
			{file: []string{"s in b; continues: a", "other there a"}, charged: charged,
				refused: "continues: a, but stream other still uses that budget; write `budget: a` in both"},
			{file: []string{"s in b; continues: a", "other there b"}, line: "b a"}},
		"a second stream continues the first's": {first,
			{file: []string{"s in a", "other in b; continues: a"}, charged: charged,
				refused: "stream s still uses that budget"}},
		"continues of nothing": {first,
			{file: []string{"s in b; continues: typo"}, charged: charged,
				refused: "continues: typo, but until now budget \"a\" paid"},
			{file: []string{"s in a; continues: typo"}, refused: "no stream has ever used a budget of that name"}},
		"two budgets become one": {
			{file: []string{"s in a", "other there b"}, line: "a"},
			{file: []string{"s in c; continues: a", "other there c"}, charged: []string{"a: s in", "b: other there"},
				refused: "stream other: budget \"b\" paid for input topic there before"},
			{file: []string{"s in c; continues: a", "other there c; continues: b"}, line: "c a b"}},
		"another topic": {first,
			{file: []string{"s there b; continues: a"}, charged: charged, line: "b a"}},
	} {
		t.Run(name, func(t *testing.T) {
			log := &memory{}
			var spent books
			for i, s := range steps {
				spent = append(spent, s.charged...)
				state, err := Load(context.Background(), log, meant(i, paid(t, s.file...)), spent.charged)
				switch {
				case s.refused != "":
					if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), s.refused) ||
						strings.Contains(err.Error(), "\n") {
						t.Fatalf("file %d: %v, want what says %s", i+1, err, s.refused)
					}
				case err != nil:
					t.Fatalf("file %d: %v", i+1, err)
				default:
					if line := lineage(state, s.file[0]); line != s.line {
						t.Errorf("file %d: the lineage is %s, want %s", i+1, line, s.line)
					}
				}
			}
		})
	}
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
