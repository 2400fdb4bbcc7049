package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/simulate"
)

func demoStream(t *testing.T, yaml string) *config.Stream {
	t.Helper()
	f, err := parse.File("demo.yaml", []byte(yaml), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return f.Streams[0]
}

// painted makes up a window's picture: each value is 100 more than the one before, in ten thousandths if it is a share.
func painted(s *config.Stream, number int) picture {
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC).Add(time.Duration(number) * s.Window.Size)
	p := picture{stream: s, start: start, end: start.Add(s.Window.Size), count: number + 1,
		lost:     decimal.New(int64(5*(number+1)), -1),
		inPeriod: new(decimal.New(875, -3)),
		sim:      &simulated{figures: map[string]decimal.Decimal{}, robin: number%2 == 0}}
	value := int64(0)
	for _, g := range s.Groups {
		for _, r := range figures(s) {
			value += 100
			number, truth := decimal.NewFromInt(value), decimal.NewFromInt(value-7)
			if r.Statistic == "share" {
				number, truth = number.Shift(-4), number.Shift(-4).Sub(decimal.New(1, -2))
			}
			v, low, high := json.Number(number.String()), json.Number("0.4521"), json.Number("0.5479")
			p.records = append(p.records, outputs.Record{Stream: s.Name, Group: g, Release: r.Name,
				Statistic: r.Statistic, Unit: "ms", Value: &v, PLow: &low, PHigh: &high,
				Quality: "useful", WindowEnd: p.end})
			p.sim.figures[g+"/"+r.Name] = truth
		}
	}
	return p
}

func viewOf(t *testing.T, s *config.Stream, width, height, windows int) *view {
	t.Helper()
	v := &view{width: width, height: height, now: time.Date(2026, 11, 20, 8, 1, 2, 0, time.UTC), status: "starting",
		addresses: []string{"127.0.0.1:8080"}, served: true,
		text: sceneText{title: "Louver demo: how fast does a simulated service answer?",
			remark: newSimulation(2 * time.Minute).text().remark, guess: true, day: 2 * time.Minute,
			news: func(picture, time.Time) (string, bool) {
				return "Incident since 08:00: us is three times as slow.", true
			}}}
	for i := range windows {
		v.add(painted(s, i))
	}
	return v
}

// The screen never has more lines or longer ones than the terminal, whatever its size.
func TestViewFits(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	many := demoStream(t, strings.Replace(string(simulate.Streams()), "groups: [eu, us, ap]",
		"groups: [a-group-with-a-very-long-name, "+someNames(40)+"]", 1))
	for _, stream := range []*config.Stream{s, many} {
		for _, windows := range []int{0, 1, 100} {
			v := viewOf(t, stream, 0, 0, windows)
			for v.width = 1; v.width <= 200; v.width += 13 {
				for v.height = 1; v.height <= 60; v.height += 5 {
					for v.page = range 2 {
						lines := strings.Split(v.String(), "\n")
						if len(lines) > v.height {
							t.Fatalf("%d lines on %d × %d", len(lines), v.width, v.height)
						}
						for _, l := range lines {
							if n := text.StringWidthWithoutEscSequences(l); n > v.width {
								t.Fatalf("%d characters on %d × %d: %s", n, v.width, v.height, l)
							}
						}
					}
				}
			}
		}
	}
}

func someNames(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("g", i))
	}
	return strings.Join(all, ", ")
}

