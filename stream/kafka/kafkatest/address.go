package kafkatest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
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
