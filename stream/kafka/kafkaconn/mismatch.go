package kafkaconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/segmentio/kafka-go"
)

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
