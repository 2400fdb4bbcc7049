package txn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/louver/louver/stream/kafka/kafkatest"
)

// steps of a transaction, in their order. FindCoordinator is not among them:
// kafka-go asks that below the transport's surface.
var steps = []protocol.ApiKey{protocol.InitProducerId, protocol.AddPartitionsToTxn, protocol.Produce,
	protocol.AddOffsetsToTxn, protocol.TxnOffsetCommit, protocol.EndTxn}

// meddler stands between a client and the broker.
type meddler struct {
	kafka.RoundTripper
	mu sync.Mutex
	// before and after are called around each request; an error of theirs
	// is what the client sees. With before's, the request is not sent; with
	// after's, it was, and its answer is lost.
	before, after func(protocol.ApiKey) error
}

func (m *meddler) RoundTrip(ctx context.Context, addr net.Addr, q kafka.Request) (kafka.Response, error) {
	m.mu.Lock()
	before, after := m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(q.ApiKey()); err != nil {
			return nil, err
		}
	}
	res, err := m.RoundTripper.RoundTrip(ctx, addr, q)
	if err == nil && after != nil {
		err = after(q.ApiKey())
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (m *meddler) set(before, after func(protocol.ApiKey) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before, m.after = before, after
}

// meddle gives a client of b with a meddler in between.
func meddle(b *kafkatest.Broker) (*kafka.Client, *meddler) {
	m := &meddler{RoundTripper: b.Conn.Transport}
	return &kafka.Client{Addr: b.Conn.Addr, Timeout: 10 * time.Second, Transport: m}, m
}

// lose makes a hook that loses the first n requests of that kind, or all if n
// is negative.
func lose(step protocol.ApiKey, n int) func(protocol.ApiKey) error {
	var mu sync.Mutex
	return func(k protocol.ApiKey) error {
		mu.Lock()
		defer mu.Unlock()
		if k != step || n == 0 {
			return nil
		}
		n--
		return io.ErrUnexpectedEOF
	}
}

// committed is the offset that a group has committed in partition 0. It
// takes the transactional id over that is named like the topic.
func committed(t *testing.T, b *kafkatest.Broker, group, topic string) int64 {
	t.Helper()
	// A commit shows in the group only when its marker has come there; once
	// the id can be taken over, it has.
	open(t, b.Conn.Client, topic)
	res, err := b.Conn.Client.OffsetFetch(kafkatest.Context(t), &kafka.OffsetFetchRequest{GroupID: group,
		Topics: map[string][]int{topic: {0}}})
	if err == nil && errors.Is(res.Error, kafka.GroupIdNotFound) { // only the fake says so
		return -1
	}
	if err != nil || res.Error != nil {
		t.Fatal(err, res)
	}
	return res.Topics[topic][0].CommittedOffset
}
