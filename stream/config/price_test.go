package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/windows"
)

// cappedHours has windows of two hours that begin every hour. A period of 11 hours is divided into blocks of 5 windows,
// and in each a user counts in 2.
const cappedHours = `version: 1
streams:
  - name: s
    input: {topic: in, user: $key, value: $value}
    max_windows: {count: 8, per: 11h, parts: 3}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 2h, every: 1h, grace: 0s}
    releases: [{name: users, statistic: count, epsilon: 0.1}]
    watches: [{name: few, users_below: 500, epsilon: 0.5, false_alarms: {at_most: 0.01, per: 30d}, hold: 0s, at_most: 2}]
    output: {topic: out}
    budget: {epsilon: LIMIT, per: 11h}
`

// Some user counts in as many windows of a period as is charged, and nobody in more. Of the windows that overlap a
// stretch as long, nobody counts in more than is said. The user comes for the first time when it begins, at any time of
// a block.
func TestCapsSayTheMost(t *testing.T) {
	s := read(t, strings.Replace(cappedHours, "LIMIT", "9", 1))
	counts := func(hours int) (most int64) {
		for shift := range uint64(s.MaxWindows.By.Block) {
			c, n := windows.NewCap(s.MaxWindows.By), int64(0)
			for h := range int64(hours) {
				if err := c.Begin(windows.Window{Start: h * int64(time.Hour),
					End: (h + 2) * int64(time.Hour)}); err != nil {
					t.Fatal(err)
				}
				if c.Counts(windows.UserHash{1, shift}) {
					n++
				}
			}
			most = max(most, n)
		}
		return most
	}
	if said := s.Cap(0).Count; said != 6 || counts(11) != 6 {
		t.Errorf("%d windows of a period are charged, and somebody counts in %d; want 6", said, counts(11))
	}
	stretch := func(s *config.Stream) (int64, cost.Loss) {
		in := (&config.File{Streams: []*config.Stream{s}}).Payer(s.Budget, time.Now()).InAnyStretch()
		return in.Windows, in.Lost
	}
	// A stretch of 11 hours overlaps 13 windows, of which 8 are within the cap. As many as a block has turns, 2, may
	// change after it. The ends of the 13 are in two periods, each with two instances.
	if n, lost := stretch(s); n != 13 || counts(13) != 7 || lost.Epsilon.String() != "3" {
		t.Errorf("%d windows overlap a stretch, somebody counts in %d of them, and loses at most %s; want 13, 7 and 3",
			n, counts(13), lost.Epsilon)
	}
	little := read(t, strings.Replace(cappedHours, "epsilon: LIMIT, per: 11h}",
		"epsilon: 1, per: 11h}\n    on_exhausted: withhold", 1))
	// the limit of two periods, and of one that covers a block
	if _, lost := stretch(little); lost.Epsilon.String() != "3" {
		t.Errorf("under a limit of 1 a stretch costs %s; want 3", lost.Epsilon)
	}
}

// What a budget would need with a δ is what it needs once it has one: totals are then drawn by another mechanism.
func TestTotalsWithADelta(t *testing.T) {
	const hourly = `version: 1
streams:
  - name: s
    input: {topic: in, user: $key, value: $value}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1m, grace: 0s}
    releases: [{name: hourly, statistic: count, since: hour, epsilon: 0.4}]
    output: {topic: out}
    budget: {epsilon: 60, per: 24h}
`
	now := time.Now()
	pure, with := read(t, hourly), read(t, strings.Replace(hourly, "per: 24h", "delta: 0.000000001, per: 24h", 1))
	said := (&config.File{Streams: []*config.Stream{pure}}).PayerWithDelta(pure.Budget, now).Needs()
	is := (&config.File{Streams: []*config.Stream{with}}).Payer(with.Budget, now).Needs()
	if !said.Epsilon.Equal(is.Epsilon) || said.Epsilon.IsZero() {
		t.Errorf("it would need ε %s, and needs ε %s", said.Epsilon, is.Epsilon)
	}
}

// A day costs what a day holds, also under a budget of a week: one price of a number of active users, the two days that
// any 24 hours touch, and 24 totals of an hour. A watch may be armed as often in a day as in the week.
func TestADayOfALongBudget(t *testing.T) {
	const file = `version: 1
streams:
  - name: s
    input: {topic: in, user: $key, value: v}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 0s}
    FIGURE
    output: {topic: out}
    budget: {epsilon: 1000, per: 7d}
`
	for figure, want := range map[string]struct{ day, week string }{
		`releases: [{name: now, statistic: count, epsilon: 1, active: 3h, mechanism: centred}]`:     {"1", "7"},
		`releases: [{name: today, statistic: count, epsilon: 1, since: midnight, mechanism: tree}]`: {"2", "8"},
		`releases: [{name: hour, statistic: count, epsilon: 1, since: hour, mechanism: tree}]`:      {"24", "168"},
		`watches: [{name: few, users_below: 5, epsilon: 1, false_alarms: {at_most: 0.01, per: 30d}, hold: 0s, at_most: 3}]
    releases: [{name: users, statistic: count, epsilon: 0.000001}]`: {"3.000024", "3.000168"},
	} {
		s := read(t, strings.Replace(file, "FIGURE", figure, 1))
		p := (&config.File{Streams: []*config.Stream{s}}).Payer(s.Budget, time.Now())
		if day, week := p.InAnyDay().Epsilon.String(), p.InAnyPeriod().Epsilon.String(); day != want.day ||
			week != want.week {
			t.Errorf("%s: a day costs %s and a week %s; want %s and %s", figure, day, week, want.day, want.week)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "1m30s", 15 * time.Minute: "15m", time.Hour: "1h", 90 * time.Minute: "1h30m",
		24 * time.Hour: "24h",
		48 * time.Hour: "2d", 49 * time.Hour: "49h", 7 * 24 * time.Hour: "7d", 30 * time.Second: "30s",
		time.Hour + time.Second: "1h0m1s",
	} {
		if got := config.Duration(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}

// A user of whom only some events of a window are removed moves from one bucket to another: that costs two draws of the
// histogram, whether or not they may also be in another group then.
func TestTheEdgeOfAHistogram(t *testing.T) {
	const file = `version: 1
streams:
  - name: s
    input: {topic: in, user: $key, value: v, group: g}
    groups: [a, b, c]
    max_groups: 2
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, grace: 0s}
    releases: [{name: h, statistic: histogram, buckets: [10, 50], epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 400, delta: 0.000000001, per: 7d}
`
	for _, text := range []string{file, strings.Replace(file, "max_groups: 2", "max_groups: 3", 1)} {
		s := read(t, text)
		if price, edge := s.Price(), s.EdgePrice(); !slices.EqualFunc(edge, budget.Times(price, 2), budget.Item.Equal) {
			t.Errorf("a window costs %v, and %v at an edge; want twice as many draws", price, edge)
		}
	}
}
