package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/louver/louver/stream/episode"
)

// Backend takes requests by OTLP over HTTP, in protobuf. It is safe for concurrent use.
type Backend struct {
	url     *url.URL
	client  *http.Client
	headers func() (http.Header, error)
	agent   string
}

// requestTimeout is how long one request may take.
const requestTimeout = 30 * time.Second

// NewBackend makes a backend without asking it anything. endpoint is its address for all signals, to which /v1/metrics
// is added if it does not end so. headers, if not nil, returns what each request carries. transport, if not nil, is how
// to reach it. version is that of this program.
func NewBackend(endpoint string, headers func() (http.Header, error), transport http.RoundTripper, version string,
) (*Backend, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is no address; want where the backend takes OTLP, such as "+
			"http://prometheus:9090/api/v1/otlp", endpoint)
	}
	if u.User != nil { // it would be in logs, and in lists of processes
		return nil, fmt.Errorf("the address of %s has a password in it; want it in a header: Authorization", u.Host)
	}
	const signal = "/v1/metrics"
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), signal) + signal
	if headers == nil {
		headers = func() (http.Header, error) { return http.Header{}, nil }
	}
	return &Backend{url: u, headers: headers, agent: strings.TrimSuffix("louver/"+version, "/"),
		client: &http.Client{Transport: transport, Timeout: requestTimeout,
			// What an address redirects to was not given: it gets no headers.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Name is the address to which requests go.
func (b *Backend) Name() string { return b.url.String() }

// send sends a request until the backend takes it, and tells failing of each failure. It returns a *refusedError if the
// backend never will take it, or ctx's error.
func (b *Backend) send(ctx context.Context, request *metricsv1.MetricsData, failing func(error)) (rejection, error) {
	body, err := pack(request)
	if err != nil {
		return rejection{}, err
	}
	return backoff.Retry(ctx, func() (rejection, error) {
		rejected, err := b.post(ctx, body)
		var refused *refusedError
		if errors.As(err, &refused) {
			return rejected, backoff.Permanent(err)
		}
		return rejected, err
	}, backoff.WithBackOff(waits()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) { failing(err) }))
}

// Reach returns once the backend answers a request without figures, or ctx ends. It tells failing of each failure.
// doubt is not nil if the backend refuses that request. Some may want at least one figure.
func (b *Backend) Reach(ctx context.Context, failing func(error)) (doubt, err error) {
	_, err = b.send(ctx, &metricsv1.MetricsData{}, failing)
	var refused *refusedError
	if errors.As(err, &refused) {
		return err, nil
	}
	return nil, err
}

// waits are the waits between tries: from 1 s to 60 s.
func waits() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = time.Second
	b.Multiplier = 2
	b.RandomizationFactor = 0.2
	b.MaxInterval = 50 * time.Second
	return b
}

// pack makes the body of a request.
func pack(request *metricsv1.MetricsData) ([]byte, error) {
	// A MetricsData has the bytes of an ExportMetricsServiceRequest, whose package has a client of gRPC too.
	text, err := proto.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	if _, err := zip.Write(text); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

const protobuf = "application/x-protobuf"

// post sends a request once.
func (b *Backend) post(ctx context.Context, body []byte) (rejection, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Name(), bytes.NewReader(body))
	if err != nil {
		return rejection{}, err
	}
	if request.Header, err = b.headers(); err != nil {
		return rejection{}, err
	}
	request.Header.Set("Content-Type", protobuf)
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("User-Agent", b.agent)
	response, err := b.client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // the address is told apart
		}
		return rejection{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it has been read
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return rejection{}, err
	}
	return read(response, text)
}

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

// Teller tells a log whether the backend takes figures. All that share a log share one line. It is not safe for
// concurrent use.
type Teller struct {
	Log     *episode.Log
	Backend *Backend
	// After is how long a failure that may pass by itself lasts before it is told.
	After   time.Duration
	failing bool
}

// sending is the episode in which the backend takes nothing.
const sending = "no figures can be sent"

// Tell tells of a failure to send, or with nil of a success. What waits for an operator is told at once.
func (t *Teller) Tell(failure error) {
	at := zap.String("endpoint", t.Backend.Name())
	if failure == nil {
		if t.failing {
			t.Log.Over(sending, "figures can be sent now", at)
		}
		t.failing = false
		return
	}
	t.failing = true
	rule := episode.Rule{After: t.After, Every: time.Minute, Count: true}
	var answer *unavailableError
	if errors.As(failure, &answer) && answer.status < http.StatusInternalServerError &&
		answer.status != http.StatusTooManyRequests && answer.status != http.StatusRequestTimeout {
		rule.After = 0
	}
	t.Log.On(sending, rule, sending+": Kafka keeps them until the backend takes them", at, zap.Error(failure))
}
