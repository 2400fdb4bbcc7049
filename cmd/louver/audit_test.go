package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// secondsOf writes the file of a stream of so many windows of a second, which are all over.
func secondsOf(t *testing.T, b *kafkatest.Broker, count int) (path, output string) {
	t.Helper()
	input, output := b.Topic(t, 1, nil), b.Topic(t, 1, nil)
	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	return clitest.File(t, "s.yaml", configtest.File(configtest.Stream("s", configtest.Topics(input, output),
		configtest.Window(time.Second, 0), configtest.Start(start),
		configtest.End(start.Add(time.Duration(count)*time.Second)),
		configtest.Releases("{name: users, statistic: count, epsilon: 0.25}"), configtest.Budget("1000", "24h")))), output
}

// TestAuditBeginsAtTheCheckpoint releases more windows than there are between two checkpoints. An audit then compares
// only the newest of them, and with --full all. What the books say is the same from the checkpoint and from the first
// entry.
func TestAuditBeginsAtTheCheckpoint(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	const app, count = "audited", 1500
	path, output := secondsOf(t, b, count)
	brokers := strings.Join(b.Conn.Brokers, ",")
	run := clitest.Louver(t, b, "run", "--streams", path, "--app-id", app)
	kafkatest.Await(t, "all windows are published", func() bool {
		ends, err := b.Fetch(fetch.Options{}).Ends(kafkatest.Context(t), output, []int{0})
		// the end counts markers of transactions, too
		return err == nil && ends[0] >= count && len(b.Consume(t, output, 0)) == count
	})
	run.Kill(t)
	audit := func(args ...string) (found audit.Findings) {
		got := commandLine(t, "", append(args, "--json", "--app-id", app, "--kafka-brokers", brokers)...)
		if err := json.Unmarshal([]byte(got.out), &found); err != nil || got.code != cli.ExitDone || !found.OK {
			t.Fatalf("%q: %v, %+v", args, err, got)
		}
		return found
	}
	newest, whole := audit("audit"), audit("audit", "--full")
	if newest.Entries == 0 || newest.Entries >= 1000 || newest.Matched+newest.Earlier != count ||
		newest.Checkpoints != 0 {
		t.Errorf("from the checkpoint: %+v", newest)
	}
	if whole.Entries != count || whole.Matched != count || whole.Earlier != 0 || whole.Checkpoints != 1 {
		t.Errorf("from the first entry: %+v", whole)
	}
	if got := commandLine(t, "", "budget", "--app-id", app, "--kafka-brokers", brokers); got.code != cli.ExitDone ||
		!strings.Contains(got.out, "375 of ") {
		t.Errorf("%+v", got)
	}
	if got := commandLine(t, "", "windows", "--app-id", app, "--kafka-brokers", brokers); got.code != cli.ExitDone ||
		!strings.Contains(got.out, "released") {
		t.Errorf("%+v", got)
	}
}

// TestADevelopmentLedgerIsRefused: an entry of another version stops each command that needs the ledger, with one line
// that says where it is and what to do, once.
func TestADevelopmentLedgerIsRefused(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	const app, count = "developed", 10
	path, output := secondsOf(t, b, count)
	run := clitest.Louver(t, b, "run", "--streams", path, "--app-id", app)
	kafkatest.Await(t, "all windows are published", func() bool { return len(b.Consume(t, output, 0)) == count })
	run.Kill(t)
	ledger := topics.Names{App: app}.Ledger()
	place := topics.Place("s", topics.Partitions)
	entry := b.Consume(t, ledger, place)[0]
	old := strings.Replace(entry.Value, `{"v":5,"kinds":["release"]`, `{"v":4,"format":1`, 1)
	b.Produce(t, ledger, place, txn.Record{Key: []byte(entry.Key), Value: []byte(old)})
	where := fmt.Sprintf("%s/%d at offset ", ledger, place)
	const what = "format version 4, want 5: a development build of louver wrote it; go on with that build, or choose " +
		"another app id, whose budgets are fresh and do not count what was charged here"
	brokers := strings.Join(b.Conn.Brokers, ",")
	for _, args := range [][]string{{"run", "--streams", path, "--http-addr", "127.0.0.1:0",
		"--metrics-addr", "127.0.0.1:0"}, {"audit"}, {"audit", "--full"}, {"budget"},
		{"windows"}} {
		got := commandLine(t, "", append(args, "--app-id", app, "--kafka-brokers", brokers)...)
		lines := strings.Split(strings.TrimSpace(got.err), "\n")
		last := lines[len(lines)-1]
		if got.code != cli.ExitPrivacyStop || !strings.Contains(last, where) || !strings.Contains(last, what) ||
			strings.Count(got.err, "louver: ") != 1 || strings.Count(got.err, what) != 1 {
			t.Errorf("%q: code %d, %s", args, got.code, got.err)
		}
	}
}

