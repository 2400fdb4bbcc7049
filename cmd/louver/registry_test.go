package main

import (
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

func TestRegistryMistakes(t *testing.T) {
	path := clitest.File(t, "streams.yaml", strings.Replace(clitest.StreamsFile, "{topic: checkout.events,",
		"{topic: checkout.events, format: avro, schema: registry,", 1))
	run := func(args ...string) outcome {
		return commandLine(t, "", append([]string{"run", "--streams", path}, args...)...)
	}
	run().wants(t, cli.ExitInvalid,
		"louver: LOUVER_SCHEMA_REGISTRY_URL is not set; stream checkout has schema: registry and wants one")
	avro := clitest.File(t, "avro.yaml", strings.Replace(clitest.StreamsFile, "{topic: checkout.private}",
		"{topic: checkout.private, format: avro}", 1))
	for _, command := range []string{"run", "watch", "dashboard"} {
		commandLine(t, "", command, "--streams", avro).wants(t, cli.ExitInvalid, "louver: LOUVER_SCHEMA_REGISTRY_URL "+
			"is not set; stream checkout has an output with format: avro and wants one")
	}
	commandLine(t, "", "audit", "--schema-registry-url", "registry").wants(t, cli.ExitInvalid,
		"louver: LOUVER_SCHEMA_REGISTRY_URL: want an address")
	for _, address := range []string{"registry:8081", "ftp://registry", "http://me:secret@registry",
		"http://registry, x"} {
		run("--schema-registry-url", address).wants(t, cli.ExitInvalid,
			"louver: LOUVER_SCHEMA_REGISTRY_URL: want an address such as https://registry:8081, without a password")
	}
	run("--schema-registry-url", "http://registry", "--schema-registry-username", "me").wants(t, cli.ExitInvalid,
		`louver: LOUVER_SCHEMA_REGISTRY_USERNAME="me" and LOUVER_SCHEMA_REGISTRY_PASSWORD_FILE=""; want both or none`)
	run("--schema-registry-url", "http://registry", "--schema-registry-username", "me",
		"--schema-registry-password-file", clitest.File(t, "empty", "\n")).wants(t, cli.ExitInvalid,
		"louver: LOUVER_SCHEMA_REGISTRY_PASSWORD_FILE=")
}
