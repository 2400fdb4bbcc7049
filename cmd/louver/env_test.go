package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/louver/louver/stream"
)

func TestEnvironmentDefaults(t *testing.T) {
	e, err := readEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	want := Environment{
		KafkaSettings:   KafkaSettings{KafkaBrokers: []string{"localhost:9092"}, KafkaClientID: "louver", KafkaIsolation: "read_committed"},
		AppSettings:     AppSettings{AppID: "louver"},
		TopicSettings:   TopicSettings{TopicsCreate: true, TopicsReplication: -1},
		HTTPSettings:    HTTPSettings{HTTPAddr: "127.0.0.1:8080"},
		MetricsSettings: MetricsSettings{MetricsAddr: "127.0.0.1:9797"},
		LogSettings:     LogSettings{LogLevel: "info", LogFormat: "console"},
		ServiceSettings: ServiceSettings{ShutdownTimeout: 20 * time.Second, BagBytes: stream.DefaultBagBytes, CheckpointEvery: 1000},
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
		"KAFKA_BROKERS": "a:1,b:2", "KAFKA_TLS": "true", "KAFKA_TLS_CA_FILE": "ca", "KAFKA_TLS_CERT_FILE": "cert", "KAFKA_TLS_KEY_FILE": "key",
		"KAFKA_TLS_SERVER_NAME": "srv", "KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_SASL_USERNAME": "me", "KAFKA_SASL_PASSWORD": "pw",
		"KAFKA_SASL_PASSWORD_FILE": "pwf", "KAFKA_SASL_OAUTH_TOKEN_URL": "http://t", "KAFKA_SASL_OAUTH_SCOPES": "a,b", "KAFKA_SASL_OAUTH_EXTENSIONS": "x=y", "KAFKA_CLIENT_ID": "id", "KAFKA_ISOLATION": "read_uncommitted",
		"SCHEMA_REGISTRY_URL": "http://r", "SCHEMA_REGISTRY_USERNAME": "ru", "SCHEMA_REGISTRY_PASSWORD_FILE": "rp",
		"APP_ID": "app", "STREAMS": "s.yaml", "TOPICS_CREATE": "false", "TOPICS_REPLICATION": "3", "HTTP_ADDR": ":1", "METRICS_ADDR": ":2",
		"HTTP_BASE_PATH": "/x", "HTTP_CORS_ORIGINS": "https://a,https://b", "HTTP_WEB_CONFIG_FILE": "h", "METRICS_WEB_CONFIG_FILE": "m", "DEBUG_ENDPOINTS": "true",
		"LOG_LEVEL": "debug", "LOG_FORMAT": "json", "SHUTDOWN_TIMEOUT": "3s", "BAG_BYTES": "5000000", "CHECKPOINT_EVERY": "50",
	}
	for name, value := range variables {
		t.Setenv("LOUVER_"+name, value)
	}
	want := Environment{
		KafkaSettings{[]string{"a:1", "b:2"}, true, "ca", "cert", "key", "srv", "PLAIN", "me", "pw", "pwf", "http://t", []string{"a", "b"}, []string{"x=y"}, "id", "read_uncommitted"},
		RegistrySettings{"http://r", "ru", "rp"}, AppSettings{"app", "s.yaml"}, TopicSettings{false, 3},
		HTTPSettings{":1", "/x", []string{"https://a", "https://b"}, "h"}, MetricsSettings{":2", "m", true}, LogSettings{"debug", "json"}, ServiceSettings{3 * time.Second, 5_000_000, 50},
	}
	got, err := settingsOf(t)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got, err = settingsOf(t, "--kafka-brokers", "c:3", "--no-kafka-tls", "--app-id=louver", "--topics-create", "--topics-replication", "-1", "--shutdown-timeout", "20s", "--http-addr=")
	if err != nil {
		t.Fatal(err)
	}
	want.KafkaBrokers, want.KafkaTLS, want.AppID, want.TopicsCreate, want.TopicsReplication = []string{"c:3"}, false, "louver", true, -1
	want.ShutdownTimeout, want.HTTPAddr = 20*time.Second, ""
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("flags that say the default do not win over variables:\n%s", d)
	}
}

func TestSettingsReachTheService(t *testing.T) {
	s := service{ServiceSettings: ServiceSettings{BagBytes: 5_000_000, CheckpointEvery: 7}}
	if got := s.engine(nil); got.BagBytes != 5_000_000 || got.CheckpointEvery != 7 {
		t.Errorf("the service may hold %d bytes and writes a checkpoint every %d entries, want 5000000 and 7", got.BagBytes, got.CheckpointEvery)
	}
}

