package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

// A file without numbers can be tried, and what try then says to do works: its events can be sent, and a stream of them
// counts them.
func TestAFileWithoutNumbers(t *testing.T) {
	var text strings.Builder
	text.WriteString("ts,user_id\n")
	first := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i := range 5000 {
		fmt.Fprintf(&text, "%s,u%d\n", first.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), i%200)
	}
	path := clitest.File(t, "visits.csv", text.String())
	tried := commandLine(t, "", "try", path, "--out", filepath.Join(t.TempDir(), "streams.yaml"))
	said := tried.out + tried.err
	_, command, found := strings.Cut(said, "  louver replay ")
	command, _, _ = strings.Cut(command, "\n  louver run")
	if tried.code != cli.ExitDone || !found {
		t.Fatalf("%+v", tried)
	}
	args := append([]string{"replay"}, strings.Fields(strings.ReplaceAll(command, "\\\n", " "))...)
	got := commandLine(t, "", append(args, "--dry-run")...)
	if want := "# Would send 5,000 events to visits.events. This input, in a stream of a streams file, reads them:\n" +
		"input:\n  topic: visits.events\n  format: json\n  user: user_id\n  time: ts\n" +
		"# contribution: count   the events have no value, so a user counts with how many they send.\n"; got.err != "" ||
		got.code != cli.ExitDone || !strings.HasPrefix(got.out, want) {
		t.Errorf("louver %s: %+v; want %s", args, got, want)
	}
}
