package ingest

import (
	"testing"
	"time"
)

// TestProducersGetTheGraceAgain: from the broker's return they have the grace, and three graces in all while it keeps
// going away.
func TestProducersGetTheGraceAgain(t *testing.T) {
	const grace = 10 * time.Second
	type outage struct{ from, to int } // seconds
	begin := time.Now()
	after := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		aways []outage
		until int // of the last
	}{
		"once":                      {[]outage{{10, 111}}, 121},
		"twice, and cut in between": {[]outage{{10, 111}, {121, 130}}, 140},
		"twice in a row":            {[]outage{{10, 111}, {116, 130}}, 140},
		"until little is left":      {[]outage{{0, 10}, {18, 20}, {28, 30}, {38, 40}}, 46},
		"until nothing is left":     {[]outage{{0, 10}, {19, 20}, {29, 30}, {39, 40}, {42, 45}, {45, 47}}, 47},
		"after a cut all begins again": {[]outage{{0, 10}, {19, 20}, {29, 30}, {39, 40}, {42, 45}, {45, 47}, {48, 50}},
			60},
		"what two workers saw":            {[]outage{{10, 111}, {9, 112}}, 121},
		"what was over before, once more": {[]outage{{10, 20}, {110, 120}, {10, 20}}, 130},
	} {
		t.Run(name, func(t *testing.T) {
			var o absences
			for _, a := range c.aways {
				o.again(at{stream: "web"}, grace, after(a.from), after(a.to))
			}
			if _, until := o.of(at{stream: "web"}, grace); !until.Equal(after(c.until)) {
				t.Errorf("waits until second %v, want %d", until.Sub(begin).Seconds(), c.until)
			}
		})
	}
}

// TestABrokerThatKeepsGoingAwayIsNotAwaitedForEver: however short the moments are in which it is there, after thirty of
// them windows are cut.
func TestABrokerThatKeepsGoingAwayIsNotAwaitedForEver(t *testing.T) {
	const grace = time.Hour
	for _, there := range []time.Duration{time.Nanosecond, time.Second, time.Minute, grace - 1} {
		var o absence
		now := time.Now()
		for returns := 1; ; returns++ {
			now = now.Add(time.Minute)
			o.again(now.Add(-time.Minute), now, grace)
			if !now.Add(there).Before(o.until(grace)) {
				break // it is there for long enough
			}
			if returns > mostGraces*leastShare {
				t.Fatalf("it is there for %v: after %d returns windows still wait", there, returns)
			}
			now = now.Add(there)
		}
	}
}
