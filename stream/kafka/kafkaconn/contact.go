package kafkaconn

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// Contact remembers which brokers this process talks to, when each one last sent something, and why one could not be
// reached. It sees every connection of its [Conn]. It is safe for concurrent use.
type Contact struct {
	given   []string // the addresses that were given
	mu      sync.Mutex
	brokers map[string]*Broker
	named   map[string]int // the ids of the brokers that the cluster names, by address; nil: not known
}

// Broker describes the contact with one broker address.
type Broker struct {
	Addr string
	// Given says that its address was given, and Named that the cluster names it.
	Given, Named bool
	// Heard is when it last sent something; zero if it never did.
	Heard time.Time
	// Failure says why the last connection could not be opened. It is nil if it could, or if the broker has sent
	// something since.
	Failure error
	// Tried is when a connection was last opened or failed; zero if it never was.
	Tried time.Time
}

// forgetAfter is how long a broker is remembered after the last contact. It may have left the cluster.
const forgetAfter = 10 * time.Minute

// Brokers lists the brokers by address, with those that the cluster names and that were never contacted.
func (c *Contact) Brokers() []Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Broker
	for addr := range c.named {
		if c.brokers[addr] == nil {
			all = append(all, Broker{Addr: addr, Given: slices.Contains(c.given, addr), Named: true})
		}
	}
	for addr, b := range c.brokers {
		if time.Since(b.Heard) > forgetAfter && time.Since(b.Tried) > forgetAfter {
			delete(c.brokers, addr)
			continue
		}
		_, named := c.named[addr]
		known := *b
		known.Given, known.Named = slices.Contains(c.given, addr), named
		all = append(all, known)
	}
	slices.SortFunc(all, func(a, b Broker) int { return cmp.Compare(a.Addr, b.Addr) })
	return all
}

// note changes what is known about an address.
func (c *Contact) note(addr string, change func(*Broker)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.brokers == nil {
		c.brokers = map[string]*Broker{}
	}
	b := c.brokers[addr]
	if b == nil {
		b = &Broker{Addr: addr}
		c.brokers[addr] = b
	}
	change(b)
}

// name says which brokers the cluster names now.
func (c *Contact) name(brokers []kafka.Broker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named = make(map[string]int, len(brokers))
	for _, b := range brokers {
		c.named[address(b)] = b.ID
	}
}

// away says more about an address that could not be reached, if it comes from the cluster.
func (c *Contact) away(addr string, err error) error {
	if slices.Contains(c.given, addr) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id, named := c.named[addr]
	if !named {
		id = Unknown
	}
	b := c.brokers[addr]
	return &AwayError{Broker: id, Addr: addr, Before: b != nil && !b.Heard.IsZero(), Err: err}
}

// dialFunc opens a connection, as net.Dialer.DialContext does.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// observe makes a dialFunc whose connections report to the Contact.
func (c *Contact) observe(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return nil, err // this says nothing about the broker
			}
			err = c.away(addr, err)
			c.note(addr, func(b *Broker) { b.Failure, b.Tried = err, time.Now() })
			return nil, err
		}
		c.note(addr, func(b *Broker) { b.Tried = time.Now() })
		return &observed{Conn: conn, contact: c, addr: addr}, nil
	}
}

// observed is a connection that notes when its broker sends something.
type observed struct {
	net.Conn
	contact *Contact
	addr    string
}

func (o *observed) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	if n > 0 {
		o.contact.note(o.addr, func(b *Broker) { b.Heard, b.Failure = time.Now(), nil })
	}
	return n, err
}

// ErrSpeaksTLS means that a broker's port speaks TLS and the configuration does not.
var ErrSpeaksTLS = errors.New("the port speaks TLS")

// ErrSpeaksPlain means that the configuration asks for TLS and a broker's port does not speak it.
var ErrSpeaksPlain = errors.New("the port speaks plain Kafka, without TLS")

// mismatch finds out whether a broker's port speaks TLS and the configuration does not, or the reverse. In both cases a
// request sees only a closed connection. mismatch returns an error only if a broker has answered in the other protocol.
func (c *Conn) mismatch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	speaks, err := speaksTLS, ErrSpeaksTLS
	if c.secured {
		speaks, err = speaksPlain, ErrSpeaksPlain
	}
	for _, address := range c.Brokers {
		conn, failed := c.plain(ctx, "tcp", address)
		if failed != nil {
			continue
		}
		found := speaks(ctx, conn)
		_ = conn.Close() // only a question
		if found {
			return fmt.Errorf("%s: %w", address, err)
		}
	}
	return nil
}

// speaksTLS tries a handshake. It sends nothing afterwards, so it ignores the certificate.
func speaksTLS(ctx context.Context, conn net.Conn) bool {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	var alert tls.AlertError
	return err == nil || errors.As(err, &alert)
}

// speaksPlain asks for the versions that a broker knows, which needs no credentials. ctx must have a deadline.
func speaksPlain(ctx context.Context, conn net.Conn) bool {
	deadline, _ := ctx.Deadline()
	if conn.SetDeadline(deadline) != nil {
		return false
	}
	versions, err := kafka.NewConn(conn, "", 0).ApiVersions()
	return err == nil && len(versions) > 0
}
