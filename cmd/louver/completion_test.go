package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// TestBashCompletes asks a real bash what the Tab key would offer.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	script := commandLine(t, "", "completion", "bash")
	if script.code != cli.ExitDone || script.err != "" {
		t.Fatalf("%+v", script)
	}
	for line, want := range map[string]string{
		"louver ch":                       "check",
		"louver --log-level debug re":     "release replay",
		"louver check --form":             "--format",
		"louver check --format ":          "text json github",
		"louver check --format = j":       "json",
		"louver check ":                   "", // files, which the shell completes itself
		"louver completion ":              "bash zsh fish",
		"louver help wat":                 "watch",
		"louver release --contribution m": "min max mean",
		"louver run --http-base":          "--http-base-path",
	} {
		words := strings.Split(line, " ")
		c := exec.Command(bash, append([]string{"--norc", "-c", script.out + `
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _louver; echo "${COMPREPLY[*]}"`, "test"}, words...)...)
		got, err := c.CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%q offers %q, %v; want %q", line, got, err, want)
		}
	}
}

// Every command and every flag of the help is in the scripts.
func TestCompletionScriptsAreWhole(t *testing.T) {
	help := commandLine(t, "", "help").out
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := commandLine(t, "", "completion", shell).out
		for _, command := range []string{"demo", "run", "check", "release", "plan", "replay", "watch", "budget",
			"audit", "topics", "broker", "version", "completion", "help"} {
			if !strings.Contains(help, command) || !strings.Contains(script, command) {
				t.Errorf("%s: %s is missing", shell, command)
			}
		}
		if !strings.Contains(script, "kafka-brokers") || !strings.Contains(script, "SHA") && shell == "fish" {
			t.Errorf("%s: flags are missing", shell)
		}
	}
	commandLine(t, "", "completion", "tcsh").wants(t, cli.ExitUsage, "louver: completion tcsh; want ")
}
