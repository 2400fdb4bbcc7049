package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// A fetch waits until the first window of any stream is due. A window that is due already has to wait for something
// else, and one that never comes is not waited for.
func TestFetchesWaitUntilAWindowIsDue(t *testing.T) {
	const long = time.Hour
	open := func() *streamInput { return testStreamInput(t, testStream(t)) }
	early, late, over := open(), open(), open()
	late.through += 2 * second
	over.schedule.End = over.schedule.First().End
	over.through = over.schedule.End
	due := early.nextDue()
	for _, c := range []struct {
		streams []*streamInput
		before  int64 // due
		want    time.Duration
	}{
		{[]*streamInput{early}, int64(5 * time.Millisecond), 5 * time.Millisecond},
		{[]*streamInput{over, late, early}, 1, 1},
		{[]*streamInput{early, late}, 0, 2 * time.Second},
		{[]*streamInput{late, early}, -second, time.Second},
		{[]*streamInput{early}, 0, long},
		{[]*streamInput{over}, 1, long},
		{nil, 1, long},
	} {
		got := untilDue(c.streams, due-c.before)
		if got > long {
			got = long
		}
		if got != c.want {
			t.Errorf("%s before the first of %d streams is due: it waits %s, want %s", time.Duration(c.before),
				len(c.streams), got, c.want)
		}
	}
}

// controlLog is a control topic. Where it is lost, it writes, but its answer does not arrive.
type controlLog struct {
	records map[string][]byte
	lost    bool
}

func (l *controlLog) Read(_ context.Context, f func(key, value []byte) error) error {
	for k, v := range l.records {
		if err := f([]byte(k), v); err != nil {
			return err
		}
	}
	return nil
}

func (l *controlLog) Used(context.Context) (string, error) { return "", nil }

func (l *controlLog) Turn(context.Context) (control.Turn, error) { return l, nil }

func (l *controlLog) Write(_ context.Context, records []control.Record) error {
	for _, in := range records {
		l.records[string(in.Key)] = in.Value
	}
	if l.lost {
		return errors.New("no answer")
	}
	return nil
}

// cuttingWorker is the worker of a partition of topic in, which has nothing to read.
func cuttingWorker(t *testing.T, number int, inputs *control.Inputs) *partition {
	p := &partition{}
	p.reader = reader{Ingest: &Ingest{Env: stage.Env{Log: zap.NewNop()}, Inputs: inputs, Place: func(string) int { return 0 }},
		at: stage.Partition{Topic: "in", Number: number}}
	stream := testStream(t)
	stream.Budget = &config.Budget{Name: "b"}
	p.streams = []*streamInput{testStreamInput(t, stream)}
	p.writer = writer{reader: &p.reader}
	p.cutter = cutter{reader: &p.reader, writer: &p.writer}
	return p
}