// The simulated service fits 80 × 24, with all groups large, also after a guess. Its table is one page. On 120 × 40
// everything is on one page. There is a link only where there is a page.
func TestViewSizes(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	for name, c := range map[string]struct {
		width, height, page int
		guessed, off        bool
		want                []string
	}{
		"figures": {80, 24, 0, false, false, []string{
			"Louver demo: how fast does a simulated service answer?   demo's clock: Fri 08:01",
			"These users are simulated, so the truth is shown next to the private figures.",
			"Window 09:45–10:00. A new one every 15m; a day takes 2m.",
			"",
			"group   p50                           truth   last 8",
			"",
			"eu      100 ms 45th–55th percentile   93      ████████",
			"",
			"",
			"us      500 ms 45th–55th percentile   493     ████████",
			"",
			"",
			"ap      900 ms 45th–55th percentile   893     ████████",
			"",
			"",
			"Incident since 08:00: us is three times as slow.",
			"Did Robin from eu call from 08:00 to 08:15? A coin decided. Guess: y or n.",
			"Even if you know everyone else, at most 52 of 100 guesses are right.",
			"In the last 24h a user has lost at most ε 0.88; the limit is ε 1.",
			"←→ page 1 of 2 · Ctrl-C quits · other ε: http://127.0.0.1:8080/#/demo",
		}},
		"figures after a guess": {80, 24, 0, true, false, []string{
			"Right: Robin called. 1 of 1 right. And from 09:45 to 10:00? y or n.",
		}},
		"table": {80, 24, 1, true, true, []string{
			"group  figure      private        error  truth  off  last 8",
			"eu     p50          100 ms  p45.2–p54.8     93   +7  ▄▄▄▄▄▄▄▄",
			"Right: Robin called. 1 of 1 right. And from 09:45 to 10:00? y or n.",
			"←→ page 2 of 2 · Ctrl-C quits",
		}},
		"everything": {120, 40, 0, false, false, []string{
			"group   p50                           truth   last 8",
			"ap      900 ms 45th–55th percentile   893     ████████",
			"group  figure      private        error  truth  off  last 8",
			"eu     p50          100 ms  p45.2–p54.8     93   +7  ▄▄▄▄▄▄▄▄",
			"       today        400 ms  p45.2–p54.8    393   +7  ▄▄▄▄▄▄▄▄",
			"ap     p50          900 ms  p45.2–p54.8    893   +7  ▄▄▄▄▄▄▄▄",
			"       today      1,200 ms  p45.2–p54.8  1,193   +7  ▄▄▄▄▄▄▄▄",
			"Pages that were found: /search 5,000.",
			"Incident since 08:00: us is three times as slow.",
			"Ctrl-C quits · other ε: http://127.0.0.1:8080/#/demo",
		}},
	} {
		v := viewOf(t, s, c.width, c.height, 8)
		v.served = !c.off
		v.text.beside = func() []string { return []string{"Pages that were found: /search 5,000."} }
		if v.page = c.page; c.guessed {
			v.guess(true)
		}
		lines := strings.Split(text.StripEscape(v.String()), "\n")
		at := 0
		for _, l := range lines {
			if at < len(c.want) && strings.TrimRight(l, " ") == c.want[at] {
				at++
			}
		}
		if c.height == 24 && len(lines) != 24 || len(lines) > c.height || at < len(c.want) {
			t.Errorf("%s: %d lines:\n%s\nwant %d, with\n%s", name, len(lines), strings.Join(lines, "\n"), c.height,
				strings.Join(c.want[at:], "\n"))
		}
	}
}

// As long as a value lies in the bands of the later ones its line is flat. When it leaves a band the line follows.
func TestChartOfAFlatSeriesIsFlat(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	var all []picture
	for i, value := range []string{"100", "96", "104", "101", "99", "360", "350", "101"} {
		p := painted(s, i)
		r := &p.records[0]
		x, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		low, high, level := json.Number(fmt.Sprint(x-10)), json.Number(fmt.Sprint(x+10)), json.Number("0.95")
		r.Value, r.BandFields = new(json.Number(value)), &record.BandFields{Low: &low, High: &high, Level: &level}
		all = append(all, p)
	}
	if got := chart(all, 0, 1)[0]; got != "▃▃▃▃▃██▃" {
		t.Errorf("%s, want a flat line except in the two windows of an incident", got)
	}
}

// A rough figure whose truth does not change is a flat line, as long as its noise is that of its bands. A window is a
// false change in 1 of 180 at most: in 100 series of 60 windows that is 33 on average, and 68 or more in fewer than one
// run of a million (Poisson).
func TestChartOfARoughSeriesIsFlat(t *testing.T) {
	s, random := demoStream(t, string(simulate.Streams())), rand.New(rand.NewPCG(5, 6))
	leaps := 0
	for range 100 {
		var all []picture
		for i := range 60 {
			p := painted(s, i)
			x := 100 + 30*random.NormFloat64()
			low, high, level := number(x-1.96*30), number(x+1.96*30), json.Number("0.95")
			p.records[0].Value, p.records[0].BandFields = new(number(x)), &record.BandFields{Low: &low, High: &high, Level: &level}
			all = append(all, p)
		}
		line := []rune(chart(all, 0, 1)[0])
		for i := range line[1:] {
			if line[i+1] != line[i] {
				leaps++
			}
		}
	}
	if leaps > 67 {
		t.Errorf("%d leaps in 100 charts of 60 windows, want 33 or fewer on average", leaps)
	}
}

