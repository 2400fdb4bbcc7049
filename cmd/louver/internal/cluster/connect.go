// Package cluster reaches Kafka and the schema registry as the settings say, and reads what an app keeps there. Its
// errors say which setting to look at.
package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/login"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
)

// Patience is how long the start waits for an unreachable broker, and a command for a partition.
const Patience = 30 * time.Second

// quiet is how long it waits without saying so.
const quiet = time.Second

// Connect reaches the cluster.
func Connect(ctx context.Context, s cli.KafkaSettings, log *zap.Logger) (*kafkaconn.Conn, error) {
	conn, err := Open(s)
	if err != nil {
		return nil, err
	}
	if err := Reach(ctx, s, conn, log); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Open makes the connection without using it.
func Open(s cli.KafkaSettings) (*kafkaconn.Conn, error) {
	config, err := configuration(s)
	if err != nil {
		return nil, err
	}
	conn, err := kafkaconn.New(config)
	if err != nil {
		return nil, fmt.Errorf("LOUVER_KAFKA_BROKERS: %w", err)
	}
	return conn, nil
}

// Reach waits for the cluster's first answer. Refused credentials are an error at once, an unreachable broker after
// half a minute. While it waits, it says so.
func Reach(ctx context.Context, s cli.KafkaSettings, conn *kafkaconn.Conn, log *zap.Logger) error {
	trying, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	err := conn.Check(trying, Waiting(log, "cannot reach Kafka yet", zap.Strings("brokers", s.KafkaBrokers)))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return cli.BrokerError(connectError(s, err))
}

// Waiting makes a hook for the failures of a request that is tried for as long as [Patience] says: it says once what
// the command waits for, if that takes a while. The hook may be called concurrently.
func Waiting(log *zap.Logger, what string, fields ...zap.Field) func(error) {
	began, told := time.Now(), sync.Once{}
	return func(err error) {
		if err != nil && time.Since(began) >= quiet {
			told.Do(func() {
				log.Warn(fmt.Sprintf("%s, trying for %s", what, Patience),
					append(fields, zap.String("reason", unreachable(err)))...)
			})
		}
	}
}

// connectError says in one line why the cluster cannot be used and which setting to look at.
func connectError(s cli.KafkaSettings, err error) error {
	brokers := strings.Join(s.KafkaBrokers, ",")
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	var credentials *login.Error
	told, why := advertised(err), ""
	switch {
	case told != nil && !kafkaconn.Refused(err):
		return told
	case errors.Is(err, kafkaconn.ErrSpeaksTLS):
		why = "the port speaks TLS, but LOUVER_KAFKA_TLS is off; want LOUVER_KAFKA_TLS=true, or a port without TLS"
	case errors.Is(err, kafkaconn.ErrSpeaksPlain), errors.As(err, &record):
		why = "the port does not speak TLS, but LOUVER_KAFKA_TLS is on; want LOUVER_KAFKA_TLS=false, or a port with TLS"
	case errors.As(err, &authority):
		why = "the broker's certificate is signed by an unknown authority; want its certificate in " +
			"LOUVER_KAFKA_TLS_CA_FILE"
	case errors.As(err, &host):
		why = fmt.Sprintf("the broker's certificate is for another name (%v); want LOUVER_KAFKA_TLS_SERVER_NAME, or "+
			"that name in LOUVER_KAFKA_BROKERS", host)
	case errors.As(err, &credentials):
		return fmt.Errorf("%w; check the LOUVER_KAFKA_SASL settings", credentials)
	case errors.Is(err, kafka.SASLAuthenticationFailed):
		why = fmt.Sprintf("the broker refuses the user %q (%s); check LOUVER_KAFKA_SASL_USERNAME, its password and "+
			"LOUVER_KAFKA_SASL_MECHANISM", s.KafkaSASLUsername, s.KafkaSASLMechanism)
	case errors.Is(err, kafka.UnsupportedSASLMechanism):
		others := slices.DeleteFunc(saslMechanisms(), func(name string) bool {
			return strings.EqualFold(name, s.KafkaSASLMechanism)
		})
		why = fmt.Sprintf("the broker does not offer LOUVER_KAFKA_SASL_MECHANISM=%s; want one that it offers: perhaps "+
			"%s", s.KafkaSASLMechanism, form.List(others, "or"))
	case errors.Is(err, kafka.IllegalSASLState), errors.Is(err, kafka.SecurityDisabled):
		why = "the port takes no credentials; want LOUVER_KAFKA_SASL_MECHANISM unset, or a port with SASL"
	case kafkaconn.Refused(err):
		why = fmt.Sprintf("%v; check the LOUVER_KAFKA_TLS and LOUVER_KAFKA_SASL settings", err)
	default:
		return fmt.Errorf("no Kafka broker answered at %s within %s: %s; check LOUVER_KAFKA_BROKERS", brokers, Patience,
			unreachable(err))
	}
	return fmt.Errorf("brokers %s: %s", brokers, why)
}

// unreachable says briefly why no broker answers.
func unreachable(err error) string {
	if told := advertised(err); told != nil {
		return told.Error()
	}
	// A timeout explains nothing, but the last failure before it may.
	if both := interface{ Unwrap() []error }(nil); errors.As(err, &both) {
		all := both.Unwrap()
		err = all[len(all)-1]
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %q", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed without an answer, as brokers that require credentials do " +
			"(LOUVER_KAFKA_SASL_MECHANISM)"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to that host"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer"
	}
	return err.Error()
}

// advertised returns the sentence in err about an address that brokers name and that cannot be reached, or nil.
func advertised(err error) error {
	var all *kafkaconn.AdvertisedError
	var one *kafkaconn.AwayError
	switch {
	case errors.As(err, &all):
		return all
	case errors.As(err, &one):
		return one
	}
	return nil
}

// Reader returns a reader of committed records for a command that prints what there is. It gives up on a partition that
// cannot be read for half a minute, such as one without a leader.
func Reader(conn *kafkaconn.Conn, log *zap.Logger) *outputs.Reader {
	return readerWith(conn, nil, episode.New(log).Retrying, fetch.Options{Patience: Patience})
}

// Follower returns a reader for a service, which never gives up. Its hooks for retried failures are made by retrying.
// schemas may be nil.
func Follower(conn *kafkaconn.Conn, schemas codec.Registry,
	retrying func(problem, solved string) func(error)) *outputs.Reader {
	return readerWith(conn, schemas, retrying, fetch.Options{})
}

func readerWith(conn *kafkaconn.Conn, schemas codec.Registry, retrying func(problem, solved string) func(error),
	o fetch.Options) *outputs.Reader {
	o.ClientID = conn.ClientID
	o.OnRetry = func(topic string, _ int, err error) {
		retrying("cannot read topic "+topic, "topic "+topic+" can be read again")(err)
	}
	return &outputs.Reader{Conn: conn, Schemas: schemas, Retrying: retrying,
		Fetch: fetch.New(conn.Transport, conn.Addr, o)}
}

// WithExitCode gives an error of the service or of a reader its exit code.
func WithExitCode(err error) error {
	var exit *cli.ExitError
	var answer kafka.Error
	switch {
	case err == nil || errors.As(err, &exit):
		return err
	case errors.Is(err, ledger.ErrUnreadable), errors.Is(err, control.ErrForgotten):
		return cli.PrivacyStop(err)
	case errors.Is(err, topics.ErrUnfit), errors.Is(err, control.ErrRefused):
		return err
	case advertised(err) != nil:
		return cli.BrokerError(advertised(err)) // the requests that failed on the way say nothing more
	case errors.Is(err, topics.ErrMissing), errors.As(err, &answer), kafkaconn.Refused(err), kafkaconn.Retriable(err):
		return cli.BrokerError(err)
	}
	return err
}

// Ends are where partitions ended when somebody began to follow them. It is safe for concurrent use.
type Ends struct{ of sync.Map }

// Begins is the hook of a reader that says so.
func (e *Ends) Begins(topic string, partition int, _, end int64) {
	e.of.Store(place{topic, partition}, end)
}

// Had reports whether a message was there before.
func (e *Ends) Had(m outputs.Message) bool {
	end, known := e.of.Load(place{m.Topic, m.Partition})
	return known && m.Offset < end.(int64)
}

type place struct {
	topic     string
	partition int
}
