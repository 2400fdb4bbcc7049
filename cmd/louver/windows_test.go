package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/cmd/louver/internal/inspect/timeline"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// threeStreams: past has three windows and money for two; held reads a topic with an open transaction; present is
// endless.
const threeStreams = `
version: 1
streams:
  - name: past
    input: {topic: PLAIN, user: user, value: value}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T03:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: {epsilon: 2, per: 24h}
    on_exhausted: withhold
  - name: held
    input: {topic: HELD, user: user, value: value}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T03:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: {epsilon: 3, per: 24h}
  - name: present
    input: {topic: PRESENT, user: user, value: value}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: SIZE, grace: 10s, start: START}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: {epsilon: 3, per: SIZE}
`

// standing runs louver windows and gives the runs of windows.
func standing(t *testing.T, app string, args ...string) []timeline.Run {
	t.Helper()
	var told struct{ Windows []timeline.Run }
	got := commandLine(t, "", append([]string{"windows", "--app-id", app, "--json"}, args...)...)
	if got.code != cli.ExitDone || got.err != "" {
		return nil // the app has not begun
	}
	if err := json.Unmarshal([]byte(got.out), &told); err != nil {
		t.Fatal(err)
	}
	return told.Windows
}

// brief is the state of all windows of a stream.
func brief(runs []timeline.Run, stream string) string {
	var all []string
	for _, r := range runs {
		if r.Stream == stream {
			state := string(r.State)
			if r.Overdue {
				state += ", overdue"
			}
			all = append(all, fmt.Sprintf("%d %s", r.Windows, state))
		}
	}
	return strings.Join(all, ", ")
}

// Windows that wait for the schema registry say so, as long as somebody reads the topic.
func TestWindowsNameTheRegistry(t *testing.T) {
	b := kafkatest.Fake(t)
	t.Setenv("LOUVER_KAFKA_BROKERS", strings.Join(b.Conn.Brokers, ","))
	var back atomic.Bool
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !back.Load() || r.URL.Path != "/schemas/ids/258" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprint(w, `{"schema": "{\"type\": \"record\", \"name\": \"R\", \"fields\": [`+
			`{\"name\": \"value\", \"type\": \"long\"}]}"}`)
	}))
	defer registry.Close()
	app, in := kafkatest.Name(t), b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
	streams := clitest.File(t, "streams.yaml", strings.NewReplacer("INPUT", in, "OUTPUT", b.Topic(t, 1, nil)).Replace(`
version: 1
streams:
  - name: named
    input: {topic: INPUT, format: avro, schema: registry, user: $key, value: value}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T03:00:00Z}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: {epsilon: 3, per: 24h}
`))
	b.Produce(t, in, 0, txn.Record{Key: []byte("u"), Value: []byte{0, 0, 0, 1, 2, 14},
		Time: time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC).UnixMilli()})
	p := clitest.Louver(t, b, "run", "--streams", streams, "--app-id", app, "--schema-registry-url", registry.URL)
	why := func(want string) func() bool {
		return func() bool {
			runs := standing(t, app)
			return len(runs) == 1 && strings.HasPrefix(strings.Join(runs[0].Why, ""), want)
		}
	}
	kafkatest.Await(t, "the registry is named", func() bool {
		runs := standing(t, app)
		return len(runs) == 1 && runs[0].State == timeline.Waiting && regexp.MustCompile("^partition 0 of "+in+
			": waits since [0-9:]+ for the schema registry, which has not said yet what schema 258 is$").
			MatchString(strings.Join(runs[0].Why, ";"))
	})
	p.Kill(t)
	kafkatest.Await(t, "nobody reads", why("partition 0 of "+in+": not read: consumer group "+app+".ingest has no members"))
	back.Store(true)
	clitest.Louver(t, b, "run", "--streams", streams, "--app-id", app, "--schema-registry-url", registry.URL)
	kafkatest.Await(t, "all windows are decided", func() bool { return brief(standing(t, app), "named") == "3 released" })
}

