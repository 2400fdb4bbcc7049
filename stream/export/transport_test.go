package export

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// A backend is trusted by the authorities of the moment, and sees the client's certificate.
func TestTransport(t *testing.T) {
	var seen atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen.Store(int32(len(r.TLS.PeerCertificates)))
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	none, right := x509.NewCertPool(), x509.NewCertPool()
	right.AddCert(server.Certificate())
	trusted, failing := none, errors.New("no file")
	own := &tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &server.TLS.Certificates[0], nil
	}}
	transport := NewTransport(own, func() (*x509.CertPool, error) { return trusted, failing })
	b, err := NewBackend(server.URL, nil, transport, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.post(t.Context(), nil); !errors.Is(err, failing) {
		t.Errorf("without a file: %v", err)
	}
	failing = nil
	var unknown x509.UnknownAuthorityError
	if _, err := b.post(t.Context(), nil); !errors.As(err, &unknown) {
		t.Errorf("with other authorities: %v", err)
	}
	for range 2 { // the second one uses the connection of the first
		trusted = right
		if _, err := b.post(t.Context(), nil); err != nil || seen.Load() != 1 {
			t.Errorf("with the right ones: %v, %d certificates of the client", err, seen.Load())
		}
	}
	trusted = none
	if _, err := b.post(t.Context(), nil); !errors.As(err, &unknown) {
		t.Errorf("when they are gone again: %v", err)
	}
}
