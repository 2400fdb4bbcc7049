package stage_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/stage"
)

// process is a process with one worker a partition, which writes transactions under the partition's id.
type process struct {
	conn          *kafkaconn.Conn
	opened, wrote atomic.Int32
	done          sync.WaitGroup
}

func start(t *testing.T, conn *kafkaconn.Conn, topic string) *process {
	t.Helper()
	p := &process{conn: conn}
	ctx, cancel := context.WithCancel(context.Background())
	monitor := health.New(zap.NewNop(), "test")
	env := stage.Env{Conn: conn, Log: zap.NewNop(), Metrics: metrics.New(prometheus.NewRegistry(), nil, nil),
		Monitor: monitor, Health: monitor.Stage("test")}
	p.done.Go(func() {
		err := stage.Run(ctx, env, group.Config{Conn: conn, GroupID: topic, Topics: []string{topic},
			SessionTimeout: 6 * time.Second},
			func(ctx context.Context, _ stage.Partition, _ *stage.Membership) error {
				producer, err := txn.Open(ctx, conn.Client, topic, stage.TransactionTimeout)
				if err != nil {
					return err
				}
				p.opened.Add(1)
				for ctx.Err() == nil {
					if err := producer.Commit(ctx,
						txn.Transaction{Records: []txn.Record{{Topic: topic, Value: []byte("v")}}}); err != nil {
						return err
					}
					p.wrote.Add(1)
				}
				return nil
			})
		if err != nil {
			t.Errorf("the stage ended with %v", err)
		}
	})
	t.Cleanup(func() { cancel(); p.done.Wait() })
	return p
}

// TestAWorkerThatIsNoMemberLeavesTheIdAlone cuts one process off from the group's coordinator but not from the rest, so
// that its worker goes on after the group has given its partition away. It is fenced once, and does not take the
// transactional id back.
func TestAWorkerThatIsNoMemberLeavesTheIdAlone(t *testing.T) {
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, nil)
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: b.Conn.Brokers, ClientID: "cut-off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	group := &cuttable{dial: conn.Dialer.DialFunc}
	conn.Dialer.DialFunc = group.Dial
	old := start(t, conn, topic)
	kafkatest.Await(t, "the old worker writes", func() bool { return old.wrote.Load() > 0 })
	group.cut()
	successor := start(t, b.Conn, topic)
	kafkatest.Await(t, "the successor writes", func() bool { return successor.wrote.Load() > 0 })
	for range 3 { // it would take the id back at once
		before := successor.wrote.Load()
		kafkatest.Await(t, "the successor goes on", func() bool { return successor.wrote.Load() > before+50 })
	}
	if o, s := old.opened.Load(), successor.opened.Load(); o != 1 || s != 1 {
		t.Errorf("the transactional id was opened %d times by the old worker and %d times by its successor, want "+
			"once by each", o, s)
	}
	group.repair()
}

// cuttable is a way of dialling that can be cut, with the connections that it has made.
type cuttable struct {
	dial func(context.Context, string, string) (net.Conn, error)
	mu   sync.Mutex
	off  bool
	open []net.Conn
}

func (c *cuttable) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		return nil, errors.New("cut off")
	}
	conn, err := c.dial(ctx, network, address)
	if err == nil {
		c.open = append(c.open, conn)
	}
	return conn, err
}

func (c *cuttable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = true
	for _, conn := range c.open {
		_ = conn.Close()
	}
}

func (c *cuttable) repair() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = false
}
