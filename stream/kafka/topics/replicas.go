package topics

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/kafkaconn"
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
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = c.Topic, int32(c.NumPartitions), -1
	// kafka-go's own request would wait for ever until the topic exists.
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Version, request.ValidateOnly = lastCreate, true
	request.TimeoutMillis, request.Topics = timeout, append(request.Topics, topic)
	m, err := kafkaconn.Exchange{Request: request, Least: firstCreate, Broker: controller}.Send(ctx, client)
	if err != nil {
		return 0, fmt.Errorf("ask for the replicas of topic %s: %w", c.Topic, err)
	}
	for _, t := range m.(*kmsg.CreateTopicsResponse).Topics {
		if t.Topic == c.Topic && t.ErrorCode == 0 {
			return max(0, int(t.ReplicationFactor)), nil
		}
	}
	return 0, nil
}

const (
	// firstCreate is the first version of a request to create topics that can be only validated, and lastCreate the
	// first one whose answer has the replicas (Kafka 2.4).
	firstCreate, lastCreate = 1, 5
	// timeout is how long a broker may take, in milliseconds.
	timeout = 10_000
)

func controller(c protocol.Cluster) (protocol.Broker, error) { return c.Brokers[c.Controller], nil }

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
