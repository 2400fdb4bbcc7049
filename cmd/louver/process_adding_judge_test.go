package main

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

// sentEvent is an event as an input holds it.
type sentEvent struct {
	ID    int       `json:"id"`
	User  string    `json:"user"`
	Group string    `json:"group"`
	Value int       `json:"value"`
	Time  time.Time `json:"time"`

	logged    time.Time // when the broker had it
	partition int
}

// consume reads all events of a topic.
func (a *adding) consume(topic string, partitions int) (all []sentEvent) {
	for partition := range partitions {
		for _, m := range a.broker.Consume(a.t, topic, partition) {
			e := sentEvent{logged: time.UnixMilli(m.Time), partition: partition}
			if err := json.Unmarshal([]byte(m.Value), &e); err != nil {
				a.t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return all
}

type addingWindow struct {
	input string
	start time.Time
	group string
}

// expected is what the log says of a group of a window: low without the events that may have come too late for their
// window, high with them. last is the sum of the users' last values.
type expected struct {
	events, sum, mayEvents, maySum int
	last                           map[string]sentEvent
}

// await returns the figures when those of all windows are there.
func (a *adding) await() (figures []record.Value) {
	a.t.Helper()
	want := int(a.end.Sub(a.start)/liveSize)*4*3 + addingBacklog*3
	published := map[string]int{}
	a.t.Cleanup(func() {
		if a.t.Failed() {
			a.t.Logf("of %d figures there are %v", want, published)
			for _, p := range a.processes {
				log := p.Log.String()
				a.t.Logf("a process that worked to the end says last: …%s", log[max(0, len(log)-4000):])
			}
		}
	})
	kafkatest.Await(a.t, "all windows are published", func() bool {
		clear(published)
		all := a.broker.Consume(a.t, a.output, 0)
		for _, m := range all {
			r, _, _ := outputs.Decode([]byte(m.Value)) // judged below
			published[r.Stream]++
		}
		return len(all) >= want
	})
	seen := map[string]bool{}
	for _, m := range a.broker.Consume(a.t, a.output, 0) {
		r, ok, err := outputs.Decode([]byte(m.Value))
		if err != nil || !ok {
			a.t.Fatalf("foreign record in the output: %v", err)
		}
		if seen[r.ID] {
			a.t.Errorf("%s is published twice", r.ID)
		}
		seen[r.ID] = true
		figures = append(figures, r)
	}
	return figures
}

// sent reads the inputs. An event is sure to count if the broker had it half a second before its window was due, or
// before the processes started, and not at all sure otherwise, nor if the brokers lost it: nobody may have read it.
func (a *adding) sent() (by map[addingWindow]*expected, events, late int) {
	by = map[addingWindow]*expected{}
	for input, partitions := range map[string]int{a.input: a.partitions, a.past: 3, a.lossy: 3} {
		counted := map[int]bool{}
		for _, e := range append(a.consume(input, partitions), a.seen[input]...) {
			if counted[e.ID] { // remembered, and still there
				continue
			}
			counted[e.ID] = true
			events++
			w := addingWindow{input, e.Time.Truncate(liveSize), e.Group}
			x := by[w]
			if x == nil {
				x = &expected{last: map[string]sentEvent{}}
				by[w] = x
			}
			due := w.start.Add(liveSize + liveGrace)
			fresh := input == a.input && e.partition >= 3 && e.logged.Before(a.grown.Add(addingNotices))
			if a.gone[e.ID] || fresh || input != a.past && e.logged.After(due.Add(-500*time.Millisecond)) {
				late++
				x.mayEvents++
				x.maySum += e.Value
				continue
			}
			x.events++
			x.sum += e.Value
			if last, ok := x.last[e.User]; !ok || e.Time.After(last.Time) {
				x.last[e.User] = e
			}
		}
	}
	return by, events, late
}

func (a *adding) judge(figures []record.Value) {
	by, events, late := a.sent()
	inputs := map[string]string{"sum": a.input, "count": a.input, "edited": a.input, "backlog": a.past, "lossy": a.lossy}
	exact, between, lasts, backlog, incomplete := 0, 0, 0, 0, map[string]int{}
	inTime, counted := 0, 0. // events of complete windows of the stream "count"
	var turned time.Time     // the first window that is known to have a sum
	var unsure []record.Value
	for _, r := range figures {
		x := by[addingWindow{inputs[r.Stream], r.WindowStart, r.Group}]
		if x == nil {
			x = &expected{}
		}
		value, err := r.Value.Float64()
		if err != nil {
			a.t.Errorf("%s: %v", r.ID, err)
			continue
		}
		low, high := float64(x.sum), float64(x.sum+x.maySum)
		if r.Stream == "count" {
			low, high = float64(x.events), float64(x.events+x.mayEvents)
		}
		if r.Incomplete {
			incomplete[r.Stream]++
			if !slices.ContainsFunc(a.lost[r.Stream], func(span [2]time.Time) bool {
				return !r.WindowStart.Before(span[0]) && !r.WindowStart.After(span[1])
			}) {
				a.t.Errorf("%s is incomplete; want that only in %v", r.ID, a.lost)
			}
			if value > high && r.Stream != "lossy" { // what was read before anybody knew that the topic is new is read again
				a.t.Errorf("%s is incomplete and %v, more than the %v that were sent", r.ID, value, high)
			}
			continue
		}
		last := 0
		for _, e := range x.last {
			last += e.Value
		}
		if r.Stream == "count" {
			inTime, counted = inTime+x.events, counted+value
		}
		switch {
		case low == high && value == low:
			if exact++; r.Stream == "backlog" && value > 0 {
				backlog++
			}
			if r.Stream == "edited" && value != float64(last) && (turned.IsZero() || r.WindowStart.Before(turned)) {
				turned = r.WindowStart
			}
		case value >= low && value <= high:
			between++
		case r.Stream == "edited" && value == float64(last):
			lasts++
		case r.Stream == "edited" && x.mayEvents > 0 && value < low: // which values are the last ones is not known
			unsure = append(unsure, r)
		default:
			a.t.Errorf("%s is %v; the input says %v to %v", r.ID, value, low, high)
		}
	}
	for _, r := range unsure {
		if !turned.IsZero() && !r.WindowStart.Before(turned) {
			a.t.Errorf("%s is %s, less than what was in time, and the policy has turned to the sum", r.ID, r.Value)
		}
	}
	if lasts == 0 {
		a.t.Error("no window has the sum of last values; want some before the edit")
	}
	if exact == 0 || backlog < addingBacklog {
		a.t.Errorf("%d figures are known exactly, %d of the backlog; want most, and %d", exact, backlog, addingBacklog)
	}
	a.t.Logf("%d events in the inputs, %d of them late or perhaps late; %d figures: %d are exactly the input's, %d of "+
		"them of the backlog; %d of which the late events leave a choice, %d of last values before the edit, incomplete %v; "+
		"complete windows count %v events, %d were in time; faults %v, %d events cut off", events, late, len(figures), exact,
		backlog, between, lasts, incomplete, counted, inTime, a.faults, len(a.gone))
}
