package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// visits has 60 users who all visit /a, /b and /c (once more for every third), and one who has a page of their own.
func visits() string {
	var b strings.Builder
	b.WriteString("page,who\n")
	for u := range 60 {
		for _, page := range []string{"/a", "/b", " /c"} {
			fmt.Fprintf(&b, "%s,u%d\n", page, u)
			if u%3 == 0 {
				fmt.Fprintf(&b, "%s ,u%d\n", page, u)
			}
		}
	}
	b.WriteString("/secret,x\n")
	return b.String()
}

func findPages(more ...string) []string {
	return append([]string{"release", "--statistic", "groups", "--user", "who", "--group", "page"}, more...)
}

// foundPages reads what was printed.
func foundPages(t *testing.T, out string) map[string]int {
	t.Helper()
	found, before := map[string]int{}, ""
	for line := range strings.Lines(out) {
		count, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || name <= before {
			t.Errorf("%q after %q", line, before)
		}
		found[name], before = n, name
	}
	return found
}

// With an ε as large as this the counts are exact. So they say who counts: each user once, for as many names as
// --max-groups allows.
func TestReleaseGroups(t *testing.T) {
	t.Parallel()
	exactly := []string{"--epsilon", "2000", "--delta", "0.01"}
	for most := 1; most <= 4; most++ {
		got := commandLine(t, visits(), findPages(append(exactly, "--max-groups", fmt.Sprint(most))...)...)
		found, sum := foundPages(t, got.out), 0
		for _, n := range found {
			sum += n
		}
		if got.code != cli.ExitDone || got.err != "" || len(found) != 3 || sum != 60*min(most, 3) {
			t.Errorf("--max-groups %d: %+v", most, got)
		}
		// A user's names take turns by a hash: 60 users who all choose the same of three have a probability of 3^−59.
		if most == 1 && max(found["/a"], found["/b"], found["/c"]) == 60 {
			t.Errorf("all users count for one name: %v", found)
		}
	}
	got := commandLine(t, visits(), findPages(append(exactly, "--max-groups", "3", "--at-least", "61")...)...)
	if got.code != cli.ExitDone || got.out != "" || !strings.Contains(got.err,
		"no group was found. A group of 62 users is found with a probability of 50 %, one of 62 users with 95 %") {
		t.Errorf("%+v", got)
	}
}

// Names come out in the order of their bytes, whatever that of the file is. The order of a map would pass with a
// probability of 1/30!.
func TestReleaseGroupsInOrder(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("page,who\n")
	for u := range 900 {
		fmt.Fprintf(&b, "/%02d,u%d\n", 29-u%30, u)
	}
	got := commandLine(t, b.String(), findPages("--epsilon", "2000", "--delta", "0.01")...)
	if found := foundPages(t, got.out); len(found) != 30 { // which looks at the order
		t.Errorf("%+v", got)
	}
}

// TestReleaseGroupsInJSON: a line has all that a record says of a group; names that are none are left out, and not
// shown.
func TestReleaseGroupsInJSON(t *testing.T) {
	t.Parallel()
	got := commandLine(t, visits()+"\u200bwell-hidden,y\n,z\n", findPages("--epsilon", "0.5", "--delta", "0.00000001",
		"--max-groups", "3", "--json")...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	for _, line := range lines {
		if !strings.HasPrefix(line, `{"group":"/`) || !strings.Contains(line,
			`,"statistic":"groups",`+`"mechanism":"truncated_geometric","value":`) ||
			!strings.Contains(line, `,"threshold":36,"error_95":6,"low":`) ||
			!strings.Contains(line, `"level":0.95,"basis":"noise","usual_95":null,"epsilon":0.5,"delta":0.00000001}`) {
			t.Errorf("a line is %s", line)
		}
	}
	const left = "louver: stdin: 1 of 243 rows is left out, first on line 243: column page: it has a control, format or " +
		"private-use character or a line separator (this line is not private: do not publish it)\n" +
		"louver: stdin: 1 of 243 rows is left out, first on line 244: column page: it is empty (this line is not private: " +
		"do not publish it)\n"
	if got.code != cli.ExitDone || got.err != left {
		t.Errorf("%d, %s\nwant %s", got.code, got.err, left)
	}
}

// Ten thousand names of one user each: none is shown, on either output.
func TestReleaseGroupsIsSilent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("page,who\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "marked%d,u%d\n", i, i)
	}
	// At this δ one of them would be found once in 10⁴⁰ runs.
	got := commandLine(t, b.String(), findPages("--epsilon", "1", "--delta", "1e-44")...)
	if got.code != cli.ExitDone || got.out != "" || strings.Contains(got.err, "marked") {
		t.Errorf("%+v", got)
	}
}
