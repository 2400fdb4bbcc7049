package export

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"sync"
)

// NewTransport makes a way to reach a backend. base, if not nil, is how TLS is spoken. authorities, if not nil, returns
// the certificates that are trusted now: when they are others than before, new connections are made.
func NewTransport(base *tls.Config, authorities func() (*x509.CertPool, error)) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = base
	if authorities == nil {
		return t
	}
	return &trusting{base: t, authorities: authorities}
}

// trusting is a transport whose authorities change.
type trusting struct {
	base        *http.Transport
	authorities func() (*x509.CertPool, error)

	mu   sync.Mutex
	pool *x509.CertPool
	with *http.Transport // what trusts pool
}

// RoundTrip implements [http.RoundTripper].
func (t *trusting) RoundTrip(request *http.Request) (*http.Response, error) {
	with, err := t.current()
	if err != nil {
		return nil, err
	}
	return with.RoundTrip(request)
}

func (t *trusting) current() (*http.Transport, error) {
	pool, err := t.authorities()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.with == nil || pool != t.pool {
		if t.with != nil {
			t.with.CloseIdleConnections()
		}
		t.pool, t.with = pool, t.base.Clone()
		if t.with.TLSClientConfig == nil {
			t.with.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		t.with.TLSClientConfig.RootCAs = pool
	}
	return t.with, nil
}