// The address of Kafka stands in the last line where there is room.
func TestKafkaAddress(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	for width, want := range map[int]bool{80: false, 120: true} {
		v := viewOf(t, s, width, 24, 3)
		v.addresses, v.served, v.text.guess, v.broker = []string{"127.0.0.1:8080"}, true, true, "127.0.0.1:41979"
		if got := text.StripEscape(v.keys(4)); strings.HasSuffix(got, "/#/demo · Kafka: 127.0.0.1:41979") != want ||
			!strings.Contains(got, "/#/demo") || utf8.RuneCountInString(got) > width {
			t.Errorf("%d characters: %q", width, got)
		}
	}
}

func number(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'f', 3, 64)) }

func TestViewPages(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	v := viewOf(t, s, 60, 19, 3)
	seen := map[string]bool{}
	for v.page = range 4 { // the large figures and three tables
		plain := text.StripEscape(v.String())
		for _, g := range s.Groups {
			if v.page > 0 && strings.Contains(plain, "\n"+g+" ") {
				seen[g] = true
			}
		}
		if want := fmt.Sprintf("page %d of 4", v.page+1); !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	if len(seen) != 3 {
		t.Errorf("the pages show %v", seen)
	}
	for _, c := range []struct{ page, want int }{{4, 0}, {-1, 3}, {9, 1}} {
		v.page = c.page
		if _ = v.String(); v.page != c.want {
			t.Errorf("page %d became %d, want %d", c.page, v.page, c.want)
		}
	}
}

// Noise is words and dots: its value is not shown.
func TestViewNoise(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	v := viewOf(t, s, 80, 24, 0)
	for i := range 3 {
		p := painted(s, i)
		p.records[0].Quality = "noise"
		v.add(p)
	}
	large := text.StripEscape(v.String())
	if !strings.Contains(large, "eu      too noisy to read             93") || strings.Contains(large, " 100 ms") {
		t.Errorf("got\n%s", large)
	}
	v.page = 1
	if plain := text.StripEscape(v.String()); !strings.Contains(plain,
		"eu     p50           noise  p45.2–p54.8     93       ···") || strings.Contains(plain, " 100 ms") {
		t.Errorf("got\n%s", plain)
	}
}

// A question stays until it is answered, whatever windows come. Then the next is about the newest window.
func TestViewGuesses(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	v := viewOf(t, s, 80, 24, 2) // Robin called in the first
	for _, c := range []struct {
		guess bool
		want  string
	}{
		{false, "Wrong: Robin called. 0 of 1 right. And from 08:15 to 08:30? y or n."},
		{false, "Right: Robin did not call. 1 of 2 right. And from 08:30 to 08:45? y or n."},
	} {
		v.guess(c.guess)
		v.add(painted(s, len(v.pictures)))
		if got := v.question(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A pipe gets one header and a line a figure, which begins with the window's end and has as many fields as the header.
func TestLines(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	for _, sim := range []bool{true, false} {
		var out, errOut bytes.Buffer
		l := newLines(&out, &errOut, nil)
		for i := range 2 {
			p := painted(s, i)
			reason := "budget_exhausted"
			p.records[1].Value, p.records[1].Reason, p.records[2].Group = nil, &reason, "two words"
			if !sim {
				p.sim = nil
			}
			l.show(p)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 1+2*12 || !strings.HasPrefix(lines[0], "window_end ") || errOut.Len() > 0 {
			t.Fatalf("got\n%s%s", out.String(), errOut.String())
		}
		for i, line := range lines[1:] {
			if want := []string{"2026-11-20T08:15:00Z ", "2026-11-20T08:30:00Z "}[i/12]; !strings.HasPrefix(line, want) {
				t.Errorf("line %q does not begin with %s", line, want)
			}
			if n := len(strings.Fields(strings.ReplaceAll(line, "two words", "one"))); n != len(strings.Fields(lines[0])) {
				t.Errorf("line %q has %d fields, the header %q", line, n, lines[0])
			}
		}
		if !strings.Contains(lines[2], "withheld") || !strings.HasSuffix(lines[2], "budget_exhausted") {
			t.Errorf("got %q", lines[2])
		}
		l.listening([]string{"127.0.0.1:8080", "127.0.0.1:9797"})
		if want := "louver: the page is at http://127.0.0.1:8080/\n"; errOut.String() != want {
			t.Errorf("standard error has %q, want %q", errOut.String(), want)
		}
	}
}
