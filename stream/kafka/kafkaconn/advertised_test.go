package kafkaconn_test

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// A broker behind an address that is not the one that it names: as long as nobody can reach that one, the cluster
// cannot be used, and the error says which setting to look at.
func TestAdvertisedAddressThatCannotBeReached(t *testing.T) {
	b := kafkatest.Fake(t)
	node := b.Conn.Brokers[0]
	var shut atomic.Bool
	shut.Store(true)
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: []string{"bootstrap:9092"},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr != "bootstrap:9092" && shut.Load() {
				return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
			}
			return (&net.Dialer{}).DialContext(ctx, network, node)
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var told error
	err = conn.Check(ctx, func(err error) { told = err })
	var elsewhere *kafkaconn.AdvertisedError
	if !errors.As(err, &elsewhere) || !errors.As(told, &elsewhere) || kafkaconn.Refused(err) {
		t.Fatalf("%v, and %v meanwhile; want an AdvertisedError", err, told)
	}
	if !slices.Equal(elsewhere.Asked, []string{"bootstrap:9092"}) || !slices.Contains(elsewhere.Named, node) {
		t.Errorf("asked %q, named %q; want bootstrap:9092 and %s", elsewhere.Asked, elsewhere.Named, node)
	}
	// It is tried again: an address may become reachable.
	if err := conn.Check(kafkatest.Context(t), func(error) { shut.Store(false) }); err != nil {
		t.Error(err)
	}
}

func TestAdvertisedErrorInWords(t *testing.T) {
	for want, e := range map[string]kafkaconn.AdvertisedError{
		"the broker at 127.0.0.1:9092 says that it is at kafka-internal.example:9092, which cannot be reached: check " +
			"advertised.listeners": {Asked: []string{"127.0.0.1:9092"}, Named: []string{"kafka-internal.example:9092"}},
		"one of the brokers at a:1, b:1 says that the brokers are at c:1, d:1, which cannot be reached: check " +
			"advertised.listeners": {Asked: []string{"a:1", "b:1"}, Named: []string{"c:1", "d:1"}},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// One of several brokers names an address that cannot be reached. The others can be used, and whatever needs that one
// says which broker it is and what to check.
func TestOneAdvertisedAddressThatCannotBeReached(t *testing.T) {
	b := kafkatest.Fake(t)
	nodes := b.Conn.Brokers
	var shut atomic.Bool
	conn := b.Outside(t, func(addr string) bool { return addr == nodes[2] && shut.Load() })
	ctx := kafkatest.Context(t)
	away := func() *kafkaconn.AwayError {
		t.Helper()
		if err := conn.Check(ctx, nil); err != nil {
			t.Fatal(err)
		}
		all, err := conn.Away(ctx)
		if err != nil || len(all) > 1 {
			t.Fatalf("%v, %v", all, err)
		}
		if len(all) == 0 {
			return nil
		}
		return all[0]
	}
	if got := away(); got != nil {
		t.Errorf("%v, but all can be reached", got)
	}
	shut.Store(true)
	got := away()
	if got == nil || got.Broker != 2 || got.Addr != nodes[2] || got.Before || kafkaconn.Refused(got) ||
		!kafkaconn.Retriable(got) {
		t.Fatalf("%+v, want broker 2 at %s, to be tried again", got, nodes[2])
	}
	at := slices.IndexFunc(conn.Known(), func(b kafkaconn.Broker) bool { return b.Addr == nodes[2] })
	if known := conn.Known()[at]; !known.Named || known.Given || !errors.Is(known.Failure, got) {
		t.Errorf("%+v, want one that is named, was not given, and has failed", known)
	}
	// A broker that was reached before has perhaps only stopped.
	shut.Store(false)
	if _, err := conn.Client.ApiVersions(ctx, &kafka.ApiVersionsRequest{Addr: kafka.TCP(nodes[2])}); err != nil {
		t.Fatal(err)
	}
	shut.Store(true)
	if got := away(); got == nil || !got.Before {
		t.Errorf("%+v, want one that was reached before", got)
	}
}

func TestAwayErrorInWords(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for want, e := range map[string]kafkaconn.AwayError{
		"broker 2 says that it is at kafka-2.example:9092, which cannot be reached (no such host): check its " +
			"advertised.listeners": {Broker: 2, Addr: "kafka-2.example:9092",
			Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "kafka-2.example", IsNotFound: true}}},
		"broker 0 says that it is at 10.0.0.1:9092, which cannot be reached (no answer): check its advertised.listeners": {
			Addr: "10.0.0.1:9092", Err: context.DeadlineExceeded},
		"a broker can no longer be reached at b:1, where it says it is (connection refused): check that it runs, and its " +
			"advertised.listeners": {Broker: kafkaconn.Unknown, Addr: "b:1", Before: true, Err: refused},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