func TestEnvironmentMistakes(t *testing.T) {
	t.Setenv("STREAMS", "somebody else's") // without the prefix
	if e, err := readEnvironment(); err != nil || e.Streams != "" {
		t.Errorf("a variable without the prefix counts: %q, %v", e.Streams, err)
	}
	t.Setenv("LOUVER_LOG_LEVEL", "loud")
	commandLine(t, "", "version").wants(t, exitInvalid, `louver: LOUVER_LOG_LEVEL="loud"; want debug, info, warn or error`)
	t.Setenv("LOUVER_LOG_LEVEL", "info")
	commandLine(t, "", "version", "--log-format", "xml").wants(t, exitInvalid, `louver: LOUVER_LOG_FORMAT="xml"; want console or json`)
	t.Setenv("LOUVER_SHUTDOWN_TIMEOUT", "soon")
	commandLine(t, "", "version").wants(t, exitInvalid, `louver: LOUVER_SHUTDOWN_TIMEOUT="soon"; want a duration, such as 20s`)
	t.Setenv("LOUVER_SHUTDOWN_TIMEOUT", "20s")
	t.Setenv("LOUVER_BAG_BYTES", "256MiB")
	commandLine(t, "", "version").wants(t, exitInvalid, `louver: LOUVER_BAG_BYTES="256MiB"; want a whole number`)
	t.Setenv("LOUVER_BAG_BYTES", "256")
	commandLine(t, "", "run", "--streams", file(t, "streams.yaml", streamsFile)).wants(t, exitInvalid, "louver: LOUVER_BAG_BYTES=256; want at least 1048576 (1 MiB)")
	t.Setenv("LOUVER_BAG_BYTES", "268435456")
	t.Setenv("LOUVER_CHECKPOINT_EVERY", "0")
	commandLine(t, "", "run", "--streams", file(t, "streams.yaml", streamsFile)).wants(t, exitInvalid, "louver: LOUVER_CHECKPOINT_EVERY=0; want at least 1")
	t.Setenv("LOUVER_CHECKPOINT_EVERY", "1000")
	t.Setenv("LOUVER_KAFKA_TLS", "yes")
	commandLine(t, "", "version").wants(t, exitInvalid, `louver: LOUVER_KAFKA_TLS="yes"; want true or false`)
	t.Setenv("LOUVER_KAFKA_TLS", "true")
	t.Setenv("LOUVER_TOPICS_REPLICATION", "three")
	commandLine(t, "", "version").wants(t, exitInvalid, `louver: LOUVER_TOPICS_REPLICATION="three"; want a whole number`)
}

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"json": `{"level":"warn",`, "console": "WARN"} {
		var out bytes.Buffer
		log, err := LogSettings{"warn", format}.logger(&out)
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

func TestSASL(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	password := file(t, "password", "from a file\n")
	for _, c := range []struct {
		settings KafkaSettings
		want     string // the mechanism's name, or the error
	}{
		{KafkaSettings{}, ""},
		{KafkaSettings{KafkaSASLMechanism: "plain", KafkaSASLUsername: "me", KafkaSASLPasswordFile: password}, "PLAIN"},
		{KafkaSettings{KafkaSASLMechanism: "SCRAM-SHA-256", KafkaSASLUsername: "me", KafkaSASLPassword: "x"}, "SCRAM-SHA-256"},
		{KafkaSettings{KafkaSASLMechanism: "SCRAM-SHA-512", KafkaSASLUsername: "me", KafkaSASLPassword: "x"}, "SCRAM-SHA-512"},
		{KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER"}, `LOUVER_KAFKA_SASL_USERNAME is not set; OAUTHBEARER wants one`},
		{KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x"}, `LOUVER_KAFKA_SASL_OAUTH_TOKEN_URL=""; want the address where OAUTHBEARER gets its tokens, such as https://login.example.com/oauth2/token`},
		{KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x", KafkaSASLOAuthTokenURL: "https://t/token"}, "OAUTHBEARER"},
		{KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x", KafkaSASLOAuthTokenURL: "https://t", KafkaSASLOAuthExtensions: []string{"x"}},
			`LOUVER_KAFKA_SASL_OAUTH_EXTENSIONS: "x"; want name=value`},
		{KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x", KafkaSASLOAuthTokenURL: "https://t", KafkaSASLOAuthExtensions: []string{"auth=x"}},
			`LOUVER_KAFKA_SASL_OAUTH_EXTENSIONS: extension "auth"; want letters for its name, and text for its value`},
		{KafkaSettings{KafkaSASLMechanism: "AWS_MSK_IAM"}, `LOUVER_KAFKA_TLS is off; AWS_MSK_IAM wants LOUVER_KAFKA_TLS=true`},
		{KafkaSettings{KafkaSASLMechanism: "AWS_MSK_IAM", KafkaTLS: true}, `LOUVER_KAFKA_SASL_MECHANISM=AWS_MSK_IAM: AWS_REGION is not set; AWS_MSK_IAM wants the region of the cluster, such as eu-central-1`},
		{KafkaSettings{KafkaSASLMechanism: "GSSAPI"}, `LOUVER_KAFKA_SASL_MECHANISM="GSSAPI"; want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM`},
		{KafkaSettings{KafkaSASLUsername: "me"}, `LOUVER_KAFKA_SASL_USERNAME="me" without LOUVER_KAFKA_SASL_MECHANISM; want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM`},
		{KafkaSettings{KafkaSASLMechanism: "PLAIN"}, `LOUVER_KAFKA_SASL_USERNAME is not set; PLAIN wants one`},
		{KafkaSettings{KafkaSASLMechanism: "PLAIN", KafkaSASLUsername: "me"}, `LOUVER_KAFKA_SASL_PASSWORD_FILE is not set; PLAIN wants a password`},
		{KafkaSettings{KafkaSASLMechanism: "PLAIN", KafkaSASLUsername: "me", KafkaSASLPassword: "x", KafkaSASLPasswordFile: password}, `LOUVER_KAFKA_SASL_PASSWORD and LOUVER_KAFKA_SASL_PASSWORD_FILE are both set; want one of them`},
		{KafkaSettings{KafkaSASLMechanism: "PLAIN", KafkaSASLUsername: "me", KafkaSASLPasswordFile: os.DevNull}, `LOUVER_KAFKA_SASL_PASSWORD_FILE="/dev/null" is empty; want a password`},
	} {
		c.settings.KafkaIsolation = "read_committed"
		config, err := c.settings.Config()
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case config.SASL != nil:
			got = config.SASL.Name()
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got == "PLAIN" {
			if _, sent, err := config.SASL.Start(t.Context()); err != nil || string(sent) != "\x00me\x00from a file" {
				t.Errorf("sends %q, %v", sent, err)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	certificate, key := selfSigned(t)
	on := KafkaSettings{KafkaTLS: true, KafkaTLSCAFile: certificate, KafkaTLSCertFile: certificate, KafkaTLSKeyFile: key, KafkaTLSServerName: "kafka", KafkaIsolation: "read_committed"}
	c, err := on.Config()
	if err != nil {
		t.Fatal(err)
	}
	if c.TLS == nil || c.Authorities == nil || c.TLS.GetClientCertificate == nil || c.TLS.ServerName != "kafka" || c.TLS.InsecureSkipVerify {
		t.Errorf("%+v", c.TLS)
	}
	if c, err := (KafkaSettings{KafkaIsolation: "read_uncommitted"}).Config(); err != nil || c.TLS != nil {
		t.Errorf("TLS without being asked for: %v, %v", c.TLS, err)
	}
	for want, edit := range map[string]func(*KafkaSettings){
		`LOUVER_KAFKA_ISOLATION="serializable"; want read_committed or read_uncommitted`:                          func(s *KafkaSettings) { s.KafkaIsolation = "serializable" },
		`LOUVER_KAFKA_TLS_CA_FILE="` + certificate + `", but LOUVER_KAFKA_TLS is off; want LOUVER_KAFKA_TLS=true`: func(s *KafkaSettings) { s.KafkaTLS = false },
		`LOUVER_KAFKA_TLS_CA_FILE: open none: no such file or directory`:                                          func(s *KafkaSettings) { s.KafkaTLSCAFile = "none" },
		`LOUVER_KAFKA_TLS_CA_FILE="` + key + `" holds no certificate; want certificates in PEM`:                   func(s *KafkaSettings) { s.KafkaTLSCAFile = key },
		`LOUVER_KAFKA_TLS_CERT_FILE="` + certificate + `" and LOUVER_KAFKA_TLS_KEY_FILE=""; want both or none`:    func(s *KafkaSettings) { s.KafkaTLSKeyFile = "" },
		`LOUVER_KAFKA_TLS_CERT_FILE="/dev/null": tls: failed to find any PEM data`:                                func(s *KafkaSettings) { s.KafkaTLSCertFile = os.DevNull },
	} {
		s := on
		edit(&s)
		if _, err := s.Config(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// selfSigned writes a certificate and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		file(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}
