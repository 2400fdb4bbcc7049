package demo

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/simulate"
)

// paintedDemo makes up a window's picture of all streams of the simulated service. The figure on change has had so many
// instances and has this value everywhere, or is withheld.
func paintedDemo(t *testing.T, number int, instances int64, value string) picture {
	t.Helper()
	f, err := parse.File("demo.yaml", simulate.Streams(), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	p := painted(f.Streams[0], number)
	for _, g := range p.stream.Groups {
		r := outputs.Record{Stream: p.stream.Name, Group: g, Release: "calm", Statistic: "median", Unit: "ms",
			Instance: instances, Changed: new(false)}
		if value != "" {
			r.Value = new(json.Number(value))
		}
		p.watches = append(p.watches, r)
	}
	limited := painted(f.Streams[1], number)
	limited.sim = nil
	p.beside = []picture{limited}
	return p
}

// What costs less is told in two lines of at most 80 characters, also after hours and while nothing can be drawn.
func TestCheaper(t *testing.T) {
	for _, c := range []struct {
		windows   int
		instances int64
		value     string
		want      string
	}{
		{1, 1, "120", "Less ε: calm is drawn when it moves: ε 0.25 so far; in every window: ε 0.1."},
		{6, 1, "120", "Less ε: calm is drawn when it moves: ε 0.25 so far; in every window: ε 0.6."},
		{1000, 240, "360", "Less ε: calm is drawn when it moves: ε 36.1 so far; in every window: ε 100."},
		{9999, 2000, "", "Less ε: calm is drawn when it moves: ε 300.1 so far; in every window: ε 999.9."},
	} {
		lines := paintedDemo(t, c.windows-1, c.instances, c.value).cheaper()
		if len(lines) != 2 {
			t.Fatalf("%q; want two lines", lines)
		}
		if got := text.StripEscape(lines[0]); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
		for _, l := range lines {
			if n := text.StringWidthWithoutEscSequences(l); n > 80 {
				t.Errorf("%d characters: %s", n, l)
			}
		}
	}
	if lines := painted(demoStream(t, string(simulate.Streams())), 0).cheaper(); lines != nil {
		t.Errorf("%q of a stream that is alone", lines)
	}
}

// A pipe gets the figures of all streams. The truth is of those who have all their windows in the figures.
func TestDemoLinesOfAllStreams(t *testing.T) {
	p := paintedDemo(t, 0, 1, "120")
	var out, err strings.Builder
	newLines(&out, &err, nil).show(p)
	if got := out.String(); !strings.Contains(got, "  demo-latency/us/calm") ||
		strings.Count(got, "\n") != 1+len(p.records)+len(p.watches)+len(p.beside[0].records) {
		t.Errorf("%s%s", got, err.String())
	}
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); strings.HasPrefix(f[1], "limited/") && f[6] != "-" {
			t.Errorf("%q has a truth, and nobody knows who counts", line)
		}
	}
}

// Streams with the same windows are shown together, once each has its figures. Others follow.
func TestBoardOfStreamsSideBySide(t *testing.T) {
	f, err := parse.File("demo.yaml", simulate.Streams(), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	later := *f.Streams[1]
	later.Name = "later"
	for i, s := range []*config.Stream{f.Streams[0], f.Streams[1], &later} {
		s.Window.StartNow, s.Window.Start = false, start.Add(time.Duration(i/2)*time.Hour).UnixNano()
		s.Window.End = s.Window.Start + int64(s.Window.Size)
	}
	var shown []picture
	over := false
	b := newBoard([]*config.Stream{f.Streams[0], f.Streams[1], &later}, func(p picture) { shown = append(shown, p) },
		func() { over = true })
	for _, s := range []*config.Stream{&later, f.Streams[1], f.Streams[0]} {
		if len(shown) > 0 {
			t.Fatalf("shown too early: %+v", shown)
		}
		for _, g := range s.Groups {
			for _, r := range s.Releases {
				b.add(outputs.Record{Stream: s.Name, Group: g, Release: r.Name, WindowEnd: time.Unix(0, s.Window.End)})
			}
			for _, w := range s.Steps() {
				b.add(outputs.Record{Stream: s.Name, Group: g, Release: w.Name, WindowEnd: time.Unix(0, s.Window.End)})
			}
		}
	}
	if len(shown) != 2 || !over || shown[0].stream != f.Streams[0] || len(shown[0].beside) != 1 ||
		shown[0].beside[0].stream != f.Streams[1] || shown[1].stream != &later || shown[1].count != 2 {
		t.Errorf("%d windows, over %v: %+v", len(shown), over, shown)
	}
}
