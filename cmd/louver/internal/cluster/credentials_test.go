package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
)

func TestSASL(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	password := clitest.File(t, "password", "from a file\n")
	for _, c := range []struct {
		settings cli.KafkaSettings
		want     string // the mechanism's name, or the error
	}{
		{cli.KafkaSettings{}, ""},
		{cli.KafkaSettings{KafkaSASLMechanism: "plain", KafkaSASLUsername: "me", KafkaSASLPasswordFile: password},
			"PLAIN"},
		{cli.KafkaSettings{KafkaSASLMechanism: "SCRAM-SHA-256", KafkaSASLUsername: "me", KafkaSASLPassword: "x"},
			"SCRAM-SHA-256"},
		{cli.KafkaSettings{KafkaSASLMechanism: "SCRAM-SHA-512", KafkaSASLUsername: "me", KafkaSASLPassword: "x"},
			"SCRAM-SHA-512"},
		{cli.KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER"},
			`LOUVER_KAFKA_SASL_USERNAME is not set; OAUTHBEARER wants one`},
		{cli.KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x"},
			`LOUVER_KAFKA_SASL_OAUTH_TOKEN_URL=""; want the address where OAUTHBEARER gets its tokens, such as ` +
				`https://login.example.com/oauth2/token`},
		{cli.KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x",
			KafkaSASLOAuthTokenURL: "https://t/token"}, "OAUTHBEARER"},
		{cli.KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x",
			KafkaSASLOAuthTokenURL: "https://t", KafkaSASLOAuthExtensions: []string{"x"}},
			`LOUVER_KAFKA_SASL_OAUTH_EXTENSIONS: "x"; want name=value`},
		{cli.KafkaSettings{KafkaSASLMechanism: "OAUTHBEARER", KafkaSASLUsername: "me", KafkaSASLPassword: "x",
			KafkaSASLOAuthTokenURL: "https://t", KafkaSASLOAuthExtensions: []string{"auth=x"}},
			`LOUVER_KAFKA_SASL_OAUTH_EXTENSIONS: extension "auth"; want letters for its name, and text for its value`},
		{cli.KafkaSettings{KafkaSASLMechanism: "AWS_MSK_IAM"},
			`LOUVER_KAFKA_TLS is off; AWS_MSK_IAM wants LOUVER_KAFKA_TLS=true`},
		{cli.KafkaSettings{KafkaSASLMechanism: "AWS_MSK_IAM", KafkaTLS: true},
			`LOUVER_KAFKA_SASL_MECHANISM=AWS_MSK_IAM: AWS_REGION is not set; AWS_MSK_IAM wants the region of the cluster, ` +
				`such as eu-central-1`},
		{cli.KafkaSettings{KafkaSASLMechanism: "GSSAPI"},
			`LOUVER_KAFKA_SASL_MECHANISM="GSSAPI"; want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM`},
		{cli.KafkaSettings{KafkaSASLUsername: "me"},
			`LOUVER_KAFKA_SASL_USERNAME="me" without LOUVER_KAFKA_SASL_MECHANISM; ` +
				`want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM`},
		{cli.KafkaSettings{KafkaSASLMechanism: "PLAIN"}, `LOUVER_KAFKA_SASL_USERNAME is not set; PLAIN wants one`},
		{cli.KafkaSettings{KafkaSASLMechanism: "PLAIN", KafkaSASLUsername: "me"},
			`LOUVER_KAFKA_SASL_PASSWORD_FILE is not set; PLAIN wants a password`},
		{cli.KafkaSettings{KafkaSASLMechanism: "PLAIN", KafkaSASLUsername: "me", KafkaSASLPassword: "x",
			KafkaSASLPasswordFile: password},
			`LOUVER_KAFKA_SASL_PASSWORD and LOUVER_KAFKA_SASL_PASSWORD_FILE are both set; want one of them`},
		{cli.KafkaSettings{KafkaSASLMechanism: "PLAIN", KafkaSASLUsername: "me", KafkaSASLPasswordFile: os.DevNull},
			`LOUVER_KAFKA_SASL_PASSWORD_FILE="/dev/null" is empty; want a password`},
	} {
		c.settings.KafkaIsolation = "read_committed"
		config, err := configuration(c.settings)
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
	certificate, key := clitest.Certificate(t)
	on := cli.KafkaSettings{KafkaTLS: true, KafkaTLSCAFile: certificate, KafkaTLSCertFile: certificate,
		KafkaTLSKeyFile: key, KafkaTLSServerName: "kafka", KafkaIsolation: "read_committed"}
	c, err := configuration(on)
	if err != nil {
		t.Fatal(err)
	}
	if c.TLS == nil || c.Authorities == nil || c.TLS.GetClientCertificate == nil || c.TLS.ServerName != "kafka" ||
		c.TLS.InsecureSkipVerify {
		t.Errorf("%+v", c.TLS)
	}
	if c, err := configuration(cli.KafkaSettings{KafkaIsolation: "read_uncommitted"}); err != nil || c.TLS != nil {
		t.Errorf("TLS without being asked for: %v, %v", c.TLS, err)
	}
	for want, edit := range map[string]func(*cli.KafkaSettings){
		`LOUVER_KAFKA_ISOLATION="serializable"; want read_committed or ` +
			`read_uncommitted`: func(s *cli.KafkaSettings) { s.KafkaIsolation = "serializable" },
		`LOUVER_KAFKA_TLS_CA_FILE="` + certificate +
			`", but LOUVER_KAFKA_TLS is off; want LOUVER_KAFKA_TLS=true`: func(s *cli.KafkaSettings) { s.KafkaTLS = false },
		`LOUVER_KAFKA_TLS_CA_FILE="none": open none: no such file or ` +
			`directory`: func(s *cli.KafkaSettings) { s.KafkaTLSCAFile = "none" },
		`LOUVER_KAFKA_TLS_CA_FILE="` + key + `": no certificate in PEM; want a file of ` +
			`certificates in PEM`: func(s *cli.KafkaSettings) { s.KafkaTLSCAFile = key },
		`LOUVER_KAFKA_TLS_CERT_FILE="` + certificate +
			`" and LOUVER_KAFKA_TLS_KEY_FILE=""; want both or none`: func(s *cli.KafkaSettings) { s.KafkaTLSKeyFile = "" },
		`LOUVER_KAFKA_TLS_CERT_FILE="/dev/null": tls: failed to find any PEM ` +
			`data`: func(s *cli.KafkaSettings) { s.KafkaTLSCertFile = os.DevNull },
	} {
		s := on
		edit(&s)
		if _, err := configuration(s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
