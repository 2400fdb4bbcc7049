package stage_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/stage"
)

// A lag is told in records and in time while there is one, and not at all once the partition is gone.
func TestLag(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	for _, age := range []time.Duration{2 * time.Hour, time.Hour, 0} { // a batch each
		b.Produce(t, topic, 0, txn.Record{Value: []byte("v"), Time: time.Now().Add(-age).UnixMilli()})
	}
	m := metrics.New(prometheus.NewRegistry(), nil, nil)
	monitor := health.New(zap.NewNop(), "test")
	env := stage.Env{Conn: b.Conn, Log: zap.NewNop(), Metrics: m, Monitor: monitor, Health: monitor.Stage("test")}
	ctx, cancel := context.WithCancel(kafkatest.Context(t))
	err := stage.Run(ctx, env, group.Config{Conn: b.Conn, GroupID: "g", Topics: []string{topic},
		SessionTimeout: 6 * time.Second},
		func(ctx context.Context, at stage.Partition, _ *stage.Membership) error {
			defer cancel()
			reader := b.Fetch(fetch.Options{MaxBytes: 1}).Partition(topic, 0, 0) // so that an answer has one batch
			for i, want := range []struct{ records, seconds float64 }{{2, 7200}, {1, 3600}, {0, 0}} {
				if _, err := reader.Poll(ctx); err != nil {
					return err
				}
				env.Lag("g", at, reader)
				records := testutil.ToFloat64(m.Lag.WithLabelValues("g", topic, "0"))
				seconds := testutil.ToFloat64(m.LagSeconds.WithLabelValues("g", topic, "0"))
				if off := seconds - want.seconds; records != want.records || off < 0 || off > 60 ||
					want.seconds == 0 && off != 0 {
					t.Errorf("after batch %d: %v records, %v s; want %+v", i+1, records, seconds, want)
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if n := testutil.CollectAndCount(m.Lag) + testutil.CollectAndCount(m.LagSeconds); n != 0 {
		t.Errorf("%d series of a partition that is gone, want none", n)
	}
}
