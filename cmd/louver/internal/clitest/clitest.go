// Package clitest has what the tests of several commands share.
package clitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// StreamsFile declares one stream with two releases, and a budget that no stream uses.
const StreamsFile = `version: 1
budgets:
  - {name: shoppers, epsilon: 24, per: 24h}
  - {name: spare, epsilon: 1, per: forever}
streams:
  - name: checkout
    input: {topic: checkout.events, user: user_id, value: latency_ms, group: region}
    groups: [eu, us, ap]
    max_groups: 2
    bounds: {lower: 0, upper: 60000, step: 1}
    expected_users: 5000
    window: {size: 15m, grace: 30s}
    releases:
      - {name: p50, statistic: median, epsilon: 0.05}
      - {name: users, statistic: count, epsilon: 0.02}
    output: {topic: checkout.private}
    budget: shoppers
`

// File writes a file that the test's end removes, and returns its path.
func File(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Certificate writes a certificate and its key.
func Certificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return File(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		File(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}
