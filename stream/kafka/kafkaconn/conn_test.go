package kafkaconn_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

// certificate makes one for 127.0.0.1, and the pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func scramOf(t *testing.T, password string) sasl.Mechanism {
	t.Helper()
	m, err := scram.Mechanism(scram.SHA512, "louver", password)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// opened returns a connection that ends with the test.
func opened(t *testing.T, c kafkaconn.Config) *kafkaconn.Conn {
	t.Helper()
	conn, err := kafkaconn.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// Everything that talks to Kafka does so over TLS and with credentials.
func TestTLSAndSASL(t *testing.T) {
	cert, pool := certificate(t)
	cluster, err := kfake.NewCluster(kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}), kfake.EnableSASL(),
		kfake.EnableACLs(),
		kfake.Superuser("PLAIN", "plainuser", "secret"), kfake.Superuser("SCRAM-SHA-512", "louver", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	trust := &tls.Config{RootCAs: pool}
	for name, mechanism := range map[string]sasl.Mechanism{"plain": plain.Mechanism{Username: "plainuser",
		Password: "secret"}, "scram": scramOf(t, "secret")} {
		t.Run(name, func(t *testing.T) {
			conn := opened(t, kafkaconn.Config{Brokers: cluster.ListenAddrs(), TLS: trust, SASL: mechanism, ClientID: "c"})
			ctx := kafkatest.Context(t)
			if err := conn.Check(ctx, nil); err != nil {
				t.Fatal(err)
			}
			topic := kafkatest.Name(t)
			if err := cluster.CreateTopic(topic, 1, nil); err != nil {
				t.Fatal(err)
			}
			p, err := txn.Open(ctx, conn.Client, topic, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Commit(ctx,
				txn.Transaction{Records: []txn.Record{{Topic: topic, Value: []byte("v")}}}); err != nil {
				t.Fatal(err)
			}
			n := 0
			if _, err := fetch.New(conn.Transport, conn.Addr, fetch.Options{}).ReadAll(ctx, topic, 0, 0,
				func(*fetch.Record) error {
					n++
					return nil
				}); err != nil || n != 1 {
				t.Errorf("%d records, %v", n, err)
			}
			m, err := group.Join(ctx, group.Config{Conn: conn, GroupID: topic, Topics: []string{topic}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Next(ctx); err != nil {
				t.Error(err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for name, c := range map[string]kafkaconn.Config{
		"wrong password":      {TLS: trust, SASL: scramOf(t, "wrong")},
		"wrong plain":         {TLS: trust, SASL: plain.Mechanism{Username: "plainuser", Password: "wrong"}},
		"unknown certificate": {TLS: &tls.Config{}, SASL: scramOf(t, "secret")},
		"another host's":      {TLS: &tls.Config{RootCAs: pool, ServerName: "elsewhere"}, SASL: scramOf(t, "secret")},
	} {
		t.Run(name, func(t *testing.T) {
			c.Brokers = cluster.ListenAddrs()
			conn := opened(t, c)
			// At once: well before the time that is allowed.
			if err := conn.Check(kafkatest.Context(t), nil); !kafkaconn.Refused(err) {
				t.Errorf("%v, want to be refused", err)
			}
		})
	}
}

// A broker gets a certificate of another authority. Connections are refused as long as that is not trusted, and made as
// soon as it is, without a new Conn.
func TestAuthoritiesOfTheMoment(t *testing.T) {
	old, oldPool := certificate(t)
	renewed, renewedPool := certificate(t)
	var shown atomic.Pointer[tls.Certificate]
	shown.Store(&old)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.TLS(&tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate,
			error) {
			return shown.Load(), nil
		}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	var trusted atomic.Pointer[x509.CertPool]
	trusted.Store(oldPool)
	conn := opened(t, kafkaconn.Config{Brokers: cluster.ListenAddrs(), TLS: &tls.Config{},
		Authorities: func() (*x509.CertPool, error) { return trusted.Load(), nil }})
	ctx := kafkatest.Context(t)
	if err := conn.Check(ctx, nil); err != nil {
		t.Fatal(err)
	}
	shown.Store(&renewed)
	if err := conn.Check(ctx, nil); !kafkaconn.Refused(err) {
		t.Errorf("%v with a certificate of another authority, want to be refused", err)
	}
	trusted.Store(renewedPool)
	if err := conn.Check(ctx, nil); err != nil {
		t.Errorf("%v with an authority that is trusted now", err)
	}
	shown.Store(&old)
	if err := conn.Check(ctx, nil); !kafkaconn.Refused(err) {
		t.Errorf("%v with a certificate of an authority that is no longer trusted, want to be refused", err)
	}
}

func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		conn := opened(t, kafkaconn.Config{Brokers: []string{"kafka:9092"},
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // of the bubble's clock
		defer cancel()
		err := conn.Check(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) ||
			kafkaconn.Refused(err) {
			t.Errorf("%v, want that time ran out, and why", err)
		}
	})
}

func TestConfig(t *testing.T) {
	for _, brokers := range [][]string{nil, {""}, {"kafka"}, {":9092"}, {"kafka:"}, {"kafka:9092", "x"}} {
		if _, err := kafkaconn.New(kafkaconn.Config{Brokers: brokers}); err == nil {
			t.Errorf("%q is accepted", brokers)
		}
	}
	if _, err := kafkaconn.New(kafkaconn.Config{Brokers: []string{"kafka:9092", "[::1]:9092"}}); err != nil {
		t.Error(err)
	}
}

func TestRetriable(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{kafka.NotLeaderForPartition, true},
		{kafka.LeaderNotAvailable, true},
		{kafka.OffsetNotAvailable, true},
		{kafka.UnknownTopicOrPartition, true},
		{kafka.GroupCoordinatorNotAvailable, true},
		{kafka.NotCoordinatorForGroup, true},
		{kafka.GroupLoadInProgress, true},
		{kafka.ConcurrentTransactions, true},
		{kafka.BrokerNotAvailable, true},
		{protocol.NewErrNoTopic("t"), true},
		{protocol.NewErrNoLeader("t", 1), true},
		{io.EOF, true},
		{io.ErrUnexpectedEOF, true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{context.DeadlineExceeded, true},
		{&net.DNSError{}, true},
		{nil, false},
		{context.Canceled, false},
		{kafka.ProducerFenced, false},
		{kafka.InvalidProducerEpoch, false},
		{kafka.TopicAuthorizationFailed, false},
		{kafka.MessageSizeTooLarge, false},
		{kafka.SASLAuthenticationFailed, false},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, false},
		{errors.New("anything else"), false},
	} {
		if got := kafkaconn.Retriable(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
		if c.err != nil && kafkaconn.Retriable(fmt.Errorf("wrapped: %w", c.err)) != c.want {
			t.Errorf("%v: not seen when wrapped", c.err)
		}
	}
}

func TestRetry(t *testing.T) {
	var heard []error
	tries := 0
	got, err := kafkaconn.Retry(t.Context(), func(err error) { heard = append(heard, err) },
		func(context.Context) (int, error) {
			if tries++; tries < 3 {
				return 0, io.EOF
			}
			return 7, nil
		})
	if got != 7 || err != nil || tries != 3 || !slices.Equal(heard, []error{io.EOF, io.EOF, nil}) {
		t.Errorf("%d, %v after %d tries, heard %v", got, err, tries, heard)
	}
	tries = 0
	if _, err := kafkaconn.Retry(t.Context(), nil, func(context.Context) (int, error) {
		tries++
		return 0, kafka.ProducerFenced
	}); tries != 1 || !errors.Is(err, kafka.ProducerFenced) {
		t.Errorf("%v after %d tries", err, tries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := kafkaconn.Retry(ctx, func(error) { cancel() },
		func(context.Context) (int, error) { return 0, io.EOF }); !errors.Is(err, context.Canceled) ||
		!errors.Is(err, io.EOF) {
		t.Errorf("%v, want why it ended and what failed", err)
	}
}

// TestCausesAreNotFailures ends waits because something else failed: its error is not one of what waited.
func TestCausesAreNotFailures(t *testing.T) {
	elsewhere := &fetch.TruncatedError{Topic: "ledger"}
	for name, try := range map[string]func(context.Context, func(error), func(context.Context) (int, error)) (int,
		error){
		"Retry": kafkaconn.Retry[int], "Persist": kafkaconn.Persist[int],
	} {
		for when, before := range map[string]bool{"before": true, "during a wait": false} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if before {
				cancel(elsewhere)
			}
			_, err := try(ctx, func(error) { cancel(elsewhere) }, func(ctx context.Context) (int,
				error) {
				return 0, cmp.Or(ctx.Err(), io.EOF)
			})
			if !errors.Is(err, context.Canceled) || errors.Is(err, elsewhere) {
				t.Errorf("%s, ended %s, gives %v", name, when, err)
			}
		}
	}
}
