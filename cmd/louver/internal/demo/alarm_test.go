package demo

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/simulate"
)

// TestAlarmOfTheDemo: one line says what the watch does, what it cost and what counting would have cost.
func TestAlarmOfTheDemo(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	record := func(group, value string, fired bool) outputs.Record {
		r := outputs.Record{Stream: s.Name, Group: group, Release: config.All[*config.Watch](s)[0].Name,
			Statistic: record.StatisticWatch,
			Instance:  2}
		if value != "" {
			r.Value = new(json.Number(value))
		}
		if fired {
			r.Since = new(time.Date(2026, 11, 20, 8, 1, 0, 0, time.UTC))
		}
		return r
	}
	for want, watches := range map[string][]outputs.Record{
		"Watch outage is armed and silent (ε 0.06 so far; by counting: ε 0.2).": {record("eu", "0", false),
			record("us", "0", false), record("ap", "0", false)},
		"Watch outage fires in us since 08:01 (ε 0.06 so far; by counting: ε 0.2).": {record("eu", "0", false),
			record("us", "1", true), record("ap", "", false)},
		"Watch outage is not armed (ε 0.06 so far; by counting: ε 0.2).": {record("eu", "", false),
			record("us", "", false), record("ap", "", false)},
	} {
		p := painted(s, 7)
		p.watches = watches
		if got := alarmOf(p).String(); got != want || text.StringWidthWithoutEscSequences(got) > 80 {
			t.Errorf("%q, want %q in 80 characters", got, want)
		}
	}
	if a := alarmOf(painted(s, 1)); a != nil {
		t.Errorf("%v of a window without records of watches", a)
	}
}

// TestCountingCost asks the exact law of a count what an alarm by counting misses and how often it fires without cause.
func TestCountingCost(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	w := config.All[*config.Watch](s)[0]
	epsilon, x := countingCost(s, w), w.Mechanism.Excess95()
	comparisons := 3 * 30 * 96.
	// P(noise ≥ c)
	beyond := func(c float64) float64 { return math.Exp(-epsilon*math.Ceil(c)) / (1 + math.Exp(-epsilon)) }
	c := x + math.Log(0.1)/epsilon
	if alarms := comparisons * beyond(c); alarms < 0.04 || alarms > 0.06 {
		t.Errorf("an alarm at %v users too many has %v false alarms in 30 days, want 0.05", c, alarms)
	}
	if missed := beyond(x - c); missed < 0.045 || missed > 0.055 {
		t.Errorf("it misses %v users too many with %v, want 0.05", x, missed)
	}
	if month := epsilon * 30 * 96; month < 50 || month > 150 {
		t.Errorf("a month of counts costs ε %v", month)
	}
}

// TestDemoLinesOfWatches: in a pipe, watches have lines as figures do.
func TestDemoLinesOfWatches(t *testing.T) {
	s := demoStream(t, string(simulate.Streams()))
	p := painted(s, 0)
	p.watches = []outputs.Record{{Stream: s.Name, Group: "us", Release: "outage", Value: new(json.Number("1")),
		Epsilon: "0.1"}}
	var out, err strings.Builder
	newLines(&out, &err, nil).show(p)
	if got := out.String(); !strings.Contains(got, "  demo-latency/us/outage") ||
		strings.Count(got, "\n") != 1+len(p.records)+1 {
		t.Errorf("%s%s", got, err.String())
	}
}
