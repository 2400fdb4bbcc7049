package kafkatest_test

import (
	"slices"
	"testing"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

func TestTransactionsAreSeenWhenCommitted(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		b.Produce(t, topic, 0, kafkatest.Values("plain")...)
		x := b.Begin(t, kafkatest.Name(t))
		x.Produce(t, topic, 0, kafkatest.Values("aborted")...)
		x.Abort(t)
		y := b.Begin(t, kafkatest.Name(t))
		y.Produce(t, topic, 0, kafkatest.Values("committed")...)
		y.Commit(t)
		if got, want := b.ConsumeValues(t, topic, 0), []string{"plain", "committed"}; !slices.Equal(got, want) {
			t.Fatalf("consumed %v, want %v", got, want)
		}
	})
}

func TestDeleteRecords(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		b.Produce(t, topic, 0, kafkatest.Values("a", "b", "c")...)
		b.DeleteRecords(t, topic, 0, 2)
		if got, want := b.ConsumeValues(t, topic, 0), []string{"c"}; !slices.Equal(got, want) {
			t.Fatalf("consumed %v, want %v", got, want)
		}
	})
}

// Each start of a node costs more than a second of the processor. TestChaos kills and starts all nodes at once.
func TestClusterGoesOnWithoutALeader(t *testing.T) {
	t.Parallel() // it waits most of the time
	b := kafkatest.Cluster(t, 3)
	topic := b.Topic(t, 1, nil)
	b.Produce(t, topic, 0, kafkatest.Values("first")...)
	b.KillLeader(t, topic, 0)
	b.Produce(t, topic, 0, kafkatest.Values("without one")...)
	b.CutConnections(t)
	b.Start(t)
	b.Produce(t, topic, 0, kafkatest.Values("last")...)
	b.DeleteRecords(t, topic, 0, 1)
	got := slices.Compact(b.ConsumeValues(t, topic, 0)) // a cut may cost an answer, and then the record is sent again
	if want := []string{"without one", "last"}; !slices.Equal(got, want) {
		t.Fatalf("consumed %v, want %v", got, want)
	}
}
