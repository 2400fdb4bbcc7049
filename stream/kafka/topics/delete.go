package topics

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// DeleteBefore deletes the records of a partition below an offset. It tries once. If a right is missing, the error
// names it.
func DeleteBefore(ctx context.Context, client *kafka.Client, topic string, partition int, offset int64) error {
	below := kmsg.NewDeleteRecordsRequestTopicPartition()
	below.Partition, below.Offset = int32(partition), offset
	of := kmsg.NewDeleteRecordsRequestTopic()
	of.Topic, of.Partitions = topic, append(of.Partitions, below)
	request := kmsg.NewPtrDeleteRecordsRequest() // which kafka-go lacks
	request.Version, request.TimeoutMillis, request.Topics = 1, timeout, append(request.Topics, of)
	m, err := kafkaconn.Exchange{Request: request, Broker: leader(topic, partition)}.Send(ctx, client)
	if err == nil {
		err = deleted(m.(*kmsg.DeleteRecordsResponse))
	}
	if err != nil {
		return fmt.Errorf("delete the records of %s/%d below offset %d: %w", topic, partition, offset,
			kafkaconn.Needs(err, "Delete", "topic "+topic))
	}
	return nil
}

// leader finds the leader of a partition.
func leader(topic string, partition int) func(protocol.Cluster) (protocol.Broker, error) {
	return func(c protocol.Cluster) (protocol.Broker, error) {
		p, ok := c.Topics[topic].Partitions[int32(partition)]
		if !ok {
			return protocol.Broker{}, kafka.UnknownTopicOrPartition
		}
		return c.Brokers[p.Leader], nil
	}
}

// deleted returns the error in an answer about one partition.
func deleted(m *kmsg.DeleteRecordsResponse) error {
	if len(m.Topics) != 1 || len(m.Topics[0].Partitions) != 1 {
		return kafka.Unknown
	}
	return kafkaconn.Coded(m.Topics[0].Partitions[0].ErrorCode)
}
