package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

const (
	addingLate    = "late" // the group of events that are sent when their window is over
	addingAppID   = "adding"
	addingAhead   = time.Second      // max_future: windows that begin later have lost nothing
	addingSession = 12 * time.Second // longer than the session timeout of a group
	addingBacklog = 1000             // windows that are over when the processes start
	addingNotices = 40 * time.Second // how long it may take until somebody alive notices that an input is another one
)

// adding is a service of three processes whose streams add up events, and all that was sent to it. What was sent is
// read from the inputs: a sender knows neither what a lost answer said, nor when a record reached the log.
type adding struct {
	t          *testing.T
	broker     *kafkatest.Broker
	random     *rand.Rand
	output     string
	input      string // of the streams sum, count and edited
	partitions int    // of that input
	grown      time.Time
	past       string                 // the input of the stream backlog: all of it is there before the processes start
	lossy      string                 // the input of the stream lossy, which loses records
	seen       map[string][]sentEvent // what an input held before it lost something
	file       string
	start, end time.Time
	processes  []*addingProcess
	silent     bool // nothing is sent to the input that loses records
	sequence   int
	faults     map[string]int // how often each was inflicted
	gone       map[int]bool   // events that the input lost before it was deleted
	// Windows may be incomplete that begin in these spans: by stream, from when parts or records were lost until it had to
	// be known, and max_future.
	lost map[string][][2]time.Time
}

// TestFiguresAddUpToWhatWasSent kills and freezes processes while events come in. A published sum is exactly that of
// the values in the input, and a published count exactly the number of events, unless the window says that it is
// incomplete: only windows of which parts or records were deleted may say so. Meanwhile a stream that takes the last
// value turns to the sum, an input gets another partition, and 1,000 windows of the past are made up for, with more
// users than the bags may hold. LOUVER_TEST_ADDING says how long, such as 10m. From three minutes on another input
// loses its newest records, and then it is deleted and made anew.
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
	appended := map[string]string{"message.timestamp.type": "LogAppendTime"}
	a := &adding{t: t, broker: b, random: rand.New(rand.NewPCG(41, 1)), output: b.Topic(t, 1, nil), partitions: 3,
		input: b.Topic(t, 3, appended), past: b.Topic(t, 3, appended), lossy: b.Topic(t, 3, appended),
		lost: map[string][][2]time.Time{}, seen: map[string][]sentEvent{}, faults: map[string]int{}, gone: map[int]bool{}}
	a.start = time.Now().UTC().Truncate(liveSize)
	a.backlog()
	a.start = time.Now().UTC().Truncate(liveSize).Add(4 * liveSize)
	a.end = a.start.Add(length.Truncate(liveSize))
	a.file = clitest.File(t, "streams.yaml", a.yaml("last", 1))
	for range 3 {
		a.run()
	}
	a.traffic(a.start.Add(2 * liveSize))
	once := []struct {
		after time.Duration
		do    func()
	}{{length / 6, func() { a.edit(2) }}, {length / 4, a.grow}, {length / 3, a.deletePartials},
		{length * 5 / 12, func() { a.edit(3) }}}
	if length >= 3*time.Minute {
		once = append(once, struct {
			after time.Duration
			do    func()
		}{length / 2, a.truncate}, struct {
			after time.Duration
			do    func()
		}{length * 2 / 3, func() { a.recreate(appended) }})
	}
	for fault := 0; time.Now().Before(a.end.Add(-4 * liveSize)); fault++ {
		for len(once) > 0 && time.Now().After(a.start.Add(once[0].after)) {
			once[0].do()
			once = once[1:]
		}
		a.harm(fault)
		a.traffic(time.Now().Add(time.Duration(500+a.random.IntN(3000)) * time.Millisecond))
	}
	a.traffic(a.end)
	if len(once) > 0 {
		t.Fatalf("%d faults never came: the machine is too busy, or the test too short", len(once))
	}
	a.judge(a.await())
}

