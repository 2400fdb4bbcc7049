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
