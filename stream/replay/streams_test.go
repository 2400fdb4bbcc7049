package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/replay"
)

// load parses a streams file and returns its one stream with its decoder.
func load(t *testing.T, d replay.Demo) (*config.Stream, codec.Decoder) {
	t.Helper()
	text, err := replay.StreamsFor(d)
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse("demo.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := f.Streams[0]
	in := s.Input
	decoder, err := codec.New(codec.Spec{Format: in.Format, User: in.User, Value: in.Value, Time: in.Time, Group: in.Group,
		Groups: s.Groups, MaxFuture: in.MaxFuture, Grid: s.Grid})
	if err != nil {
		t.Fatal(err)
	}
	return s, decoder
}

// The streams file is right, reads the records of the file, and its budget pays for its schedule.
func TestStreamsFor(t *testing.T) {
	s, d := load(t, replay.Demo{Columns: columns, Groups: []string{"assets", "presentations"}})
	if s.Grid.Last() != 100000 || s.Input.Topic != replay.DemoInput || s.Output != replay.DemoOutput || s.Window.Size.Seconds() != 10 {
		t.Errorf("stream %+v", s)
	}
	charge := decimal.Zero
	for _, r := range s.Releases {
		charge = charge.Add(r.Query.Epsilon)
	}
	if most := charge.Mul(decimal.NewFromInt(int64(s.Budget.Per / s.Window.Size))); !most.Equal(s.Budget.Epsilon) {
		t.Errorf("budget ε %s, the schedule costs %s", s.Budget.Epsilon, most)
	}
	records, err := read(t, table, columns, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"414cc 1 25230", "cf19f 0 1016"} {
		var e codec.Event
		if r := d.Decode(nil, records[i].Value, records[i].Time.UnixNano(), &e); r != codec.OK {
			t.Fatalf("%s: %v", records[i].Value, r)
		}
		if got := fmt.Sprintf("%s %d %d", e.User, e.Group, e.Value); got != want || e.Time != records[i].Time.UnixNano() {
			t.Errorf("got %s at %d, want %s", got, e.Time, want)
		}
	}
}

func TestStreamsForOptions(t *testing.T) {
	groups := []string{"a: b", `"`, "${HOME}", "$", "é#", "- x", "null", "7", "{{.}}", "\\n"}
	s, _ := load(t, replay.Demo{Columns: columns, Lower: decimal.NewFromInt(-5), Upper: decimal.RequireFromString("0.3"), Step: decimal.RequireFromString("0.1"),
		Epsilon: decimal.RequireFromString("0.25"), Unit: "µs: #", Groups: groups})
	if s.Grid.Last() != 53 || s.Grid.Text(0) != "-5" || s.Unit != "µs: #" || s.Releases[0].Query.Epsilon.String() != "0.25" || s.Budget.Epsilon.String() != "60" {
		t.Errorf("stream %+v", s)
	}
	if !slices.Equal(s.Groups, groups) {
		t.Errorf("groups %q, want %q", s.Groups, groups)
	}
	if s, _ := load(t, replay.Demo{Columns: replay.Columns{User: "u", Value: "v", Time: "t"}}); !slices.Equal(s.Groups, []string{""}) || s.Input.Group != "" {
		t.Errorf("groups %q by %q, want none", s.Groups, s.Input.Group)
	}
	text, err := replay.StreamsFor(replay.Demo{Columns: columns, Upper: decimal.NewFromInt(10), Step: decimal.NewFromInt(3)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Parse("demo.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "step") {
		t.Errorf("step 3 for 0 to 10: %v", err)
	}
}
