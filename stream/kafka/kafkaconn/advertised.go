package kafkaconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"
)

// A cluster is reached at the addresses that were given, and then used only at those that its brokers name, as their
// setting advertised.listeners says. If it names an address that nobody can reach from here, the cluster answers and
// cannot be used. Then the errors say so, because those of the network do not say where the address comes from.

// AdvertisedError says that brokers answer at the addresses that were given, and that none of the addresses that they
// name can be reached.
type AdvertisedError struct {
	// Asked are the addresses that were given, and Named those that the brokers name.
	Asked, Named []string
	// Err says why one of these cannot be reached.
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

// AwayError says that one broker cannot be reached at the address that it names. The address is none of those that were
// given.
type AwayError struct {
	// Broker is its id, or Unknown.
	Broker int
	Addr   string
	// Before says that it has answered there before.
	Before bool
	// Err is the error of the network.
	Err error
}

// Unknown is the id of a broker whose id is not known.
const Unknown = -1

// Error is a sentence about the broker and its setting.
func (e *AwayError) Error() string {
	who := fmt.Sprintf("broker %d", e.Broker)
	if e.Broker == Unknown {
		who = "a broker"
	}
	if e.Before {
		return fmt.Sprintf("%s can no longer be reached at %s, where it says it is (%s): check that it runs, and its "+
			"advertised.listeners", who, e.Addr, reason(e.Err))
	}
	return fmt.Sprintf("%s says that it is at %s, which cannot be reached (%s): check its advertised.listeners", who,
		e.Addr, reason(e.Err))
}

func (e *AwayError) Unwrap() error { return e.Err }

// reason says in a few words why a connection could not be opened.
func reason(err error) string {
	var dns *net.DNSError
	var code syscall.Errno
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer"
	case errors.As(err, &code):
		return code.Error()
	}
	return err.Error()
}

// reachAdvertised checks that at least one of the brokers answers at the address that it names. Others may be down.
func (c *Conn) reachAdvertised(ctx context.Context, brokers []kafka.Broker) error {
	c.Contact.name(brokers)
	named := addresses(brokers)
	if len(named) == 0 || len(c.Brokers) == 1 && slices.Contains(named, c.Brokers[0]) {
		return nil // the answer came from there
	}
	enough, cancel := context.WithCancel(ctx)
	defer cancel()
	failures, reached := c.try(enough, named, cancel)
	if reached {
		return nil
	}
	return &AdvertisedError{Asked: c.Brokers, Named: named, Err: errors.Join(ctx.Err(), errors.Join(failures...))}
}

// Away tries the address of each broker that the cluster names, and returns an error for each that cannot be reached.
// It takes some seconds for one that stays silent.
func (c *Conn) Away(ctx context.Context) (away []*AwayError, err error) {
	answer, err := Retry(ctx, nil, c.named)
	if err != nil {
		return nil, err
	}
	c.Contact.name(answer.Brokers)
	failures, _ := c.try(ctx, addresses(answer.Brokers), func() {})
	for _, err := range failures {
		if broker := (*AwayError)(nil); errors.As(err, &broker) {
			away = append(away, broker)
		}
	}
	return away, ctx.Err()
}

// Known lists the brokers that are named or were contacted, after a look at which ones the cluster names now.
func (c *Conn) Known() []Broker {
	heard := func(b Broker) bool { return !b.Heard.IsZero() }
	if !slices.ContainsFunc(c.Contact.Brokers(), heard) {
		return c.Contact.Brokers() // nothing was ever said
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if answer, err := c.named(ctx); err == nil {
		c.Contact.name(answer.Brokers)
	}
	return c.Contact.Brokers()
}

// named asks which brokers there are. The transport answers from memory, and renews that every few seconds.
func (c *Conn) named(ctx context.Context) (*kafka.MetadataResponse, error) {
	return c.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{}})
}

// try opens a connection to each address. It returns the failures, in the order of the addresses, and whether any could
// be opened. It calls opened for each that could. What fails because ctx was cancelled is no failure.
func (c *Conn) try(ctx context.Context, addresses []string, opened func()) (failures []error, reached bool) {
	const atOnce = 16
	failed, open := make([]error, len(addresses)), make([]bool, len(addresses))
	var trying errgroup.Group
	trying.SetLimit(atOnce)
	for i, address := range addresses {
		trying.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			conn, err := c.Transport.Dial(ctx, "tcp", address)
			if open[i] = err == nil; open[i] {
				opened()
				return conn.Close()
			}
			if !errors.Is(context.Cause(ctx), context.Canceled) {
				failed[i] = err
			}
			return nil
		})
	}
	_ = trying.Wait() // connections that were never used can be closed
	return slices.DeleteFunc(failed, func(err error) bool { return err == nil }), slices.Contains(open, true)
}

// addresses are those that the brokers name, in order.
func addresses(brokers []kafka.Broker) (named []string) {
	for _, b := range brokers {
		named = append(named, address(b))
	}
	slices.Sort(named)
	return slices.Compact(named)
}

func address(b kafka.Broker) string { return net.JoinHostPort(b.Host, strconv.Itoa(b.Port)) }
