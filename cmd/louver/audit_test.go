package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// TestAuditBeginsAtTheCheckpoint releases more windows than there are between two checkpoints. An audit then compares
// only the newest of them, and with --full all. What the books say is the same from the checkpoint and from the first
// entry.
func TestAuditBeginsAtTheCheckpoint(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	const app, count = "audited", 1500
	input, output := b.Topic(t, 1, nil), b.Topic(t, 1, nil)
	start := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	path := clitest.File(t, "s.yaml", configtest.File(configtest.Stream("s", configtest.Topics(input, output),
		configtest.Window(time.Second, 0), configtest.Start(start), configtest.End(start.Add(count*time.Second)),
		configtest.Releases("{name: users, statistic: count, epsilon: 0.25}"), configtest.Budget("1000", "24h"))))
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
