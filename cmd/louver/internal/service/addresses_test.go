package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/health"
)

func ready() health.Report { return health.Report{Ready: true} }

// public is the handler of the public address.
func public(t *testing.T, s cli.HTTPSettings) http.Handler {
	t.Helper()
	s.HTTPAddr = "127.0.0.1:0"
	servers, err := publicServer(s, newPublished(nil, nil, time.Now), ready)
	if err != nil {
		t.Fatal(err)
	}
	return servers[0].handler
}

// Behind a proxy everything is below the base path too, whether or not the proxy takes the path away.
func TestBasePath(t *testing.T) {
	h := public(t, cli.HTTPSettings{HTTPBasePath: "/louver"})
	for path, status := range map[string]int{"/": 200, "/louver/": 200, "/louver/page.js": 200,
		"/louver/api/v1/streams": 200, "/api/v1/streams": 200, "/louver/metrics": 200,
		"/livez": 200, "/louver/livez": 200, "/louver": 307, "/louverx": 404} {
		a := httptest.NewRecorder()
		h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, nil))
		if a.Code != status {
			t.Errorf("%s: %d; want %d", path, a.Code, status)
		}
	}
}

// A proxy that removes a path may say so. Only a path is believed.
func TestForwardedPrefix(t *testing.T) {
	h := public(t, cli.HTTPSettings{})
	ask := func(path, prefix string) *httptest.ResponseRecorder {
		a := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("X-Forwarded-Prefix", prefix)
		h.ServeHTTP(a, r)
		return a
	}
	for prefix, base := range map[string]string{"/tools/louver": "/tools/louver", "/tools/": "/tools",
		"/größe": "/gr%C3%B6%C3%9Fe", "/gr%C3%B6%C3%9Fe": "/gr%C3%B6%C3%9Fe", "": "", "/": "", "louver": "",
		"//evil.example": "", "/a//b": "", "/../x": "", "/a/../b": "", "/%2e%2e/x": "", "/%2f/evil.example": "",
		"https://evil.example": "", "/a?b": "", "/a#b": "", "/a b": "", "/\\evil.example": "", `/"><script>`: "",
		"/a\r\nSet-Cookie: x=y": "", "/%0d%0aSet-Cookie:x": "", "/" + strings.Repeat("x", 300): ""} {
		if got, want := ask("//api/v1/streams?stream=a", prefix).Header().Get("Location"),
			base+"/api/v1/streams?stream=a"; got != want {
			t.Errorf("%q: redirect to %q, want %q", prefix, got, want)
		}
		if a := ask("/nope", prefix); a.Code != 404 || !strings.Contains(a.Body.String(), `the page is at `+base+`/"`) {
			t.Errorf("%q: %d, %s", prefix, a.Code, a.Body)
		}
		url := `"url":"` + base + `/"`
		if a := ask("/api/v1/openapi.json", prefix); a.Code != 200 || !strings.Contains(a.Body.String(), url) {
			t.Errorf("%q: %d; %s is not in the description", prefix, a.Code, url)
		}
		if a := ask("/", prefix); a.Code != 200 {
			t.Errorf("%q: %d", prefix, a.Code)
		}
	}
}

func TestCORS(t *testing.T) {
	const origin = "https://status.example.com"
	for _, c := range []struct {
		name    string
		allowed []string
		want    string
	}{{"none", nil, ""}, {"another", []string{"https://other.example.com"}, ""}, {"this one", []string{origin}, origin},
		{"all", []string{"*"}, "*"}} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/streams", nil)
		r.Header.Set("Origin", origin)
		a := httptest.NewRecorder()
		public(t, cli.HTTPSettings{HTTPCORSOrigins: c.allowed}).ServeHTTP(a, r)
		if got := a.Header().Get("Access-Control-Allow-Origin"); got != c.want ||
			a.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
}

// webConfig writes a file that asks for TLS and the password "secret" of the user ann.
func webConfig(t *testing.T) (path string, roots *x509.CertPool) {
	t.Helper()
	certificate, key := clitest.Certificate(t)
	text, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return clitest.File(t, "web.yml", "tls_server_config: {cert_file: "+certificate+", key_file: "+key+
		"}\nbasic_auth_users: {ann: $2a$04$BwV2m/ZoLfQiDJY7NSr/uuRsY5R3WvnEh6DwaaERyJ8S3D29IQJJi}\n"), roots
}

