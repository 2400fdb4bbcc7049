package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// bindingRoot names the directory of service bindings, as in the Service Binding Specification for Kubernetes 1.1: each
// is a directory of its own, with one file for each entry. Operators such as the one of Strimzi make them.
const bindingRoot = "SERVICE_BINDING_ROOT"

// bindings are the entries of a binding of type kafka, by the variable that they stand for. Operators do not agree on
// the names.
var bindings = map[string][]string{
	"LOUVER_KAFKA_BROKERS":            {"bootstrap-servers", "bootstrap.servers", "bootstrapServers"},
	"LOUVER_KAFKA_TLS":                {"security-protocol", "security.protocol", "securityProtocol"},
	"LOUVER_KAFKA_TLS_CA_FILE":        {"ca.crt", "ssl.truststore.crt"},
	"LOUVER_KAFKA_TLS_CERT_FILE":      {"user.crt", "ssl.keystore.crt"},
	"LOUVER_KAFKA_TLS_KEY_FILE":       {"user.key", "ssl.keystore.key"},
	"LOUVER_KAFKA_SASL_MECHANISM":     {"sasl-mechanism", "sasl.mechanism", "saslMechanism"},
	"LOUVER_KAFKA_SASL_USERNAME":      {"username", "user"},
	"LOUVER_KAFKA_SASL_PASSWORD_FILE": {"password"},
}

// bind takes settings that no variable sets from the binding of type kafka, if there is one. Passwords, keys and
// certificates are left in their files, which are read again when they change. It returns the variables that stand for
// what it set.
func (s *KafkaSettings) bind() (set []string, err error) {
	dir, err := kafkaBinding(os.Getenv(bindingRoot))
	if err != nil || dir == "" {
		return nil, err
	}
	for variable, names := range bindings {
		_, known := os.LookupEnv(variable)
		if variable == "LOUVER_KAFKA_SASL_PASSWORD_FILE" && s.KafkaSASLPassword != "" {
			known = true
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) || known {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", bindingRoot, err)
			}
			known, set = true, append(set, variable)
			s.bound(variable, path, strings.TrimSpace(string(text)))
		}
	}
	return set, nil
}

// bound sets what a variable stands for.
func (s *KafkaSettings) bound(variable, path, text string) {
	switch variable {
	case "LOUVER_KAFKA_BROKERS":
		s.KafkaBrokers = strings.Split(text, ",")
	case "LOUVER_KAFKA_TLS":
		s.KafkaTLS = strings.HasSuffix(text, "SSL") // SSL or SASL_SSL
	case "LOUVER_KAFKA_TLS_CA_FILE":
		s.KafkaTLSCAFile = path
	case "LOUVER_KAFKA_TLS_CERT_FILE":
		s.KafkaTLSCertFile = path
	case "LOUVER_KAFKA_TLS_KEY_FILE":
		s.KafkaTLSKeyFile = path
	case "LOUVER_KAFKA_SASL_MECHANISM":
		s.KafkaSASLMechanism = text
	case "LOUVER_KAFKA_SASL_USERNAME":
		s.KafkaSASLUsername = text
	case "LOUVER_KAFKA_SASL_PASSWORD_FILE":
		s.KafkaSASLPasswordFile = path
	}
}

// kafkaBinding returns the directory of the only binding of type kafka; "" for none.
func kafkaBinding(root string) (dir string, err error) {
	if root == "" {
		return "", nil
	}
	types, err := filepath.Glob(filepath.Join(root, "*", "type"))
	if err != nil {
		return "", fmt.Errorf("%s=%s: %w", bindingRoot, root, err)
	}
	for _, path := range types {
		text, err := os.ReadFile(path)
		switch {
		case err != nil:
			return "", fmt.Errorf("%s: %w", bindingRoot, err)
		case strings.TrimSpace(string(text)) != "kafka":
		case dir != "":
			return "", fmt.Errorf("%s=%s has several bindings of type kafka, %s and %s; want one", bindingRoot, root,
				filepath.Base(dir), filepath.Base(filepath.Dir(path)))
		default:
			dir = filepath.Dir(path)
		}
	}
	return dir, nil
}
