package topics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/createtopics"
)

// ErrUnfit means that a topic exists but does not match the plan. Waiting does not help.
var ErrUnfit = errors.New("topic unsuitable")

// The content of the app's own topics must survive the loss of a broker: if an acknowledged charge were lost, its ε
// would be spent again. A record is acknowledged when two brokers have it, if there are two replicas. With three, one
// broker may be down meanwhile; with two, the app waits for it. A broker that lacks acknowledged records must never
// lead a partition: what it lacks would be gone.

// minInsync is the setting that says how many brokers must have a record before it is acknowledged.
const minInsync = "min.insync.replicas"

// safe is the number of brokers that must have a record of a topic with so many replicas.
func safe(replicas int) int {
	return max(1, min(replicas, 2))
}

// unclean is the setting that lets a broker lead although it lacks acknowledged records. A topic without it follows the
// brokers' setting.
const unclean = "unclean.leader.election.enable"

// replicasOf returns how many replicas a topic will get when it is created. It asks the broker, which knows the
// default. It returns 0 if the broker does not say, or if the topic can't be created. The attempt to create it will
// report why.
func replicasOf(ctx context.Context, client *kafka.Client, c kafka.TopicConfig) (int, error) {
	if c.ReplicationFactor > 0 {
		return c.ReplicationFactor, nil
	}
	const limit = 10_000 // milliseconds
	topic := createtopics.RequestTopic{Name: c.Topic, NumPartitions: int32(c.NumPartitions), ReplicationFactor: -1}
	m, err := client.Transport.RoundTrip(ctx, client.Addr, &rehearsal{request: createtopics.Request{TimeoutMs: limit,
		ValidateOnly: true, Topics: []createtopics.RequestTopic{topic}}})
	if err != nil {
		return 0, fmt.Errorf("ask for the replicas of topic %s: %w", c.Topic, err)
	}
	for _, t := range m.(*rehearsed).response.Topics {
		if t.Name == c.Topic && t.ErrorCode == 0 {
			return int(t.ReplicationFactor), nil
		}
	}
	return 0, nil
}

// rehearsal is a request to create topics that is only validated. kafka-go's own request would wait for ever until they
// exist.
type rehearsal struct {
	request createtopics.Request
	version int16
}

// rehearsed is the broker's answer.
type rehearsed struct{ response createtopics.Response }

var (
	_ protocol.BrokerMessage = (*rehearsal)(nil)
	_ protocol.RawExchanger  = (*rehearsal)(nil)
)

func (*rehearsal) ApiKey() protocol.ApiKey { return protocol.CreateTopics }
func (*rehearsed) ApiKey() protocol.ApiKey { return protocol.CreateTopics }

// Broker routes the request to the controller.
func (r *rehearsal) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	return r.request.Broker(cluster)
}

// Required always takes over the exchange.
func (r *rehearsal) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.CreateTopics]
	return true
}

// RawExchange writes the request and reads the answer. Before version 5 (Kafka 2.4) the answer does not hold the
// replicas.
func (r *rehearsal) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	const correlation = 1 // a connection carries one request at a time
	if err := protocol.WriteRequest(rw, r.version, correlation, "", &r.request); err != nil {
		return nil, err
	}
	_, m, err := protocol.ReadResponse(rw, protocol.CreateTopics, r.version)
	if err != nil {
		return nil, err
	}
	return &rehearsed{*m.(*createtopics.Response)}, nil
}

// survives checks that records of the app's own topics can be acknowledged at all. The warnings say that the loss of
// one broker may lose an acknowledged record. Then this version did not create the topic, and changing it is up to the
// operator.
func survives(t Topic, partitions []kafka.Partition, settings map[string]string) (warnings []string, err error) {
	if !t.Own() {
		return nil, nil
	}
	alter := "kafka-configs.sh --alter --topic " + t.Name + " --add-config "
	if settings[unclean] == "true" {
		warnings = append(warnings, fmt.Sprintf("%s has %s=true, so what was charged may be lost when a broker "+
			"that lacks it takes over; set it to false: %s%[2]s=false", t.Name, unclean, alter))
	}
	have, err := strconv.Atoi(settings[minInsync])
	if err != nil || len(partitions) == 0 {
		return warnings, nil // the broker does not say
	}
	replicas := len(partitions[0].Replicas)
	for _, p := range partitions {
		replicas = min(replicas, len(p.Replicas))
	}
	want := safe(replicas)
	is := fmt.Sprintf("%s has %s=%d and %d replicas", t.Name, minInsync, have, replicas)
	command := fmt.Sprintf("%s%s=%d", alter, minInsync, want)
	switch {
	case have > replicas:
		return nil, fmt.Errorf("%w: %s, so no record can be acknowledged; it needs %d: %s", ErrUnfit, is, want, command)
	case have < want:
		warnings = append(warnings,
			fmt.Sprintf("%s, so what was charged may be lost with one broker; set it to %d: %s", is, want, command))
	}
	return warnings, nil
}
