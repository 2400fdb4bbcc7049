package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

const requests = "time,client,section,bytes\n2015-05-17T10:05:00Z,SECRET1,blog,25230\n" +
	"2015-05-17T10:05:03Z,SECRET2,assets,1015\n"

// What people get wrong and the one line that answers it: what, where, what would be right. Mistakes in streams files
// are in stream/config/parse, those in reaching Kafka in connect_test.go.
func TestMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	csv, semicolons := at("r.csv", requests), at("s.csv", strings.ReplaceAll(requests, ",", ";"))
	empty, headless := at("empty", ""), at("h.csv", strings.SplitN(requests, "\n", 2)[1])
	ragged, badTime := at("ragged.csv", requests+"2015-05-17T10:05:00Z,SECRET3\n"),
		at("t.csv", requests[:strings.Index(requests, "\n")+1]+"Sunday at 10:05,SECRET3,blog,1\n")
	json, array := at("r.jsonl", `{"usr":{"id":"SECRET1"},"ms":1,"ts":0}`), at("r.json", `[{"usr":"SECRET1"}]`)
	numbers := at("n.txt", "12\n13,5\n")
	missing := filepath.Join(dir, "none.csv")
	columns := []string{"--user", "client", "--value", "bytes", "--time", "time"}
	replay := func(path string, args ...string) []string {
		return append([]string{"replay", path, "--topic", "t", "--dry-run"}, args...)
	}
	release := func(args ...string) []string {
		return append([]string{"release", "--epsilon", "1", "--lower", "-10", "--upper", "10", "--step", "1"}, args...)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing", nil, cli.ExitUsage, "no command; try louver demo, or louver help for a list"},
		{"a misspelt command", []string{"chek"}, cli.ExitUsage, `chek is not a command; did you mean "check"?`},
		{"a misspelt flag", []string{"check", "--jsn", csv}, cli.ExitUsage,
			`unknown flag --jsn, did you mean "--json"?`},
		{"a file for a command that takes none", []string{"budget", "s.yaml"}, cli.ExitUsage,
			"unexpected argument s.yaml; louver help budget says what it takes"},
		{"a streams file for a command that asks Kafka", []string{"budget", "--streams", "s.yaml"}, cli.ExitUsage,
			"unknown flag --streams: louver budget reads no streams file, and knows the streams from Kafka"},
		{"an unknown flag", []string{"check", "--kubernetes"}, cli.ExitUsage,
			"unknown flag --kubernetes; louver help check lists them"},
		{"a flag before the command", []string{"--kafka-brokers", "a:9092", "run"}, cli.ExitUsage,
			"unknown flag --kafka-brokers; flags of a command come after its name, as in louver run --kafka-brokers"},
		{"-v", []string{"-v"}, cli.ExitUsage, "unknown flag -v; want --version, or louver COMMAND --log-level debug"},
		{"no stages", []string{"run", "--stages", ""}, cli.ExitUsage,
			"--stages is empty; want one or more of ingest,release,publish"},
		{"no replica", []string{"topics", "--topics-replication", "0", csv}, cli.ExitInvalid,
			"LOUVER_TOPICS_REPLICATION=0; want the number of brokers that keep each record, or -1 for the broker's " +
				"default"},
		{"a draft in a directory that is missing", []string{"init", dir + "/none/s.yaml"}, cli.ExitInvalid,
			"open " + dir + "/none/s.yaml: no such file or directory; want a file in a directory that exists and " +
				"that you may write to"},
		{"a draft for a directory", []string{"init", dir}, cli.ExitInvalid, dir +
			" is a directory; want the name of a file, such as " + dir + "/streams.yaml"},
		{"data in a file", []string{"broker", "--data-dir", csv}, cli.ExitInvalid,
			"--data-dir=" + csv + ": mkdir " + csv + ": not a directory; want a directory that you may write to"},
		{"no time for an answer", []string{"healthcheck", "--timeout", "0s"}, cli.ExitUsage,
			"--timeout=0s; want more than 0s"},
		{"a port for a URL", []string{"healthcheck", "--url", "127.0.0.1:9797"}, cli.ExitUsage,
			"--url 127.0.0.1:9797; want a URL such as http://127.0.0.1:9797/readyz"},
		{"a word for a number", release("--epsilon", "much", numbers), cli.ExitUsage,
			`--epsilon: "much" is not a number; want one such as 0.5`},
		{"a missing argument", []string{"completion"}, cli.ExitUsage,
			"<shell> is missing; louver help completion explains it"},
		{"several streams files", []string{"run", "s.yaml", "t.yaml"}, cli.ExitUsage,
			"unexpected argument t.yaml; want one streams file, a directory of them, or a glob in quotes"},
		{"a streams file without its flag", []string{"run", "none.yaml"}, cli.ExitInvalid,
			"none.yaml: no such streams file; want a file, a directory or a glob"},
		{"a flag without its text", []string{"demo", "--csv"}, cli.ExitUsage, "--csv without a value; want --csv=FILE"},
		{"a flag without its number", []string{"plan", "--users"}, cli.ExitUsage,
			"--users without a value; want --users=N"},
		{"a demo of a file that is missing", []string{"demo", "--csv", missing}, cli.ExitInvalid,
			"--csv " + missing + ": no such file; want a CSV or JSON-lines file"},
		{"a word for a whole number", []string{"plan", "--users", "many"}, cli.ExitUsage,
			"--users many; want a whole number"},
		{"an unknown shell", []string{"completion", "tcsh"}, cli.ExitUsage, "completion tcsh; want bash, zsh or fish"},
		{"a percentile", []string{"plan", "--statistic", "p95"}, cli.ExitUsage,
			"--statistic p95 is not a statistic; did you mean quantile with p 0.95?"},
		{"a duration in years", []string{"watch", "--last", "1y"}, cli.ExitUsage,
			`--last: "1y" is not a duration; want one such as 90s, 15m, 1h30m or 7d`},
		{"a duration in too many days", []string{"watch", "--last", "40000d"}, cli.ExitUsage,
			"--last: 40000d is too long; want at most 36600d"},
		{"an alert without a value", []string{"rules", csv, "--above", "web/p50"}, cli.ExitUsage,
			"--above web/p50; want STREAM/RELEASE=VALUE"},
		{"a port that is none", []string{"budget", "--kafka-brokers", "a:99999"}, cli.ExitInvalid,
			`LOUVER_KAFKA_BROKERS: broker address "a:99999": 99999 is not a port; want one from 1 to 65535, such as 9092`},
		{"no streams", []string{"run"}, cli.ExitUsage, "no streams file: name one, or set LOUVER_STREAMS"},
		{"a streams file that is empty", []string{"run", "--streams", empty}, cli.ExitInvalid, empty +
			":1: the file is empty; want a streams file in YAML"},
		{"a streams file that is missing", []string{"run", "--streams", dir + "/none.yaml"}, cli.ExitInvalid, dir +
			"/none.yaml: no such streams file; want a file, a directory or a glob"},
		{"a glob that matches nothing", []string{"run", "--streams", dir + "/*.yml"}, cli.ExitInvalid, dir +
			"/*.yml: no such streams file; want a file, a directory or a glob"},
		{"a directory without streams files", []string{"run", "--streams", dir}, cli.ExitInvalid, dir +
			": no streams file in this directory; want at least one *.yaml"},
		{"a stage that is none", []string{"run", "--stages", "ingest,publsh"}, cli.ExitUsage, `--stages: "publsh" is `},

		{"no columns", replay(csv), cli.ExitUsage,
			"--user, --time missing; want the names of these columns of the file"},
		{"no topic", []string{"replay", csv}, cli.ExitUsage, "missing flags: --topic=TOPIC"},
		{"a wrong column", replay(csv, "--user", "user", "--value", "bytes", "--time", "time"), cli.ExitInvalid, csv +
			`:1: user "user" is not in the header; want one of time, client, section, bytes`},
		{"a wrong field of JSON", replay(json, "--user", "usr", "--value", "ms", "--time", "at"), cli.ExitInvalid,
			json + `:1: user "usr" is not in the first event; want one of usr.id, ms, ts`},
		{"a JSON array", replay(array, columns...), cli.ExitInvalid, array +
			":1: the file is a JSON array; want one object per line, as jq -c '.[]' writes them"},
		{"semicolons", replay(semicolons, columns...), cli.ExitInvalid, semicolons +
			`:1: user "client" is not in the header, which has one column if ',' separates them; want delimiter ';'`},
		{"no header", replay(headless, columns...), cli.ExitInvalid, headless +
			`:1: user "client" is not in the first line, which looks like data; want a header: the names of the columns`},
		{"a ragged row", replay(ragged, columns...), cli.ExitInvalid, ragged +
			":4: the line does not have as many fields as the header; want one for each column"},
		{"an unknown time format", replay(badTime, columns...), cli.ExitInvalid,
			badTime + ":2: the time is missing or not in a known format, here and in all other lines; want " +
				"2026-11-20T08:00:00Z (RFC 3339), " +
				"2026-11-20 08:00:00, 2026-11-20, 20/11/2026, 20/Nov/2026:08:00:00 +0000, or an epoch number"},
		{"an empty file", replay(empty, columns...), cli.ExitInvalid, empty +
			":1: the file is empty; want CSV with a header, or JSON lines"},
		{"a missing file", replay(missing, columns...), cli.ExitInvalid, "open " + missing +
			": no such file or directory; want a CSV or JSON-lines file"},
		{"a directory", replay(dir, columns...), cli.ExitInvalid, dir + ": this is a directory; want a file"},
		{"a spreadsheet", replay(at("r.xlsx", "PK\x03\x04…"), columns...), cli.ExitInvalid, dir +
			"/r.xlsx: the file is a zip archive or a spreadsheet; unpack it, or save it as CSV"},
		{"one column for two things", replay(csv, append(columns, "--group", "client")...), cli.ExitInvalid,
			`user and group are both "client"; want a column for each`},
		{"a delimiter of two characters", replay(csv, append(columns, "--delimiter", "||")...), cli.ExitUsage,
			`--delimiter "||"; want one character, such as ;`},
		{"a time to start from that is none", replay(csv, append(columns, "--from", "today")...), cli.ExitUsage,
			"--from=today; want now, or a time such as 2026-11-20T08:00:00Z"},
		{"a negative speed", replay(csv, append(columns, "--speed", "-1")...), cli.ExitInvalid,
			"speed -1; want a number greater than 0, or 0 for as fast as possible"},

		{"a decimal comma", release(numbers), cli.ExitInvalid, numbers +
			":2: not a number; want numbers such as 12 or -3.5, or --value COLUMN for CSV"},
		{"CSV where numbers are wanted", release(csv), cli.ExitInvalid, csv +
			":1: not a number; want numbers such as 12 or -3.5, or --value COLUMN for CSV"},
		{"a column of texts", release("--value", "section", csv), cli.ExitInvalid, csv +
			":2: column section: not a number; want one such as 12 or -3.5"},
		{"a missing column", release("--value", "ms", csv), cli.ExitInvalid, csv +
			`:1: value "ms" is not in the header; want one of time, client, section, bytes`},
		{"a directory of values", release(dir), cli.ExitInvalid, dir + ": this is a directory; want a file"},
		{"no bounds", []string{"release", "--epsilon", "1", csv}, cli.ExitUsage, "--lower, --upper, --step missing; " +
			"want the public bounds of the values, such as --lower 0 --upper 100 --step 1 (only a plain count needs " +
			"none)"},
		{"no ε", []string{"release", "--statistic", "count", csv}, cli.ExitUsage, "missing flags: --epsilon=E"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := commandLine(t, "", c.args...)
			got.wants(t, c.code, "louver: "+c.want)
			if strings.Contains(got.err, "SECRET") {
				t.Errorf("the answer repeats what people sent: %s", got.err)
			}
		})
	}
}