// A topic of four partitions is made anew with two. The worker of partition 0 knows it, and that of partition 1, in
// another process, does not. All windows are decided, also those that an earlier worker had cut.
func TestWindowsOfATopicWithFewerPartitions(t *testing.T) {
	log := &controlLog{records: map[string][]byte{}}
	inputs := control.NewInputs(log)
	zero, one := cuttingWorker(t, 0, inputs), cuttingWorker(t, 1, control.NewInputs(log))
	in := zero.streams[0]
	g := windows.NewGathering(1 << 20)
	g.Follow(in.stream.Name, in.edition, in.schedule, time.Minute, 0)
	at := int64(0)
	pass := func(p *partition) { // what is cut gets its mark, and all marks are read
		t.Helper()
		for _, c := range p.streams[0].cuts {
			p.writer.put(p.streams[0], windows.Mark{Origin: windows.Origin{Stream: in.stream.Name, Epoch: in.edition,
				Partition: p.at.Number}, Partitions: c.partitions, After: p.streams[0].through,
				Through: c.through}.Message(), nil)
			p.streams[0].through = c.through
		}
		p.streams[0].cuts = nil
		for _, r := range p.writer.queue {
			if err := g.Add(r.Value, at, time.UnixMilli(r.Time)); err != nil {
				t.Fatal(err)
			}
			at++
		}
		p.writer.queue = nil
	}
	cut := func(through int64, workers ...*partition) {
		for _, p := range workers {
			p.cutter.cutAt(p.streams[0], through, 0)
			pass(p)
		}
	}
	wants := func(end int64, ready bool) {
		t.Helper()
		state := g.State(in.stream.Name, in.edition, windows.Window{Start: end - int64(in.schedule.Size), End: end})
		if state.Ready != ready {
			t.Errorf("the window that ends at %d: %+v, want ready: %t", end, state, ready)
		}
	}
	for _, p := range []*partition{zero, one} {
		if err := p.Inputs.Learn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.cutter.agree(t.Context(), 4); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().UnixNano()
	before := floor(now, int64(in.schedule.Every))
	two, three := cuttingWorker(t, 2, inputs), cuttingWorker(t, 3, inputs)
	cut(before, zero, one, two)
	wants(before, false)
	cut(before, three)
	wants(before, true)
	zero.cutter.fewer = time.Now().Add(-doubt)
	if err := zero.cutter.agree(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	later := floor(now+int64(time.Minute), int64(in.schedule.Every))
	cut(later, one, zero)
	wants(later, true)
	// A worker of the former release cut further ones, and left them open.
	further := later + int64(in.schedule.Every)
	cut(further, one)
	zero.streams[0].cutAt(further, 0, 2)
	pass(zero)
	wants(further, false)
	zero.cutter.vanished()
	pass(zero)
	wants(further, true)
	for _, gone := range []int{2, 3} {
		if state := g.State(in.stream.Name, in.edition, windows.Window{Start: further - int64(in.schedule.Size),
			End: further}); slices.Contains(state.Incomplete, gone) {
			t.Errorf("partition %d, which is gone, lacks something: %+v", gone, state)
		}
	}
}

// A topic grows from two to four partitions, and the answer to the proposal is lost. Nobody may decide a window by the
// old number if a new partition may count itself part of it. So the worker of partition 0, whose mark every window
// needs, cuts no such window until it knows. Other workers propose nothing: they would not hold up its cuts.
func TestWindowsWaitForTheNumberOfPartitions(t *testing.T) {
	log := &controlLog{records: map[string][]byte{}}
	worker := func(number int, inputs *control.Inputs) *cutter { return &cuttingWorker(t, number, inputs).cutter }
	zero, one := worker(0, control.NewInputs(log)), worker(1, control.NewInputs(log))
	for _, p := range []*cutter{zero, one} {
		if err := p.agree(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	before := maps.Clone(log.records)
	if err := one.agree(t.Context(), 4); err != nil || !maps.EqualFunc(before, log.records, bytes.Equal) {
		t.Errorf("the worker of partition 1 proposes: %s, %v", log.records, err)
	}
	in := zero.streams[0]
	now := time.Now().UnixNano()
	if through, ok := zero.due(in, now); !ok || through <= now-8*second {
		t.Fatal("no window is due")
	}
	log.lost = true
	if err := zero.agree(t.Context(), 4); err == nil {
		t.Fatal("the answer is not lost")
	}
	later := now + int64(time.Minute)
	through, _ := zero.due(in, later)
	if through+int64(in.schedule.Grace) > now+int64(lead)+2*second {
		t.Errorf("windows are cut through %s, which the proposal may concern", time.Unix(0, through))
	}
	log.lost = false
	fresh := worker(2, control.NewInputs(log))
	if err := fresh.Inputs.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := zero.agree(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if through, ok := zero.due(in, later); !ok || through < later-4*second {
		t.Errorf("all is known, and windows are cut through %s only", time.Unix(0, through))
	}
	zero.cutAt(in, later, 10)
	for _, c := range in.cuts {
		if included := c.through > fresh.spared(fresh.streams[0]); included != (c.partitions == 4) {
			t.Errorf("windows through %s take %d partitions, and partition 2 counts itself in: %t",
				time.Unix(0, c.through), c.partitions, included)
		}
	}
	// Windows that are cut have their number, also those that were cut long before they are due.
	if err := zero.agree(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	steps := zero.Inputs.Steps("in")
	if last := steps[len(steps)-1]; last.Partitions != 5 || last.Due <= in.cutThrough()+int64(in.schedule.Grace) {
		t.Errorf("%+v; windows are cut through %s", steps, time.Unix(0, in.cutThrough()))
	}
}

// A partition that came back counts from its return on.
func TestSparedOfAPartitionThatReturned(t *testing.T) {
	log := &controlLog{records: map[string][]byte{
		"input/in": []byte(`[{"partitions":4,"due":-9223372036854775808},{"partitions":2,"due":9000000000},{"partitions":4,"due":21000000000}]`)}}
	inputs := control.NewInputs(log)
	if err := inputs.Learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	in := testStreamInput(t, testStream(t))
	for number, want := range map[int]int64{1: in.before(control.Always), 3: in.before(21 * second)} {
		p := cutter{reader: &reader{Ingest: &Ingest{Inputs: inputs}, at: stage.Partition{Topic: "in", Number: number}}}
		if got := p.spared(in); got != want {
			t.Errorf("partition %d is spared through %d, want %d", number, got, want)
		}
	}
}

// TestManyStreamsAreCheckedMoreOften: a record may be in a bag of every stream, so the bags of a thousand streams grow
// a thousand times as fast.
func TestManyStreamsAreCheckedMoreOften(t *testing.T) {
	for _, streams := range []int{0, 1, 8, 9, 1000, 1 << 20} {
		p := writer{reader: &reader{streams: slices.Repeat([]*streamInput{{}}, streams)}}
		n := p.unchecked()
		if n < 1 || n > relieveEvery || n > 1 && n*streams > relieveBags {
			t.Errorf("%d streams: the bags are checked after %d records", streams, n)
		}
		if streams <= 8 && n != relieveEvery {
			t.Errorf("%d streams: the bags are checked after %d records already", streams, n)
		}
	}
}

// The next mark names a mark by the time that the log has of it, however long it takes to write what lies between.
func TestMarksNameTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testStream(t)
		s.Budget = &config.Budget{Name: "b"}
		busy := func(string) int {
			<-time.After(3 * time.Millisecond)
			return 0
		}
		g := &Ingest{Place: busy, Inputs: &control.Inputs{}}
		g.Metrics = metrics.New(prometheus.NewRegistry(), nil, nil)
		p := newPartition(g, stage.Partition{Topic: "in"}, nil)
		in := testStreamInput(t, s)
		p.streams = []*streamInput{in}
		for n := range int64(4) {
			in.add(n, &fetch.Record{Value: jsonEvent(1, in.schedule.First().Start/int64(time.Millisecond))})
			if err := p.writer.mark(t.Context(), in, n+1); err != nil {
				t.Fatal(err)
			}
		}
		const since = 52 + 1 + 3*8 // behind the header, the stream's name, and three numbers
		if len(p.writer.queue) != 8 {
			t.Fatalf("%d messages; want four parts and four marks", len(p.writer.queue))
		}
		for i := 3; i < 8; i += 2 {
			before := time.Unix(0, int64(binary.BigEndian.Uint64(p.writer.queue[i].Value[since:])))
			if want := p.writer.queue[i-2].Time; before.UnixMilli() != want {
				t.Errorf("message %d says that the mark before was written at %d ms; it was at %d ms", i,
					before.UnixMilli(), want)
			}
		}
	})
}

// Two of 16 numbers of 32 bits are the same with a probability of 16·15/2 / 2^32 = 3e-8.
func TestLeapsDiffer(t *testing.T) {
	seen := map[int64]bool{}
	for range 16 {
		l := leap()
		if l < 1 || seen[l] {
			t.Errorf("numbers grow by %d; want a positive number that no other worker draws", l)
		}
		seen[l] = true
	}
}
