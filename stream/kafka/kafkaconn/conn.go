// Package kafkaconn connects to a Kafka cluster. Brokers, TLS, SASL and the client id are configured once and shared by
// everything that talks to Kafka. Retry decides which errors are worth another attempt.
package kafkaconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
)

// Config says how to reach a cluster.
type Config struct {
	// Brokers are the host:port addresses to contact first. The rest of the cluster is found through them. Required.
	Brokers []string
	// TLS switches on TLS when it is not nil. An empty ServerName means: the host that is dialled.
	TLS *tls.Config
	// Authorities, if not nil, returns the authorities that a new connection trusts, instead of TLS.RootCAs.
	Authorities func() (*x509.CertPool, error)
	// SASL authenticates every connection when it is not nil.
	SASL sasl.Mechanism
	// ClientID is the name that brokers see in quotas and logs.
	ClientID string
	// Dial opens a connection to an address, as [net.Dialer.DialContext] does. TLS and SASL come on top. Nil means TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Limits of a connection. An attempt that takes longer than requestTimeout is abandoned and, if possible, retried. A
// broker that accepts a connection and then stays silent must not stop a stream.
const (
	dialTimeout    = 5 * time.Second
	requestTimeout = 10 * time.Second
	// metadataTTL bounds how long a moved leader goes unnoticed. kafka-go refreshes its metadata at a random moment
	// within this time. It is not shorter because each refresh asks for every topic of the cluster.
	metadataTTL = 5 * time.Second
	keepAlive   = 30 * time.Second
)

// Conn is a connection to a cluster. It is shared by all users and safe for concurrent use. Nothing is dialled before
// the first request.
type Conn struct {
	Brokers  []string
	ClientID string
	// Addr stands for all brokers in kafka-go's requests.
	Addr net.Addr
	// Transport pools connections and routes requests to leaders and coordinators.
	Transport *kafka.Transport
	// Client sends requests over Transport. Each may take ten seconds.
	Client *kafka.Client
	// Dialer opens the connections of consumer groups, which kafka-go does not send over Transport.
	Dialer *kafka.Dialer
	// Contact knows which brokers answer.
	Contact *Contact

	plain   dialFunc // opens a connection without TLS
	secured bool     // all others speak TLS
}

// New makes a Conn. It fails when an address is not host:port.
func New(c Config) (*Conn, error) {
	if len(c.Brokers) == 0 {
		return nil, errors.New("no broker address is given; want at least one host:port")
	}
	for _, b := range c.Brokers {
		host, port, err := net.SplitHostPort(b)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("broker address %q; want host:port, such as kafka:9092", b)
		}
		if _, err := net.LookupPort("tcp", port); err != nil {
			return nil, fmt.Errorf("broker address %q: %s is not a port; want one from 1 to 65535, such as 9092", b,
				port)
		}
	}
	contact := &Contact{given: c.Brokers}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	plain := contact.observe(c.Dial)
	dial := plain
	if c.TLS != nil {
		dial = secured(plain, c.TLS, c.Authorities)
	}
	transport := &kafka.Transport{
		Dial:        dial,
		DialTimeout: dialTimeout,
		MetadataTTL: metadataTTL,
		ClientID:    c.ClientID,
		SASL:        c.SASL,
	}
	addr := kafka.TCP(c.Brokers...)
	return &Conn{
		Brokers:   c.Brokers,
		ClientID:  c.ClientID,
		Addr:      addr,
		Transport: transport,
		Client:    &kafka.Client{Addr: addr, Timeout: requestTimeout, Transport: transport},
		Dialer: &kafka.Dialer{
			ClientID:      c.ClientID,
			DialFunc:      dial,
			Timeout:       dialTimeout,
			SASLMechanism: c.SASL,
		},
		Contact: contact,
		plain:   plain,
		secured: c.TLS != nil,
	}, nil
}

// Close drops the pooled connections. Requests that are under way end first.
func (c *Conn) Close() { c.Transport.CloseIdleConnections() }

// secured makes connections speak TLS. kafka-go can do this too, but then all connections trust the authorities that
// were known when the program began.
func secured(dial dialFunc, base *tls.Config, authorities func() (*x509.CertPool, error)) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c := base.Clone()
		if c.ServerName == "" {
			host, _, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			c.ServerName = host
		}
		if authorities != nil {
			var err error
			if c.RootCAs, err = authorities(); err != nil {
				return nil, err
			}
		}
		plain, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		conn := tls.Client(plain, c)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = plain.Close() // the handshake's error says more
			return nil, err
		}
		return conn, nil
	}
}
