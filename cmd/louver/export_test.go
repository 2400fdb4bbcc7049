package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/config/configtest"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// otlp is a backend that says with which status it answers.
type otlp struct {
	*httptest.Server
	status atomic.Int32
	taken  atomic.Int32 // requests with figures
}

func newOTLP(t *testing.T, header, want string) *otlp {
	t.Helper()
	b := new(otlp)
	b.status.Store(http.StatusOK)
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := int(b.status.Load())
		if r.Header.Get(header) != want {
			status = http.StatusUnauthorized
		}
		const empty = 32 // bytes of a request without figures, at most
		if status == http.StatusOK && r.ContentLength > empty {
			b.taken.Add(1)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(b.Close)
	return b
}

// The export says what is wrong with the backend before there is any figure, goes on when it is right again, and shows
// operators what they need.
func TestExport(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	topic := b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
	to := newOTLP(t, "Authorization", "Bearer right")
	token := clitest.File(t, "headers", "Authorization: Bearer wrong\n")
	p := clitest.Louver(t, b, "export", "--topic", topic, "--endpoint", to.URL+"/otlp", "--headers-file", token,
		"--from", "2026-11-20T00:00:00Z")
	address := p.Address(t)
	kafkatest.Await(t, "it says why nothing is sent", func() bool {
		code, body := clitest.Get(address, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body,
			"no figures can be sent to "+to.URL+"/otlp/v1/metrics: 401 Unauthorized")
	})
	kafkatest.Await(t, "so does the log", func() bool {
		return strings.Contains(p.Log.String(), "no figures can be sent: Kafka keeps them until the backend takes them")
	})
	kafkatest.Await(t, "so do the metrics", func() bool {
		_, body := clitest.Get(address, "/metrics")
		return strings.Contains(body, "louver_export_blocked_seconds ") &&
			!strings.Contains(body, "louver_export_blocked_seconds 0\n")
	})
	if err := os.WriteFile(token, []byte("\nAuthorization: Bearer right\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("15", "812"))...)
	kafkatest.Await(t, "it is sent", func() bool { return to.taken.Load() == 1 })
	to.status.Store(http.StatusServiceUnavailable)
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("30", "813"))...)
	kafkatest.Await(t, "it is not ready", func() bool {
		_, body := clitest.Get(address, "/readyz")
		return strings.Contains(body, "blocked for") && strings.Contains(body, "503 Service Unavailable")
	})
	to.status.Store(http.StatusOK)
	kafkatest.Await(t, "it is sent, and ready", func() bool {
		code, _ := clitest.Get(address, "/readyz")
		return to.taken.Load() == 2 && code == http.StatusOK
	})
	_, body := clitest.Get(address, "/metrics")
	for _, want := range []string{`louver_export_sent_total{topic="` + topic + `"} 2`,
		`louver_export_refused_total{topic="` + topic + `"} 0`, "louver_export_blocked_seconds 0\n",
		`louver_consumer_lag_records{consumer_group="louver.export",`, "louver_build_info"} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics have no %s:\n%s", want, body)
		}
	}
	for _, none := range []string{"louver_clock_doubted", "louver_events", "louver_release_value"} {
		if strings.Contains(body, none) {
			t.Errorf("the metrics have %s", none)
		}
	}
	p.Signal(t, syscall.SIGTERM)
	if code := p.Exit(t); code != cli.ExitDone || strings.Contains(p.Log.String(), "Bearer") {
		t.Errorf("SIGTERM: %d\n%s", code, p.Log.String())
	}
}

// A port that speaks TLS refuses whoever does not, as if it were for the figures. None is left out for that.
func TestExportToTheWrongPort(t *testing.T) {
	t.Parallel()
	b := kafkatest.Fake(t)
	to := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(to.Close)
	p := clitest.Louver(t, b, "export", "--topic", b.Topic(t, 1, nil), "--endpoint",
		strings.Replace(to.URL, "https:", "http:", 1))
	kafkatest.Await(t, "the log says so", func() bool {
		return strings.Contains(p.Log.String(), "no figures can be sent: Kafka keeps them until the backend takes them") &&
			strings.Contains(p.Log.String(), "400 Bad Request: Client sent an HTTP request to an HTTPS server.; "+
				"want an address that begins with https")
	})
}

// It needs the rights that louver topics --export prints, and no other.
func TestExportNeedsReadAlone(t *testing.T) {
	t.Parallel()
	b := kafkatest.Guarded(t, "exporter")
	topic := b.Topic(t, 1, map[string]string{"retention.ms": "-1"})
	b.Produce(t, topic, 0, kafkatest.Values(figureOf("15", "812"))...)
	file := clitest.File(t, "streams.yaml", configtest.File(configtest.Stream("s", configtest.Topics("in", topic))))
	got := commandLine(t, "", "topics", file, "--export", "--format", "acls", "--app-id", "app", "--kafka-sasl-username",
		"exporter")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if diff := cmp.Diff([]string{"--add --allow-principal User:exporter --operation Read --group app.export",
		"--add --allow-principal User:exporter --operation Read --topic " + topic}, lines); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	g := &guarded{t: t, broker: b, user: "exporter", missing: -1, lines: lines}
	g.grant()
	to := newOTLP(t, "X-Scope-OrgID", "shop")
	clitest.Louver(t, b, "export", file, "--app-id", "app", "--endpoint", to.URL, "--header", "X-Scope-OrgID=shop",
		"--from", "2026-11-20T00:00:00Z", "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", "exporter",
		"--kafka-sasl-password-file", clitest.File(t, "password", "exporter"))
	kafkatest.Await(t, "it is sent", func() bool { return to.taken.Load() == 1 })
}
