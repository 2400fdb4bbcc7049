package topics

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// metadata asks for the metadata of topics in a version that kafka-go does not know, and returns an answer for each;
// nil if the broker is older than Kafka 2.8. It can include the rights of who asks.
func metadata(ctx context.Context, client *kafka.Client, rights bool, names ...string) (
	[]kmsg.MetadataResponseTopic, error) {
	m, err := client.Transport.RoundTrip(ctx, client.Addr, describe{names, rights})
	if err != nil {
		return nil, err
	}
	switch answer := m.(*describedTopics); {
	case answer.old:
		return nil, nil
	case len(answer.all) != len(names): // none, if the request has failed: that says nothing of a topic
		return nil, fmt.Errorf("metadata of %d topics; want %d", len(answer.all), len(names))
	default:
		return answer.all, nil
	}
}

// describe is the request for [metadata].
type describe struct {
	topics []string
	rights bool
}

// describedTopics is the answer.
type describedTopics struct {
	all []kmsg.MetadataResponseTopic
	old bool // the broker is older than Kafka 2.8, and gives no ids
}

var _ protocol.RawExchanger = describe{}

func (describe) ApiKey() protocol.ApiKey         { return protocol.Metadata }
func (*describedTopics) ApiKey() protocol.ApiKey { return protocol.Metadata }

// Required always takes over the exchange.
func (describe) Required(map[protocol.ApiKey]int16) bool { return true }

const (
	withIDs = 10 // the first version of metadata with ids
	atMost  = 12 // the last version that is understood here
)

// RawExchange asks which versions the broker takes, and then for the metadata.
func (q describe) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	const correlation = 1 // a connection carries one request at a time
	if err := protocol.WriteRequest(rw, 0, correlation, "", new(apiversions.Request)); err != nil {
		return nil, err
	}
	_, m, err := protocol.ReadResponse(rw, protocol.ApiVersions, 0)
	if err != nil {
		return nil, err
	}
	version := int16(-1)
	for _, k := range m.(*apiversions.Response).ApiKeys {
		if protocol.ApiKey(k.ApiKey) == protocol.Metadata {
			version = min(k.MaxVersion, atMost)
		}
	}
	if version < withIDs {
		return &describedTopics{old: true}, nil
	}
	request := kmsg.NewPtrMetadataRequest()
	request.Version = version
	request.IncludeTopicAuthorizedOperations = q.rights
	for _, name := range q.topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		request.Topics = append(request.Topics, topic)
	}
	if _, err := rw.Write(kmsg.NewRequestFormatter().AppendRequest(nil, request, correlation)); err != nil {
		return nil, err
	}
	var size int32
	if err := binary.Read(rw, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	const header, limit = 5, 16 << 20 // the correlation and the number of tags, which is 0
	if size < header || size > limit {
		return nil, fmt.Errorf("metadata of %d bytes; want %d to %d", size, header, limit)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(rw, body); err != nil {
		return nil, err
	}
	response := request.ResponseKind().(*kmsg.MetadataResponse)
	if err := response.ReadFrom(body[header:]); err != nil {
		return nil, err
	}
	return &describedTopics{all: response.Topics}, nil
}
