package kafkatest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"regexp"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/louver/louver/stream/kafka/embedded"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// patience bounds each wait of a test. It is long, because the machine may be busy: it ends a test that hangs, and
// never decides whether one passes.
const patience = 3 * time.Minute

// Broker is a Kafka broker, or a few, for a test.
type Broker struct {
	// Conn connects to it.
	Conn *kafkaconn.Conn
	// Fake injects failures; it is nil for a real broker.
	Fake *kfake.Cluster
	// nodes is empty for a fake broker.
	nodes []*server
	// dial is nil where connections are TCP.
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Each runs f as a subtest on a fake and on a real broker, side by side, because a test mostly waits.
func Each(t *testing.T, f func(t *testing.T, b *Broker)) {
	t.Helper()
	t.Run("fake", func(t *testing.T) { t.Parallel(); f(t, Fake(t)) })
	t.Run("real", func(t *testing.T) { t.Parallel(); f(t, Real(t)) })
}

// Fake starts three fake brokers for this test.
func Fake(t testing.TB, options ...kfake.Opt) *Broker {
	t.Helper()
	cluster, err := embedded.Start(net.Listen, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	b := &Broker{Fake: cluster}
	b.connect(t, cluster.ListenAddrs())
	return b
}

func (b *Broker) connect(t testing.TB, addrs []string) {
	t.Helper()
	b.connectAs(t, addrs, nil)
}

func (b *Broker) connectAs(t testing.TB, addrs []string, user sasl.Mechanism) {
	t.Helper()
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: addrs, ClientID: "louver-test", SASL: user, Dial: b.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b.Conn = conn
}

// Context ends with the test, or when a test has waited too long.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Await polls until cond is true. what says what the test waits for. It asks less often the longer it waits. cond may
// read whole topics, and in fake time that is all that a test costs.
func Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	begun := time.Now()
	for !cond() {
		waited := time.Since(begun)
		if waited > patience {
			t.Fatalf("waited %v for this: %s", patience, what)
		}
		<-time.After(min(max(waited/20, 20*time.Millisecond), time.Second))
	}
}

// Receive waits for a value from a channel. what says what the test waits for.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatalf("waited %v for this: %s", patience, what)
		panic("unreachable")
	}
}

var unfit = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// Name makes a name for a topic, group or transactional id that nobody else uses, because all tests of a process share
// a real broker.
func Name(t testing.TB) string {
	t.Helper()
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return unfit.ReplaceAllString(t.Name(), "-") + "-" + hex.EncodeToString(b[:])
}

// Topic creates a topic under a new name.
func (b *Broker) Topic(t testing.TB, partitions int, configs map[string]string) string {
	t.Helper()
	name := Name(t)
	b.CreateTopic(t, name, partitions, configs)
	return name
}

// CreateTopic creates a topic and waits until its leaders are known.
func (b *Broker) CreateTopic(t testing.TB, name string, partitions int, configs map[string]string) {
	t.Helper()
	c := kafka.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: max(1, len(b.nodes))}
	for k, v := range configs {
		c.ConfigEntries = append(c.ConfigEntries, kafka.ConfigEntry{ConfigName: k, ConfigValue: v})
	}
	try(t, "create topic "+name, func(ctx context.Context) error {
		res, err := b.Conn.Client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{c}})
		if err != nil {
			return err
		}
		switch err := res.Errors[name]; {
		case errors.Is(err, kafka.InvalidReplicationFactor):
			return fmt.Errorf("%w: %w", kafka.BrokerNotAvailable, err) // a real broker may have missed a heartbeat
		case errors.Is(err, kafka.TopicAlreadyExists):
			return nil // made by an earlier try
		default:
			return err
		}
	})
	all := make([]int, partitions)
	for i := range all {
		all[i] = i
	}
	try(t, "find the leaders of "+name, func(ctx context.Context) error {
		_, err := b.Fetch(fetch.Options{}).Ends(ctx, name, all)
		return err
	})
}

// DeleteTopic deletes a topic and waits until it is gone. The controller forgets it first; a busy broker still lists it
// for a while. By then somebody may have created it again.
func (b *Broker) DeleteTopic(t testing.TB, name string) {
	t.Helper()
	var before string
	try(t, "identify topic "+name, func(ctx context.Context) (err error) {
		before, err = topics.ID(ctx, b.Conn.Client, name)
		return err
	})
	try(t, "delete topic "+name, func(ctx context.Context) error {
		res, err := b.Conn.Client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
		if err != nil {
			return err
		}
		if err := res.Errors[name]; !errors.Is(err, kafka.UnknownTopicOrPartition) { // by an earlier try
			return err
		}
		return nil
	})
	Await(t, "topic "+name+" is gone", func() bool {
		now, err := topics.ID(Context(t), b.Conn.Client, name)
		return errors.Is(err, kafka.UnknownTopicOrPartition) || err == nil && now != before
	})
}

// try runs f until it succeeds, and fails the test if that takes too long.
func try(t testing.TB, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := kafkaconn.Retry(ctx, nil, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// DeleteRecords deletes the records below the offset before.
func (b *Broker) DeleteRecords(t testing.TB, topic string, partition int, before int64) {
	t.Helper()
	if b.Fake != nil {
		if err := b.Fake.DeleteRecords(topic, int32(partition), before); err != nil {
			t.Fatal(err)
		}
		return
	}
	try(t, fmt.Sprintf("delete records of %s/%d", topic, partition), func(ctx context.Context) error {
		return topics.DeleteBefore(ctx, b.Conn.Client, topic, partition, before)
	})
}

// Fetch returns a client that reads from the broker.
func (b *Broker) Fetch(o fetch.Options) *fetch.Client {
	return fetch.New(b.Conn.Transport, b.Conn.Addr, o)
}

// Produce writes records to a partition, outside of any transaction.
func (b *Broker) Produce(t testing.TB, topic string, partition int, records ...txn.Record) {
	t.Helper()
	try(t, "produce", func(ctx context.Context) error {
		return txn.Send(ctx, b.Conn.Client, placed(topic, partition, records))
	})
}

func placed(topic string, partition int, records []txn.Record) []txn.Record {
	out := make([]txn.Record, len(records))
	for i, r := range records {
		r.Topic, r.Partition = topic, partition
		out[i] = r
	}
	return out
}

// Values makes a record of each value.
func Values(values ...string) []txn.Record {
	out := make([]txn.Record, len(values))
	for i, v := range values {
		out[i].Value = []byte(v)
	}
	return out
}

// Message is a record that was read.
type Message struct {
	Offset     int64
	Time       int64 // Unix milliseconds
	Key, Value string
	Headers    map[string]string
}

// Consume reads all committed records of a partition. It waits for the transactions that are open.
func (b *Broker) Consume(t testing.TB, topic string, partition int) []Message {
	t.Helper()
	var out []Message
	_, err := b.Fetch(fetch.Options{}).ReadAll(Context(t), topic, partition, kafka.FirstOffset,
		func(r *fetch.Record) error {
			m := Message{Offset: r.Offset, Time: r.Time, Key: string(r.Key), Value: string(r.Value)}
			for k, v := range r.Headers() {
				if m.Headers == nil {
					m.Headers = make(map[string]string)
				}
				m.Headers[k] = string(v)
			}
			out = append(out, m)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ConsumeValues returns the values of the records that Consume returns.
func (b *Broker) ConsumeValues(t testing.TB, topic string, partition int) []string {
	t.Helper()
	var out []string
	for _, m := range b.Consume(t, topic, partition) {
		out = append(out, m.Value)
	}
	return out
}
