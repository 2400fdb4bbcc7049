package stream_test

import (
	"strings"
	"sync/atomic"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// gate holds back the transactions of the release stage of a world with a fake broker. A service that runs freely may
// have decided everything before a test has looked once.
type gate struct {
	w    *world
	next atomic.Bool // the next transaction may begin
	open atomic.Bool // all may
}

func (w *world) gate() *gate {
	g := &gate{w: w}
	// The first request of a transaction: later ones would leave it open, and whoever reads the ledger waits for its
	// end.
	w.broker.Fake.ControlKey(int16(kmsg.AddPartitionsToTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.Fake.KeepControl()
		q := r.(*kmsg.AddPartitionsToTxnRequest)
		if !strings.HasPrefix(q.TransactionalID, w.app+".release.") || g.open.Load() ||
			g.next.CompareAndSwap(true, false) {
			return nil, nil, false
		}
		res := q.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
		for _, t := range q.Topics {
			answer := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				answer.Partitions = append(answer.Partitions,
					kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p,
						ErrorCode: int16(kafka.GroupLoadInProgress)})
			}
			res.Topics = append(res.Topics, answer)
		}
		return res, nil, true
	})
	return g
}

// until lets one transaction after the other begin until a condition is met. Later ones wait for the next call. A last
// one may be on its way, so the windows of two transactions may be decided beyond the condition.
func (g *gate) until(what string, met func() bool) {
	g.w.t.Helper()
	kafkatest.Await(g.w.t, what, func() bool {
		if met() {
			g.next.Store(false)
			return true
		}
		g.next.Store(true)
		return false
	})
}