// yaml is the streams file. The third stream has a policy that is edited. ε is so high that the chance of any noise in
// a figure is below e^-40: the scale is at most 25,000 / ε.
func (a *adding) yaml(policy string, revision int) string {
	text := fmt.Sprintf("version: 1\nrevision: %d\nbudgets:\n  - {name: sums, epsilon: 1e15, per: 24h}\n"+
		"  - {name: counts, epsilon: 1e15, per: 24h}\nstreams:\n", revision)
	const values = "value: value, "
	past := a.start.Add(-liveGrace).Truncate(liveSize).Add(-addingBacklog * liveSize)
	for _, s := range []struct {
		name, policy, value, budget, input string
		start, end                         time.Time
	}{{"sum", "sum", values, "sums", a.input, a.start, a.end},
		{"count", "count", "", "counts\n    fresh: true", a.input, a.start, a.end},
		{"edited", policy, values, "sums", a.input, a.start, a.end},
		{"backlog", "sum", values, "sums", a.past, past, past.Add(addingBacklog * liveSize)},
		{"lossy", "sum", values, "sums", a.lossy, a.start, a.end}} {
		upper := 20_000
		if s.name == "edited" && revision > 2 {
			upper = 25_000
		}
		text += fmt.Sprintf(`  - name: %s
    input: {topic: %s, user: user, %stime: time, group: group, max_future: %s}
    groups: [eu, us, %s]
    max_groups: 3
    bounds: {lower: 0, upper: %d, step: 1}
    window: {size: %s, grace: %s, start: %s, end: %s}
    contribution: %s
    releases: [{name: total, statistic: sum, clip: none, epsilon: 1000000}]
    output: {topic: %s}
    budget: %s
`, s.name, s.input, s.value, addingAhead, addingLate, upper, liveSize, liveGrace, s.start.Format(time.RFC3339),
			s.end.Format(time.RFC3339), s.policy, a.output, s.budget)
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
		a.faults["frozen and thawed"]++
		return
	}
	p.Signal(a.t, syscall.SIGKILL)
	_ = kafkatest.Receive(a.t, "a process ends", p.ended) // it was killed
	a.faults["kill -9"]++
	a.traffic(time.Now().Add(time.Duration(a.random.IntN(2000)) * time.Millisecond))
	a.processes = append(a.processes[:i], a.processes[i+1:]...)
	a.run()
}

// edit writes another revision of the file. The second turns the stream that takes the last value to the sum, and the
// third gives it other bounds.
func (a *adding) edit(revision int) {
	if err := os.WriteFile(a.file, []byte(a.yaml("sum", revision)), 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.faults["edits"]++
	a.processes[0].Signal(a.t, syscall.SIGHUP)
}

// deletePartials kills all processes, and deletes the parts of the stream "count" that are there, and of none of the
// others. The next processes need what is deleted, if it is of windows that were still open.
func (a *adding) deletePartials() {
	names := topics.Names{App: addingAppID}
	place := topics.Place("counts", topics.Partitions)
	if place == topics.Place("sums", topics.Partitions) {
		a.t.Fatal("the budgets share a partition of the partials; give one another name")
	}
	for _, p := range a.processes {
		p.Signal(a.t, syscall.SIGKILL)
		_ = kafkatest.Receive(a.t, "a process ends", p.ended) // it was killed
		a.faults["kill -9"]++
	}
	a.faults["partials deleted"]++
	n := len(a.processes)
	a.processes = nil
	messages := a.broker.Consume(a.t, names.Partials(), place)
	last := messages[len(messages)-1]
	a.broker.DeleteRecords(a.t, names.Partials(), place, last.Offset+1)
	for range n {
		a.run()
	}
	a.traffic(time.Now().Add(time.Second))
	var next []kafkatest.Message // what was deleted was written before it
	kafkatest.Await(a.t, "another part", func() bool {
		next = a.broker.Consume(a.t, names.Partials(), place)
		return len(next) > 0
	})
	a.lost["count"] = append(a.lost["count"], [2]time.Time{a.start, time.UnixMilli(next[0].Time).Add(addingAhead)})
}

// grow gives the input another partition, into which events come at once. They are late until all know of it.
func (a *adding) grow() {
	a.partitions++
	a.faults["partitions added"]++
	kafkatest.Await(a.t, "another partition", func() bool { // a busy broker refuses that now and then
		a.grown = time.Now()
		res, err := a.broker.Conn.Client.CreatePartitions(kafkatest.Context(a.t), &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: a.input, Count: int32(a.partitions)}}})
		return err == nil && res.Errors[a.input] == nil
	})
}

