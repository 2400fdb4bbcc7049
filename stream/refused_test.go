package stream_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
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

// TestNewDefinitionsMeetAMissingRight gives a service that runs new definitions while it lacks a right: it waits for
// the right, and does not end.
func TestNewDefinitionsMeetAMissingRight(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		file := func(epsilon string) string {
			return configtest.File(configtest.Stream("s", configtest.Window(4*time.Second, 2*time.Second),
				configtest.StartNow, configtest.Releases("{name: users, statistic: count, epsilon: "+epsilon+"}")))
		}
		w := newWorld(t, b, 1, file("1"))
		r := &refuser{RoundTripper: b.Conn.Transport}
		one := w.start(func(s *stream.Service) {
			conn, client := *s.Conn, *s.Conn.Client
			client.Transport = r
			conn.Client = &client
			s.Conn = &conn
		})
		kafkatest.Await(t, "the service is ready", one.Ready)
		r.left.Store(3)
		w.reconfigure(file("2"))
		two := w.start()
		kafkatest.Await(t, "the service follows the new definitions, or ends", func() bool {
			return one.ended.Load() || strings.Contains(strings.Join(one.definitions(t), " "), `epoch:"2"`)
		})
		if r.left.Load() >= 0 {
			t.Error("nothing was refused")
		}
		one.end(t)
		two.end(t)
	})
}

// TestAMissingRightHasOneLine: workers of sixteen partitions lack the same right, and the log says so once.
func TestAMissingRightHasOneLine(t *testing.T) {
	kafkatest.Bubble(t, func(t *testing.T, b *kafkatest.Broker) {
		w := newWorld(t, b, 1, withBudget("1000000000"))
		var refused atomic.Int64
		b.Fake.ControlKey(int16(kmsg.InitProducerID), func(q kmsg.Request) (kmsg.Response, error, bool) {
			b.Fake.KeepControl()
			r := q.(*kmsg.InitProducerIDRequest)
			if r.TransactionalID == nil || *r.TransactionalID == (topics.Names{App: w.app}).ControlID() {
				return nil, nil, false
			}
			refused.Add(1)
			answer := r.ResponseKind().(*kmsg.InitProducerIDResponse)
			answer.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
			return answer, nil, true
		})
		lines, log := told()
		s := w.start(log)
		kafkatest.Await(t, "a line says what is missing, and all have failed again and again", func() bool {
			return lines.FilterMessageSnippet("without the right Write on the transactional id").Len() > 0 &&
				refused.Load() > 16*8
		})
		s.end(t)
		if n := lines.FilterMessageSnippet("keep").Len(); n != 1 {
			t.Errorf("%d lines: %v", n, lines.All())
		}
	})
}
