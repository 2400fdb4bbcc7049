package chaostest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
)

// TestCheckerSeesWrongTotals: a user who comes in windows 0, 1 and 3 counts in two of them at most.
func TestCheckerSeesWrongTotals(t *testing.T) {
	v := definition{size: 3 * time.Second, every: 3 * time.Second, total: 2}
	for name, c := range map[string]struct {
		values     []int64
		restart    int // the window in which another instance begins; 0: none
		harmed     bool
		incomplete int // the window that has lost something; −1: none
		overspent  int
		missing    int
	}{
		"right":             {[]int64{1, 2, 2, 2}, 0, false, -1, 0, 0},
		"twice":             {[]int64{1, 3, 2, 2}, 0, false, -1, 1, 0},
		"too often":         {[]int64{1, 2, 2, 3}, 0, false, -1, 1, 0},
		"forgotten":         {[]int64{1, 1, 2, 2}, 0, false, -1, 0, 1},
		"lost":              {[]int64{1, 1, 1, 2}, 0, false, 1, 0, 0},
		"anew":              {[]int64{1, 2, 0, 1}, 2, true, -1, 0, 0},
		"anew for nothing":  {[]int64{1, 2, 0, 1}, 2, false, -1, 1, 0},
		"anew, and as well": {[]int64{1, 2, 2, 2}, 2, true, -1, 2, 0},
	} {
		e := evidence{streams: []promised{{name: "s", input: "in", policy: "last", definitions: []definition{v}}},
			steps: map[string][]control.Step{"in": {{Partitions: 1}}}}
		k := &checker{evidence: e, entries: map[string]ledger.Entry{}, follows: map[string]definition{}}
		if c.harmed {
			k.harms = []harm{{kind: "parts", at: storyStart, until: storyStart.Add(time.Hour), streams: []string{"s"}}}
		}
		for i, value := range c.values {
			start := storyStart.Add(time.Minute + time.Duration(i)*v.every)
			instance := int64(1)
			if c.restart > 0 && i >= c.restart {
				instance = 2
			}
			entry := ledger.Entry{Stream: "s", WindowStart: start, WindowEnd: start.Add(v.size), Every: v.every,
				ReleasedAt: start.Add(v.size), Incomplete: i == c.incomplete, Groups: []ledger.Group{{Name: "probe"}},
				Continual: []ledger.Continual{{Name: totalled, Definition: "d", Instance: instance,
					Arms: i == 0 || i == c.restart && i > 0,
					Total: &ledger.Total{Most: v.total, Since: record.Whole(start),
						Groups: []ledger.GroupTotal{{Value: decimal.NewFromInt(value)}}}}}}
			k.entries[windowKey("s", start)], k.follows[windowKey("s", start)] = entry, v
			if slices.Contains([]int{0, 1, 3}, i) {
				k.deeds = append(k.deeds, deed{topic: "in", user: "u", group: "probe", at: start.Add(time.Second),
					acked: start.Add(time.Second)})
			}
		}
		if k.checkTotals(); k.overspent != c.overspent || k.missing != c.missing {
			t.Errorf("%s: %s", name, fmt.Sprint(k.complaints))
		}
	}
}
