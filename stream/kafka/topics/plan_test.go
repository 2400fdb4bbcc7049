package topics

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/windows"
)

func outputSettings(t *testing.T, start string) []kafka.ConfigEntry {
	t.Helper()
	file, err := parse.File("streams.yaml", []byte(`
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 1s, start: `+start+`}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 100, per: 24h}
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan("app", file.Streams)
	i := slices.IndexFunc(plan, func(topic Topic) bool { return topic.Name == "out" })
	return entries(Settings(plan[i], 0))
}

// TestBackfilledOutputsAreKept: a record's timestamp is its window's end, so that the broker's usual retention would
// delete windows of long ago as soon as they are published.
func TestBackfilledOutputsAreKept(t *testing.T) {
	forEver := kafka.ConfigEntry{ConfigName: "retention.ms", ConfigValue: "-1"}
	if got := outputSettings(t, "2015-05-17T10:00:00Z"); !slices.Contains(got, forEver) {
		t.Errorf("an output that is filled from 2015 on is created with %v", got)
	}
	if got := outputSettings(t, "now"); len(got) != 0 {
		t.Errorf("an output that begins now is created with %v, want the broker's defaults", got)
	}
}

// Parts are kept through twice the time for which a window needs them. Under a cap these are the parts of a block of
// windows.
func TestPartsAreKeptForTheCap(t *testing.T) {
	day := 24 * time.Hour
	s := &config.Stream{Window: config.Window{Size: day, Every: day, Grace: time.Hour}}
	if got := partialsRetention([]*config.Stream{s}); got != 7*day {
		t.Errorf("parts are kept for %s, want a week", got)
	}
	spec := windows.CapSpec{Count: 2, Per: 60 * day, Parts: 1}
	rule, err := spec.Rule(s.Window.Schedule(0))
	if err != nil {
		t.Fatal(err)
	}
	s.MaxWindows = &config.MaxWindows{CapSpec: spec, By: rule}
	if got, want := partialsRetention([]*config.Stream{s}), 2*(day+time.Hour+59*day); got != want {
		t.Errorf("parts are kept for %s, want %s: a user counts once in blocks of 60 days", got, want)
	}
}
