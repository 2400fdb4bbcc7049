package demo

import (
	"slices"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// Events of an endless input are deleted once they are old, and no others.
func TestOldEventsAreForgotten(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	now := time.Now()
	for _, age := range []time.Duration{3 * time.Hour, 121 * time.Minute, 119 * time.Minute, 0} {
		b.Produce(t, topic, 0, txn.Record{Value: []byte(age.String()), Time: now.Add(-age).UnixMilli()})
	}
	forgetBefore(kafkatest.Context(t), b.Conn, b.Fetch(fetch.Options{}), topic, 0, now.Add(-inputRetention))
	if got := b.ConsumeValues(t, topic, 0); !slices.Equal(got, []string{"1h59m0s", "0s"}) {
		t.Errorf("%q are left, want those of the last two hours", got)
	}
}

// Snapshots are deleted if later ones replace all that is in front of the oldest that counts. Keys that were deleted
// hold up nothing.
func TestReplacedSnapshotsAreForgotten(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, topics.Partitions, nil)
	r := newReplaced(topic)
	left := func(partition int, records ...txn.Record) []string {
		b.Produce(t, topic, partition, records...)
		r.forget(kafkatest.Context(t), b.Conn, b.Fetch(fetch.Options{}))
		return b.ConsumeValues(t, topic, partition)
	}
	of := func(key, value string) txn.Record { return txn.Record{Key: []byte(key), Value: []byte(value)} }
	for _, c := range []struct {
		partition int
		records   []txn.Record
		want      []string
	}{
		{3, []txn.Record{of("a", "1"), of("a/1", "2"), of("b", "3")}, []string{"1", "2", "3"}},
		{3, []txn.Record{of("a", "4")}, []string{"2", "3", "4"}},
		{0, []txn.Record{of("a", "5")}, []string{"5"}},
		{3, []txn.Record{{Key: []byte("a/1")}, of("b", "6")}, []string{"4", "", "6"}},
	} {
		if got := left(c.partition, c.records...); !slices.Equal(got, c.want) {
			t.Errorf("%q are left, want %q", got, c.want)
		}
	}
}
