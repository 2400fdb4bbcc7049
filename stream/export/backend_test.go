package export

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The address of a backend is that of all signals, or already that of metrics.
func TestEndpoint(t *testing.T) {
	for given, want := range map[string]string{
		"http://prometheus:9090/api/v1/otlp":  "http://prometheus:9090/api/v1/otlp/v1/metrics",
		"https://otlp.example.com":            "https://otlp.example.com/v1/metrics",
		"https://otlp.example.com/":           "https://otlp.example.com/v1/metrics",
		"http://collector:4318/v1/metrics":    "http://collector:4318/v1/metrics",
		"http://collector:4318/v1/metrics/":   "http://collector:4318/v1/metrics",
		"collector:4318":                      "",
		"":                                    "",
		"http://":                             "",
		"grpc://collector:4317":               "",
		"http://me:secret@collector:4318":     "",
		"http://collector:4318?token=secret":  "",
		"http://collector:4318/#v1/metrics":   "",
		"http://collector:4318/\x00v1/metric": "",
	} {
		b, err := NewBackend(given, nil, nil, "")
		switch {
		case err == nil && b.Name() != want:
			t.Errorf("%q becomes %s, want %q", given, b.Name(), want)
		case (err == nil) != (want != ""):
			t.Errorf("%q: %v", given, err)
		case err != nil && strings.Contains(given, "@") && strings.Contains(err.Error(), "secret"):
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// What a request is, and what its answers mean.
func TestPost(t *testing.T) {
	message := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	status := string(message(2, []byte("out of\norder")))
	partial := string(message(1, append(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7),
		message(2, []byte("too old"))...)))
	for _, c := range []struct {
		name       string
		status     int
		kind, text string
		after      string
		points     int64
		why        string // of the points that were left out
		refused    bool
		want       string // the error
		wait       time.Duration
	}{
		{name: "taken", status: 200, kind: "application/x-protobuf"},
		{name: "taken without a word", status: 204},
		{name: "taken, in a page", status: 200, kind: "text/html", text: "<html>"},
		{name: "taken in part", status: 200, kind: "application/x-protobuf; charset=utf-8", text: partial, points: 7,
			why: "too old"},
		{name: "taken, damaged", status: 200, kind: "application/x-protobuf", text: partial[:4]},
		{name: "refused", status: 400, kind: "text/plain", text: "out of bounds\n", refused: true,
			want: "400 Bad Request: out of bounds"},
		{name: "refused for many points", status: 400, text: "out of order\nout of order\n\nout of order\n", refused: true,
			want: "400 Bad Request: out of order"},
		{name: "refused in protobuf", status: 422, kind: "application/x-protobuf", text: status, refused: true,
			want: "422 Unprocessable Entity: out of order"},
		{name: "refused for its age", status: 400, text: "too old sample\n", refused: true,
			want: "400 Bad Request: too old sample; want in Prometheus an out_of_order_time_window of at least the longest outage"},
		{name: "a port of TLS", status: 400, text: "<center>The plain HTTP request was sent to HTTPS port</center>",
			want: "400 Bad Request: <center>The plain HTTP request was sent to HTTPS port</center>; want an address that begins " +
				"with https"},
		{name: "too large", status: 413, refused: true, want: "413 Request Entity Too Large"},
		{name: "unknown", status: 401, text: "who are you", want: "401 Unauthorized: who are you"},
		{name: "nowhere", status: 404, want: "404 Not Found; want the address where the backend takes OTLP, such as " +
			"http://prometheus:9090/api/v1/otlp"},
		{name: "elsewhere", status: 302, want: "302 Found"},
		{name: "busy", status: 503, after: "7", want: "503 Service Unavailable", wait: 7 * time.Second},
		{name: "long", status: 500, text: strings.Repeat("é ", 400),
			want: "500 Internal Server Error: " + strings.Repeat("é ", 150) + "…"},
		{name: "no text", status: 500, text: "a\xff", want: "500 Internal Server Error: a�"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for name, want := range map[string]string{"Content-Type": "application/x-protobuf",
					"Content-Encoding": "gzip", "User-Agent": "louver/v9", "Authorization": "Bearer t"} {
					if got := r.Header.Get(name); got != want {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}
				if r.URL.Path != "/v1/metrics" || r.Method != http.MethodPost {
					t.Errorf("%s %s", r.Method, r.URL.Path)
				}
				w.Header().Set("Content-Type", c.kind)
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				if c.status == http.StatusFound {
					w.Header().Set("Location", "/elsewhere")
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.text))
			}))
			defer server.Close()
			b, err := NewBackend(server.URL, func() (http.Header, error) {
				return http.Header{"Authorization": {"Bearer t"}}, nil
			}, nil, "v9")
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.post(t.Context(), []byte("body"))
			if text := errorText(err); text != c.want {
				t.Errorf("the error is %q, want %q", text, c.want)
			}
			var refused *refusedError
			var unavailable *unavailableError
			if errors.As(err, &refused) != c.refused || errors.As(err, &unavailable) != (err != nil && !c.refused) {
				t.Errorf("%#v", err)
			}
			if unavailable != nil && unavailable.after != c.wait {
				t.Errorf("it waits %v, want %v", unavailable.after, c.wait)
			}
			if got.points != c.points || got.why != c.why {
				t.Errorf("%+v are left out, want %d: %s", got, c.points, c.why)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestRetryAfterIsRead(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{"": 0, "5": 5 * time.Second, "-5": 0, "0": 0, "soon": 0,
		"999999999999": 24 * time.Hour, "Fri, 20 Nov 2026 08:01:00 GMT": time.Minute, "Fri, 20 Nov 2026 07:59:00 GMT": 0,
		"Sun, 20 Dec 2026 07:59:00 GMT": 24 * time.Hour} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After: %s waits %v, want %v", header, got, want)
		}
	}
}

// Whatever a backend answers is read without harm.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"", "0a02080712", "120774776f", "ffffffffffffffffffff01", "0b0c"} {
		b, err := hex.DecodeString(text)
		if err != nil {
			f.Log(text)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		if r := partialSuccess(answer); r.points < 0 || len([]rune(r.why)) > 301 {
			t.Errorf("%+v", r)
		}
		if line := says(protobuf, answer); len([]rune(line)) > 301 || strings.ContainsAny(line, "\n\r") {
			t.Errorf("%q", line)
		}
	})
}

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
