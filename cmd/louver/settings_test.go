package main

import (
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

func TestEnvironmentMistakes(t *testing.T) {
	t.Setenv("LOUVER_LOG_LEVEL", "loud")
	commandLine(t, "", "version").wants(t, cli.ExitInvalid,
		`louver: LOUVER_LOG_LEVEL="loud"; want debug, info, warn or error`)
	t.Setenv("LOUVER_LOG_LEVEL", "info")
	commandLine(t, "", "version", "--log-format", "xml").wants(t, cli.ExitInvalid,
		`louver: LOUVER_LOG_FORMAT="xml"; want console or json`)
	t.Setenv("LOUVER_SHUTDOWN_TIMEOUT", "soon")
	commandLine(t, "", "version").wants(t, cli.ExitInvalid,
		`louver: LOUVER_SHUTDOWN_TIMEOUT="soon"; want a duration, such as 20s`)
	t.Setenv("LOUVER_SHUTDOWN_TIMEOUT", "20s")
	t.Setenv("LOUVER_BAG_BYTES", "256MiB")
	commandLine(t, "", "version").wants(t, cli.ExitInvalid, `louver: LOUVER_BAG_BYTES="256MiB"; want a whole number`)
	t.Setenv("LOUVER_BAG_BYTES", "256")
	commandLine(t, "", "run", "--streams", clitest.File(t, "streams.yaml", clitest.StreamsFile)).wants(t,
		cli.ExitInvalid, "louver: LOUVER_BAG_BYTES=256; want at least 1048576 (1 MiB)")
	t.Setenv("LOUVER_BAG_BYTES", "268435456")
	t.Setenv("LOUVER_CHECKPOINT_EVERY", "0")
	commandLine(t, "", "run", "--streams", clitest.File(t, "streams.yaml", clitest.StreamsFile)).wants(t,
		cli.ExitInvalid, "louver: LOUVER_CHECKPOINT_EVERY=0; want at least 1")
	t.Setenv("LOUVER_CHECKPOINT_EVERY", "1000")
	t.Setenv("LOUVER_KAFKA_TLS", "yes")
	commandLine(t, "", "version").wants(t, cli.ExitInvalid, `louver: LOUVER_KAFKA_TLS="yes"; want true or false`)
	t.Setenv("LOUVER_KAFKA_TLS", "true")
	t.Setenv("LOUVER_TOPICS_REPLICATION", "three")
	commandLine(t, "", "version").wants(t, cli.ExitInvalid,
		`louver: LOUVER_TOPICS_REPLICATION="three"; want a whole number`)
}

func TestMisspeltVariableStopsEveryCommand(t *testing.T) {
	t.Setenv("LOUVER_KAFKA_BROKER", "kafka:9092")
	commandLine(t, "", "version").wants(t, cli.ExitInvalid,
		"louver: LOUVER_KAFKA_BROKER is not a setting; did you mean LOUVER_KAFKA_BROKERS?")
}
