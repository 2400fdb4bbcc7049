package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// empty are the keys of a streams file that have no value, with their lines.
var empty = regexp.MustCompile(`^[ -]*([a-z]+):$`)

// chosen are values that a user might fill in, in order.
var chosen = map[string][]string{"topic": {"in", "out"}, "columns": {"[u, v]"}, "user": {"u"}, "value": {"v"},
	"lower": {"0"}, "upper": {"100"}, "step": {"1"},
	// the sum of 24 windows: with a δ the count would be Gaussian, and cost more
	"grace": {"30s"}, "epsilon": {"1", "0.5", "36"}}

// initIsFilledIn checks that check points at what is left to fill in, at nothing else, and accepts the file when that
// is done.
func initIsFilledIn(t *testing.T, text string) {
	t.Helper()
	path := clitest.File(t, "streams.yaml", text)
	lines := strings.Split(text, "\n")
	var want []string
	used := map[string]int{}
	for i, line := range lines {
		if key := empty.FindStringSubmatch(line); key != nil && chosen[key[1]] != nil {
			want = append(want, fmt.Sprintf("%s:%d: ", path, i+1))
			lines[i] += " " + chosen[key[1]][used[key[1]]]
			used[key[1]]++
		}
	}
	got := commandLine(t, "", "check", path)
	found := strings.Split(strings.TrimSpace(got.err), "\n")
	slices.Sort(found)
	slices.Sort(want)
	if got.code != cli.ExitInvalid || len(found) != len(want) {
		t.Fatalf("check finds\n%s\nwant lines\n%s", got.err, strings.Join(want, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(found[i], want[i]) || !strings.Contains(found[i], "empty; want ") {
			t.Errorf("%q; want %s…: empty; want …", found[i], want[i])
		}
	}
	if got := commandLine(t, "", "check", clitest.File(t, "streams.yaml",
		strings.Join(lines, "\n"))); got.code != cli.ExitDone {
		t.Errorf("filled in, check says %s\n%s", got.err, strings.Join(lines, "\n"))
	}
}

func TestInit(t *testing.T) {
	got := commandLine(t, "", "init")
	if got.code != cli.ExitDone || got.err != "" || !strings.HasPrefix(got.out,
		"# yaml-language-server: $schema=louver-streams.schema.json\n") ||
		!strings.Contains(got.out, "louver schema streams > louver-streams.schema.json") {
		t.Fatalf("%+v", got)
	}
	initIsFilledIn(t, got.out)
	for _, line := range strings.Split(got.out, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("longer than 80 characters: %s", line)
		}
	}
}

func TestInitFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "streams.yaml")
	if got := commandLine(t, "", "init", path); got != (outcome{out: "Wrote " + path +
		". Fill in the empty keys; louver check " + path + " lists them.\n"}) {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	commandLine(t, "", "init", path).wants(t, cli.ExitInvalid,
		"louver: "+path+" already exists; choose another name, or replace it with --force")
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("what was there is %q, %v", text, err)
	}
	if got := commandLine(t, "", "init", "--force", path); got.code != cli.ExitDone {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != commandLine(t, "", "init", "-").out {
		t.Errorf("the file is not what is printed: %v", err)
	}
}

// Topics whose records differ in values, their ranges and their number alone have the same file. Of which days they are
// is told beside it.
func TestInitLooksAtNamesAndTypesOnly(t *testing.T) {
	b := kafkatest.Fake(t)
	brokers := "--kafka-brokers=" + strings.Join(b.Conn.Brokers, ",")
	var files []string
	for i, records := range [][]string{
		append(slices.Repeat([]string{`{"client":"ann","ms":12,"at":{"ts":"2026-01-02T00:00:00Z"},"zone":"eu"}`}, 50),
			`{"client":"ann","ms":12,"at":{"ts":"2026-01-03T07:00:00Z"},"zone":"eu"}`),
		{`{"client":"SECRET","ms":-0.5e9,"at":{"ts":"x"},"zone":"SECRET2"}`,
			`{"client":"","ms":77123,"at":{"ts":""},"zone":""}`, `{"zone":null}`},
	} {
		topic := fmt.Sprint("topic-", i)
		b.CreateTopic(t, topic, 2, nil)
		if i == 0 { // the oldest record is beyond what is looked at for names
			records = slices.Insert(records, 0, strings.Replace(records[0], "01-02", "01-01", 1))
		}
		b.Produce(t, topic, i, kafkatest.Values(records...)...)
		got := commandLine(t, "", "init", "--topic", topic, brokers)
		past := ""
		if i == 0 {
			past = "louver: the oldest of the records looked at is of 2026-01-01, the newest of 2026-01-03; with " +
				"start: now none of them counts. To count them: start: 2026-01-01T00:00:00Z and, if no more are to " +
				"come, end: 2026-01-04T00:00:00Z\n"
		}
		if got.code != cli.ExitDone || got.err != past {
			t.Fatalf("%+v", got)
		}
		for _, secret := range []string{"SECRET", "77123", "ann"} {
			if strings.Contains(got.out, secret) {
				t.Errorf("the file holds %s", secret)
			}
		}
		files = append(files, strings.ReplaceAll(got.out, topic, "the-topic"))
	}
	if files[0] != files[1] {
		t.Errorf("values make a difference:\n%s\n%s", files[0], files[1])
	}
	for _, want := range []string{"topic: the-topic\n", "user: client\n", "value: ms\n", "time: at.ts\n",
		"#   zone                         string\n", "topic: the-topic.private\n"} {
		if !strings.Contains(files[0], want) {
			t.Errorf("%q is missing in\n%s", want, files[0])
		}
	}
	initIsFilledIn(t, files[0])
}

