package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/kafkatest"
)

// toEmbedded returns a connection to an embedded broker. Both end with the test.
func toEmbedded(t *testing.T, more ...kfake.Opt) *kafkaconn.Conn {
	t.Helper()
	broker, err := embedded("127.0.0.1", 0, "", more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: broker.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// TestEmbeddedBrokerRefusesNames: what works on the embedded broker must work on Kafka, too.
func TestEmbeddedBrokerRefusesNames(t *testing.T) {
	conn := toEmbedded(t)
	for name, want := range map[string]error{
		"good.topic_1-a": nil, strings.Repeat("x", 249): nil, "...a": nil,
		"bad topic": kafka.InvalidTopic, "bad/topic": kafka.InvalidTopic, ".": kafka.InvalidTopic,
		"..":                     kafka.InvalidTopic,
		strings.Repeat("x", 250): kafka.InvalidTopic, "späße": kafka.InvalidTopic,
	} {
		ctx := kafkatest.Context(t)
		made, err := conn.Client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{Topic: name,
			NumPartitions: 1, ReplicationFactor: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Errors[name]; !errors.Is(err, want) {
			t.Errorf("topic %q is made with %v, want %v", name, err, want)
		}
		answer, err := conn.Transport.RoundTrip(ctx, conn.Addr,
			&metadata.Request{TopicNames: []string{name}, AllowAutoTopicCreation: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range answer.(*metadata.Response).Topics {
			if code := kafka.Error(topic.ErrorCode); (code != 0) != (want != nil) || want != nil &&
				!errors.Is(code, want) {
				t.Errorf("asked for topic %q, the broker says %v, want %v", name, code, want)
			}
		}
	}
	all, err := conn.Client.Metadata(kafkatest.Context(t), &kafka.MetadataRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range all.Topics {
		if strings.Contains(topic.Name, "bad") || strings.Trim(topic.Name, ".") == "" {
			t.Errorf("there is a topic %q", topic.Name)
		}
	}
}

// The broker keeps what it has: a topic that kfake has compacted begins later, which stops a service that starts again.
func TestEmbeddedBrokerKeepsRecords(t *testing.T) {
	for _, more := range [][]kfake.Opt{nil, {inPieces()}} {
		conn := toEmbedded(t, more...)
		answer, err := conn.Client.DescribeConfigs(kafkatest.Context(t), &kafka.DescribeConfigsRequest{
			Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeBroker, ResourceName: "0",
				ConfigNames: []string{cleanEvery}}}})
		if err != nil {
			t.Fatal(err)
		}
		if entries := answer.Resources[0].ConfigEntries; len(entries) != 1 || entries[0].ConfigValue != never {
			t.Errorf("%+v, want %s", entries, never)
		}
	}
}
