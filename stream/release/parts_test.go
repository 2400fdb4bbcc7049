package release

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/windows"
)

// A topic of parts that is recreated may be longer than what was read of the one before, so its end tells nothing. It
// is read from its start all the same: otherwise windows whose marks are there would wait for ever.
func TestALongerTopicOfPartsIsReadFromItsStart(t *testing.T) {
	b := kafkatest.Fake(t)
	p := programOf(t, tumbling)
	d := newDecider(t, p, zap.NewNop())
	d.at = stage.Partition{Topic: b.Topic(t, 1, nil)}
	d.Conn = b.Conn
	d.Fetch = b.Fetch(fetch.Options{MaxWait: 10 * time.Millisecond})
	d.parts.gather = windows.NewGathering(1 << 20)
	d.parts.gather.Follow(p.stream.Name, p.epoch, p.schedule, p.stream.Input.MaxFuture, p.lanes.Windows.Decided())
	d.parts.deleter = newDeleter(t.Context(), d.worker)
	d.parts.reader = d.Fetch.Partition(d.at.Topic, 0, 0)
	if err := d.parts.identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func(position int64) {
		t.Helper()
		kafkatest.Await(t, "the marks are read", func() bool {
			if err := d.parts.read(t.Context()); err != nil {
				t.Fatal(err)
			}
			return d.parts.reader.Position() == position
		})
	}
	first := p.schedule.First()
	second, _ := p.schedule.Next(first)
	mark := func(attempt byte, w windows.Window) txn.Record {
		o := windows.Origin{Stream: p.stream.Name, Epoch: p.epoch, To: 1, Attempt: [16]byte{attempt}}
		return txn.Record{Value: windows.Mark{Origin: o, Partitions: 1, After: w.Start, Through: w.End}.Message()}
	}
	b.Produce(t, d.at.Topic, 0, mark(1, first))
	read(1)
	if renewed, err := d.parts.renewed(t.Context()); renewed || err != nil {
		t.Fatalf("the topic is another one: %v, %v", renewed, err)
	}
	b.DeleteTopic(t, d.at.Topic)
	b.CreateTopic(t, d.at.Topic, 1, nil)
	b.Produce(t, d.at.Topic, 0, mark(2, second), mark(3, p.schedule.First()))
	if renewed, err := d.parts.renewed(t.Context()); !renewed || err != nil {
		t.Fatalf("the topic is another one: %v, %v; want it noticed", renewed, err)
	}
	read(2)
	for _, w := range []windows.Window{first, second} {
		if state := d.parts.gather.State(p.stream.Name, p.epoch, w); !state.Ready {
			t.Errorf("the window stands at %+v; want it ready", state)
		}
	}
}
