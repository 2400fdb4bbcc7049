package topics

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// ID returns the id of a topic. A topic that is deleted and recreated gets another id. Before Kafka 2.8 topics have no
// id; ID then returns "". It tries once.
func ID(ctx context.Context, client *kafka.Client, topic string) (string, error) {
	all, err := metadata(ctx, client, false, topic)
	switch {
	case err != nil:
		return "", fmt.Errorf("ask for the id of topic %s: %w", topic, err)
	case all == nil:
		return "", nil
	case all[0].ErrorCode != 0:
		return "", fmt.Errorf("ask for the id of topic %s: %w", topic, kafka.Error(all[0].ErrorCode))
	case all[0].TopicID == [16]byte{}:
		return "", nil
	}
	return hex.EncodeToString(all[0].TopicID[:]), nil
}

// The first version of metadata with ids, and the last one that is understood here.
const firstWithIDs, lastMetadata = 10, 12

// metadata asks for the metadata of topics in a version that kafka-go does not know, and returns an answer for each;
// nil if the broker is older than Kafka 2.8. It can include the rights of who asks.
func metadata(ctx context.Context, client *kafka.Client, rights bool, names ...string) (
	[]kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.Version = lastMetadata
	request.IncludeTopicAuthorizedOperations = rights
	for _, name := range names {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	m, err := kafkaconn.Exchange{Request: request, Least: firstWithIDs}.Send(ctx, client)
	switch {
	case errors.Is(err, kafkaconn.ErrTooOld):
		return nil, nil
	case err != nil:
		return nil, err
	}
	all := m.(*kmsg.MetadataResponse).Topics
	if len(all) != len(names) { // none, if the request has failed: that says nothing of a topic
		return nil, fmt.Errorf("metadata of %d topics; want %d", len(all), len(names))
	}
	return all, nil
}
