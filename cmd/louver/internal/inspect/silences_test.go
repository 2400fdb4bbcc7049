package inspect

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/outputs"
)

// A topic that falls silent, with two groups. What is known from before is not printed, and counts all the same.
func TestWatchSaysThatHardlyAnybodyIsThere(t *testing.T) {
	first := time.Date(2026, 11, 20, 23, 58, 0, 0, time.UTC)
	number := func(n int64) *json.Number { return new(json.Number(strconv.FormatInt(n, 10))) }
	count := func(group string, window int, users int64) outputs.Record {
		start := first.Add(time.Duration(window) * time.Minute)
		return outputs.Record{Stream: "web", Group: group, Release: "users", Statistic: "count", Unit: "users",
			WindowStart: start, WindowEnd: start.Add(time.Minute), Value: number(users), Users: &users,
			Error95: number(30), BudgetSpent: number(1), BudgetLimit: "9"}
	}
	var out bytes.Buffer
	lines := newWatchLines(&cli.App{Out: &out}, nil)
	eu, us := []int64{900, 4, 0, 12, 3, 0, 31}, []int64{800, 810, 790, 7, 3, 21, 600}
	for i := range eu {
		for group, users := range map[string]int64{"eu": eu[i], "us": us[i]} {
			if r := count(group, i, users); i < 2 {
				lines.learn(r)
			} else if err := lines.print(r); err != nil {
				t.Fatal(err)
			}
		}
		if i >= 2 {
			if err := lines.remark(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, "users     ± 30") && !strings.Contains(line, " ε ") {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
	}
	const why = ": the released counts are within their noise"
	want := []string{
		"2026-11-21T00:02:00Z web/eu hardly anybody since 2026-11-20T23:59:00Z" + why,
		"2026-11-21T00:04:00Z web hardly anybody since 00:01:00Z" + why,
		"2026-11-21T00:05:00Z web/eu hardly anybody since 2026-11-20T23:59:00Z" + why,
		"2026-11-21T00:05:00Z web users are back: released counts are beyond their noise",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The command reads a day back, and less of streams that publish more: 2,000 groups of 2 figures are 4,000 records in a
// quarter of an hour, and 100,000 in 6 hours and a quarter.
func TestSilenceReach(t *testing.T) {
	many := "{max: 2000, discover: [{name: daily, every: 24h, epsilon: 0.5, delta: 0.00000001}]}"
	for groups, want := range map[string]time.Duration{"[eu, us, ap]": 24 * time.Hour, many: 375 * time.Minute} {
		streams := strings.NewReplacer("[eu, us, ap]", groups, "epsilon: 24, per", "epsilon: 24, delta: 0.00001, per")
		file, err := parse.File("s.yaml", []byte(streams.Replace(clitest.StreamsFile)), os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		if got := silenceReach(file.Streams); got.Round(time.Second) != want {
			t.Errorf("%s: %v, want %v", groups, got, want)
		}
	}
}
