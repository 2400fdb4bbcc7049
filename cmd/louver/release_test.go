package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// At ε = 1000 a draw is the exact figure but with probability e^−200 and less.
var exactly = []string{"release", "--lower", "0", "--upper", "100", "--step", "0.5", "--epsilon", "1000"}

func with(args ...string) []string { return append(append([]string{}, exactly...), args...) }

const rows = "\ufeffid, ms ,note\nann,10,\"a,b\"\nbob, 50,\nann,30,\neve,9999,\nann,20.4,\n"

// Who has given no column of users is told what protects a row and not a person.
const eachRow = "louver: stdin: each row counts as a user of its own; " +
	"want --user COLUMN if somebody can have several rows\n"

func TestRelease(t *testing.T) {
	numbers := "1 2 3\n4 5\n\n6 7e0 8.0 9\n"
	csv := strings.Replace(rows, " ms ", "ms", 1)
	for _, c := range []struct {
		name, in string
		args     []string
		want     string
	}{
		{"median", numbers, with(), "5\n"},
		{"quantile", numbers, with("--statistic", "quantile", "--p", "0.75"), "7\n"},
		{"mode", "3 1 3 2", with("--statistic", "mode"), "3\n"},
		// Sums have finer steps: at ε = 1000 one draw in thirty is a step off.
		{"mean", numbers, with("--statistic", "mean", "--clip", "none", "--epsilon", "100000"), "5\n"},
		{"trimmed mean", numbers + " 100", with("--statistic", "trimmed_mean", "--trim", "0.1"), "5.5\n"},
		{"count", numbers, with("--statistic", "count"), "9\n"},
		{"count above", numbers, with("--statistic", "count", "--above", "7"), "2\n"},
		{"count between", numbers, with("--statistic", "count", "--above", "2", "--below", "7"), "4\n"},
		{"outside", "-1 0 100 101 1e400", with("--statistic", "outside"), "3\n"},
		{"clamped, negative bounds", "-1e99 -7 3", []string{"release", "--lower", "-5", "--upper", "5", "--step", "1",
			"--epsilon", "1000", "--statistic", "mode"}, "-5\n"},
		{"on the grid", "2.3 2.3 2.3", with("--mechanism", "duff", "--prior", "uniform"), "2.5\n"},
		{"several draws", numbers, with("--repeat", "3"), "5\n5\n5\n"},
		{"several quantiles", numbers, with("--statistic", "quantiles", "--p", "0.25", "--p", "0.75", "--mechanism",
			"split", "--prior", "uniform"), "p25=3\np75=7\n"},
		{"with an interval", "5 5 5 5 5", with("--interval", "0.9"), "5 5 5\n"},
		{"users of CSV", csv, with("--value", "ms", "--user", "id", "--statistic", "count"), "3\n"},
		{"rows of CSV", csv, with("--value", "ms", "--statistic", "count"), "5\n"},
		{"count without bounds", numbers, []string{"release", "--epsilon", "1000", "--statistic", "count"}, "9\n"},
		{"count of rows without bounds", csv, []string{"release", "--epsilon", "1000", "--statistic", "count",
			"--value", "ms"}, "5\n"},
		{"semicolons", "id;ms\nann;7\n", with("--value", "ms", "--delimiter", ";"), "7\n"},
	} {
		note := ""
		if slices.Contains(c.args, "--value") && !slices.Contains(c.args, "--user") {
			note = eachRow
		}
		if got := commandLine(t, c.in, c.args...); got != (outcome{out: c.want, err: note}) {
			t.Errorf("%s: %+v, want %q, %q", c.name, got, c.want, note)
		}
	}
}

