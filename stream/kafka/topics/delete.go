package topics

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

func init() { protocol.Register(&deleteRequest{}, &deleteResponse{}) }

// DeleteBefore deletes the records of a partition below an offset. It tries once. If a right is missing, the error
// names it.
func DeleteBefore(ctx context.Context, client *kafka.Client, topic string, partition int, offset int64) error {
	const limit = 10_000 // milliseconds
	m, err := client.Transport.RoundTrip(ctx, client.Addr, &deleteRequest{TimeoutMs: limit,
		Topics: []deleteRequestTopic{{topic, []deleteRequestPartition{{int32(partition), offset}}}}})
	if err == nil {
		err = m.(*deleteResponse).error()
	}
	if err != nil {
		return fmt.Errorf("delete the records of %s/%d below offset %d: %w", topic, partition, offset,
			kafkaconn.Needs(err, "Delete", "topic "+topic))
	}
	return nil
}

// deleteRequest is DeleteRecords for one partition, which kafka-go lacks. It goes to the partition's leader.
type deleteRequest struct {
	Topics    []deleteRequestTopic `kafka:"min=v0,max=v1"`
	TimeoutMs int32                `kafka:"min=v0,max=v1"`
}

type deleteRequestTopic struct {
	Name       string                   `kafka:"min=v0,max=v1"`
	Partitions []deleteRequestPartition `kafka:"min=v0,max=v1"`
}

type deleteRequestPartition struct {
	Partition int32 `kafka:"min=v0,max=v1"`
	Offset    int64 `kafka:"min=v0,max=v1"`
}

type deleteResponse struct {
	ThrottleTimeMs int32                 `kafka:"min=v0,max=v1"`
	Topics         []deleteResponseTopic `kafka:"min=v0,max=v1"`
}

type deleteResponseTopic struct {
	Name       string                    `kafka:"min=v0,max=v1"`
	Partitions []deleteResponsePartition `kafka:"min=v0,max=v1"`
}

type deleteResponsePartition struct {
	Partition    int32 `kafka:"min=v0,max=v1"`
	LowWatermark int64 `kafka:"min=v0,max=v1"`
	ErrorCode    int16 `kafka:"min=v0,max=v1"`
}

var _ protocol.BrokerMessage = (*deleteRequest)(nil)

func (*deleteRequest) ApiKey() protocol.ApiKey  { return protocol.DeleteRecords }
func (*deleteResponse) ApiKey() protocol.ApiKey { return protocol.DeleteRecords }

// Broker routes the request to the partition's leader.
func (r *deleteRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	t := r.Topics[0]
	topic, ok := cluster.Topics[t.Name]
	if !ok {
		return protocol.Broker{}, kafka.UnknownTopicOrPartition
	}
	for _, p := range topic.Partitions {
		if p.ID == t.Partitions[0].Partition {
			return cluster.Brokers[p.Leader], nil
		}
	}
	return protocol.Broker{}, kafka.UnknownTopicOrPartition
}

func (r *deleteResponse) error() error {
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return kafka.Unknown
	}
	if code := r.Topics[0].Partitions[0].ErrorCode; code != 0 {
		return kafka.Error(code)
	}
	return nil
}
