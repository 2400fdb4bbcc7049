package cluster

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/export"
)

// Backend returns what figures are exported to. version is that of this program. Its errors name the wrong variable.
func Backend(s cli.OTLPSettings, version string) (*export.Backend, error) {
	if s.OTLPEndpoint == "" {
		return nil, cli.UsageError(errors.New("nothing to send to: give --endpoint (LOUVER_OTLP_ENDPOINT), where the " +
			"backend takes OTLP, such as http://prometheus:9090/api/v1/otlp"))
	}
	headers, err := otlpHeaders(s)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := present(config, "LOUVER_OTLP", s.OTLPCertFile, s.OTLPKeyFile); err != nil {
		return nil, err
	}
	pool, err := authorities("LOUVER_OTLP", s.OTLPCAFile)
	if err != nil {
		return nil, err
	}
	backend, err := export.NewBackend(s.OTLPEndpoint, headers, export.NewTransport(config, pool), version)
	if err != nil {
		return nil, fmt.Errorf("LOUVER_OTLP_ENDPOINT: %w", err)
	}
	return backend, nil
}

// otlpHeaders returns what each request carries: what the settings say, and the file as it is then.
func otlpHeaders(s cli.OTLPSettings) (func() (http.Header, error), error) {
	fixed := http.Header{}
	for i, h := range s.OTLPHeaders {
		name, value, ok := strings.Cut(h, "=")
		if !ok || addHeader(fixed, name, value) != nil { // the value may be a secret
			return nil, fmt.Errorf("LOUVER_OTLP_HEADERS: number %d is no header; want name=value", i+1)
		}
	}
	headers := func() (http.Header, error) {
		all := fixed.Clone()
		if s.OTLPHeadersFile == "" {
			return all, nil
		}
		file, err := os.Open(s.OTLPHeadersFile)
		if err != nil {
			return nil, fmt.Errorf("LOUVER_OTLP_HEADERS_FILE: %w; want a file of headers", err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		lines := bufio.NewScanner(file)
		for n := 1; lines.Scan(); n++ {
			line := strings.TrimSpace(lines.Text())
			if line == "" {
				continue
			}
			name, value, ok := strings.Cut(line, ":")
			if !ok || addHeader(all, name, value) != nil {
				return nil, fmt.Errorf("LOUVER_OTLP_HEADERS_FILE=%q: line %d is no header; want Name: value",
					s.OTLPHeadersFile, n)
			}
		}
		return all, lines.Err()
	}
	_, err := headers()
	return headers, err
}

// addHeader adds a header, unless it cannot be one.
func addHeader(to http.Header, name, value string) error {
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		return errors.New("no header")
	}
	to.Add(name, value)
	return nil
}
