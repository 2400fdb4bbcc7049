package feed_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// Lines are sent as they are, and those of telemetry get the input that reads them.
func TestReplayRaw(t *testing.T) {
	record, err := os.ReadFile("../../../../stream/codec/testdata/otlp/traces.json")
	if err != nil {
		t.Fatal(err)
	}
	b := kafkatest.Fake(t)
	line := strings.TrimSpace(string(record))
	var out bytes.Buffer
	app := &cli.App{Context: context.Background(), In: strings.NewReader(line + "\n\n" + line + "\r\n{}"), Out: &out,
		Err: &out, Log: zap.NewNop()}
	kafka := cli.KafkaSettings{KafkaBrokers: b.Conn.Brokers, KafkaIsolation: "read_committed"}
	c := feed.ReplayCommand{KafkaSettings: kafka, File: "-", Topic: "spans", Partitions: 1, Raw: true}
	if err := c.Run(app, new(kong.Context)); err != nil {
		t.Fatal(err)
	}
	got := b.ConsumeValues(t, "spans", 0)
	if len(got) != 3 || got[0] != line || got[1] != line || got[2] != "{}" {
		t.Errorf("%d records", len(got))
	}
	const want = "# Sent 3 lines to spans.\n# Such an input, in a stream of a streams file, reads them:\n" +
		"input: {topic: spans, format: otlp_traces, user: user.id, group: http.route}\n"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