func TestTLSAndPasswords(t *testing.T) {
	path, roots := webConfig(t)
	shown := newPublished(nil, nil, time.Now)
	servers, err := publicServer(cli.HTTPSettings{HTTPAddr: "127.0.0.1:0", HTTPWebConfigFile: path}, shown, ready)
	if err != nil {
		t.Fatal(err)
	}
	operators, err := operatorsServer(cli.MetricsSettings{MetricsAddr: "127.0.0.1:0", MetricsWebConfigFile: path},
		prometheus.NewRegistry(), ready, nil)
	if err != nil {
		t.Fatal(err)
	}
	servers = append(servers, operators...)
	addresses, run, err := serve(false, servers...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for _, address := range addresses {
		for password, status := range map[string]int{"": 401, "wrong": 401, "secret": 200} {
			r, err := http.NewRequest(http.MethodGet, "https://"+address+"/livez", nil)
			if err != nil {
				t.Fatal(err)
			}
			if password != "" {
				r.SetBasicAuth("ann", password)
			}
			a, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = a.Body.Close()
			if a.StatusCode != status {
				t.Errorf("password %q: %s; want %d", password, a.Status, status)
			}
		}
		if code, body := clitest.Get(address, "/livez"); code == http.StatusOK {
			t.Errorf("without TLS: %d %s", code, body)
		}
	}
	// A live client gets events through both.
	r, err := http.NewRequest(http.MethodGet, "https://"+addresses[0]+"/api/v1/releases/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("ann", "secret")
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	first := make([]byte, 6)
	if _, err := io.ReadFull(a.Body, first); err != nil || string(first) != "retry:" {
		t.Errorf("%q, %v", first, err)
	}
	check := HealthcheckCommand{MetricsSettings: cli.MetricsSettings{MetricsAddr: addresses[1],
		MetricsWebConfigFile: path}, Path: "/livez", Timeout: time.Minute}
	if err := check.Run(&cli.App{Context: t.Context()}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("healthcheck: %v; want to hear of the password", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWebConfigMistakes(t *testing.T) {
	bad := clitest.File(t, "web.yml", "tls: yes\n")
	for path, want := range map[string]string{"missing.yml": "no such file", bad: "field tls not found"} {
		_, _, err := serve(false, server{"127.0.0.1:0", http.NotFoundHandler(), path, "LOUVER_HTTP_WEB_CONFIG_FILE"})
		if err == nil || !strings.HasPrefix(err.Error(), "LOUVER_HTTP_WEB_CONFIG_FILE="+path) ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What is wrong with an address is said with the variable that names it.
func TestAddressesThatCannotBeUsed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for address, why := range map[string]string{taken.Addr().String(): "address already in use",
		"8080": "missing port in address"} {
		_, _, err := serve(false, server{address, http.NotFoundHandler(), "", "LOUVER_METRICS_WEB_CONFIG_FILE"})
		if want := "LOUVER_METRICS_ADDR=" + address + ": " + why +
			"; want a free host:port of this machine, such as 127.0.0.1:8090"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The operators' address has a page with links, and each of them leads somewhere.
func TestOperatorsLandingPage(t *testing.T) {
	servers, err := operatorsServer(cli.MetricsSettings{MetricsAddr: "127.0.0.1:0"}, prometheus.NewRegistry(), ready,
		logLevel(zap.NewAtomicLevel()))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, string) {
		a := httptest.NewRecorder()
		servers[0].handler.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, nil))
		return a.Code, a.Body.String()
	}
	_, page := get("/")
	links := regexp.MustCompile(`href="/([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 5 {
		t.Errorf("%d links, want 5: %s", len(links), page)
	}
	for _, link := range links {
		if code, _ := get("/" + link[1]); code != http.StatusOK {
			t.Errorf("/%s: %d", link[1], code)
		}
	}
}

// Operators change the level of the log while the service runs.
func TestLogLevel(t *testing.T) {
	level := zap.NewAtomicLevel()
	servers, err := operatorsServer(cli.MetricsSettings{MetricsAddr: "127.0.0.1:0"}, prometheus.NewRegistry(), ready,
		logLevel(level))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, body string
		status     int
		want       zapcore.Level
	}{{"application/json", `{"level":"debug"}`, 200, zap.DebugLevel},
		{"application/x-www-form-urlencoded", "level=warn", 200, zap.WarnLevel},
		{"application/json", `{"level":"loud"}`, 400, zap.WarnLevel}, {"application/json", `{"level":"fatal"}`, 400,
			zap.WarnLevel},
		{"application/json", "", 400, zap.WarnLevel}, {"application/x-www-form-urlencoded", "debug", 400,
			zap.WarnLevel}} {
		a := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPut, "/loglevel", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		servers[0].handler.ServeHTTP(a, r)
		if a.Code != c.status || level.Level() != c.want ||
			c.status == 400 && !strings.Contains(a.Body.String(), "want debug, info, warn or error") {
			t.Errorf("%s: %d, %s; the level is %s", c.body, a.Code, a.Body, level.Level())
		}
	}
	a := httptest.NewRecorder()
	servers[0].handler.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/loglevel", nil))
	if got := strings.TrimSpace(a.Body.String()); got != `{"level":"warn"}` {
		t.Errorf("the level is %s", got)
	}
}

// Once a process has been ready, it has started: whatever happens later is for /readyz.
func TestStartupz(t *testing.T) {
	now := health.Report{}
	mux := http.NewServeMux()
	probes(mux, func() health.Report { return now }, false)
	for _, c := range []struct {
		ready bool
		want  int
	}{{false, 503}, {true, 200}, {false, 200}} {
		now.Ready = c.ready
		a := httptest.NewRecorder()
		mux.ServeHTTP(a, httptest.NewRequest(http.MethodGet, "/startupz", nil))
		if a.Code != c.want {
			t.Errorf("ready %v: %d, want %d", c.ready, a.Code, c.want)
		}
	}
}
