package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bound writes bindings and names their directory in the environment.
func bound(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SERVICE_BINDING_ROOT", root)
	return root
}

// TestServiceBinding: what a binding says holds where no variable says something else.
func TestServiceBinding(t *testing.T) {
	root := bound(t, map[string]string{
		"db/type": "postgresql", "db/username": "somebody",
		"events/type": "kafka\n", "events/bootstrapServers": "a:9093,b:9093", "events/securityProtocol": "SASL_SSL\n",
		"events/saslMechanism": "SCRAM-SHA-512", "events/user": "louver", "events/password": "secret",
		"events/ssl.truststore.crt": "PEM",
	})
	t.Setenv("LOUVER_KAFKA_SASL_USERNAME", "another")
	e, _, err := readEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	want := KafkaSettings{
		KafkaBrokers: []string{"a:9093", "b:9093"}, KafkaTLS: true, KafkaSASLMechanism: "SCRAM-SHA-512",
		KafkaSASLUsername: "another", KafkaSASLPasswordFile: filepath.Join(root, "events/password"),
		KafkaTLSCAFile: filepath.Join(root, "events/ssl.truststore.crt"),
		KafkaClientID:  "louver", KafkaIsolation: "read_committed",
	}
	if diff := cmp.Diff(want, e.KafkaSettings); diff != "" {
		t.Error(diff)
	}
	if got, err := settingsOf(t); err != nil || cmp.Diff(want, got.KafkaSettings) != "" {
		t.Errorf("%v; a command has other settings:\n%s", err, cmp.Diff(want, got.KafkaSettings))
	}
	t.Setenv("LOUVER_KAFKA_SASL_PASSWORD", "given")
	if e, _, err := readEnvironment(); err != nil || e.KafkaSASLPasswordFile != "" {
		t.Errorf("beside a password, the file is %q, %v; want none", e.KafkaSASLPasswordFile, err)
	}
}

func TestServiceBindingsThatSayNothing(t *testing.T) {
	bound(t, map[string]string{"db/type": "postgresql"})
	if e, _, err := readEnvironment(); err != nil || !cmp.Equal(e.KafkaBrokers, []string{"localhost:9092"}) {
		t.Errorf("%v, %v; want the default", e.KafkaBrokers, err)
	}
	bound(t, map[string]string{"a/type": "kafka", "b/type": "kafka"})
	if _, _, err := readEnvironment(); err == nil ||
		!strings.Contains(err.Error(), "several bindings of type kafka, a and b; want one") {
		t.Errorf("%v, want that there are two", err)
	}
}
