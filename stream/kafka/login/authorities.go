package login

import (
	"crypto/x509"
	"errors"
	"os"
	"sync"
)

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
