package kafkaconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
)

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
