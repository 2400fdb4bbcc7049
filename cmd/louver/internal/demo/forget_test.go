package demo

import (
	"slices"
	"testing"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
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
