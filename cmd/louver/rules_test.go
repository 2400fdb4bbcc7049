package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

func TestRulesCommand(t *testing.T) {
	streams := filepath.Join("..", "..", "deploy", "streams.yaml")
	got := commandLine(t, "", "rules", streams, "--above", "checkout-latency/p50=800.5", "--above",
		"checkout-latency/users=9000", "--below", "checkout-latency/users=500", "--windows", "2")
	for _, want := range []string{"p50 of checkout-latency", "is above 800.5 ms", "is above 9000 users",
		"is below 500 users", "2 windows in a row", "louver:release_value:newest"} {
		if !strings.Contains(got.out, want) || got.code != cli.ExitDone {
			t.Errorf("%q is not in %+v", want, got)
		}
	}
	if want := "warning: --above checkout-latency/p50=800.5: noise alone may raise this alarm 108 times in 30 " +
		"days"; !strings.HasPrefix(got.err, want) {
		t.Errorf("%q does not begin with %q", got.err, want)
	}
	commandLine(t, "", "rules", streams, "--above", "checkout-latency/p50=800", "--windows", "1").wants(t,
		cli.ExitInvalid, "louver: --above checkout-latency/p50=800: noise alone raises this alarm about 211 times in "+
			"30 days while the truth is at the threshold; want more windows in a row")
	if got := commandLine(t, "", "rules", streams, "--above", "checkout-latency/p50=800", "--windows", "1",
		"--noisy"); got.code != cli.ExitDone {
		t.Errorf("with --noisy: %+v", got)
	}
	if got := commandLine(t, "", "rules", streams); got.code != cli.ExitDone || got.err != "" ||
		!strings.Contains(got.out, "# There is no alert without a threshold or a watch: --above STREAM/RELEASE=VALUE") {
		t.Errorf("without thresholds: %+v", got)
	}
	commandLine(t, "", "rules", streams, "--behind", "checkout-latency/users=7d").wants(t, cli.ExitInvalid,
		"louver: --behind checkout-latency/users=7d: users is no running total; want a release with since")
	commandLine(t, "", "rules", streams, "--behind", "checkout-latency=7d").wants(t, cli.ExitUsage,
		"louver: --behind checkout-latency=7d; want STREAM/RELEASE=DURATION, such as web/today=7d")
	commandLine(t, "", "rules", streams, "--behind", "checkout-latency/users=noon").wants(t, cli.ExitUsage,
		`louver: --behind: "noon" is not a duration; want STREAM/RELEASE=DURATION`)
	commandLine(t, "", "rules").wants(t, cli.ExitUsage, "louver: no streams file: name one, or set LOUVER_STREAMS")
	commandLine(t, "", "rules", streams, "--above", "checkout-latency=3").wants(t, cli.ExitUsage,
		"louver: checkout-latency=3 names no release; want STREAM/RELEASE=VALUE")
	commandLine(t, "", "rules", streams, "--above", "checkout-latency/p50=fast").wants(t, cli.ExitUsage,
		`louver: --above: "fast" is not a number; want STREAM/RELEASE=VALUE`)
	commandLine(t, "", "rules", streams, "--windows", "-1").wants(t, cli.ExitUsage,
		"louver: --windows -1; want 1 or more")
	commandLine(t, "", "rules", "nowhere.yaml").wants(t, cli.ExitInvalid, "nowhere.yaml: ")
	commandLine(t, "", "rules", streams, "--above", "checkout-latency/p5=3").wants(t, cli.ExitInvalid,
		`louver: --above checkout-latency/p5=3: stream checkout-latency has no release "p5"; it has p50, p99, users`)
}