func TestInitTopics(t *testing.T) {
	b := kafkatest.Fake(t)
	brokers := "--kafka-brokers=" + strings.Join(b.Conn.Brokers, ",")
	for topic, c := range map[string]struct {
		records []string
		want    []string
	}{
		"Empty.Topic_1": {nil, []string{"Empty.Topic_1 holds no records yet", "name: empty-topic-1\n", "user:\n",
			"value:\n"}},
		"two-users": {[]string{`{"user_id":"a","client":"b","x":1,"y":2}`},
			[]string{"user:\n", "value:\n", "time: $timestamp\n"}},
		"decimals": {[]string{`{"client":"7","amount":"12.50","zip":"10115"}`, `{"client":"8","amount":"3"}`},
			[]string{"user: client\n", "value: amount\n", "#   amount                       number in a string\n"}},
		"unnamed": {[]string{`{"client":"ann","x":"12.50"}`}, []string{"value: x\n"}},
		"both":    {[]string{`{"client":"ann","amount":"12.50","items":3}`}, []string{"value:\n"}},
		"counted": {[]string{`{"client":"ann","page":"/a"}`}, []string{"contribution: count\n", "      # value:\n",
			"# unit: requests\n", "- name: events\n        statistic: sum\n"}},
		"numbers": {[]string{"1", "-2.5"}, []string{"bare numbers", "value: $value\n", "user: $key\n"}},
		"lines":   {[]string{"ann,12", "bob,7"}, []string{"format: csv\n", "columns:\n"}},
		"odd":     {[]string{`{"a b":1,"":2}`}, []string{`#   "a b"`, "not usable", `value: "a b"`}},
		"dots":    {[]string{`{"user.id":"a","$ms":2}`}, []string{`user: 'user\.id'`, `value: "\\\u0024ms"`}},
		"marks":   {[]string{"\ufeff{\"user_id\":1}"}, []string{"format: json", "begins with a byte order mark"}},
		"nan":     {[]string{`{"user_id":1,"ms":NaN}`}, []string{"format: json", "has NaN or Infinity"}},
		"array":   {[]string{`[{"user_id":1}]`}, []string{"format: json", "is a JSON array and not an object"}},
		"within":  {[]string{`"{\"user_id\":1}"`}, []string{"format: json", "is JSON within a JSON string"}},
		"twice": {[]string{`{"user_id":1,"ms":1,"user_id":2}`},
			[]string{"has the field user_id twice", "user: user_id", "rejects some records as malformed"}},
		"quoted": {[]string{`"ann",12`}, []string{"format: csv"}},
		"framed": {[]string{"\x00\x00\x00\x00\x07{\"user_id\":1}", "\x03\x000123456789abcdef{\"ms\":1}"},
			[]string{"format: json", "user: user_id", "value: ms"}},
	} {
		b.CreateTopic(t, topic, 1, nil)
		if c.records != nil {
			b.Produce(t, topic, 0, kafkatest.Values(c.records...)...)
		}
		got := commandLine(t, "", "init", "--topic", topic, brokers)
		for _, want := range c.want {
			if got.code != cli.ExitDone || !strings.Contains(got.out, want) {
				t.Errorf("%s: %q is missing in %+v", topic, want, got)
			}
		}
		initIsFilledIn(t, got.out)
		if topic == "counted" {
			got := commandLine(t, "", "init", "--topic", topic, "--users", "120", brokers)
			if !strings.Contains(got.out, "users is off by 12 at most, and that of events by\n    # about 4 times upper.") {
				t.Errorf("%+v", got) // ln(20)/0.75 = 3.99
			}
			initIsFilledIn(t, got.out)
		}
	}
	b.CreateTopic(t, "binary", 1, nil)
	b.Produce(t, "binary", 0, kafkatest.Values("\x00\x00\x00\x00\x01x")...)
	commandLine(t, "", "init", "--topic", "binary", brokers).wants(t, cli.ExitInvalid,
		"louver: topic binary: the records are neither JSON nor text: the record begins with the header of a schema "+
			"registry (a zero byte and the number 1), and no JSON follows; want")
	for _, own := range []string{"app.control", "app.ledger", "app.state", "a.ledger"} { // the last has no app
		b.CreateTopic(t, own, 1, nil)
	}
	commandLine(t, "", "init", "--topic", "binari", brokers).wants(t, cli.ExitBroker,
		"louver: --topic binari: there is no such topic at "+strings.Join(b.Conn.Brokers,
			",")+", or you may not describe it; there are Empty.Topic_1, a.ledger, array, binary, ")
}

