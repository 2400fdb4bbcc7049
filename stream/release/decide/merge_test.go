package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

const tumbling = `
version: 1
streams:
  - name: s
    input: {topic: in, user: user, value: value}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 1h, every: 1h, grace: 10s, start: 2026-01-01T00:00:00Z, end: 2026-01-01T04:00:00Z}
    contribution: last
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 100, per: 24h}
`

// Two streams whose parts were written together have one sample. It is recreated if a part is another one, or if not
// everybody counts.
func TestTheSamePartsAreMergedOnce(t *testing.T) {
	p, q := programOf(t, tumbling), programOf(t, strings.Replace(tumbling, "- name: s", "- name: t", 1))
	capped := programOf(t, strings.NewReplacer("- name: s", "- name: u", "    releases:",
		"    max_windows: {count: 2, per: 3h, parts: 1}\n    releases:").Replace(tumbling))
	d := newDecider(t, p, zap.NewNop())
	d.goesOn(nil, nil, p, q, capped)
	at := int64(0)
	give := func(p *program, w windows.Window, attempt byte, users int) {
		bag := windows.NewBag(windows.BagSpec{Groups: p.Stream.Groups, Policy: p.Stream.Contribution, Window: w,
			Hasher: d.Hasher})
		for user := range users {
			bag.Add(d.Hasher.User(fmt.Append(nil, user)), 0, w.Start, 5)
		}
		o := windows.Origin{Stream: p.Stream.Name, Epoch: p.Number, To: 1, Attempt: [16]byte{attempt}}
		part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
		mark := windows.Mark{Origin: o, Partitions: 1, Slices: []int64{w.Start}, After: w.Start, Through: w.End}
		for _, message := range append(part.Messages(1<<20), mark.Message()) {
			if err := d.gather.Add(message, at, time.Unix(0, w.End)); err != nil {
				t.Fatal(err)
			}
			at++
		}
	}
	merge := func(p *program, w windows.Window, users int64, anew bool) {
		t.Helper()
		before := d.last.merged
		of := &decision{turn: turn{lane: p.lanes.Windows, window: w}, entry: ledger.Entry{Reason: record.BudgetExhausted},
			round: d.attendance.Round(p.lanes.Windows, w, nil)}
		if err := d.through(of.round, p.Stream.Groups, of); err != nil {
			t.Fatal(err)
		}
		merged := d.last.merged
		if d.feeding != nil {
			merged = d.feeding.merger
		}
		if err := d.fill(); err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, point := range merged.Sample(0) {
			got += point.Count
		}
		if got != users || (merged != before) != anew {
			t.Errorf("%d users, merged anew: %v; want %d, %v", got, merged != before, users, anew)
		}
	}
	first := p.Schedule.First()
	second, _ := p.Schedule.Next(first)
	give(p, first, 1, 10)
	give(q, first, 1, 10)
	give(p, second, 1, 20)
	give(q, second, 2, 30)
	give(capped, first, 1, 10)
	merge(p, first, 10, true)
	merge(q, first, 10, false)
	merge(capped, first, 10, true)
	merge(q, first, 10, true)
	merge(p, second, 20, true)
	merge(q, second, 30, true)
}