// recreate deletes an input and makes it anew.
func (a *adding) recreate(configs map[string]string) {
	a.remember()
	since := time.Now().UTC()
	a.broker.DeleteTopic(a.t, a.lossy)
	a.broker.CreateTopic(a.t, a.lossy, 3, configs)
	a.faults["inputs made anew"]++
	a.lose(since)
}

// truncate takes the records of some seconds from the end of an input, as an election of a leader that lacks them does.
// Nothing comes until the readers of all partitions have noticed: nobody can if there are as many new records before
// anybody asks.
func (a *adding) truncate() {
	a.broker.Stop(a.t)
	restore := a.broker.Save(a.t, a.lossy)
	a.broker.Start(a.t)
	a.traffic(time.Now().Add(5 * time.Second))
	a.silent = true
	a.traffic(time.Now().Add(5 * time.Second)) // all is read
	a.remember()
	since := time.Now().UTC()
	a.broker.Stop(a.t)
	restore()
	a.broker.Start(a.t)
	for _, e := range a.seen[a.lossy] {
		a.gone[e.ID] = true
	}
	for _, e := range a.consume(a.lossy, 3) {
		delete(a.gone, e.ID)
	}
	kafkatest.Await(a.t, "the input is noticed to be shorter in three partitions", func() bool {
		a.traffic(time.Now().Add(time.Second))
		noticed := map[string]bool{}
		for _, p := range a.processes {
			for _, m := range addingShorter.FindAllStringSubmatch(p.Log.String(), -1) {
				noticed[m[1]] = true
			}
		}
		return len(noticed) == 3
	})
	a.silent = false
	a.faults["inputs cut off"]++
	a.lose(since)
}

// addingShorter is what a process says when a partition has lost its newest records.
var addingShorter = regexp.MustCompile(`records are lost: .*"partition": (\d+).*ends before the position`)

// lose notes that the input of the stream lossy has lost something since a moment: windows of then have lost records,
// and those that begin until it is noticed may have.
func (a *adding) lose(since time.Time) {
	a.lost["lossy"] = append(a.lost["lossy"], [2]time.Time{since.Add(-addingNotices),
		time.Now().UTC().Add(addingNotices + addingAhead)})
}

// remember reads the input of the stream lossy before it loses something.
func (a *adding) remember() {
	a.seen[a.lossy] = append(a.seen[a.lossy], a.consume(a.lossy, 3)...)
}

// backlog sends the events of windows that are over: 120 for each, of as many users. In each partition they need twice
// the memory that the bags may take.
func (a *adding) backlog() {
	a.start = a.start.Add(4 * liveSize) // as the streams file will have it
	for w := range addingBacklog {
		records := make([]txn.Record, 120)
		for i := range records {
			records[i].Value = a.event(fmt.Sprint("u", w, "-", i), a.start.Add(-time.Duration(w+4)*liveSize))
		}
		a.broker.Produce(a.t, a.past, w%3, records...)
	}
}

// traffic sends events of a few users until a moment, one in fifty of them too late.
func (a *adding) traffic(until time.Time) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; time.Now().Before(until); <-tick.C {
		records := make([]txn.Record, 10)
		for i := range records {
			records[i].Value = a.event(fmt.Sprint("u", a.random.IntN(200)), time.Now().UTC())
		}
		a.broker.Produce(a.t, a.input, a.random.IntN(a.partitions), records...)
		if !a.silent {
			a.broker.Produce(a.t, a.lossy, a.random.IntN(3), txn.Record{Value: a.event("u", time.Now().UTC())})
		}
	}
}

// event is one that happens at a moment, or one in fifty times too late.
func (a *adding) event(user string, at time.Time) []byte {
	a.sequence++
	e := sentEvent{ID: a.sequence, User: user, Value: a.random.IntN(100), Group: []string{"eu", "us"}[a.random.IntN(2)],
		Time: at}
	if a.random.IntN(50) == 0 {
		e.Group, e.Time = addingLate, e.Time.Add(-5*liveSize)
	}
	value, err := json.Marshal(e)
	if err != nil {
		a.t.Fatal(err)
	}
	return value
}