// With expected users, init proposes windows that make their number useful at ε 1 a day, and says how far off it is.
// With too few it says that.
func TestInitForExpectedUsers(t *testing.T) {
	for users, want := range map[string]struct{ size, errorOf, median, count, rough string }{
		"3000": {"1h", "300", "0.031", "0.01", ""}, "1000": {"3h", "97", "0.094", "0.031", ""},
		"120": {"24h", "12", "0.75", "0.25", ""},
		"119": {"24h", "12", "0.75", "0.25", "the number is useful from 120 users on"},
	} {
		planned := planJSON(t, "plan", "--statistic", "median", "--users", users, "--epsilon", want.median,
			"--count-epsilon", want.count, "--lower", "0", "--upper", "100000", "--step",
			"1").Streams[0].Releases[0].Values[0]
		percentiles := fmt.Sprintf("%.0f and %.0f", math.Floor(100**planned.Low), math.Ceil(100**planned.High))
		file := filepath.Join(t.TempDir(), "streams.yaml")
		if got := commandLine(t, "", "init", file, "--users", users); got.code != cli.ExitDone {
			t.Fatalf("%+v", got)
		}
		draft, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(draft)
		if !strings.Contains(text, "\n      size: "+want.size+"\n") || !strings.Contains(text, want.rough) ||
			!strings.Contains(text, "users is off by "+want.errorOf+" at most") ||
			!strings.Contains(text, "between the percentiles "+percentiles+" of their values") ||
			want.rough == "" && strings.Contains(text, "too much for so few") {
			t.Errorf("%s users, want %+v:\n%s", users, want, text)
		}
		initIsFilledIn(t, text) // the budget of ε 1 a day pays for all windows
	}
	commandLine(t, "", "init", "--users", "-3").wants(t, cli.ExitUsage, "louver: --users -3; want at least 1")
}

// Records of OpenTelemetry, in both encodings: the signal is told by the first item, names and types of attributes are
// listed, and never a value.
func TestInitTelemetry(t *testing.T) {
	b := kafkatest.Fake(t)
	brokers := "--kafka-brokers=" + strings.Join(b.Conn.Brokers, ",")
	for signal, want := range map[string][]string{
		"traces": {"format: otlp_traces\n", "user: user.id\n", "value: span.duration_ms\n", "time: span.end_time_unix_nano\n",
			"where: {span.kind: server}\n", "contribution: random\n", "#   span      http.route                         text\n",
			"#   span      http.request.header.x-tenant       list of one text\n", "resource  service.name",
			"# client.address is one of many persons.\n"},
		"logs": {"format: otlp_logs\n", "user: user.id\n", "value:\n", "time: log.time_unix_nano\n",
			`#   log.body["ms"] number` + "\n", "#   log.body text\n", "# where: {"},
		"metrics": {"format: otlp_metrics\n", "user: user.id\n", "value: datapoint.value\n", "where: {metric.name: }\n",
			"# No stream can read http.server.request.duration:\n# points of histograms and summaries are no single numbers.",
			"# Metrics: battery.level, distance, steps\n",
			"# Points of distance are totals so far, not events, and are skipped:\n", "datapoint region"},
	} {
		for _, encoding := range []string{"binpb", "json"} {
			record, err := os.ReadFile("../../stream/codec/testdata/otlp/" + signal + "." + encoding)
			if err != nil {
				t.Fatal(err)
			}
			topic := signal + "-" + encoding
			b.CreateTopic(t, topic, 1, nil)
			b.Produce(t, topic, 0, kafkatest.Values(string(record))...)
			got := commandLine(t, "", "init", "--topic", topic, brokers)
			if got.code != cli.ExitDone {
				t.Fatalf("%+v", got)
			}
			for _, w := range want {
				if !strings.Contains(got.out, w) {
					t.Errorf("%s: %q is missing in\n%s", topic, w, got.out)
				}
			}
			// What a record of JSON may have is refused for one with many people's items, or says nothing of them.
			for _, wrong := range []string{"$value", "$timestamp", "$key"} {
				if strings.Contains(got.out, wrong) {
					t.Errorf("%s: the file speaks of %s:\n%s", topic, wrong, got.out)
				}
			}
			for _, secret := range []string{"u-1", "192.0.2.7", "acme", "cart shown", "address\"", "Mozilla"} {
				if strings.Contains(got.out, secret) {
					t.Errorf("%s: the file holds %s", topic, secret)
				}
			}
			if signal == "traces" {
				initIsFilledIn(t, got.out)
			}
		}
	}
}
