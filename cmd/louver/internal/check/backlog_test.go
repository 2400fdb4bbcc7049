package check

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/parse"
)

// A start in the past: the windows since then follow at once, and check says so.
func TestCheckBacklog(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 20, 0, time.UTC) // the window that ends at 12:00:00 is not due yet
	old := strings.Replace(clitest.StreamsFile, "window: {size: 15m, grace: 30s}",
		"window: {size: 15m, grace: 30s, start: 2020-01-01T00:00:00Z}", 1)
	const windows = 241487 // (2026-11-20T11:45:00Z − 2020-01-01T00:00:00Z) / 15m: 2,515 days of 96, and 47
	for _, c := range []struct {
		name, text string
		paid       int64
		want       string
	}{
		{"all are paid", old, windows, "  it starts at 2020-01-01T00:00:00Z: 241,487 windows already over, to be " +
			"released at once\n  in total they cost a user ε 33808.18\n"},
		{"a rolling budget withholds", strings.Replace(old, "budget: shoppers",
			"budget: {epsilon: 6.72, per: 24h}\n    on_exhausted: withhold", 1), 2515*48 + 47,
			"  the budget pays for 120,767 of them, which cost a user ε 16907.38 in total, and withholds 120,720\n"},
		{"a budget for ever withholds", strings.Replace(old, "budget: shoppers",
			"budget: {epsilon: 1, per: forever}\n    on_exhausted: withhold", 1), 7,
			"  the budget pays for 7 of them, which cost a user ε 0.98 in total, and withholds 241,480\n"},
		{"a user counts in few", strings.Replace(old, "    max_groups: 2\n",
			"    max_groups: 2\n    max_windows: {count: 8, per: 24h}\n", 1), windows,
			"  in total they cost a user ε 2049.32\n"}, // 7,319 blocks of 33 windows, two of ε 0.14 in each
		{"none are over", strings.Replace(clitest.StreamsFile, "grace: 30s", "grace: 30s, start: 2026-11-20T11:45:00Z",
			1), 0, ""},
		{"one is over", strings.Replace(clitest.StreamsFile, "grace: 30s", "grace: 30s, start: 2026-11-20T11:30:00Z",
			1), 1, ": 1 window already over, to be released at once\n  in total they cost a user ε 0.14\n"},
		{"it begins now", clitest.StreamsFile, 0, ""},
	} {
		f, err := parse.File("s.yaml", []byte(c.text), os.LookupEnv)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		found, err := examine(f, "louver", now)
		if err != nil {
			t.Fatal(err)
		}
		backlog := found.Streams[0].Backlog
		if (backlog == nil) != (c.want == "") || backlog != nil && *backlog.Paid != c.paid {
			t.Errorf("%s: %+v, want %d paid", c.name, backlog, c.paid)
		}
		var text bytes.Buffer
		if backlog.print(&text); !strings.HasSuffix(text.String(), c.want) {
			t.Errorf("%s: %q, want %q", c.name, text.String(), c.want)
		}
	}
}
