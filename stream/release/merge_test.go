package release

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/stage"
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

// TestMergeReadsAgain merges windows whose parts are not held, or not all of them, and are in several messages each.
// The parts of the last window are deleted after the session has heard of them.
func TestMergeReadsAgain(t *testing.T) {
	for _, limit := range []int64{0, 3000, 1 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			b := kafkatest.Fake(t)
			p := programOf(t, tumbling)
			d := newDecider(t, p, zap.NewNop())
			d.at = stage.Partition{Topic: b.Topic(t, 1, nil)}
			d.Fetch = b.Fetch(fetch.Options{MaxWait: 10 * time.Millisecond})
			d.parts.gather = windows.NewGathering(limit)
			d.parts.gather.Follow(p.stream.Name, p.epoch, p.schedule, p.stream.Input.MaxFuture, p.lanes.Windows.Decided())
			var all []windows.Window
			for w, more := p.schedule.First(), true; more && w.End <= p.schedule.End; w, more = p.schedule.Next(w) {
				all = append(all, w)
			}
			const partitions, each = 3, 40
			offset := int64(0)
			for i, w := range all {
				for partition := range partitions {
					bag := windows.NewBag(windows.BagSpec{Groups: p.stream.Groups, MaxGroups: 1,
						Policy: p.stream.Contribution, Window: w, Hasher: d.Hasher})
					for user := range each * (i + 1) { // half of them are in the next partition too
						bag.Add(d.Hasher.User(fmt.Append(nil, partition*each*(i+1)/2+user)), 0, w.Start, 5)
					}
					o := windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, Partition: partition, To: 1,
						Attempt: [16]byte{byte(offset)}}
					part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
					mark := windows.Mark{Origin: o, Partitions: partitions, Slices: []int64{w.Start}, After: w.Start,
						Through: w.End}
					for _, message := range append(part.Messages(700), mark.Message()) {
						b.Produce(t, d.at.Topic, 0, txn.Record{Value: bytes.Clone(message)})
						if err := d.parts.gather.Add(message, offset, time.Unix(0, w.End)); err != nil {
							t.Fatal(err)
						}
						offset++
					}
				}
			}
			for i, w := range all {
				gone := i == len(all)-1 && limit < 1<<20
				if gone {
					b.DeleteRecords(t, d.at.Topic, 0, offset)
				}
				if state := d.parts.gather.State(p.stream.Name, p.epoch, w); !state.Ready || len(state.Incomplete) > 0 {
					t.Fatalf("the window stands at %+v", state)
				}
				merged, lost, err := d.parts.merge(t.Context(), p, w, d.parts.gather.Parts(p.stream.Name, p.epoch, w),
					p.stream.Groups, nil)
				if err != nil {
					t.Fatal(err)
				}
				users := int64(0)
				for _, point := range merged.Sample(0) {
					users += point.Count
				}
				want := int64(each * (i + 1) * (partitions + 1) / 2)
				if !gone && (lost || users != want) {
					t.Errorf("window %d: %d users, lost %v; want %d", i, users, lost, want)
				}
				if gone && !lost && users != want {
					t.Errorf("the last window has %d users of %d, and nobody says that parts are lost", users, want)
				}
				if gone && limit == 0 && !lost {
					t.Error("parts that were not held are deleted, and nobody says that they are lost")
				}
				d.parts.gather.Decide(p.stream.Name, p.epoch, w)
			}
		})
	}
}

// Two streams whose parts were written together have one sample. It is recreated if a part is another one, or if not
// everybody counts.
func TestTheSamePartsAreMergedOnce(t *testing.T) {
	p, q := programOf(t, tumbling), programOf(t, strings.Replace(tumbling, "- name: s", "- name: t", 1))
	d := newDecider(t, p, zap.NewNop())
	d.takes(p, q)
	d.parts.gather.Follow(q.stream.Name, q.epoch, q.schedule, q.stream.Input.MaxFuture, q.schedule.Start)
	at := int64(0)
	give := func(p *program, w windows.Window, attempt byte, users int) {
		bag := windows.NewBag(windows.BagSpec{Groups: p.stream.Groups, Policy: p.stream.Contribution, Window: w,
			Hasher: d.Hasher})
		for user := range users {
			bag.Add(d.Hasher.User(fmt.Append(nil, user)), 0, w.Start, 5)
		}
		o := windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, To: 1, Attempt: [16]byte{attempt}}
		part := windows.Part{Origin: o, Slice: w, Payload: bag.Seal()}
		mark := windows.Mark{Origin: o, Partitions: 1, Slices: []int64{w.Start}, After: w.Start, Through: w.End}
		for _, message := range append(part.Messages(1<<20), mark.Message()) {
			if err := d.parts.gather.Add(message, at, time.Unix(0, w.End)); err != nil {
				t.Fatal(err)
			}
			at++
		}
	}
	merge := func(p *program, w windows.Window, join func(*windows.Merger), users int64, anew bool) {
		t.Helper()
		before := d.parts.last.merged
		merged, lost, err := d.parts.merge(t.Context(), p, w, d.parts.gather.Parts(p.stream.Name, p.epoch, w),
			p.stream.Groups, join)
		if err != nil || lost {
			t.Fatal(lost, err)
		}
		got := int64(0)
		for _, point := range merged.Sample(0) {
			got += point.Count
		}
		if got != users || (merged != before) != anew {
			t.Errorf("%d users, merged anew: %v; want %d, %v", got, merged != before, users, anew)
		}
	}
	first := p.schedule.First()
	second, _ := p.schedule.Next(first)
	give(p, first, 1, 10)
	give(q, first, 1, 10)
	give(p, second, 1, 20)
	give(q, second, 2, 30)
	merge(p, first, nil, 10, true)
	merge(q, first, nil, 10, false)
	merge(q, first, func(m *windows.Merger) { m.Restrict(func(windows.UserHash) bool { return false }) }, 0, true)
	merge(q, first, nil, 10, true)
	merge(p, second, nil, 20, true)
	merge(q, second, nil, 30, true)
}
