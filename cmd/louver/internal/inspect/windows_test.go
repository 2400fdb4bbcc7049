package inspect

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/cmd/louver/internal/inspect/timeline"
)

// Streams whose windows wait for the same share a row; those that wait for something else, or for longer, do not.
func TestStreamsShareARow(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	run := func(stream, why string, windows int64, state timeline.State) timeline.Run {
		end := now.Add(-time.Hour)
		return timeline.Run{Stream: stream, State: state, Windows: windows, First: end,
			Last: end.Add(time.Duration(windows-1) * time.Minute), Due: end.Add(30 * time.Second), Why: []string{why}}
	}
	var runs []timeline.Run
	for i := range 200 {
		name := fmt.Sprintf("s%03d", i)
		runs = append(runs, run(name, "", 40, timeline.Released),
			run(name, "partition 0 of in: not read", 3, timeline.Waiting))
	}
	runs = append(runs, run("slow", "partition 0 of in: not read", 4, timeline.Waiting),
		run("other", "partition 1 of in: not read", 3, timeline.Waiting),
		run("twin", "partition 1 of in: not read", 3, timeline.Waiting),
		run("twin", "partition 1 of in: not read", 3, timeline.Waiting)) // two definitions
	var got []string
	for _, row := range rowsOf(runs, now) {
		got = append(got, fmt.Sprintf("%s | %s windows | %s", row[0], row[2], row[3]))
	}
	want := []string{
		"s000, s001, s002 and 197 more | 40 windows | released",
		"s000, s001, s002 and 197 more | 3 windows | waiting",
		"slow | 4 windows | waiting",
		"other and twin | 3 windows | waiting",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
