package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/clitest"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/ledgertest"
)

// What stands in the way to Kafka and which setting to look at is one line, at once.
func TestKafkaMistakes(t *testing.T) {
	certificate, key := clitest.Certificate(t)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	brokers := func(options ...kfake.Opt) string {
		cluster, err := kfake.NewCluster(append(options, kfake.NumBrokers(1))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		return strings.Join(cluster.ListenAddrs(), ",")
	}
	plain := brokers()
	encrypted := brokers(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	secured := brokers(kfake.EnableSASL(), kfake.Superuser("PLAIN", "me", "secret"))
	user := map[string]string{"LOUVER_KAFKA_SASL_MECHANISM": "PLAIN", "LOUVER_KAFKA_SASL_USERNAME": "me",
		"LOUVER_KAFKA_SASL_PASSWORD": "SECRET"}
	for _, c := range []struct {
		name, brokers string
		environment   map[string]string
		code          int
		want          string
	}{
		{"TLS against a plain port", plain, map[string]string{"LOUVER_KAFKA_TLS": "true"}, cli.ExitBroker,
			"louver: brokers " + plain + ": the port does not speak TLS, but LOUVER_KAFKA_TLS is on; want " +
				"LOUVER_KAFKA_TLS=false, or a port with TLS"},
		{"plain against a TLS port", encrypted, nil, cli.ExitBroker, "louver: brokers " + encrypted +
			": the port speaks TLS, but LOUVER_KAFKA_TLS is off; want LOUVER_KAFKA_TLS=true, or a port without TLS"},
		{"unknown authority", encrypted, map[string]string{"LOUVER_KAFKA_TLS": "true"}, cli.ExitBroker,
			"louver: brokers " + encrypted + ": the broker's certificate is signed by an unknown authority; want its " +
				"certificate in LOUVER_KAFKA_TLS_CA_FILE"},
		{"another host's certificate", encrypted, map[string]string{"LOUVER_KAFKA_TLS": "true",
			"LOUVER_KAFKA_TLS_CA_FILE": certificate, "LOUVER_KAFKA_TLS_SERVER_NAME": "elsewhere"}, cli.ExitBroker,
			"louver: brokers " + encrypted + ": the broker's certificate is for another name ("},
		{"wrong password", secured, user, cli.ExitBroker,
			"louver: brokers " + secured +
				`: the broker refuses the user "me" (PLAIN); check LOUVER_KAFKA_SASL_USERNAME, its password and LOUVER_KAFKA_SASL_MECHANISM`},
		{"no port", "kafka", nil, cli.ExitInvalid,
			`louver: LOUVER_KAFKA_BROKERS: broker address "kafka"; want host:port, such as kafka:9092`},
		{"no broker", "", nil, cli.ExitInvalid,
			"louver: LOUVER_KAFKA_BROKERS: no broker address is given; want at least one host:port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("LOUVER_KAFKA_BROKERS", c.brokers)
			for name, value := range c.environment {
				t.Setenv(name, value)
			}
			got := commandLine(t, "", "audit")
			got.wants(t, c.code, c.want)
			if strings.Contains(got.err, "SECRET") {
				t.Errorf("the password is told: %s", got.err)
			}
		})
	}
}

// One of several brokers names an address that cannot be reached: check says in one line which broker it is and what to
// look at, whether or not it needs that one.
func TestCheckWithOneBrokerAway(t *testing.T) {
	var listeners []net.Listener
	b := kafkatest.Fake(t, kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		listeners = append(listeners, l)
		return l, err
	}))
	b.CreateTopic(t, "checkout.events", 30, nil) // each broker leads some of its partitions
	if err := listeners[2].Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LOUVER_KAFKA_BROKERS", b.Conn.Brokers[0])
	away := fmt.Sprintf("broker 2 says that it is at %s, which cannot be reached (connection refused): check its "+
		"advertised.listeners", listeners[2].Addr())
	got := commandLine(t, "", "check", "--connect", clitest.File(t, "s.yaml", clitest.StreamsFile))
	if strings.Count(got.err, away) != 1 {
		t.Errorf("check: %+v; want one line %s", got, away)
	}
}

func TestNoLedger(t *testing.T) {
	b := kafkatest.Fake(t)
	for _, command := range []string{"audit", "budget"} {
		commandLine(t, "", command, "--app-id", "shop", "--kafka-brokers", strings.Join(b.Conn.Brokers, ",")).wants(t,
			cli.ExitBroker,
			"louver: app shop has no ledger: topic shop.ledger does not exist, or you may not describe it; check "+
				"LOUVER_APP_ID, or run louver first")
	}
}

// An output topic that is gone is told at once: nobody would create it while the audit waits.
func TestAuditOfDeletedOutput(t *testing.T) {
	b := kafkatest.Fake(t)
	name, output := topics.Names{App: "shop"}.Ledger(), "shop.out"
	b.CreateTopic(t, name, topics.Partitions, nil)
	e := ledgertest.Plan{Stream: "s", Budget: "s", Epsilon: "1", Limit: ledgertest.Limit("10", time.Hour)}.Entry(0)
	e.App, e.Output = "shop", output
	e = ledgertest.Settle(t, ledger.NewBooks(), e)
	b.Produce(t, name, 0, txn.Record{Key: e.Key(), Value: ledgertest.Encode(t, e)})
	audit := func() outcome {
		return commandLine(t, "", "audit", "--app-id", "shop", "--kafka-brokers", strings.Join(b.Conn.Brokers, ","))
	}
	audit().wants(t, cli.ExitBroker,
		"louver: output topic shop.out does not exist, or you may not describe it, so its figures cannot be compared; "+
			"grant Describe, or create it again, even empty")
	b.CreateTopic(t, output, 1, nil)
	if got := audit(); !strings.Contains(got.out, "1 ledger entry, 0 outputs") {
		t.Errorf("with an empty topic: %+v", got)
	}
}

// Failures are told soon, so that nobody wonders for half a minute.
func TestWaitingForKafkaIsTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int)
	go func() {
		done <- execute(ctx, []string{"audit", "--kafka-brokers", address}, strings.NewReader(""), io.Discard, in)
	}()
	line := make([]byte, 1<<10)
	n, err := out.Read(line)
	if err != nil || !strings.Contains(string(line[:n]), "cannot reach Kafka yet, trying for 30s") ||
		!strings.Contains(string(line[:n]), "nothing listens there") {
		t.Errorf("%s, %v", line[:n], err)
	}
	cancel()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	select {
	case <-done:
	case <-kafkatest.Context(t).Done():
		t.Error("it goes on though it was told to stop")
	}
}