// What looks like a mistake and is none.
func TestFilesOfAllKinds(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(requests)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain":           requests,
		"gzip":            packed.String(),
		"byte order mark": "\ufeff" + requests,
		"Windows":         strings.ReplaceAll(requests, "\n", "\r\n"),
		"empty lines":     strings.ReplaceAll(requests, "\n", "\n\n"),
		"quoted newlines": strings.Replace(requests, "blog", "\"b\nlog\"", 1),
		"spaces":          strings.Replace(requests, "client", " client ", 1),
	} {
		got := commandLine(t, text, "replay", "-", "--topic", "t", "--user", "client", "--value", "bytes", "--time",
			"time", "--dry-run")
		if got.code != cli.ExitDone || got.err != "" || !strings.HasPrefix(got.out, "# Would send 2 events to t.") ||
			!strings.Contains(got.out, "\n  user: client\n") {
			t.Errorf("%s: %+v", name, got)
		}
		if got := commandLine(t, text, "release", "--value", "bytes", "--user", "client", "--statistic", "count",
			"--epsilon", "1000"); got != (outcome{out: "2\n"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Negative numbers as values of flags.
	if got := commandLine(t, "-7", "release", "--lower", "-10", "--upper", "-5", "--step", "1", "--epsilon", "1000",
		"--statistic", "mode"); got != (outcome{out: "-7\n"}) {
		t.Errorf("%+v", got)
	}
}

// Events that a stream would reject are told before and after they are sent, with the first line and the reason.
func TestReplayTellsWhatIsRejected(t *testing.T) {
	b := kafkatest.Fake(t)
	text := requests + "2015-05-17T10:05:04Z,SECRET3,blog,n/a\n2015-05-17T10:05:05Z,,blog,1\n"
	for mode, want := range map[string]string{"--dry-run": "# Would send 4 events to t. ",
		"--keyed": "# Sent 4 events to t. "} {
		got := commandLine(t, text, "replay", "-", "--topic", "t", "--user", "client", "--value", "bytes", "--time",
			"time", "--group", "section", "--kafka-brokers", strings.Join(b.Conn.Brokers, ","), mode)
		if got.code != cli.ExitDone || !strings.HasPrefix(got.out, want) ||
			!strings.Contains(got.out, "\n  group: section\n# groups: ") || got.err != "louver: a stream will reject "+
			"1 of 4 events: bad_value, first on line 4 (bytes is missing or not a number such as 12 or -3.5)\n"+
			"louver: a stream will reject 1 of 4 events: bad_user, first on line 5 (client is empty or missing)\n" {
			t.Errorf("%s: %+v", mode, got)
		}
	}
	sent := 0
	for p := range 3 {
		sent += len(b.ConsumeValues(t, "t", p))
	}
	if sent != 4 {
		t.Errorf("%d records in the topic, want 4", sent)
	}
}

// An access log whose columns are separated by spaces has its time in two of them. Columns of other streams are kept.
func TestReplayOfAnAccessLog(t *testing.T) {
	b := kafkatest.Fake(t)
	text := "client ident user at zone request status bytes\n" +
		"83.149.9.216 - - [17/May/2015:10:05:03 +0200] \"GET /blog HTTP/1.1\" 404 203023\n"
	got := commandLine(t, text, "replay", "-", "--topic", "t", "--partitions", "1", "--delimiter", " ",
		"--user", "client", "--value", "bytes", "--time", "at", "--time-of-day", "zone", "--keep", "status",
		"--keep", "request", "--kafka-brokers", strings.Join(b.Conn.Brokers, ","))
	if got.code != cli.ExitDone || got.err != "" || !strings.Contains(got.out, "\n  time: at\n") {
		t.Fatalf("%+v", got)
	}
	want := `{"client":"83.149.9.216","bytes":203023,"at":"2015-05-17T08:05:03Z","status":"404",` +
		`"request":"GET /blog HTTP/1.1"}`
	if sent := b.ConsumeValues(t, "t", 0); len(sent) != 1 || sent[0] != want {
		t.Errorf("got %q, want %s", sent, want)
	}
}

// A dry run foretells what the same command would do without it: which events are ahead of the time of their sending,
// which have no time, and in which zone times are taken.
func TestReplayForetellsTimes(t *testing.T) {
	t.Parallel()
	dry := func(text string, args ...string) outcome {
		path := filepath.Join(t.TempDir(), "f.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return commandLine(t, "", append([]string{"replay", path, "--topic", "t", "--user", "u", "--value", "v", "--time",
			"t", "--dry-run"}, args...)...)
	}
	const day = "t,u,v\n2015-05-17T00:00:00Z,a,1\n2015-05-17T12:00:00Z,b,2\n2015-05-17T06:00:00Z,c,3\n"
	if got := dry(day, "--from", "now", "--speed", "60"); got.code != cli.ExitDone || !strings.HasPrefix(got.out,
		"# Would send 3 events") || got.err != "louver: "+got.err[8:strings.Index(got.err, " is not in")]+" is not in "+
		"the order of its times: line 4 is earlier than the one before. Its events are sent in that order\n" {
		t.Errorf("at a speed: %+v", got)
	}
	if got := dry(day, "--from", "now"); !strings.Contains(got.err, "a stream will reject 2 of 3 events: future, "+
		"first on line 3 (t is more than 5m ahead of now); --speed 1 sends events when they are due\n") {
		t.Errorf("at once: %+v", got)
	}
	const odd = "t,u,v\n2015-05-17 00:00:00,a,1\n,b,2\n86400,c,3\n"
	want := "louver: some times in column t name no zone and are taken as UTC; --zone NAME takes them as those of " +
		"another, such as Europe/Berlin\n" + "louver: 1 of 2 events is before 1990, first on line 4; want a column " +
		"of times, and numbers in seconds, milli-, micro- or nanoseconds since 1970\n" +
		"louver: 1 of 3 events is left out, first on line 3 (t is missing or not a time after 1970)\n"
	if got := dry(odd); got.code != cli.ExitDone || got.err != want {
		t.Errorf("%+v, want %s", got, want)
	}
	if got := dry(odd, "--zone", "Europe/Berlin"); strings.Contains(got.err, "zone") {
		t.Errorf("%+v", got)
	}
	if got := dry("t,u,v\n2015-05-17T00:00:00Z,a,1\n"); got.err != "" {
		t.Errorf("nothing is odd: %+v", got)
	}
}
