package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/replay"
	"github.com/louver/louver/windows"
)

// load parses a streams file and returns its one stream with its decoder.
func load(t *testing.T, d replay.Demo) (*config.Stream, codec.Decoder) {
	t.Helper()
	text, err := replay.StreamsFor(d)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse.File("demo.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := f.Streams[0]
	decoder, err := codec.New(s.Codec())
	if err != nil {
		t.Fatal(err)
	}
	return s, decoder
}

// surveyed is a survey of two stretches.
func surveyed(groups ...string) *replay.Survey {
	day := time.Date(2015, 5, 17, 0, 0, 0, 0, time.UTC)
	return &replay.Survey{Groups: groups, Window: 3 * time.Hour, Stretches: []replay.Stretch{
		{Start: day.Add(9 * time.Hour), End: day.Add(24 * time.Hour), Windows: 5},
		{Start: day.AddDate(0, 1, 0), End: day.AddDate(0, 1, 1), Windows: 8},
	}}
}

func demo(s *replay.Survey) replay.Demo {
	return replay.Demo{Name: "demo", Columns: columns, Survey: s, Contribution: windows.Last,
		Upper: decimal.NewFromInt(100000), Step: decimal.NewFromInt(1), Epsilon: decimal.NewFromInt(1)}
}

// The streams file is right, reads the records of the file, and its budget pays for its schedule.
func TestStreamsFor(t *testing.T) {
	s, d := load(t, demo(surveyed("assets", "presentations")))
	if s.Grid.Last() != 100000 || s.Output != "demo.private" || s.Window.Size != 3*time.Hour || s.Window.StartNow {
		t.Errorf("stream %+v", s)
	}
	charge := decimal.Zero
	for _, r := range config.All[*config.Release](s) {
		charge = charge.Add(r.Query.Epsilon)
	}
	if !charge.Equal(decimal.NewFromInt(1)) {
		t.Errorf("a window costs ε %s, want 1", charge)
	}
	if most := charge.Mul(decimal.NewFromInt(5 + 8)); !most.Equal(s.Budget.Epsilon) {
		t.Errorf("budget ε %s, the schedule costs %s", s.Budget.Epsilon, most)
	}
	records, err := read(t, table, columns, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"414cc 1 25230", "cf19f 0 1016"} {
		var e codec.Event
		if r := d.Decode(codec.Record{Value: records[i].Value, Time: records[i].Time.UnixNano()}, &e); r != codec.OK {
			t.Fatalf("%s: %v", records[i].Value, r)
		}
		if got := fmt.Sprintf("%s %d %d", e.User, e.Group, e.Value); got != want ||
			e.Time != records[i].Time.UnixNano() {
			t.Errorf("got %s at %d, want %s", got, e.Time, want)
		}
	}
}

// Each stretch is a stream with a topic of its own; they share a budget.
func TestStreamsForStretches(t *testing.T) {
	text, err := replay.StreamsFor(demo(surveyed("assets")))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parse.File("demo.yaml", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	a, b := f.Streams[0], f.Streams[1]
	if len(f.Streams) != 2 || a.Input.Topic == b.Input.Topic || a.Name == b.Name || a.Budget != b.Budget {
		t.Errorf("streams %+v", f.Streams)
	}
	for i, s := range surveyed().Stretches {
		if w := f.Streams[i].Window; w.Start != s.Start.UnixNano() || w.End != s.End.UnixNano() {
			t.Errorf("stream %d: windows %+v, want those of %+v", i, w, s)
		}
	}
}

func TestStreamsForOptions(t *testing.T) {
	groups := []string{"a: b", `"`, "${HOME}", "$", "é#", "- x", "null", "7", "{{.}}", "\\n"}
	s, _ := load(t, replay.Demo{Name: "demo", Columns: columns, Survey: surveyed(groups...),
		Contribution: windows.Last, Unit: "µs: #",
		Lower: decimal.NewFromInt(-5), Upper: decimal.RequireFromString("0.3"), Step: decimal.RequireFromString("0.1"),
		Epsilon: decimal.RequireFromString("0.25")})
	if s.Grid.Last() != 53 || s.Grid.Value(0).String() != "-5" || s.Unit != "µs: #" ||
		config.All[*config.Release](s)[0].Query.Epsilon.String() != "0.075" {
		t.Errorf("stream %+v", s)
	}
	if !slices.Equal(s.Groups, groups) {
		t.Errorf("groups %q, want %q", s.Groups, groups)
	}
	d := demo(surveyed())
	d.Columns = replay.Columns{User: "u", Value: "v", Time: "t"}
	if s, _ := load(t, d); !slices.Equal(s.Groups, []string{""}) || s.Input.Group != "" {
		t.Errorf("groups %q by %q, want none", s.Groups, s.Input.Group)
	}
	d.Step = decimal.NewFromInt(3)
	text, err := replay.StreamsFor(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parse.File("demo.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "step") {
		t.Errorf("step 3 for 0 to 100000: %v", err)
	}
}
