package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
)

const (
	addingLate    = "late" // the group of events that are sent when their window is over
	addingAppID   = "adding"
	addingAhead   = time.Second      // max_future: windows that begin later have lost nothing
	addingSession = 12 * time.Second // longer than the session timeout of a group
)

// adding is a service of three processes whose streams add up events, and all that was sent to it. What was sent is
// read from the input: a sender knows neither what a lost answer said, nor when a record reached the log.
type adding struct {
	t             *testing.T
	broker        *kafkatest.Broker
	random        *rand.Rand
	input, output string
	file          string
	start, end    time.Time
	edited        bool
	processes     []*addingProcess
	killed        int
	lost          time.Time // windows of "count" that begin up to then may lack parts; zero: none was deleted
}

// TestFiguresAddUpToWhatWasSent kills and freezes processes while events come in. A published sum is exactly that of
// the values in the input, and a published count exactly the number of events, unless the window says that it is
// incomplete: only windows of which parts were deleted may say so. Meanwhile a stream that takes the last value turns
// to the sum. LOUVER_TEST_ADDING says how long, such as 10m.
func TestFiguresAddUpToWhatWasSent(t *testing.T) {
	t.Parallel()
	length := time.Minute
	if text := os.Getenv("LOUVER_TEST_ADDING"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	b := kafkatest.Own(t)
	a := &adding{t: t, broker: b, random: rand.New(rand.NewPCG(41, 1)), output: b.Topic(t, 1, nil),
		input: b.Topic(t, 3, map[string]string{"message.timestamp.type": "LogAppendTime"}),
		start: time.Now().UTC().Truncate(liveSize).Add(4 * liveSize)}
	a.end = a.start.Add(length.Truncate(liveSize))
	a.file = clitest.File(t, "streams.yaml", a.yaml("last", 1))
	for range 3 {
		a.run()
	}
	a.traffic(a.start.Add(2 * liveSize))
	for fault := 0; time.Now().Before(a.end.Add(-4 * liveSize)); fault++ {
		if !a.edited && time.Now().After(a.start.Add(length/6)) {
			a.edit()
		}
		if a.lost.IsZero() && time.Now().After(a.start.Add(length/3)) {
			a.deletePartials()
		}
		a.harm(fault)
		a.traffic(time.Now().Add(time.Duration(500+a.random.IntN(3000)) * time.Millisecond))
	}
	a.traffic(a.end)
	if a.lost.IsZero() || !a.edited {
		t.Fatalf("partials deleted: %v, edited: %v; want both", !a.lost.IsZero(), a.edited)
	}
	a.judge(a.await())
}

// yaml is the streams file. The third stream has a policy that is edited. ε is so high that the chance of any noise in
// a figure is below e^-50: the scale is 20,000 / ε.
func (a *adding) yaml(policy string, revision int) string {
	text := fmt.Sprintf("version: 1\nrevision: %d\nbudgets:\n  - {name: sums, epsilon: 1e15, per: 24h}\n"+
		"  - {name: counts, epsilon: 1e15, per: 24h}\nstreams:\n", revision)
	for _, s := range []struct{ name, policy, value, budget string }{{"sum", "sum", "value: value, ", "sums"},
		{"count", "count", "", "counts\n    fresh: true"}, {"edited", policy, "value: value, ", "sums"}} {
		text += fmt.Sprintf(`  - name: %s
    input: {topic: %s, user: user, %stime: time, group: group, max_future: %s}
    groups: [eu, us, %s]
    max_groups: 3
    bounds: {lower: 0, upper: 20000, step: 1}
    window: {size: %s, grace: %s, start: %s, end: %s}
    contribution: %s
    releases: [{name: total, statistic: sum, clip: none, epsilon: 1000000}]
    output: {topic: %s}
    budget: %s
`, s.name, a.input, s.value, addingAhead, addingLate, liveSize, liveGrace, a.start.Format(time.RFC3339),
			a.end.Format(time.RFC3339), s.policy, a.output, s.budget)
	}
	return text
}

// addingProcess is a process, and what it says when it ends.
type addingProcess struct {
	*clitest.Process
	ended chan error
}

func (a *adding) run() {
	p := &addingProcess{clitest.Louver(a.t, a.broker, "run", "--streams", a.file, "--app-id", addingAppID,
		"--bag-bytes", "1048576"), make(chan error, 1)}
	go func() { p.ended <- p.Wait() }()
	a.processes = append(a.processes, p)
}

// harm kills a process, or freezes one until its session is over. Of three, one works always. None ends by itself.
func (a *adding) harm(fault int) {
	i := a.random.IntN(len(a.processes))
	p := a.processes[i]
	select {
	case err := <-p.ended:
		a.t.Fatalf("a process ended by itself: %v\n%s", err, p.Log.String())
	default:
	}
	if fault%3 == 1 {
		p.Signal(a.t, syscall.SIGSTOP)
		a.traffic(time.Now().Add(addingSession + time.Duration(a.random.IntN(3000))*time.Millisecond))
		p.Signal(a.t, syscall.SIGCONT)
		return
	}
	p.Signal(a.t, syscall.SIGKILL)
	_ = kafkatest.Receive(a.t, "a process ends", p.ended) // it was killed
	a.killed++
	a.traffic(time.Now().Add(time.Duration(a.random.IntN(2000)) * time.Millisecond))
	a.processes = append(a.processes[:i], a.processes[i+1:]...)
	a.run()
}

// edit turns the stream that takes the last value to the sum.
func (a *adding) edit() {
	if err := os.WriteFile(a.file, []byte(a.yaml("sum", 2)), 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.edited = true
	a.processes[0].Signal(a.t, syscall.SIGHUP)
}

// deletePartials deletes the parts of the stream "count" that are there, and of none of the others.
func (a *adding) deletePartials() {
	names := topics.Names{App: addingAppID}
	place := topics.Place("counts", topics.Partitions)
	if place == topics.Place("sums", topics.Partitions) {
		a.t.Fatal("the budgets share a partition of the partials; give one another name")
	}
	messages := a.broker.Consume(a.t, names.Partials(), place)
	last := messages[len(messages)-1]
	a.broker.DeleteRecords(a.t, names.Partials(), place, last.Offset+1)
	var next []kafkatest.Message // what was deleted was written before it
	kafkatest.Await(a.t, "another part", func() bool {
		next = a.broker.Consume(a.t, names.Partials(), place)
		return len(next) > 0
	})
	a.lost = time.UnixMilli(next[0].Time).Add(addingAhead)
}

// traffic sends events of a few users until a moment, one in fifty of them too late.
func (a *adding) traffic(until time.Time) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; time.Now().Before(until); <-tick.C {
		records := make([]txn.Record, 10)
		for i := range records {
			e := sentEvent{User: fmt.Sprint("u", a.random.IntN(200)), Value: a.random.IntN(100),
				Group: []string{"eu", "us"}[a.random.IntN(2)], Time: time.Now().UTC()}
			if a.random.IntN(50) == 0 {
				e.Group, e.Time = addingLate, e.Time.Add(-5*liveSize)
			}
			value, err := json.Marshal(e)
			if err != nil {
				a.t.Fatal(err)
			}
			records[i].Value = value
		}
		a.broker.Produce(a.t, a.input, a.random.IntN(3), records...)
	}
}

type sentEvent struct {
	User  string    `json:"user"`
	Group string    `json:"group"`
	Value int       `json:"value"`
	Time  time.Time `json:"time"`
}

type addingWindow struct {
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
	want := int(a.end.Sub(a.start)/liveSize) * 3 * 3
	kafkatest.Await(a.t, "all windows are published", func() bool {
		return len(a.broker.Consume(a.t, a.output, 0)) >= want
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

// sent reads the input. An event is sure to count if the broker had it half a second before its window was due, and not
// at all sure otherwise.
func (a *adding) sent() (by map[addingWindow]*expected, events, late int) {
	by = map[addingWindow]*expected{}
	for partition := range 3 {
		for _, m := range a.broker.Consume(a.t, a.input, partition) {
			var e sentEvent
			if err := json.Unmarshal([]byte(m.Value), &e); err != nil {
				a.t.Fatal(err)
			}
			events++
			w := addingWindow{e.Time.Truncate(liveSize), e.Group}
			x := by[w]
			if x == nil {
				x = &expected{last: map[string]sentEvent{}}
				by[w] = x
			}
			if due := w.start.Add(liveSize + liveGrace); m.Time > due.Add(-500*time.Millisecond).UnixMilli() {
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
	exact, between, lasts, incomplete := 0, 0, 0, 0
	inTime, counted := 0, 0. // events of complete windows of the stream "count"
	for _, r := range figures {
		x := by[addingWindow{r.WindowStart, r.Group}]
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
			incomplete++
			if r.Stream != "count" || r.WindowStart.After(a.lost) {
				a.t.Errorf("%s is incomplete; want that only of the stream count, up to %v", r.ID, a.lost)
			}
			if value > high {
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
			exact++
		case value >= low && value <= high:
			between++
		case r.Stream == "edited" && value == float64(last):
			lasts++
		default:
			a.t.Errorf("%s is %v; the input says %v to %v", r.ID, value, low, high)
		}
	}
	if lasts == 0 {
		a.t.Error("no window has the sum of last values; want some before the edit")
	}
	if exact == 0 {
		a.t.Error("no figure is known exactly; want most")
	}
	a.t.Logf("%d events in the input, %d of them late or perhaps late; %d figures: %d are exactly the input's, %d of "+
		"which the late events leave a choice, %d of last values before the edit, %d incomplete; complete windows "+
		"count %v events, %d were in time; %d times kill -9", events, late, len(figures), exact, between, lasts, incomplete,
		counted, inTime, a.killed)
}
