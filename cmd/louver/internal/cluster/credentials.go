package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/login"
)

// configuration turns the settings into a connection's configuration. Its errors name the wrong variable.
func configuration(s cli.KafkaSettings) (kafkaconn.Config, error) {
	c := kafkaconn.Config{ClientID: s.KafkaClientID}
	for _, b := range s.KafkaBrokers {
		c.Brokers = append(c.Brokers, strings.TrimSpace(b))
	}
	if s.KafkaIsolation != "read_committed" && s.KafkaIsolation != "read_uncommitted" {
		return c, fmt.Errorf("LOUVER_KAFKA_ISOLATION=%q; want read_committed or read_uncommitted", s.KafkaIsolation)
	}
	var err error
	if c.TLS, err = credentials(s).tls(); err != nil {
		return c, err
	}
	if c.Authorities, err = authorities("LOUVER_KAFKA_TLS", s.KafkaTLSCAFile); err != nil {
		return c, err
	}
	c.SASL, err = credentials(s).sasl()
	return c, err
}

// credentials are the settings that say who we are, and whom we trust.
type credentials cli.KafkaSettings

func (s credentials) tls() (*tls.Config, error) {
	if !s.KafkaTLS {
		for _, f := range []struct{ name, value string }{
			{"CA_FILE", s.KafkaTLSCAFile}, {"CERT_FILE", s.KafkaTLSCertFile}, {"KEY_FILE", s.KafkaTLSKeyFile},
			{"SERVER_NAME", s.KafkaTLSServerName},
		} {
			if f.value != "" {
				return nil, fmt.Errorf("LOUVER_KAFKA_TLS_%s=%q, but LOUVER_KAFKA_TLS is off; want "+
					"LOUVER_KAFKA_TLS=true", f.name, f.value)
			}
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.KafkaTLSServerName}
	return c, present(c, "LOUVER_KAFKA_TLS", s.KafkaTLSCertFile, s.KafkaTLSKeyFile)
}

// present has a connection present a certificate to a server that asks for one. The settings of both files begin so.
func present(c *tls.Config, settings, certFile, keyFile string) error {
	switch {
	case (certFile == "") != (keyFile == ""):
		return fmt.Errorf("%s_CERT_FILE=%q and %s_KEY_FILE=%q; want both or none", settings, certFile, settings, keyFile)
	case certFile == "":
		return nil
	}
	certificate, err := login.NewCertificate(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("%s_CERT_FILE=%q: %w; want a certificate and its key in PEM", settings, certFile, err)
	}
	c.GetClientCertificate = certificate.Get
	return nil
}

// authorities returns the certificates in a file that servers are trusted by; nil for the system's.
func authorities(settings, file string) (func() (*x509.CertPool, error), error) {
	if file == "" {
		return nil, nil
	}
	of, err := login.NewAuthorities(file)
	if err != nil {
		return nil, fmt.Errorf("%s_CA_FILE=%q: %w; want a file of certificates in PEM", settings, file, err)
	}
	return of.Pool, nil
}

// saslMechanisms are those that LOUVER_KAFKA_SASL_MECHANISM names.
func saslMechanisms() []string {
	return []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"}
}

func (s credentials) sasl() (sasl.Mechanism, error) {
	name := strings.ToUpper(s.KafkaSASLMechanism)
	switch name {
	case "":
		if s.KafkaSASLUsername != "" {
			return nil, fmt.Errorf("LOUVER_KAFKA_SASL_USERNAME=%q without LOUVER_KAFKA_SASL_MECHANISM; want %s",
				s.KafkaSASLUsername, form.List(saslMechanisms(), "or"))
		}
		return nil, nil
	case "AWS_MSK_IAM":
		if !s.KafkaTLS {
			return nil, errors.New("LOUVER_KAFKA_TLS is off; AWS_MSK_IAM wants LOUVER_KAFKA_TLS=true")
		}
		m, err := login.AWS(context.Background())
		if err != nil {
			return nil, fmt.Errorf("LOUVER_KAFKA_SASL_MECHANISM=%s: %w", name, err)
		}
		return m, nil
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER":
	default:
		return nil, fmt.Errorf("LOUVER_KAFKA_SASL_MECHANISM=%q; want %s", s.KafkaSASLMechanism,
			form.List(saslMechanisms(), "or"))
	}
	if s.KafkaSASLUsername == "" {
		return nil, fmt.Errorf("LOUVER_KAFKA_SASL_USERNAME is not set; %s wants one", name)
	}
	if _, err := s.password(); err != nil {
		return nil, err
	}
	if name == "OAUTHBEARER" {
		return s.oauth()
	}
	m := login.Fresh{Mechanism: name, Make: func() (sasl.Mechanism, error) { return s.withPassword(name) }}
	_, err := m.Make()
	return m, err
}

// withPassword makes a mechanism with the password of the moment.
func (s credentials) withPassword(mechanism string) (sasl.Mechanism, error) {
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

// oauth is OAUTHBEARER: the user name is the client's id, and the password its secret.
func (s credentials) oauth() (sasl.Mechanism, error) {
	if u, err := url.Parse(s.KafkaSASLOAuthTokenURL); err != nil || u.Host == "" ||
		u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, fmt.Errorf("LOUVER_KAFKA_SASL_OAUTH_TOKEN_URL=%q; want the address where OAUTHBEARER gets its "+
			"tokens, such as https://login.example.com/oauth2/token", s.KafkaSASLOAuthTokenURL)
	}
	o := login.OAuth{TokenURL: s.KafkaSASLOAuthTokenURL, ClientID: s.KafkaSASLUsername, Secret: s.password,
		Scopes: s.KafkaSASLOAuthScopes, Extensions: map[string]string{}}
	for _, e := range s.KafkaSASLOAuthExtensions {
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			return nil, fmt.Errorf("LOUVER_KAFKA_SASL_OAUTH_EXTENSIONS: %q; want name=value", e)
		}
		o.Extensions[name] = value
	}
	m, err := o.Mechanism()
	if err != nil {
		return nil, fmt.Errorf("LOUVER_KAFKA_SASL_OAUTH_EXTENSIONS: %w", err)
	}
	return m, nil
}

func (s credentials) password() (string, error) {
	switch {
	case s.KafkaSASLPassword != "" && s.KafkaSASLPasswordFile != "":
		return "", fmt.Errorf("LOUVER_KAFKA_SASL_PASSWORD and LOUVER_KAFKA_SASL_PASSWORD_FILE are both set; want one " +
			"of them")
	case s.KafkaSASLPassword != "":
		return s.KafkaSASLPassword, nil
	case s.KafkaSASLPasswordFile == "":
		return "", fmt.Errorf("LOUVER_KAFKA_SASL_PASSWORD_FILE is not set; %s wants a password",
			strings.ToUpper(s.KafkaSASLMechanism))
	}
	return secretIn("LOUVER_KAFKA_SASL_PASSWORD_FILE", s.KafkaSASLPasswordFile)
}
