package export

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/protobuf/encoding/protowire"
)

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
	switch {
	case a.status == http.StatusNotFound:
		text += "; want the address where the backend takes OTLP, such as http://prometheus:9090/api/v1/otlp"
	case a.wantsTLS():
		text += "; want an address that begins with https"
	case strings.Contains(a.text, "too old sample"), strings.Contains(a.text, "out of order sample"):
		text += "; want in Prometheus an out_of_order_time_window of at least the longest outage"
	}
	return text
}

// wantsTLS reports whether a port that speaks TLS answers to whoever does not, with the words of Go's server or of
// nginx. It would answer the same to every figure, so none must be left out for it.
func (a answer) wantsTLS() bool {
	return a.status == http.StatusBadRequest && strings.Contains(a.text, "HTTPS")
}

// rejection is how many points of a request that it took the backend left out, and why.
type rejection struct {
	points int64
	why    string
}

// mostAnswer is how much of an answer is read.
const mostAnswer = 64 << 10

// read says what an answer means.
func read(response *http.Response, text []byte) (rejection, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	said := answer{response.StatusCode, says(kind, text)}
	switch status := response.StatusCode; {
	case status/100 == 2 && kind == protobuf:
		return partialSuccess(text), nil
	case status/100 == 2:
		return rejection{}, nil
	case said.wantsTLS():
		return rejection{}, &unavailableError{answer: said}
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return rejection{}, &refusedError{said}
	default:
		return rejection{}, &unavailableError{said, retryAfter(response.Header.Get("Retry-After"), time.Now())}
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
