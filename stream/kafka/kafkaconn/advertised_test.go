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

	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// A broker behind an address that is not the one that it names: as long as nobody can reach that one, the cluster cannot
// be used, and the error says which setting to look at.
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
