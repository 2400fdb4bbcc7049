package kafkatest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Address is an address of this machine that nobody listens on, for a server that a test starts. See freeAddresses.
func Address(t testing.TB) string {
	t.Helper()
	found, err := freeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

// freeAddresses finds addresses that nobody listens on. Their ports lie below those that a system gives out by itself:
// before a server starts, or while it is down, no other server and no connection gets its port by chance.
func freeAddresses(n int) ([]string, error) {
	const first, ports = 10_000, 20_000
	var out []string
	for range 100 * n {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.N(ports))))
		if err != nil {
			continue // taken
		}
		defer l.Close() //nolint:errcheck // it was only to learn the port
		if out = append(out, l.Addr().String()); len(out) == n {
			return out, nil
		}
	}
	return nil, fmt.Errorf("found %d free ports from %d; want %d", len(out), first, n)
}

// Outside is a connection that was given the first address of the cluster. It reaches no address for which shut returns
// true, as if a broker named one that only others can reach.
func (b *Broker) Outside(t testing.TB, shut func(addr string) bool) *kafkaconn.Conn {
	t.Helper()
	dial := b.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: b.Conn.Brokers[:1],
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if shut(addr) {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return dial(ctx, network, addr)
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}