// TestAuditOfAFollower does the same with a stream whose groups are found and one that follows its list. A name comes
// to the list, and leaves it in the middle. The account of each stream is that of its own windows, and discoveries are
// paid by the stream that has them.
func TestAuditOfAFollower(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	const app, seconds = "followed", 700
	input, output := b.Topic(t, 1, nil), b.Topic(t, 1, nil)
	start := time.Now().Add(-time.Hour).UTC().Truncate(10 * time.Second)
	window := func(size string) string {
		return fmt.Sprintf("{size: %s, grace: 1s, start: %s, end: %s}", size, start.Format(time.RFC3339),
			start.Add(seconds*time.Second).Format(time.RFC3339))
	}
	const figures = `
    bounds: {lower: 0, upper: 1000, step: 1}
    output: {topic: %s, tombstones: true}
    budget: all
    releases: [{name: n, statistic: count, mechanism: geometric, epsilon: 30}]
    window: %s
    input: {topic: %s, user: user, value: value, time: time, group: group}
`
	path := clitest.File(t, "s.yaml", "version: 1\nbudgets: [{name: all, epsilon: 1000000, delta: 0.09, per: 24h}]\nstreams:\n"+
		"  - name: slow\n    groups: {from: web}\n    max_groups: 2"+fmt.Sprintf(figures, output, window("2s"), input)+
		"  - name: web\n    groups: {discover: [{name: often, every: 5s, epsilon: 24, delta: 0.0000001, at_least: 3}], "+
		"keep: 10s, max: 20, other: (other), always: [/]}"+fmt.Sprintf(figures, output, window("1s"), input))
	var records []txn.Record
	for at := start; at.Before(start.Add(seconds / 2 * time.Second)); at = at.Add(5 * time.Second) {
		for user := range 5 {
			records = append(records, txn.Record{Value: fmt.Appendf(nil, `{"user":"u%d","value":1,"group":"/shoes","time":%q}`,
				user, at.Format(time.RFC3339))})
		}
	}
	b.Produce(t, input, 0, records...)
	brokers := strings.Join(b.Conn.Brokers, ",")
	run := clitest.Louver(t, b, "run", "--streams", path, "--app-id", app)
	// /shoes is found after five seconds, for the last time after 350, and leaves after 360: there are 355 windows of
	// three groups and 345 of two, and 140 discoveries. The follower has 177 windows of three, and 173 of two. Then its
	// series end, and those of its source, one of which is that of the discovery.
	const entries, want = 700 + 140 + 350, 355*3 + 345*2 + 140 + 70 + 177*3 + 173*2 + 1 + 2
	kafkatest.Await(t, "all windows are published", func() bool { return len(b.Consume(t, output, 0)) >= want })
	run.Kill(t)
	ask := func(into any, args ...string) {
		t.Helper()
		got := commandLine(t, "", append(args, "--json", "--app-id", app, "--kafka-brokers", brokers)...)
		if err := json.Unmarshal([]byte(got.out), into); err != nil || got.code != cli.ExitDone {
			t.Fatalf("%q: %v, %+v", args, err, got)
		}
	}
	var newest, whole audit.Findings
	ask(&newest, "audit")
	ask(&whole, "audit", "--full")
	if !newest.OK || newest.Entries == 0 || newest.Entries >= 1000 || newest.Matched+newest.Earlier != want {
		t.Errorf("from the checkpoint: %+v", newest)
	}
	if !whole.OK || whole.Entries != entries || whole.Matched != want || whole.Checkpoints != 1 {
		t.Errorf("from the first entry: %+v", whole)
	}
	var spent struct {
		Streams []struct {
			Stream string
			Total  json.Number `json:"epsilon_total"`
		}
	}
	ask(&spent, "budget")
	// A user may be in two groups of the follower, whose 350 windows cost 2 · 30. Discoveries cost 24, windows of web
	// 30.
	if got, want := fmt.Sprint(spent.Streams), "[{slow 21000} {web 24360}]"; got != want {
		t.Errorf("spent %s, want %s", got, want)
	}
}
