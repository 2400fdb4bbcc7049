package decide

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// about returns the lines of a log that are about the stream s, with their levels.
func about(logs *observer.ObservedLogs) (all []string) {
	for _, e := range logs.All() {
		if strings.HasPrefix(e.Message, "stream s: ") {
			all = append(all, e.Level.CapitalString()+" "+e.Message)
		}
	}
	return all
}

// daily has a running total with ε 1000 a day, and a record every second hour.
const daily = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value, time: time, group: group}
    groups: [a, b, c]
    max_groups: 1
    bounds: {lower: 0, upper: 1000, step: 1}
    window: {size: 1h, every: 1h, grace: 10s, start: 2026-01-01T00:00:00Z}
    contribution: last
    releases:
      - {name: today, statistic: count, since: midnight, update: 2h, epsilon: 1000}
    output: {topic: out}
    budget: {epsilon: LIMIT, per: 24h}
    on_exhausted: withhold
`

// TestAPauseIsToldOnce: a watch and a release on change are paused, which takes one line each. So does the end of the
// pause, in the window that the first line names.
func TestAPauseIsToldOnce(t *testing.T) {
	slow, calm := users(6, 1, 501), func(hour int) []contribution { return at(int64(100+hour%2*100), 200, 300) }
	alarm := strings.NewReplacer("EPSILON", "1000", "ATMOST", "2").Replace(alarmed)
	change := strings.NewReplacer("ATMOST", "2").Replace(changing)
	for _, c := range []struct {
		name, text, limit, per string
		records                func(hour int) []contribution
		hours, over            int
		want                   []string
	}{
		// It fires at 01:00 and, held for an hour, again at 03:00. At 01:00 of the next day the first instance is a day
		// old.
		{"a watch, by at_most", alarm, "1000000", "24h", func(int) []contribution { return slow }, 26, 24, []string{
			"WARN stream s: watch slow was armed as often as at_most allows in 24h (2); it is withheld until " +
				"2026-01-02 01:00:00",
			"INFO stream s: watch slow looks again"}},
		{"a watch whose definition ends before",
			strings.Replace(alarm, "start: 2026-01-01T00:00:00Z",
				"start: 2026-01-01T00:00:00Z, end: 2026-01-01T12:00:00Z", 1),
			"1000000", "24h", func(int) []contribution { return slow }, 12, 0, []string{
				"WARN stream s: watch slow was armed as often as at_most allows in 24h (2); it is withheld until " +
					"2026-01-02 01:00:00"}},
		{"a watch, by at_most for good", alarm, "1000000", "forever", func(int) []contribution { return slow }, 30, 0,
			[]string{
				"WARN stream s: watch slow was armed as often as at_most allows (2); it is withheld for good"}},
		// 1000 and the one instance of `gone` leave nothing for a second one, nor for all windows.
		{"a watch, by the budget", alarm, "1073", "24h", func(int) []contribution { return slow }, 26, 24, []string{
			"WARN stream s: budget s cannot pay for another instance of watch slow; it is withheld until " +
				"2026-01-02 01:00:00",
			"INFO stream s: watch slow looks again"}},
		// Its values begin at 01:00 and change at 02:00 and 03:00.
		{"a release, by at_most", change, "1000000", "24h", calm, 26, 25, []string{
			"WARN stream s: release calm was drawn as often as at_most allows in 24h (2); it is withheld until " +
				"2026-01-02 02:00:00",
			"INFO stream s: release calm is published again"}},
		// The first values cost 6000, each change 3000.
		{"a release, by the budget", change, "6000", "24h", calm, 26, 25, []string{
			"WARN stream s: budget s cannot pay for another instance of release calm; it is withheld until " +
				"2026-01-02 02:00:00",
			"INFO stream s: release calm is published again"}},
		// The last window of the first day still counts in the last one of the second.
		{"a running total, by the budget", daily, "1500", "24h", func(int) []contribution { return slow }, 50,
			47, []string{
				"WARN stream s: budget s cannot pay for another instance of running total today; it is withheld until " +
					"2026-01-03 00:00:00",
				"INFO stream s: running total today is published again"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			d := newDecider(t,
				programOf(t, strings.NewReplacer("LIMIT", c.limit, "per: 24h", "per: "+c.per).Replace(c.text)),
				zap.New(core)).sealing(1)
			for hour := range c.hours {
				e := d.next(c.records(hour))
				got := about(logs)
				if len(got) < 2 {
					continue
				}
				if end := e.WindowEnd.Format(time.DateTime); hour != c.over ||
					!strings.HasSuffix(got[0], "until "+end) {
					t.Errorf("hour %d, %s: %q", hour, end, got)
				}
				break
			}
			if got := about(logs); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestAPauseOfALostTotalEndsAsTold: the entry that ends a lost total may not be able to pay for another one. The
// log says until when, although what returns then is what this very entry ends.
func TestAPauseOfALostTotalEndsAsTold(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	d := newDecider(t, programOf(t, strings.NewReplacer("LIMIT", "1500").Replace(daily)), zap.New(core))
	for hour := range 30 {
		if hour == 5 {
			d.goesOn(nil, nil, d.programs...) // a session that finds no parts, and no snapshot
		}
		e := d.next(nil)
		if looks := hour < 5 || hour >= 29; e.Continual[0].Looks() != looks {
			t.Errorf("hour %d: the total has the reason %q", hour, e.Continual[0].Reason)
		}
	}
	// It has ended with the window until 06:00.
	if got, want := about(logs), []string{
		"WARN stream s: budget s cannot pay for another instance of running total today; it is withheld until " +
			"2026-01-02 06:00:00", "INFO stream s: running total today is published again"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
