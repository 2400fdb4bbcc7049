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
	// buffer is reused for the records of the response if it is large enough.
	buffer []byte
}

// response is the answer for one partition.
type response struct {
	code          int16
	highWatermark int64
	lastStable    int64
	logStart      int64
	aborted       []aborted
	// records are the raw batches, in the request's buffer.
	records []byte
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
	var size [4]byte
	if _, err := io.ReadFull(rw, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxResponse {
		return nil, fmt.Errorf("fetch response of %d bytes; want at most %d", n, maxResponse)
	}
	d := &decoder{r: rw, left: int(n)}
	if id := d.int32(); d.err == nil && id != correlation {
		return nil, fmt.Errorf("fetch response to request %d; want %d", id, correlation)
	}
	res, err := d.response(q)
	if err != nil {
		return nil, fmt.Errorf("fetch response: %w", err)
	}
	return res, nil
}

var errShape = errors.New("it does not answer for the one requested partition")

func (d *decoder) response(q *request) (*response, error) {
	d.int32() // throttle time: the broker itself delays
	if q.version >= 7 {
		code := d.int16()
		d.int32() // session id
		if d.err == nil && code != 0 {
			d.skip(d.left)
			return &response{code: code}, d.err
		}
	}
	topic := &q.wire.Topics[0]
	if n := d.int32(); d.err == nil && n != 1 {
		return nil, errShape
	}
	if name := d.string(); d.err == nil && name != topic.Topic {
		return nil, errShape
	}
	if n := d.int32(); d.err == nil && n != 1 {
		return nil, errShape
	}
	if p := d.int32(); d.err == nil && p != topic.Partitions[0].Partition {
		return nil, errShape
	}
	res := &response{code: d.int16(), highWatermark: d.int64(), lastStable: d.int64(), logStart: -1}
	if q.version >= 5 {
		res.logStart = d.int64()
	}
	n := d.int32()
	const size = 16 // bytes of one aborted transaction
	if d.err == nil && int64(n)*size > int64(d.left) {
		return nil, io.ErrUnexpectedEOF
	}
	for ; n > 0 && d.err == nil; n-- { // -1 is null
		res.aborted = append(res.aborted, aborted{producer: d.int64(), first: d.int64()})
	}
	if q.version >= 11 {
		d.int32() // preferred read replica: none without a rack
	}
	res.records = d.bytes(q.buffer)
	d.skip(d.left)
	return res, d.err
}

// decoder reads the fields of one response of a known size. After an error all further fields are zero.
type decoder struct {
	r    io.Reader
	left int
	err  error
	word [8]byte
}

func (d *decoder) read(b []byte) {
	if d.err == nil && len(b) > d.left {
		d.err = io.ErrUnexpectedEOF
	}
	if d.err == nil {
		_, d.err = io.ReadFull(d.r, b)
		d.left -= len(b)
	}
	if d.err != nil {
		clear(b)
	}
}

func (d *decoder) int16() int16 {
	d.read(d.word[:2])
	return int16(binary.BigEndian.Uint16(d.word[:]))
}

func (d *decoder) int32() int32 {
	d.read(d.word[:4])
	return int32(binary.BigEndian.Uint32(d.word[:]))
}

func (d *decoder) int64() int64 {
	d.read(d.word[:8])
	return int64(binary.BigEndian.Uint64(d.word[:]))
}

func (d *decoder) string() string {
	n := int(d.int16())
	if n < 0 || n > d.left {
		d.skip(n)
		return ""
	}
	b := make([]byte, n)
	d.read(b)
	return string(b)
}

// bytes reads a length and that many bytes, into buffer if they fit.
func (d *decoder) bytes(buffer []byte) []byte {
	n := int(d.int32())
	if d.err == nil && n > d.left {
		d.err = io.ErrUnexpectedEOF
	}
	if n <= 0 || d.err != nil {
		return buffer[:0]
	}
	buffer = grow(buffer, n)
	d.read(buffer)
	return buffer
}

func (d *decoder) skip(n int) {
	if d.err == nil && (n < 0 || n > d.left) {
		d.err = io.ErrUnexpectedEOF
	}
	if d.err == nil {
		_, d.err = io.CopyN(io.Discard, d.r, int64(n))
		d.left -= n
	}
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
