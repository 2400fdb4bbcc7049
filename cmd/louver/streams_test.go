package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// TestStreamsCommand lets an app agree on a file, and asks what another one would change.
func TestStreamsCommand(t *testing.T) {
	b := kafkatest.Fake(t)
	b.CreateTopic(t, "checkout.events", 2, nil)
	t.Setenv("LOUVER_KAFKA_BROKERS", strings.Join(b.Conn.Brokers, ","))
	t.Setenv("COLUMNS", "200")
	// The windows begin in the past: the first definition is not replaced before it begins, whatever the time of day.
	begun := strings.Replace(clitest.StreamsFile, "grace: 30s}", "grace: 30s, start: 2020-01-01T00:00:00Z}", 1)
	first := clitest.File(t, "a.yaml", begun)
	second := clitest.File(t, "b.yaml", strings.NewReplacer("size: 15m", "size: 30m", "median, epsilon: 0.05",
		"median, epsilon: 0.1").Replace(begun))
	has := func(got outcome, code int, lines ...string) {
		t.Helper()
		if got.code != code {
			t.Errorf("exit code %d, want %d: %+v", got.code, code, got)
		}
		for _, want := range lines {
			if !strings.Contains(got.out+got.err, want) {
				t.Errorf("%q is not in\n%s", want, got.out+got.err)
			}
		}
	}
	commandLine(t, "", "streams", "--streams", "nope.yaml", "--kafka-brokers", "127.0.0.1:1").wants(t, cli.ExitInvalid,
		"louver: nope.yaml: no such streams file")
	commandLine(t, "", "streams").wants(t, cli.ExitBroker,
		"louver: app louver has no streams yet: topic louver.control is empty or missing")
	has(commandLine(t, "", "streams", "--streams", first), cli.ExitDone, "would begin epoch 1",
		"stream checkout: definition 0 applies from the window that starts 2020-01-01T00:00:00Z: 15m, budget shoppers")

	names := topics.Names{App: "louver"}
	parsed, err := parse.Load(first, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topics.Create(kafkatest.Context(t), b.Conn.Client, topics.Plan(names.App, parsed.Streams),
		-1); err != nil {
		t.Fatal(err)
	}
	log := control.Kafka{Fetch: b.Fetch(fetch.Options{}), Names: names,
		Open: func(ctx context.Context, id string) (*txn.Producer, error) {
			return txn.Open(ctx, b.Conn.Client, id, 10*time.Second)
		}}
	state, err := control.Load(kafkatest.Context(t), log, control.Wanted{Streams: parsed.Streams,
		By: control.Proposer{Host: "here", ClientID: "c", Version: "v7"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	has(commandLine(t, "", "streams"), cli.ExitDone, "app louver: epoch 1, revision 0, agreed on ",
		", proposed by here (client id c, version v7)\n", "│ checkout │ 0   │",
		"│ never            │ 15m     │ shoppers │", parsed.Streams[0].Definition.Fingerprint())
	has(commandLine(t, "", "streams", "--streams", first), cli.ExitDone,
		"the file changes nothing: epoch 1 already has its definitions\n")
	changes := []string{"would begin epoch 2 if it started now:\n",
		"stream checkout: the last window of definition 0 ends ",
		"stream checkout: definition 1 applies from the window that starts ",
		"checkout 1: releases[p50].epsilon: 0.05 → 0.1\n", "checkout 1: window.size: 15m → 30m\n"}
	has(commandLine(t, "", "streams", "--streams", second), cli.ExitDone, changes...)
	has(commandLine(t, "", "check", "--connect", second), cli.ExitDone, changes...)
	var checked struct {
		Streams []struct{ Stream string }
		Preview *struct {
			Epoch  int
			Begins []control.Dated
		}
	}
	if got := commandLine(t, "", "check", "--connect", "--json", second); got.code != cli.ExitDone || got.err != "" ||
		json.Unmarshal([]byte(got.out), &checked) != nil ||
		len(checked.Streams) != 1 || checked.Preview == nil || checked.Preview.Epoch != 2 ||
		len(checked.Preview.Begins) != 1 || len(checked.Preview.Begins[0].Changes) != 2 {
		t.Errorf("check --connect --json: %+v", got)
	}
	if got := commandLine(t, "", "check", "--json", second); strings.Contains(got.out, "preview") {
		t.Errorf("without --connect there is a preview: %s", got.out)
	}
	has(commandLine(t, "", "streams", "--streams", clitest.File(t, "c.yaml", strings.Replace(begun, "name: checkout\n",
		"name: other\n", 1))),
		cli.ExitInvalid, "stream checkout is no longer in the streams files")

	var listed struct {
		Epoch       int
		Definitions []control.Dated
		Preview     struct {
			Epoch        int
			Begins, Ends []control.Dated
		}
	}
	if err := json.Unmarshal([]byte(commandLine(t, "", "streams", "--streams", second, "--json").out),
		&listed); err != nil {
		t.Fatal(err)
	}
	if history, err := state.History(); err != nil || listed.Epoch != 1 || len(listed.Definitions) != 1 ||
		!listed.Definitions[0].From.Equal(history.Definitions[0].From) ||
		listed.Preview.Epoch != 2 || len(listed.Preview.Begins) != 1 || len(listed.Preview.Ends) != 1 ||
		len(listed.Preview.Begins[0].Changes) != 2 {
		t.Errorf("%v in %+v", err, listed)
	}
}
