package topics

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
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
	m, err := client.Transport.RoundTrip(ctx, client.Addr, identify{topic})
	if err != nil {
		return "", fmt.Errorf("ask for the id of topic %s: %w", topic, err)
	}
	answer := m.(*identified)
	if answer.code != 0 {
		return "", fmt.Errorf("ask for the id of topic %s: %w", topic, kafka.Error(answer.code))
	}
	return answer.id, nil
}

// identify asks for a topic's metadata in a version with ids, which kafka-go does not know.
type identify struct{ topic string }

// identified is the answer.
type identified struct {
	id   string
	code int16
}

var _ protocol.RawExchanger = identify{}

func (identify) ApiKey() protocol.ApiKey    { return protocol.Metadata }
func (*identified) ApiKey() protocol.ApiKey { return protocol.Metadata }

// Required always takes over the exchange.
func (identify) Required(map[protocol.ApiKey]int16) bool { return true }

const (
	withIDs = 10 // the first version of metadata with ids
	atMost  = 12 // the last version that is understood here
)

// RawExchange asks which versions the broker takes, and then for the metadata.
func (q identify) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
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
		return &identified{}, nil
	}
	request := kmsg.NewPtrMetadataRequest()
	request.Version = version
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &q.topic
	request.Topics = append(request.Topics, topic)
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
	if len(response.Topics) != 1 {
		return nil, errors.New("metadata of another number of topics than one")
	}
	t := response.Topics[0]
	if t.ErrorCode != 0 || t.TopicID == [16]byte{} {
		return &identified{code: t.ErrorCode}, nil
	}
	return &identified{id: hex.EncodeToString(t.TopicID[:])}, nil
}
