// Package embedded starts Kafka brokers in this process, for `louver broker`, the demo and tests.
package embedded

import (
	"math"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Listen opens a listener, as [net.Listen] does.
type Listen func(network, address string) (net.Listener, error)

// Start starts a cluster of kfake, and works around two faults of it: see limitPartitions and lingering. The caller
// closes it. An option [kfake.ListenFn] would take the place of listen, and bring one of the faults back.
func Start(listen Listen, options ...kfake.Opt) (*kfake.Cluster, error) {
	own := kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := listen(network, address)
		return lingering{l}, err
	})
	cluster, err := kfake.NewCluster(append([]kfake.Opt{own}, options...)...)
	if err != nil {
		return nil, err
	}
	// When sees each request before the broker does, and the fault never happens. A control function would see it too,
	// but kfake keeps the last request of every connection for it, even after the connection is closed.
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, TopLevel: true, Count: -1, When: func(q kmsg.Request) bool {
		limitPartitions(q.(*kmsg.FetchRequest))
		return false
	}})
	return cluster, nil
}

// limitPartitions replaces the limit of a whole answer by limits of its partitions. Where kfake cuts an answer at the
// limit of the whole, it does not say which transactions were aborted, and a reader takes their records for committed
// ones. Where it cuts at the limit of a partition, it says so. The first batch of an answer always fits.
func limitPartitions(q *kmsg.FetchRequest) {
	partitions := 0
	for _, t := range q.Topics {
		partitions += len(t.Partitions)
	}
	for _, t := range q.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			p.PartitionMaxBytes = min(p.PartitionMaxBytes, q.MaxBytes/int32(partitions))
		}
	}
	q.MaxBytes = math.MaxInt32
}

// lingering listens for connections whose end the broker notices a while later. kfake begins the session of a member of
// a group when it has answered its join. If the connection has ended by then, the session never ends, and what is
// assigned to that member is read by nobody. So an answer to a connection that has ended must seem to be sent.
type lingering struct{ net.Listener }

// linger is longer than a group waits for its members: Louver's ask for ten seconds.
const linger = 30 * time.Second

func (l lingering) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: c, closed: make(chan struct{})}, nil
}

type lingeringConn struct {
	net.Conn
	close  sync.Once
	closed chan struct{} // by the broker
}

func (c *lingeringConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		select {
		case <-time.After(linger):
		case <-c.closed:
		}
	}
	return n, err
}

func (c *lingeringConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
