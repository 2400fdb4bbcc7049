package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
)

// HealthcheckCommand asks the louver on this host whether it is ready.
type HealthcheckCommand struct {
	cli.MetricsSettings
	URL     string        `name:"url" placeholder:"URL" help:"Address to ask instead, such as http://louver:9797/readyz."`
	Path    string        `default:"/readyz" help:"Path to ask for: /readyz (is it working?) or /livez (is it alive?)." placeholder:"PATH"`
	Timeout time.Duration `default:"5s" help:"How long to wait for the answer." placeholder:"DURATION"`
}

// Help is the long help.
func (HealthcheckCommand) Help() string {
	return `For containers: asks the louver on this host, at its operators' address. Exits with 0 if the answer has
status 200, else with 1.`
}

// Run asks once.
func (c *HealthcheckCommand) Run(app *cli.App) error {
	if c.Timeout <= 0 {
		return cli.UsageError(fmt.Errorf("--timeout=%s; want more than 0s", c.Timeout))
	}
	ctx, cancel := context.WithTimeout(app.Context, c.Timeout)
	defer cancel()
	at, err := c.address()
	if err != nil {
		return cli.UsageError(err)
	}
	response, err := ask(ctx, at)
	if errors.Is(err, http.ErrSchemeMismatch) && c.URL == "" { // the file asks for a password but not for TLS
		at = strings.Replace(at, "https:", "http:", 1)
		response, err = ask(ctx, at)
	}
	if err != nil {
		return fmt.Errorf("healthcheck: %w; want a running louver at this address: LOUVER_METRICS_ADDR or --url", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		why, _, _ := strings.Cut(string(body), "\n") // the first line says what is wrong
		return fmt.Errorf("healthcheck: %s: status %s, %q; want 200", at, response.Status, strings.TrimSpace(why))
	}
	return nil
}

// address returns the URL to ask: of this host, if none is given.
func (c *HealthcheckCommand) address() (string, error) {
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "", fmt.Errorf("--url %s; want a URL such as http://127.0.0.1:9797/readyz", c.URL)
		}
		return c.URL, nil
	}
	host, port, err := net.SplitHostPort(c.MetricsAddr)
	if err != nil {
		return "", fmt.Errorf("LOUVER_METRICS_ADDR %q; want host:port, such as 127.0.0.1:9797", c.MetricsAddr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http://"
	if c.MetricsWebConfigFile != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port) + "/" + strings.TrimPrefix(c.Path, "/"), nil
}

// ask sends a request. The certificate is not verified: it is for the name by which others know the host, and nothing
// secret is sent.
func ask(ctx context.Context, at string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return client.Do(request)
}
