package kafkaconn

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

// Contact remembers which brokers this process talks to, when each one last sent something, and why one could not be
// reached. It sees every connection of its [Conn]. It is safe for concurrent use.
type Contact struct {
	mu      sync.Mutex
	brokers map[string]*Broker
}

// Broker describes the contact with one broker address.
type Broker struct {
	Addr string
	// Heard is when it last sent something; zero if it never did.
	Heard time.Time
	// Failure says why the last connection could not be opened. It is nil if it could, or if the broker has sent
	// something since.
	Failure error

	tried time.Time
}

// forgetAfter is how long a broker is remembered after the last contact. It may have left the cluster.
const forgetAfter = 10 * time.Minute

// Brokers lists the brokers by address.
func (c *Contact) Brokers() []Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Broker
	for addr, b := range c.brokers {
		if time.Since(b.Heard) > forgetAfter && time.Since(b.tried) > forgetAfter {
			delete(c.brokers, addr)
			continue
		}
		all = append(all, *b)
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

// dialFunc opens a connection, as net.Dialer.DialContext does.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// observe makes a dialFunc whose connections report to the Contact.
func (c *Contact) observe(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			if !errors.Is(context.Cause(ctx), context.Canceled) { // a cancelled attempt says nothing about the broker
				c.note(addr, func(b *Broker) { b.Failure, b.tried = err, time.Now() })
			}
			return nil, err
		}
		c.note(addr, func(b *Broker) { b.tried = time.Now() })
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
