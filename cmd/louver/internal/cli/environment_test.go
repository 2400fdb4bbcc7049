package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream"
)

func TestEnvironmentDefaults(t *testing.T) {
	e, _, err := readEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	want := Environment{
		KafkaSettings: KafkaSettings{KafkaBrokers: []string{"localhost:9092"}, KafkaClientID: "louver",
			KafkaIsolation: "read_committed"},
		AppSettings:     AppSettings{AppID: "louver"},
		TopicSettings:   TopicSettings{TopicsCreate: true, TopicsReplication: -1},
		HTTPSettings:    HTTPSettings{HTTPAddr: "127.0.0.1:8080"},
		MetricsSettings: MetricsSettings{MetricsAddr: "127.0.0.1:9797"},
		LogSettings:     LogSettings{LogLevel: "info", LogFormat: "console"},
		ServiceSettings: ServiceSettings{ShutdownTimeout: 20 * time.Second, BagBytes: stream.DefaultBagBytes,
			CheckpointEvery: 1000},
	}
	if d := cmp.Diff(want, e); d != "" {
		t.Error(d)
	}
}

// everySetting is a command with all of them.
type everySetting struct {
	Do struct {
		Environment
	} `cmd:""`
}

func settingsOf(t *testing.T, args ...string) (Environment, error) {
	t.Helper()
	var line everySetting
	parser, err := kong.New(&line, kong.WithHyphenPrefixedParameters(true))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(append([]string{"do"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	err = applyEnvironment(parsed)
	return line.Do.Environment, err
}

// Every variable has a flag and reaches the command; a flag wins over its variable, and the variable over the default.
func TestFlagsOverEnvironmentOverDefaults(t *testing.T) {
	variables := map[string]string{
		"KAFKA_BROKERS": "a:1,b:2", "KAFKA_TLS": "true", "KAFKA_TLS_CA_FILE": "ca", "KAFKA_TLS_CERT_FILE": "cert",
		"KAFKA_TLS_KEY_FILE":    "key",
		"KAFKA_TLS_SERVER_NAME": "srv", "KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_SASL_USERNAME": "me",
		"KAFKA_SASL_PASSWORD":      "pw",
		"KAFKA_SASL_PASSWORD_FILE": "pwf", "KAFKA_SASL_OAUTH_TOKEN_URL": "http://t", "KAFKA_SASL_OAUTH_SCOPES": "a,b",
		"KAFKA_SASL_OAUTH_EXTENSIONS": "x=y", "KAFKA_CLIENT_ID": "id", "KAFKA_ISOLATION": "read_uncommitted",
		"SCHEMA_REGISTRY_URL": "http://r", "SCHEMA_REGISTRY_USERNAME": "ru", "SCHEMA_REGISTRY_PASSWORD_FILE": "rp",
		"APP_ID": "app", "STREAMS": "s.yaml", "TOPICS_CREATE": "false", "TOPICS_REPLICATION": "3", "HTTP_ADDR": ":1",
		"METRICS_ADDR":   ":2",
		"HTTP_BASE_PATH": "/x", "HTTP_CORS_ORIGINS": "https://a,https://b", "HTTP_WEB_CONFIG_FILE": "h",
		"METRICS_WEB_CONFIG_FILE": "m", "DEBUG_ENDPOINTS": "true",
		"OTLP_ENDPOINT": "http://o", "OTLP_HEADERS": "a=b,c=d", "OTLP_HEADERS_FILE": "hf", "OTLP_CA_FILE": "oca",
		"OTLP_CERT_FILE": "oc", "OTLP_KEY_FILE": "ok",
		"LOG_LEVEL": "debug", "LOG_FORMAT": "json", "SHUTDOWN_TIMEOUT": "3s", "BAG_BYTES": "5000000",
		"CHECKPOINT_EVERY": "50",
	}
	for name, value := range variables {
		t.Setenv("LOUVER_"+name, value)
	}
	want := Environment{
		KafkaSettings{[]string{"a:1", "b:2"}, true, "ca", "cert", "key", "srv", "PLAIN", "me", "pw", "pwf", "http://t",
			[]string{"a", "b"}, []string{"x=y"}, "id", "read_uncommitted"},
		RegistrySettings{"http://r", "ru", "rp"}, AppSettings{"app", "s.yaml"}, TopicSettings{false, 3},
		HTTPSettings{":1", "/x", []string{"https://a", "https://b"}, "h"}, MetricsSettings{":2", "m", true},
		OTLPSettings{"http://o", []string{"a=b", "c=d"}, "hf", "oca", "oc", "ok"},
		LogSettings{"debug", "json"}, ServiceSettings{3 * time.Second, 5_000_000, 50},
	}
	got, err := settingsOf(t)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got, err = settingsOf(t, "--kafka-brokers", "c:3", "--no-kafka-tls", "--app-id=louver", "--topics-create",
		"--topics-replication", "-1", "--shutdown-timeout", "20s", "--http-addr=")
	if err != nil {
		t.Fatal(err)
	}
	want.KafkaBrokers, want.KafkaTLS, want.AppID, want.TopicsCreate, want.TopicsReplication = []string{"c:3"}, false,
		"louver", true, -1
	want.ShutdownTimeout, want.HTTPAddr = 20*time.Second, ""
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("flags that say the default do not win over variables:\n%s", d)
	}
}

// What the environment does not say keeps the default of the command, which differs for the operators' address.
func TestCommandsHaveTheirOwnDefaults(t *testing.T) {
	address := func() string {
		var line struct {
			Dashboard struct {
				OptionalMetricsSettings
			} `cmd:""`
		}
		parser, err := kong.New(&line)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.Parse([]string{"dashboard"})
		if err != nil {
			t.Fatal(err)
		}
		if err := applyEnvironment(parsed); err != nil {
			t.Fatal(err)
		}
		return line.Dashboard.MetricsAddr
	}
	if got := address(); got != "" {
		t.Errorf("%q without a variable; want none", got)
	}
	t.Setenv("LOUVER_METRICS_ADDR", ":2")
	if got := address(); got != ":2" {
		t.Errorf("%q, and the variable says :2", got)
	}
}

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"json": `{"level":"warn",`, "console": "WARN"} {
		var out bytes.Buffer
		log, _, err := LogSettings{"warn", format}.logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("not this")
		log.Warn("this")
		if got := out.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", format, got)
		}
	}
}

func TestForeignNames(t *testing.T) {
	t.Setenv("STREAMS", "somebody else's") // without the prefix
	if e, _, err := readEnvironment(); err != nil || e.Streams != "" {
		t.Errorf("a variable without the prefix counts: %q, %v", e.Streams, err)
	}
}