// A row that cannot be used is left out, and its owner is told. It does not end a release.
func TestReleaseLeavesOut(t *testing.T) {
	const private = " (this line is not private: do not publish it)\n"
	for _, c := range []struct {
		name, in string
		args     []string
		out, err string
	}{
		{"an empty cell", "id,ms\nann,1\nbob,\neve,3\n,4\nsue,n/a\ndan,\n", with("--value", "ms", "--user", "id",
			"--statistic", "count"), "2\n", "louver: stdin: 2 of 6 rows are left out, first on line 3: column ms: " +
			"empty; want a number such as 12 or -3.5" + private +
			"louver: stdin: 1 of 6 rows is left out, first on line 5: column id is empty; want a user in every row" + private +
			"louver: stdin: 1 of 6 rows is left out, first on line 6: column ms: not a number; want one such as 12 or -3.5" +
			private},
		{"ids as they are written, one user each", "id,ms\nann,1\n ann,1\nann ,1\nAnn,1\n\u00e9,1\ne\u0301,1\nann, 1\n",
			with("--value", "ms", "--user", "id", "--statistic", "count"), "6\n", ""},
		{"spaces behind all delimiters", "id, ms, zone\nann, 1, x\n ann, 1, \"y, z\"\n",
			with("--value", "ms", "--user", "id", "--statistic", "count"), "1\n", ""},
		// The scale is a hundredth: the sum is another one in e^-50 of the runs.
		{"numbers as people write them", "ms\n1\n+2\n3.\n.5\n", []string{"release", "--lower", "0", "--upper", "10",
			"--step", "0.5", "--epsilon", "1000", "--value", "ms", "--statistic", "sum", "--clip", "none"}, "6.5\n", eachRow},
	} {
		if got := commandLine(t, c.in, c.args...); got != (outcome{out: c.out, err: c.err}) {
			t.Errorf("%s: %+v, want %q and %q", c.name, got, c.out, c.err)
		}
	}
}

// Who draws from nobody's data is told so, beside the figure.
func TestReleaseOfNobody(t *testing.T) {
	for _, c := range []struct {
		in   string
		args []string
	}{
		{"", with("--statistic", "count")},
		{" \n\n", with("--statistic", "count")},
		{"\ufeffid,ms\n", with("--statistic", "count", "--value", "ms", "--user", "id")},
	} {
		got := commandLine(t, c.in, c.args...)
		if want := "louver: stdin holds no users, so the output is only noise (this line is not private: do not " +
			"publish it)\n"; got != (outcome{out: "0\n", err: want}) {
			t.Errorf("%q: %+v, want %q", c.in, got, want)
		}
	}
	if got := commandLine(t, "", with("--json")...); got.code != cli.ExitDone || strings.Count(got.err, "\n") != 1 ||
		!json.Valid([]byte(got.out)) {
		t.Errorf("%+v", got)
	}
	if got := commandLine(t, "0", with("--statistic", "count")...); got != (outcome{out: "1\n"}) {
		t.Errorf("one user is taken for nobody: %+v", got)
	}
}

func TestReleaseContribution(t *testing.T) {
	for policy, want := range map[string]string{"first": "10", "last": "20.5", "min": "10", "max": "30",
		"random": "10 30 20.5"} {
		in := "id,ms\nann,10\nann,30\nann,20.4\n"
		got := commandLine(t, in, with("--value", "ms", "--user", "id", "--contribution", policy, "--statistic",
			"mode")...)
		if got.code != cli.ExitDone || !strings.Contains(" "+want+" ", " "+strings.TrimSpace(got.out)+" ") {
			t.Errorf("%s: %+v, want %s", policy, got, want)
		}
	}
}

// What a user's rows add up to is one value, of one user.
func TestReleaseAddsUp(t *testing.T) {
	const in = "id,ms\nann,10\nbob,4.25\nann,-3\nann,20.5\n"
	for _, c := range []struct{ args, out, err string }{
		{"--value ms --contribution sum", "27.5\n", ""},
		{"--value ms --contribution mean", "9\n", ""}, // 27.5 / 3 is 9.17, and the step is 0.5
		{"--contribution count --step 1", "3\n", ""},
		{"--contribution count", "", "bounds with 0.5 and --contribution count; want whole numbers of rows"},
		{"--value ms --contribution count", "", "--contribution count with --value ms: rows are counted, whatever their values"},
	} {
		args := append(strings.Fields(c.args), "--user", "id", "--statistic", "quantile", "--p", "0.99")
		got := commandLine(t, in, with(args...)...)
		if got.out != c.out || !strings.Contains(got.err, c.err) {
			t.Errorf("%s: %+v, want %q, %q", c.args, got, c.out, c.err)
		}
	}
	got := commandLine(t, in, with("--value", "ms", "--contribution", "sum")...)
	if got.code != cli.ExitUsage || !strings.Contains(got.err, "--contribution sum without --user") {
		t.Errorf("%+v", got)
	}
}

