package chaostest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// probed is a checker of windows in some of which the one user of a group counts. From the window restart on they are
// of another era.
func probed(counted []int, restart int) *checker {
	v := definition{size: 3 * time.Second, every: 3 * time.Second, cap: 4}
	c := &checker{evidence: evidence{streams: []promised{{name: "s", definitions: []definition{v}}}},
		entries: map[string]ledger.Entry{}}
	for i := range 30 {
		start := storyStart.Add(time.Duration(i) * v.every)
		e := ledger.Entry{Stream: "s", WindowStart: start, WindowEnd: start.Add(v.size), Every: v.every,
			Cap:    budget.Cap{Count: v.cap, Per: capPer},
			Groups: []ledger.Group{{Name: "probe", Values: []ledger.Value{drawnAs(0)}}}}
		if i >= restart {
			e.Cap.Era = int64(restart)
		}
		if slices.Contains(counted, i) {
			e.Groups[0].Values[0] = drawnAs(1)
		}
		c.entries[windowKey("s", start)] = e
	}
	return c
}

// TestCheckerSeesWhoCountsTooOften: a block has seven windows, and a user counts in one of each.
func TestCheckerSeesWhoCountsTooOften(t *testing.T) {
	for _, test := range []struct {
		counted []int
		restart int
		wrong   int
	}{
		{[]int{0, 7, 14, 21, 28}, 30, 0},
		{[]int{6, 7, 14, 27}, 30, 0}, // the user came late in some blocks
		{[]int{0, 3, 7, 14}, 3, 0},   // nobody knows who counted before
		{[]int{0, 3, 7, 14}, 30, 1},  // somebody forgot, and it is not said
		{[]int{0, 7, 8, 14, 15}, 30, 1},
	} {
		c := probed(test.counted, test.restart)
		if c.checkCaps(); c.overspent != test.wrong || len(c.complaints) != test.wrong {
			t.Errorf("a user counts in %v, with a new era at %d: %v", test.counted, test.restart, c.complaints)
		}
	}
}

// alarmedStory is a checker of windows in each of which so many users are slow.
func alarmedStory(slow ...int) *checker {
	v := definition{size: storySize, every: storySize, grace: storyGrace, groups: []string{"x", "y"}, alarm: 2}
	c := &checker{evidence: evidence{streams: []promised{{name: "s", input: "in", policy: "last",
		definitions: []definition{v}}}, steps: map[string][]control.Step{"in": {{Partitions: 1, Due: control.Always}}}},
		entries: map[string]ledger.Entry{}, follows: map[string]definition{}}
	excess := decimal.NewFromInt(1)
	for i, n := range slow {
		start := storyStart.Add(time.Duration(i) * storySize)
		for u := range n {
			c.deeds = append(c.deeds, deed{topic: "in", user: fmt.Sprint(u), group: "y", value: 900,
				at: start.Add(time.Second), acked: start.Add(time.Second)})
		}
		key := windowKey("s", start)
		c.entries[key] = ledger.Entry{Stream: "s", WindowStart: start, WindowEnd: start.Add(storySize),
			Every: storySize, Groups: []ledger.Group{{Name: "x"}, {Name: "y"}},
			Continual: []ledger.Continual{{Name: "slow-2", Instance: 1, Watch: &ledger.Watch{Excess95: &excess}}}}
		c.follows[key] = v
	}
	return c
}

// TestCheckerSeesWrongAlarms plants one thing at a time into what a watch did in three windows: it is armed, fires in
// the second one, and is armed again.
func TestCheckerSeesWrongAlarms(t *testing.T) {
	y, x := "y", "x"
	for _, test := range []struct {
		name string
		plan func(w []*ledger.Continual)
		want verdict
	}{
		{name: "nothing is planted", plan: func([]*ledger.Continual) {}},
		{name: "it holds after it has fired", plan: func(w []*ledger.Continual) {
			*w[2] = ledger.Continual{Name: "slow-2", Instance: 1, Reason: record.NotArmed, Watch: &ledger.Watch{Fired: &y}}
		}},
		{name: "an instance fires twice",
			plan: func(w []*ledger.Continual) { w[2].Instance, w[2].Arms, w[2].Sealed = 1, false, nil },
			want: verdict{overspent: 1}},
		{name: "an instance is armed twice", plan: func(w []*ledger.Continual) { w[2].Instance = 1 },
			want: verdict{overspent: 1}},
		{name: "a secret serves twice", plan: func(w []*ledger.Continual) { w[2].Sealed = w[0].Sealed },
			want: verdict{overspent: 1}},
		{name: "one looks that was never armed", plan: func(w []*ledger.Continual) { w[2].Arms, w[2].Sealed = false, nil },
			want: verdict{overspent: 1}},
		{name: "it is silent where it must fire", plan: func(w []*ledger.Continual) {
			w[1].Watch.Fired = nil
			w[2].Instance, w[2].Arms, w[2].Sealed = 1, false, nil
		}, want: verdict{missing: 1}},
		{name: "it fires where nobody is slow", plan: func(w []*ledger.Continual) { w[1].Watch.Fired = &x },
			want: verdict{different: 1}},
	} {
		c := alarmedStory(0, 9, 9)
		var watches []*ledger.Continual
		for i := range 3 {
			e := c.entries[windowKey("s", storyStart.Add(time.Duration(i)*storySize))]
			watches = append(watches, &e.Continual[0])
		}
		watches[0].Arms, watches[0].Sealed = true, []byte("one")
		watches[1].Watch.Fired = &y
		watches[2].Arms, watches[2].Sealed, watches[2].Instance, watches[2].Watch.Fired = true, []byte("two"), 2, &y
		test.plan(watches)
		if c.checkWatches(); c.String() != test.want.String() {
			t.Errorf("%s: %s, want %s\n%s", test.name, c.verdict, test.want, strings.Join(c.complaints, "\n"))
		}
	}
}
