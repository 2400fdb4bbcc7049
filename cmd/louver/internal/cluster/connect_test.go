package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/outputs"
)

// A broker that cannot be reached is tried for a while; then the last failure is told in plain words.
func TestUnreachableInWords(t *testing.T) {
	s := cli.KafkaSettings{KafkaBrokers: []string{"kafka:9092", "kafka2:9092"}}
	for want, err := range map[string]error{
		"nothing listens there":                &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		`there is no host "kafka"`:             &net.OpError{Op: "dial", Err: &net.DNSError{Name: "kafka", IsNotFound: true}},
		"the connection was closed without an": io.EOF,
		"no route to that host":                &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
		"no answer":                            &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
		"odd":                                  errors.New("odd"),
	} {
		got := connectError(s, fmt.Errorf("%w (the last failure: %w)", context.DeadlineExceeded, err)).Error()
		if want := "no Kafka broker answered at kafka:9092,kafka2:9092 within 30s: " + want; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; check LOUVER_KAFKA_BROKERS") {
			t.Errorf("%v: %s; want %s", err, got, want)
		}
	}
}

// A mechanism that the broker refuses is not among those that it may offer.
func TestRefusedMechanismInWords(t *testing.T) {
	s := cli.KafkaSettings{KafkaBrokers: []string{"kafka:9092"}, KafkaSASLMechanism: "SCRAM-SHA-256"}
	const want = "brokers kafka:9092: the broker does not offer LOUVER_KAFKA_SASL_MECHANISM=SCRAM-SHA-256; want one that " +
		"it offers: perhaps PLAIN, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM"
	if got := connectError(s, kafka.UnsupportedSASLMechanism).Error(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A broker that names an address that cannot be reached is told as such, and not as one that does not answer.
func TestAdvertisedAddressInWords(t *testing.T) {
	s := cli.KafkaSettings{KafkaBrokers: []string{"127.0.0.1:9092"}}
	err := &kafkaconn.AdvertisedError{Asked: s.KafkaBrokers, Named: []string{"kafka-internal.example:9092"},
		Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "kafka-internal.example", IsNotFound: true}}}
	const want = "the broker at 127.0.0.1:9092 says that it is at kafka-internal.example:9092, which cannot be " +
		"reached: check advertised.listeners"
	got := connectError(s, fmt.Errorf("%w (the last failure: %w)", context.DeadlineExceeded, err)).Error()
	if meanwhile := unreachable(err); got != want || meanwhile != want {
		t.Errorf("%s\n%s\nwant\n%s", got, meanwhile, want)
	}
}

// Whatever request fails because one of the brokers cannot be reached where it says it is, the error is that sentence.
func TestBrokerAwayInWords(t *testing.T) {
	away := &kafkaconn.AwayError{Broker: 2, Addr: "kafka-2.example:9092", Err: syscall.ECONNREFUSED}
	failed := fmt.Errorf("no success within 30s: %w", fmt.Errorf("%w (the last failure: %w)", context.DeadlineExceeded,
		fmt.Errorf("create topics: kafka.(*Client).CreateTopics: %w", away)))
	var exit *cli.ExitError
	if got := WithExitCode(failed); !errors.As(got, &exit) || exit.Code != cli.ExitBroker || got.Error() != away.Error() {
		t.Errorf("%v, want %v with the exit code of brokers", got, away)
	}
	if got := unreachable(failed); got != away.Error() {
		t.Errorf("%s, want %v", got, away)
	}
}

// What a partition had before somebody began to follow it is told from what comes after.
func TestEnds(t *testing.T) {
	var e Ends
	e.Begins("out", 1, 3, 10)
	for m, want := range map[*outputs.Message]bool{
		{Topic: "out", Partition: 1, Offset: 9}: true, {Topic: "out", Partition: 1, Offset: 10}: false,
		{Topic: "out", Partition: 0, Offset: 9}: false, {Topic: "other", Partition: 1, Offset: 9}: false,
	} {
		if got := e.Had(*m); got != want {
			t.Errorf("%+v: %v", m, got)
		}
	}
}
