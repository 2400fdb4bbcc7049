package login_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"

	"github.com/louver/louver/stream/kafka/login"
)

// tokens is an OAuth 2 server that counts what it gives out.
type tokens struct {
	t       *testing.T
	lasting time.Duration
	given   int
	secret  string
	status  int
}

func (s *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	id, secret, _ := r.BasicAuth()
	switch {
	case s.status != 0:
		http.Error(w, strings.Repeat("<html>", 1000), s.status)
	case r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka write" || id != "me" ||
		secret != s.secret:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(w, `{"error":"invalid_client","error_description":"unknown client"}`)
	default:
		s.given++
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("token-%d", s.given),
			"token_type": "Bearer",
			"expires_in": s.lasting.Seconds()})
	}
}

func oauth(t *testing.T, s *tokens, secret func() (string, error)) sasl.Mechanism {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	m, err := login.OAuth{TokenURL: server.URL, ClientID: "me", Secret: secret, Scopes: []string{"kafka", "write"},
		Extensions: map[string]string{"logicalCluster": "lkc-1", "identityPoolId": "p"}}.Mechanism()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func started(t *testing.T, m sasl.Mechanism) string {
	t.Helper()
	_, first, err := m.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(first)
}

// A token serves many connections until shortly before its end, and a new secret is used for the next one.
func TestOAuth(t *testing.T) {
	s := &tokens{t: t, lasting: time.Hour, secret: "old"}
	secret := "old"
	m := oauth(t, s, func() (string, error) { return secret, nil })
	// RFC 7628, section 3.1
	const want = "n,,\x01auth=Bearer token-1\x01identityPoolId=p\x01logicalCluster=lkc-1\x01\x01"
	for range 3 {
		if got := started(t, m); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if m.Name() != "OAUTHBEARER" || s.given != 1 {
		t.Errorf("%s, %d tokens", m.Name(), s.given)
	}
	s.lasting, s.secret, secret = 20*time.Second, "new", "new" // it ends before it is of use
	m = oauth(t, s, func() (string, error) { return secret, nil })
	if a, b := started(t, m), started(t, m); !strings.Contains(a, "token-2\x01") ||
		!strings.Contains(b, "token-3\x01") {
		t.Errorf("%q and %q: a token that ends soon is used again", a, b)
	}
}

// The broker's word about a token is in a challenge: the client answers, and the broker then fails the login.
func TestOAuthRefusedByBroker(t *testing.T) {
	m := oauth(t, &tokens{t: t, lasting: time.Hour}, func() (string, error) { return "", nil })
	state, _, err := m.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if done, answer, err := state.Next(t.Context(), []byte(`{"status":"invalid_token"}`)); done ||
		!bytes.Equal(answer, []byte{1}) || err != nil {
		t.Errorf("%v, %q, %v", done, answer, err)
	}
	if done, _, err := state.Next(t.Context(), nil); !done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
}

func TestNoToken(t *testing.T) {
	for _, c := range []struct {
		server  tokens
		secret  func() (string, error)
		want    string
		refused bool
	}{
		{tokens{secret: "right"}, func() (string, error) { return "wrong", nil }, "401 invalid_client unknown client",
			true},
		{tokens{status: http.StatusBadGateway}, func() (string, error) { return "", nil }, "502", false},
		{tokens{}, func() (string, error) { return "", errors.New("no such file") }, "no such file", false},
	} {
		_, _, err := oauth(t, &c.server, c.secret).Start(t.Context())
		var told *login.Error
		var network net.Error
		if !errors.As(err, &told) || told.Refused() != c.refused || !errors.As(err, &network) ||
			!strings.Contains(err.Error(), c.want) || len(err.Error()) > 200 || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%v, want one short line with %s, refused %v", err, c.want, c.refused)
		}
	}
}

func TestFresh(t *testing.T) {
	password, failure := "one", error(nil)
	m := login.Fresh{Mechanism: "PLAIN",
		Make: func() (sasl.Mechanism, error) { return plain.Mechanism{Username: "me", Password: password}, failure }}
	for _, password = range []string{"one", "two"} {
		if got := started(t, m); got != "\x00me\x00"+password {
			t.Errorf("%q", got)
		}
	}
	failure = errors.New("no file")
	var told *login.Error
	if _, _, err := m.Start(t.Context()); !errors.As(err, &told) {
		t.Errorf("%v", err)
	}
}

// The signature is that of AWS's Signature Version 4: it has the right fields, and depends on the broker's host.
func TestAWS(t *testing.T) {
	for name, value := range map[string]string{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKID",
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	m, err := login.AWS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	signed := func(host string) map[string]string {
		_, first, err := m.Start(sasl.WithMetadata(t.Context(), &sasl.Metadata{Host: host, Port: 9098}))
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]string
		if err := json.Unmarshal(first, &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	a := signed("b-1.kafka")
	for name, want := range map[string]string{"version": "2020_10_22", "host": "b-1.kafka",
		"action": "kafka-cluster:Connect", "x-amz-algorithm": "AWS4-HMAC-SHA256", "x-amz-security-token": "session",
		"x-amz-signedheaders": "host"} {
		if a[name] != want {
			t.Errorf("%s is %q, want %q", name, a[name], want)
		}
	}
	if !strings.HasPrefix(a["x-amz-credential"], "AKID/") || !strings.HasSuffix(a["x-amz-credential"],
		"/eu-central-1/kafka-cluster/aws4_request") || len(a["x-amz-signature"]) != 64 {
		t.Errorf("%v", a)
	}
	if b := signed("b-2.kafka"); b["x-amz-signature"] == a["x-amz-signature"] {
		t.Error("the signature does not depend on the host")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("HOME", t.TempDir())
	if m, err = login.AWS(t.Context()); err != nil {
		t.Fatal(err)
	}
	var told *login.Error
	if _, _, err := m.Start(sasl.WithMetadata(context.Background(), &sasl.Metadata{Host: "b-1"})); !errors.As(err,
		&told) {
		t.Errorf("without credentials: %v", err)
	}
}

// pair writes a certificate for a name, changed at that time.
func pair(t *testing.T, dir, name string, at time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der},
		key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestCertificateIsReadAgain(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	cert, key := pair(t, dir, "old", now)
	c, err := login.NewCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		t.Helper()
		pair, err := c.Get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	if got := name(); got != "old" {
		t.Error(got)
	}
	pair(t, dir, "new", now.Add(time.Second))
	if got := name(); got != "new" {
		t.Errorf("after a change: %s", got)
	}
	if err := os.WriteFile(key, []byte("half of it"), 0o600); err != nil { // in the middle of the next change
		t.Fatal(err)
	}
	if got := name(); got != "new" {
		t.Errorf("during a change: %s", got)
	}
	pair(t, dir, "newest", now.Add(2*time.Second))
	if got := name(); got != "newest" {
		t.Errorf("after the change: %s", got)
	}
	if _, err := login.NewCertificate(key, cert); err == nil {
		t.Error("a key is taken for a certificate")
	}
}

func TestAuthoritiesAreReadAgain(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	path, key := pair(t, dir, "old", now)
	a, err := login.NewAuthorities(path)
	if err != nil {
		t.Fatal(err)
	}
	trusts := func(text []byte) bool {
		t.Helper()
		pool, err := a.Pool()
		if err != nil {
			t.Fatal(err)
		}
		want := x509.NewCertPool()
		want.AppendCertsFromPEM(text)
		return pool.Equal(want)
	}
	read := func() []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	old := read()
	if !trusts(old) {
		t.Error("the first certificate is not trusted")
	}
	pair(t, dir, "new", now.Add(time.Second))
	renewed := read()
	if !trusts(renewed) || trusts(old) {
		t.Error("after a change, the new certificate is not the one that is trusted")
	}
	// in the middle of the next change
	for name, half := range map[string][]byte{"half of it": renewed[:20], "nothing": nil} {
		if err := os.WriteFile(path, half, 0o600); err != nil {
			t.Fatal(err)
		}
		if !trusts(renewed) {
			t.Errorf("with %s in the file, the last certificate is not trusted", name)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if !trusts(renewed) {
		t.Error("without the file, the last certificate is not trusted")
	}
	if _, err := login.NewAuthorities(key); !errors.Is(err, login.ErrNoCertificate) {
		t.Errorf("a key: %v, want ErrNoCertificate", err)
	}
}
