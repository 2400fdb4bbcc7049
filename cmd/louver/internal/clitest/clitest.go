// Package clitest has what the tests of several commands share.
package clitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
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

// Deployed returns the path of a file under deploy.
func Deployed(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "deploy", name)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// DeployedText returns the text of a file under deploy.
func DeployedText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(Deployed(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Debian finds a program, or skips the test and says which package of Debian has it.
func Debian(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed; Debian's package %s has it", program, pkg)
	}
	return path
}

// Get gives the status and the body; 0 if nobody answers.
func Get(address, path string) (int, string) {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}
