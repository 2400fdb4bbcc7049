package check

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// unforetold is of a type that check has no forecast for.
type unforetold struct{ config.Figure }

// A figure that check cannot forecast is in the report all the same, with what it costs. Any 24 hours touch two days.
func TestAFigureWithoutAForecast(t *testing.T) {
	file, err := parse.File("s.yaml", []byte(`version: 1
streams:
  - name: shop
    input: {topic: in, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: today, statistic: count, since: midnight, epsilon: 20}]
    output: {topic: out}
    budget: {epsilon: 60, per: 24h}
`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s := file.Streams[0]
	total, _ := config.Of[*config.Total](s, "today")
	x := &streamReport{}
	if err := x.describe(s, unforetold{total}, forecast.Public{}); err != nil || len(x.Others) != 1 {
		t.Fatalf("%+v, %v", x.Others, err)
	}
	of := x.Others[0]
	if of.Release != "today" || of.Epsilon.String() != "20" || of.AtMost != 2 || of.Worst.String() != "40" {
		t.Errorf("%+v", of)
	}
	var text bytes.Buffer
	if of.print(&text); !strings.Contains(text.String(), "costs one user ε 20 at a time, at most 2 times") {
		t.Error(text.String())
	}
}

// With twice as many streams of one budget there is twice as much to do, and not four times.
func TestCheckOfManyStreams(t *testing.T) {
	allocations := func(streams int) float64 {
		var yaml strings.Builder
		yaml.WriteString("version: 1\nbudgets: [{name: b, epsilon: 1000, per: 24h}]\nstreams:\n")
		for i := range streams {
			fmt.Fprintf(&yaml, `  - name: s%d
    input: {topic: in, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 10s}
    releases: [{name: users, statistic: count, epsilon: 0.01}]
    output: {topic: out}
    budget: b
`, i)
		}
		file, err := parse.File("s.yaml", []byte(yaml.String()), os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			if _, err := find(file, &forecastFlags{}, time.Now()); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(100), allocations(200); many > 2.5*few {
		t.Errorf("%.0f allocations for 100 streams, %.0f for 200", few, many)
	}
}

// One user is no users.
func TestAWatchThatOneUserSetsOff(t *testing.T) {
	var text bytes.Buffer
	x := watchReport{}
	x.Excess = 0.4
	x.print(&text, 0)
	if want := "with 1 user beyond the condition in one group"; !strings.Contains(text.String(), want) {
		t.Errorf("%q is not in %s", want, text.String())
	}
}
