package stream_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// refuser refuses to tell the settings of topics so many times.
type refuser struct {
	kafka.RoundTripper
	left atomic.Int64
}

// RoundTrip implements [kafka.RoundTripper].
func (r *refuser) RoundTrip(ctx context.Context, addr net.Addr, q kafka.Request) (kafka.Response, error) {
	if _, settings := q.(*describeconfigs.Request); settings && r.left.Add(-1) >= 0 {
		return nil, kafka.TopicAuthorizationFailed
	}
	return r.RoundTripper.RoundTrip(ctx, addr, q)
}

// TestNewDefinitionsMeetAMissingRight gives a service that runs new definitions while it lacks a right: it waits for the
// right, and does not end.
func TestNewDefinitionsMeetAMissingRight(t *testing.T) {
	b := kafkatest.Fake(t)
	const yaml = `
version: 1
streams:
  - name: s
    input: {topic: INPUT, user: user, value: value, time: time}
    bounds: {lower: 0, upper: 100, step: 1}
    window: {size: 4s, grace: 2s, start: now}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: OUTPUT}
    budget: {epsilon: 1000000, per: 1h}
`
	w := newWorld(t, b, 1, yaml)
	r := &refuser{RoundTripper: b.Conn.Transport}
	one := w.start(func(s *stream.Service) {
		conn, client := *s.Conn, *s.Conn.Client
		client.Transport = r
		conn.Client = &client
		s.Conn = &conn
	})
	kafkatest.Await(t, "the service is ready", one.Ready)
	r.left.Store(3)
	w.configure(strings.NewReplacer("INPUT", w.input, "OUTPUT", w.streams[0].Output, "epsilon: 1}", "epsilon: 2}").Replace(yaml))
	two := w.start()
	kafkatest.Await(t, "the service follows the new definitions, or ends", func() bool {
		return one.ended.Load() || strings.Contains(strings.Join(one.definitions(t), " "), `epoch:"2"`)
	})
	if r.left.Load() >= 0 {
		t.Error("nothing was refused")
	}
	one.end(t)
	two.end(t)
}
