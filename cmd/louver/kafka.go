package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Config turns the settings into a connection's configuration. Its errors name the wrong variable.
func (s KafkaSettings) Config() (kafkaconn.Config, error) {
	c := kafkaconn.Config{ClientID: s.KafkaClientID}
	for _, b := range s.KafkaBrokers {
		c.Brokers = append(c.Brokers, strings.TrimSpace(b))
	}
	if s.KafkaIsolation != "read_committed" && s.KafkaIsolation != "read_uncommitted" {
		return c, fmt.Errorf("LOUVER_KAFKA_ISOLATION=%q; want read_committed or read_uncommitted", s.KafkaIsolation)
	}
	var err error
	if c.TLS, err = s.tls(); err != nil {
		return c, err
	}
	c.SASL, err = s.sasl()
	return c, err
}

func (s KafkaSettings) tls() (*tls.Config, error) {
	if !s.KafkaTLS {
		for _, f := range []struct{ name, value string }{
			{"CA_FILE", s.KafkaTLSCAFile}, {"CERT_FILE", s.KafkaTLSCertFile}, {"KEY_FILE", s.KafkaTLSKeyFile}, {"SERVER_NAME", s.KafkaTLSServerName},
		} {
			if f.value != "" {
				return nil, fmt.Errorf("LOUVER_KAFKA_TLS_%s=%q, but LOUVER_KAFKA_TLS is off; want LOUVER_KAFKA_TLS=true", f.name, f.value)
			}
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.KafkaTLSServerName}
	if s.KafkaTLSCAFile != "" {
		pem, err := os.ReadFile(s.KafkaTLSCAFile)
		if err != nil {
			return nil, fmt.Errorf("LOUVER_KAFKA_TLS_CA_FILE: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("LOUVER_KAFKA_TLS_CA_FILE=%q holds no certificate; want certificates in PEM", s.KafkaTLSCAFile)
		}
	}
	if (s.KafkaTLSCertFile == "") != (s.KafkaTLSKeyFile == "") {
		return nil, fmt.Errorf("LOUVER_KAFKA_TLS_CERT_FILE=%q and LOUVER_KAFKA_TLS_KEY_FILE=%q; want both or none", s.KafkaTLSCertFile, s.KafkaTLSKeyFile)
	}
	if s.KafkaTLSCertFile != "" {
		pair, err := tls.LoadX509KeyPair(s.KafkaTLSCertFile, s.KafkaTLSKeyFile)
		if err != nil {
			return nil, fmt.Errorf("LOUVER_KAFKA_TLS_CERT_FILE=%q: %w", s.KafkaTLSCertFile, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func (s KafkaSettings) sasl() (sasl.Mechanism, error) {
	mechanism := strings.ToUpper(s.KafkaSASLMechanism)
	if mechanism == "" {
		if s.KafkaSASLUsername != "" {
			return nil, fmt.Errorf("LOUVER_KAFKA_SASL_USERNAME=%q without LOUVER_KAFKA_SASL_MECHANISM; want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.KafkaSASLUsername)
		}
		return nil, nil
	}
	switch mechanism {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	case "OAUTHBEARER", "AWS_MSK_IAM":
		return nil, fmt.Errorf("LOUVER_KAFKA_SASL_MECHANISM=%q is not available yet; want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.KafkaSASLMechanism)
	default:
		return nil, fmt.Errorf("LOUVER_KAFKA_SASL_MECHANISM=%q; want PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.KafkaSASLMechanism)
	}
	if s.KafkaSASLUsername == "" {
		return nil, fmt.Errorf("LOUVER_KAFKA_SASL_USERNAME is not set; %s wants one", mechanism)
	}
	password, err := s.password()
	if err != nil {
		return nil, err
	}
	switch mechanism {
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, s.KafkaSASLUsername, password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, s.KafkaSASLUsername, password)
	}
	return plain.Mechanism{Username: s.KafkaSASLUsername, Password: password}, nil
}

func (s KafkaSettings) password() (string, error) {
	switch {
	case s.KafkaSASLPassword != "" && s.KafkaSASLPasswordFile != "":
		return "", fmt.Errorf("LOUVER_KAFKA_SASL_PASSWORD and LOUVER_KAFKA_SASL_PASSWORD_FILE are both set; want one of them")
	case s.KafkaSASLPassword != "":
		return s.KafkaSASLPassword, nil
	case s.KafkaSASLPasswordFile == "":
		return "", fmt.Errorf("LOUVER_KAFKA_SASL_PASSWORD_FILE is not set; %s wants a password", strings.ToUpper(s.KafkaSASLMechanism))
	}
	return secretIn("LOUVER_KAFKA_SASL_PASSWORD_FILE", s.KafkaSASLPasswordFile)
}
