package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protowire"
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

// refusedError says that the backend refuses a request for what is in it, and would refuse it again.
type refusedError struct{ answer }

// unavailableError says that the backend does not take the request now.
type unavailableError struct {
	answer
	after time.Duration // if not 0, how long to wait
}

// Unwrap makes the next try wait as long as the backend asks.
func (e *unavailableError) Unwrap() error {
	if e.after == 0 {
		return nil
	}
	return &backoff.RetryAfterError{Duration: e.after}
}

// answer is an answer that is no success.
type answer struct {
	status int
	text   string
}

// Error is the status with what the backend says.
func (a answer) Error() string {
	text := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	if a.text != "" {
		text += ": " + a.text
	}
	if a.status == http.StatusNotFound {
		text += "; want the address where the backend takes OTLP, such as http://prometheus:9090/api/v1/otlp"
	}
	return text
}

// rejection is how many points of a request that it took the backend left out, and why.
type rejection struct {
	points int64
	why    string
}

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
func (b *Backend) Reach(ctx context.Context, failing func(error)) error {
	_, err := b.send(ctx, &metricsv1.MetricsData{}, failing)
	var refused *refusedError
	if errors.As(err, &refused) {
		return nil // some want at least one figure
	}
	return err
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

// mostAnswer is how much of an answer is read.
const mostAnswer = 64 << 10

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
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch status := response.StatusCode; {
	case status/100 == 2 && kind == protobuf:
		return partialSuccess(text), nil
	case status/100 == 2:
		return rejection{}, nil
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return rejection{}, &refusedError{answer{status, says(kind, text)}}
	default:
		return rejection{}, &unavailableError{answer{status, says(kind, text)},
			retryAfter(response.Header.Get("Retry-After"), time.Now())}
	}
}

// retryAfter reads a header Retry-After: seconds, or a time. It is 0 if there is none.
func retryAfter(header string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n > 0 {
		return time.Duration(min(n, int(24*time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil && at.After(now) {
		return min(at.Sub(now), 24*time.Hour)
	}
	return 0
}

// says is what an answer says, for a log: one line, and not too long. In protobuf it is a google.rpc.Status.
func says(kind string, text []byte) string {
	if kind == protobuf {
		const message = 2
		text = field(text, message)
	}
	var lines []string // Prometheus says the same of every point
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	line := strings.ToValidUTF8(strings.Join(slices.Compact(lines), " "), "�")
	if most := []rune(line); len(most) > 300 {
		line = string(most[:300]) + "…"
	}
	return line
}

// partialSuccess reads an ExportMetricsServiceResponse.
func partialSuccess(response []byte) (r rejection) {
	const partial, rejected, message = 1, 1, 2
	success := field(response, partial)
	each(success, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == rejected && kind == protowire.VarintType {
			n, _ := protowire.ConsumeVarint(value)
			r.points = max(int64(n), 0)
		}
	})
	r.why = says("", field(success, message))
	return r
}

// field returns the last field of a message with a number that holds bytes, or nil.
func field(message []byte, wanted protowire.Number) (found []byte) {
	each(message, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == wanted && kind == protowire.BytesType {
			found, _ = protowire.ConsumeBytes(value)
		}
	})
	return found
}

// each calls f for every field of a message, until something does not fit.
func each(message []byte, f func(number protowire.Number, kind protowire.Type, value []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return
		}
		f(number, kind, message[n:n+size])
		message = message[n+size:]
	}
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
