package demo

import (
	"testing"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/simulate"
)

// boardStreams are the demo's streams, with windows from a fixed start.
func boardStreams(t *testing.T) []*config.Stream {
	t.Helper()
	f, err := parse.File("demo.yaml", simulate.Streams(), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Streams {
		s.Window.StartNow, s.Window.Start = false, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	return f.Streams
}

// A board keeps no figure that no window waits for, in whatever order figures come. A demo may run for days.
func TestBoardKeepsNothing(t *testing.T) {
	streams := boardStreams(t)
	var shown []picture
	b := newBoard(streams, func(p picture) { shown = append(shown, p) }, func() {})
	first := streams[0]
	for w := range 3 {
		end := time.Unix(0, first.Window.Start).UTC().Add(time.Duration(w+1) * first.Window.Every)
		add := func(s *config.Stream, group, release string) {
			b.add(outputs.Record{Stream: s.Name, Group: group, Release: release, WindowEnd: end})
		}
		for _, g := range first.Groups {
			for _, x := range figures(first) {
				add(first, g, x.Name)
			}
			for _, l := range first.Lasting() {
				add(first, g, l.Heading().Name)
			}
		}
		add(first, "eu", "latency") // a histogram, after all that the window needs
		for _, s := range streams[1:] {
			for _, name := range s.SeriesNames() {
				add(s, "", name)
			}
		}
	}
	if len(shown) != 3 {
		t.Fatalf("%d windows are shown, want 3", len(shown))
	}
	for stream, ends := range b.waiting {
		if len(ends) > 0 {
			t.Errorf("figures of %s wait for %d windows, and nothing waits for them", stream, len(ends))
		}
	}
}