// Rows count that meet all conditions, whatever is done with them; how many do not is for the file's owner.
func TestReleaseWhere(t *testing.T) {
	const in = "id,at,ms,status,page\nann,2026-11-20T00:00:10Z,10,200,/a\nbob,2026-11-20T00:00:10Z,90,404,/a\n" +
		"cid,2026-11-20T00:00:10Z,20,200.0,/a\nann,2026-11-20T00:00:10Z,80,500,/b\n"
	const skipped = "2 of 4 rows are skipped: only those with ms < 50 and status = 200 count (this line is not private"
	const all = "--epsilon 1000 --user id"
	for _, c := range []struct{ args, out, err string }{
		{"--value ms --statistic count", "2\n", skipped},
		{"--value ms --statistic quantile --p 0.99 --lower 0 --upper 100 --step 10", "20\n", skipped},
		{"--value ms --since midnight --from 2026-11-20T00:00:00Z --update 12h --time at --statistic count", "2 ", skipped},
		{"--statistic groups --group page --delta 0.000001", "2 /a\n", skipped},
		{"--value ms --statistic count --where page=/none", "", "stdin: no row has ms < 50, page = /none and status = 200"},
		{"--statistic groups --group page --delta 0.000001 --where page=/none", "", "no row has ms < 50, page = /none and"},
		{"--value ms --statistic count --where nope=1", "", `where "nope" is not in the header`},
		{"--value ms --statistic count --where page", "", `--where "page"; want a field and what it must be`},
	} {
		args := append(append([]string{"release"}, strings.Fields(all+" "+c.args)...), "--where", "status=200", "--where",
			"ms={below: 50}")
		got := commandLine(t, in, args...)
		if !strings.Contains(got.out, c.out) || (c.out == "") != (got.out == "") || !strings.Contains(got.err, c.err) {
			t.Errorf("%s: %+v, want %q, %q", c.args, got, c.out, c.err)
		}
	}
}

func TestReleaseFile(t *testing.T) {
	path := clitest.File(t, "numbers", "1\r\n2\r\n3\r\n")
	for _, args := range [][]string{with(path), with("--", path)} {
		if got := commandLine(t, "not read", args...); got != (outcome{out: "2\n"}) {
			t.Errorf("%+v", got)
		}
	}
	if got := commandLine(t, "1 2 3", with("-")...); got != (outcome{out: "2\n"}) {
		t.Errorf("- is not standard input: %+v", got)
	}
}

func TestReleaseJSON(t *testing.T) {
	got := commandLine(t, "1 2 3", with("--json", "--repeat", "2")...)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%+v", got)
	}
	const want = `{"statistic":"median","mechanism":"permute_and_flip","epsilon":1000,"delta":0,"p":0.5,"value":2,` +
		`"low":null,"high":null,"level":null,"basis":"ranks","usual_95":null,"rank_error_95":`
	for _, line := range lines {
		if !strings.HasPrefix(line, want) || !json.Valid([]byte(line)) {
			t.Errorf("%s, want %s…", line, want)
		}
	}
	got = commandLine(t, "1 2 3", with("--json", "--statistic", "count")...)
	if want := `{"statistic":"count","mechanism":"geometric","epsilon":1000,"delta":0,"p":null,"value":3,"raw":3,` +
		`"low":3,"high":3,"level":0.95,"basis":"noise","usual_95":null,"rank_error_95":null,"error_95":0,"quality":"useful",` +
		`"charge":[{"kind":"pure","epsilon":1000,"rho":1000,"times":1}],"epsilon_lost":1000,"delta_lost":0}` + "\n"; got.out != want {
		t.Errorf("%+v, want %s", got, want)
	}
	// A Gaussian has no ε and no δ of its own: what it costs is a ρ, and more than the ε that was asked for.
	got = commandLine(t, "1 2 3", "release", "--statistic", "count", "--mechanism", "gaussian", "--epsilon", "1", "--json")
	if want := `"charge":[{"kind":"zcdp","epsilon":1,"rho":0.5,"times":1}],"epsilon_lost":6.491248,"delta_lost":0.000000001}` +
		"\n"; !strings.HasSuffix(got.out, want) {
		t.Errorf("%+v, want %s", got, want)
	}
}

