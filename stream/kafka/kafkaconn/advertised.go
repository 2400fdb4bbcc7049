package kafkaconn

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"
)

// AdvertisedError says that brokers answer at the addresses that were given, but name others, as advertised.listeners
// says, and that none of those can be reached. Records are read and written only there.
type AdvertisedError struct {
	// Asked are the addresses that were given, and Named those that the brokers name.
	Asked, Named []string
	// Err says why the last of these cannot be reached.
	Err error
}

// Error is a sentence about the setting of the brokers.
func (e *AdvertisedError) Error() string {
	who, they := "the broker", "it is"
	if len(e.Asked) > 1 {
		who = "one of the brokers"
	}
	if len(e.Named) > 1 {
		they = "the brokers are"
	}
	return fmt.Sprintf("%s at %s says that %s at %s, which cannot be reached: check advertised.listeners", who,
		strings.Join(e.Asked, ", "), they, strings.Join(e.Named, ", "))
}

func (e *AdvertisedError) Unwrap() error { return e.Err }

// reachAdvertised checks that at least one of the brokers answers at the address that it names. Others may be down.
func (c *Conn) reachAdvertised(ctx context.Context, brokers []kafka.Broker) error {
	var named []string
	for _, b := range brokers {
		named = append(named, net.JoinHostPort(b.Host, strconv.Itoa(b.Port)))
	}
	slices.Sort(named)
	if named = slices.Compact(named); len(named) == 0 || len(c.Brokers) == 1 && slices.Contains(named, c.Brokers[0]) {
		return nil // the answer came from there
	}
	var last error
	for _, address := range named {
		trying, cancel := context.WithTimeout(ctx, dialTimeout)
		conn, err := c.Transport.Dial(trying, "tcp", address)
		cancel()
		if err == nil {
			return conn.Close()
		}
		last = err
	}
	return &AdvertisedError{Asked: c.Brokers, Named: named, Err: last}
}
