package login

import (
	"crypto/tls"
	"os"
	"sync"
	"time"
)

// Certificate is a client certificate in files. It is read again when they change, so that new connections use a
// renewed one. It is safe for concurrent use.
type Certificate struct {
	cert, key string
	mu        sync.Mutex
	pair      *tls.Certificate
	read      [2]stamp // of the files that pair was read from
}

// stamp distinguishes a file from a later one with the same name.
type stamp struct {
	changed time.Time
	size    int64
}

// stampOf returns the zero stamp for a file that is not there.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// NewCertificate reads the files for the first time.
func NewCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	_, err := c.Get(nil)
	return c, err
}

// Get returns the newest certificate. While the files hold none, for example halfway through a change, Get returns the
// last one. It fits tls.Config.GetClientCertificate.
func (c *Certificate) Get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := [2]stamp{stampOf(c.cert), stampOf(c.key)}
	if c.pair != nil && now == c.read {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		if c.pair != nil {
			return c.pair, nil
		}
		return nil, err
	}
	c.pair, c.read = &pair, now
	return c.pair, nil
}
