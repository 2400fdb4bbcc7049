package fetch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	wire "github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The supported versions of the Fetch API. v4 added transactions. v12 and later have another encoding and add nothing
// that is needed here.
const (
	minVersion = 4
	maxVersion = 11
)

// maxResponse bounds a response's size field. Kafka never sends a larger one.
const maxResponse = 1 << 30

// request is a Fetch of one partition. kafka-go routes it to the leader, and RawExchange then uses the connection.
type request struct {
	wire     wire.Request
	clientID string
	version  int16
	// buffer is reused for the body of the response if it is large enough.
	buffer []byte
}

// response is the answer for one partition.
type response struct {
	code          int16
	highWatermark int64
	lastStable    int64
	aborted       []aborted
	// records are the raw batches. They are a part of body, which is the request's buffer if it was large enough.
	records []byte
	body    []byte
}

// aborted is an aborted transaction. It reaches from the offset first to the producer's abort marker.
type aborted struct{ producer, first int64 }

var (
	_ protocol.BrokerMessage = (*request)(nil)
	_ protocol.RawExchanger  = (*request)(nil)
)

func (*request) ApiKey() protocol.ApiKey  { return protocol.Fetch }
func (*response) ApiKey() protocol.ApiKey { return protocol.Fetch }

// Broker routes the request to the partition's leader.
func (q *request) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	return q.wire.Broker(cluster)
}

// Required always takes over the exchange, at the negotiated version.
func (q *request) Required(versions map[protocol.ApiKey]int16) bool {
	q.version = versions[protocol.Fetch]
	return true
}

// RawExchange writes the request and reads its response.
func (q *request) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if q.version < minVersion || q.version > maxVersion {
		return nil, fmt.Errorf("the broker speaks Fetch v%d; want v%d to v%d: %w", q.version, minVersion, maxVersion,
			kafka.UnsupportedVersion)
	}
	// Any correlation id will do: the connection carries one request at a time.
	const correlation = 1
	if err := protocol.WriteRequest(rw, q.version, correlation, q.clientID, &q.wire); err != nil {
		return nil, err
	}
	var size uint32
	if err := binary.Read(rw, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	if size < correlationSize || size > maxResponse {
		return nil, fmt.Errorf("fetch response of %d bytes; want %d to %d", size, correlationSize, maxResponse)
	}
	body := grow(q.buffer, int(size))
	if _, err := io.ReadFull(rw, body); err != nil {
		return nil, err
	}
	if id := binary.BigEndian.Uint32(body); id != correlation {
		return nil, fmt.Errorf("fetch response to request %d; want %d", id, correlation)
	}
	res, err := q.response(body)
	if err != nil {
		return nil, fmt.Errorf("fetch response: %w", err)
	}
	return res, nil
}

// correlationSize is how many bytes of a response are its correlation id.
const correlationSize = 4

var errShape = errors.New("it does not answer for the one requested partition")

// response reads the body of a response.
func (q *request) response(body []byte) (*response, error) {
	answer := kmsg.FetchResponse{Version: q.version}
	if err := answer.ReadFrom(body[correlationSize:]); err != nil {
		return nil, err
	}
	if answer.ErrorCode != 0 {
		return &response{code: answer.ErrorCode, body: body}, nil
	}
	topic := &q.wire.Topics[0]
	if len(answer.Topics) != 1 || answer.Topics[0].Topic != topic.Topic || len(answer.Topics[0].Partitions) != 1 ||
		answer.Topics[0].Partitions[0].Partition != topic.Partitions[0].Partition {
		return nil, errShape
	}
	p := &answer.Topics[0].Partitions[0]
	res := &response{code: p.ErrorCode, highWatermark: p.HighWatermark, lastStable: p.LastStableOffset,
		records: p.RecordBatches, body: body}
	for _, a := range p.AbortedTransactions {
		res.aborted = append(res.aborted, aborted{producer: a.ProducerID, first: a.FirstOffset})
	}
	return res, nil
}

// grow returns buffer with length n, or a new one with some room to spare.
func grow(buffer []byte, n int) []byte {
	if n <= cap(buffer) {
		return buffer[:n]
	}
	return make([]byte, n, n+n/4)
}

// list asks once. With an error it also returns the partitions that answered.
func (c *Client) list(ctx context.Context, topic string, partitions []int, time int64) (map[int]int64, error) {
	if len(partitions) == 0 {
		return nil, nil
	}
	q := listoffsets.RequestTopic{Topic: topic}
	for _, p := range partitions {
		q.Partitions = append(q.Partitions, listoffsets.RequestPartition{
			Partition: int32(p), CurrentLeaderEpoch: -1, Timestamp: time,
		})
	}
	m, err := c.transport.RoundTrip(ctx, c.addr, &listoffsets.Request{
		ReplicaID: -1, IsolationLevel: int8(kafka.ReadUncommitted), Topics: []listoffsets.RequestTopic{q},
	})
	if err != nil {
		return nil, err
	}
	found := make(map[int]int64, len(partitions))
	for _, t := range m.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			switch code := kafka.Error(p.ErrorCode); code {
			case 0:
				found[int(p.Partition)] = p.Offset
			case kafka.Unknown:
				// kafka-go's answer for a partition whose broker was not reached.
				err = fmt.Errorf("partition %d: %w", p.Partition, kafka.LeaderNotAvailable)
			default:
				err = fmt.Errorf("partition %d: %w", p.Partition, code)
			}
		}
	}
	if err == nil && len(found) < len(partitions) {
		err = fmt.Errorf("%d of %d partitions answered: %w", len(found), len(partitions), kafka.LeaderNotAvailable)
	}
	return found, err
}
