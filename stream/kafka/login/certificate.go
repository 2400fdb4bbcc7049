package login

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
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

// Authorities are the certificates in a file that have signed those of the brokers. The file is read again when it
// changes, so that new connections trust a renewed authority. They are safe for concurrent use.
type Authorities struct {
	path string
	mu   sync.Mutex
	pool *x509.CertPool
	read stamp // of the file that pool was read from
}

// ErrNoCertificate says that a file holds no certificate in PEM.
var ErrNoCertificate = errors.New("no certificate in PEM")

// NewAuthorities reads the file for the first time.
func NewAuthorities(path string) (*Authorities, error) {
	a := &Authorities{path: path}
	_, err := a.Pool()
	return a, err
}

// Pool returns the newest certificates. While the file holds none, for example halfway through a change, Pool returns
// the last ones. The caller must not change the pool.
func (a *Authorities) Pool() (*x509.CertPool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := stampOf(a.path)
	if a.pool != nil && now == a.read {
		return a.pool, nil
	}
	text, err := os.ReadFile(a.path)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = ErrNoCertificate
	}
	switch {
	case err == nil:
		a.pool, a.read = pool, now
	case a.pool == nil:
		return nil, err
	}
	return a.pool, nil
}