func TestReleaseMistakes(t *testing.T) {
	csv := strings.Replace(rows, " ms ", "ms", 1)
	for _, c := range []struct {
		in   string
		args []string
		code int
		want string
	}{
		{"1", []string{"release", "--lower", "0", "--upper", "1", "--step", "1"}, cli.ExitUsage,
			"louver: missing flags: --epsilon=E"},
		{"1", []string{"release", "--epsilon", "1"}, cli.ExitUsage, "louver: --lower, --upper, --step missing; want " +
			"the public bounds of the values, such as --lower 0 --upper 100 --step 1"},
		{"1", []string{"release", "--epsilon", "1", "--lower", "0", "--statistic", "count"}, cli.ExitUsage,
			"louver: --upper, --step missing; want"},
		{"1", []string{"release", "--epsilon", "1", "--statistic", "count", "--above", "3"}, cli.ExitUsage,
			"louver: --lower, --upper, --step missing; want"},
		{"1", []string{"release", "--epsilon", "1", "--statistic", "outside"}, cli.ExitUsage,
			"louver: --lower, --upper, --step missing; want"},
		{csv, with("--value", "ms", "--delimiter", "ab"), cli.ExitUsage,
			`louver: --delimiter "ab"; want one character, such as ;`},
		{strings.ReplaceAll(csv, ",", ";"), with("--value", "ms"), cli.ExitInvalid,
			`louver: stdin:1: value "ms" is not in the header, which has one column if ',' separates them; want delimiter ';'`},
		{"1", with("--epsilon", "0"), cli.ExitUsage, "louver: --epsilon 0; want a number greater than 0"},
		{"1", with("--epsilon", "1e99999999"), cli.ExitUsage,
			`louver: --epsilon: 1e99999999 is too long; want a number of at most 60 digits`},
		{"1", with("--step", "0.3"), cli.ExitUsage, "louver: --upper 100; want lower plus a multiple of the step, 0.3"},
		{"1", with("--statistic", "median", "--p", "0.5"), cli.ExitUsage,
			"louver: --p with --statistic median; want it with quantile or quantiles only"},
		{"1", with("--statistic", "quantile"), cli.ExitUsage,
			"louver: --statistic quantile without --p; want --p, such as --p 0.9"},
		{"1", with("--statistic", "trimmed_mean"), cli.ExitUsage, "louver: --statistic trimmed_mean without --trim"},
		{"1", with("--trim", "0"), cli.ExitUsage, "louver: --trim with --statistic median; want it with trimmed_mean " +
			"only"},
		{"1", with("--tilt", "1"), cli.ExitUsage, "louver: --tilt 1; want two whole numbers, for example 1, 3"},
		{"1", with("--tilt", "0,1"), cli.ExitUsage, "louver: --tilt 0; want a number of at least 1"},
		{"1", with("--beta", "0"), cli.ExitUsage, "louver: --beta 0; want a number greater than 0"},
		{"1", with("--delta", "0.01"), cli.ExitUsage,
			"louver: --delta 0.01; want none: mechanism permute_and_flip has no such parameter"},
		{"1", with("--statistic", "mean", "--mechanism", "smooth_laplace"), cli.ExitUsage,
			"louver: --delta 0; want a number greater than 0 and less than 0.1: laplace needs a delta"},
		{"1", with("--mechanism", "magic"), cli.ExitUsage,
			`louver: --mechanism "magic"; want one of those for statistic median`},
		{"1", with("--repeat", "0"), cli.ExitUsage, "louver: --repeat 0; want at least 1"},
		{"1", with("--user", "id"), cli.ExitUsage, "louver: --user id without --value"},
		{"1", with("--statistic", "average"), cli.ExitUsage,
			"louver: --statistic average is not a statistic; did you mean mean?"},
		{"1 2\nSECRET", with(), cli.ExitInvalid,
			"louver: stdin:2: not a number; want numbers such as 12 or -3.5, or --value COLUMN for CSV"},
		{"", with("none.csv"), cli.ExitInvalid,
			"louver: open none.csv: no such file or directory; want a file with numbers or CSV"},
		{"", with("--value", "ms"), cli.ExitInvalid,
			"louver: stdin:1: the file has no header; want the names of the columns in the first line"},
		{csv, with("--value", "MS"), cli.ExitInvalid,
			`louver: stdin:1: value "MS" is not in the header; want one of id, ms, note`},
		{csv, with("--value", "ms", "--user", "who"), cli.ExitInvalid,
			`louver: stdin:1: user "who" is not in the header; want one of id, ms, note`},
		{csv, with("--value", "note"), cli.ExitInvalid,
			"louver: stdin:2: column note: not a number; want one such as 12 or -3.5"},
		{"id,ms\n,1\n", with("--value", "ms", "--user", "id"), cli.ExitInvalid,
			"louver: stdin:2: column id is empty; want a user in every row"},
		{"id,ms\nSECRET\n", with("--value", "ms"), cli.ExitInvalid,
			"louver: stdin:2: the line does not have as many fields as the header; want one for each column"},
	} {
		got := commandLine(t, c.in, c.args...)
		got.wants(t, c.code, c.want)
		if strings.Contains(got.err, "SECRET") {
			t.Errorf("an error repeats a value: %s", got.err)
		}
	}
}