func TestWindowsCommand(t *testing.T) {
	b := kafkatest.Fake(t)
	t.Setenv("LOUVER_KAFKA_BROKERS", strings.Join(b.Conn.Brokers, ","))
	forEver := map[string]string{"retention.ms": "-1"}
	app, plain, held := kafkatest.Name(t), b.Topic(t, 2, forEver), b.Topic(t, 2, forEver)
	const hour = 60 * 60 // seconds
	now, long := time.Now().Unix(), int64(240*hour)
	for now%long >= long-hour {
		long += hour // so the window does not end while the test runs
	}
	start := time.Unix(now-now%long, 0).UTC()
	yaml := strings.NewReplacer("PLAIN", plain, "PRESENT", b.Topic(t, 2, forEver), "HELD", held, "OUTPUT",
		b.Topic(t, 1, forEver), "SIZE", fmt.Sprintf("%dh", long/hour), "START", start.Format(time.RFC3339)).
		Replace(threeStreams)
	streams := clitest.File(t, "streams.yaml", yaml)
	commandLine(t, "", "windows", "--app-id", app).wants(t, cli.ExitBroker, "louver: app "+app+" has no streams yet")

	hung := b.Begin(t, kafkatest.Name(t))
	hung.Produce(t, held, 1, kafkatest.Values(`{"user":"u","value":1}`)...)
	p := clitest.Louver(t, b, "run", "--streams", streams, "--app-id", app, "--stages", "ingest")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Log.String(), commandLine(t, "", "windows", "--app-id", app))
		}
	})
	var runs []timeline.Run
	kafkatest.Await(t, "the windows of past are cut, and those of held in one partition", func() bool {
		runs = standing(t, app)
		held := slices.IndexFunc(runs, func(r timeline.Run) bool { return r.Stream == "held" })
		return brief(runs, "past") == "3 cut, overdue" && held >= 0 && slices.Equal(runs[held].Partitions, []int{1})
	})
	if why := runs[slices.IndexFunc(runs, func(r timeline.Run) bool { return r.Stream == "past" })].Why; len(why) != 1 ||
		why[0] != "nobody draws: consumer group "+app+".release has no members" {
		t.Errorf("past: %q", why)
	}
	if brief(runs, "present") != "1 open" || brief(runs, "held") != "3 waiting, overdue" {
		t.Errorf("%+v", runs)
	}
	is := runs[slices.IndexFunc(runs, func(r timeline.Run) bool { return r.Stream == "held" })]
	if why := strings.Join(is.Why, ""); !strings.Contains(why,
		"partition 1 of "+held+": a transaction is open from offset 0 (producer id ") ||
		!strings.Contains(why, "kafka-transactions.sh abort --topic "+held+" --partition 1 --start-offset 0") {
		t.Errorf("held: %+v", is)
	}
	p.Signal(t, syscall.SIGTERM)
	_ = p.Wait()
	hung.Abort(t)
	nobody := "partition 1 of " + held + ": not read: consumer group " + app + ".ingest has no members"
	kafkatest.Await(t, "for held, the command says: "+nobody, func() bool {
		only := standing(t, app, "--stream", "held")
		return len(only) == 1 && strings.Join(only[0].Why, "") == nobody
	})

	clitest.Louver(t, b, "run", "--streams", streams, "--app-id", app)
	kafkatest.Await(t, "all windows of the past are decided", func() bool {
		runs = standing(t, app)
		return brief(runs, "past") == "2 released, 1 withheld" && brief(runs, "held") == "3 released"
	})
	t.Setenv("COLUMNS", "200")
	table := commandLine(t, "", "windows", "--app-id", app)
	stamp := func(hour int) string { // as the table has it
		return strings.ReplaceAll(cli.Stamp(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC), time.Now()), "\ue000", " ")
	}
	for _, want := range []string{"│ past    │ " + stamp(1) + " to " + stamp(2) + " │ 2       │ released │",
		"│ 1       │ withheld │ budget past is exhausted", "│ 1       │ open     │ due "} {
		if !strings.Contains(table.out, want) {
			t.Errorf("%q is not in\n%s%s", want, table.out, table.err)
		}
	}
	commandLine(t, "", "windows", "--app-id", app, "--stream", "nope").wants(t, cli.ExitInvalid,
		"louver: --stream=nope: app "+app+" has no such stream")
}
