package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// topics --create says of every topic whether it was created, exists already, or is the user's to create.
func TestTopicsCreate(t *testing.T) {
	b := kafkatest.Fake(t)
	b.CreateTopic(t, "checkout.private", 1, nil)
	path := clitest.File(t, "streams.yaml", clitest.StreamsFile)
	create := func(args ...string) outcome {
		return commandLine(t, "", append([]string{"topics", path, "--create", "--kafka-brokers",
			strings.Join(b.Conn.Brokers, ",")}, args...)...)
	}
	stateOf := func(got outcome, topic string) string {
		m := regexp.MustCompile(`(?m)^│ ` + regexp.QuoteMeta(topic) +
			` .*│ +([a-z ]+?) +│$`).FindStringSubmatch(got.out)
		if m == nil {
			t.Fatalf("%s is not in %+v", topic, got)
		}
		return m[1]
	}
	t.Setenv("COLUMNS", "200")
	first := create()
	if first.code != cli.ExitBroker ||
		!strings.HasPrefix(first.err, "louver: topic missing: checkout.events does not exist") ||
		strings.Count(first.err, "\n") != 1 {
		t.Errorf("%+v, want to hear of the missing input", first)
	}
	for topic, want := range map[string]string{"louver.ledger": "created", "checkout.private": "exists",
		"checkout.events": "yours to create"} {
		if got := stateOf(first, topic); got != want {
			t.Errorf("%s: %q, want %q", topic, got, want)
		}
	}
	b.CreateTopic(t, "checkout.events", 2, nil)
	second := create()
	if second.code != cli.ExitDone || second.err != "" {
		t.Errorf("%+v", second)
	}
	for _, topic := range []string{"louver.ledger", "checkout.private", "checkout.events"} {
		if got := stateOf(second, topic); got != "exists" {
			t.Errorf("%s: %q, want exists", topic, got)
		}
	}
	var listed struct {
		Topics []struct {
			Topic, State string
			Partitions   int
			Retention    int64 `json:"min_retention_ms"`
		}
		Rights []any
	}
	if err := json.Unmarshal([]byte(create("--json").out), &listed); err != nil || len(listed.Rights) == 0 {
		t.Fatalf("%v, %d rights", err, len(listed.Rights))
	}
	for _, topic := range listed.Topics {
		if topic.State != "exists" || topic.Topic == "louver.ledger" && (topic.Retention != -1 ||
			topic.Partitions != 8) || topic.Topic == "checkout.events" && topic.Retention != 930_000 {
			t.Errorf("%+v", topic)
		}
	}
}
