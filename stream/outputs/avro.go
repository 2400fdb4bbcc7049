package outputs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/ledger"
)

// ErrNoRegistry says that a topic has figures in Avro and no registry is known.
var ErrNoRegistry = errors.New("its figures are in Avro; want the address of their schema registry in LOUVER_SCHEMA_REGISTRY_URL")

// headerSize is the length of what is before a figure in Avro: a zero byte and the number of the schema.
const headerSize = 5

// message makes the message of a record. A figure in Avro becomes JSON; what cannot be read stays as it is.
func (r *Reader) message(ctx context.Context, topic string, partition int, m *fetch.Record) (Message, error) {
	out := Message{Topic: topic, Partition: partition, Offset: m.Offset, Key: m.Key, Value: m.Value}
	if len(m.Value) < headerSize || m.Value[0] != 0 || !inAvro(m) {
		return out, nil
	}
	if r.Schemas == nil {
		return out, fmt.Errorf("topic %s: %w", topic, ErrNoRegistry)
	}
	reader, err := r.avro(ctx, binary.BigEndian.Uint32(m.Value[1:]))
	if err != nil || reader == nil {
		return out, err
	}
	if value, err := reader.JSON(m.Value[headerSize:]); err == nil {
		out.Value, out.Avro = value, true
	}
	return out, nil
}

// inAvro reports whether the headers say that a record is a figure in Avro. Others may write to the topic, too.
func inAvro(m *fetch.Record) bool {
	for key, value := range m.Headers() {
		if key == "content-type" {
			return string(value) == ledger.ContentAvro
		}
	}
	return false
}

// avro returns the reader for a schema, or nil if the registry has no such schema or it is not that of a figure. It waits
// for a registry that does not answer.
func (r *Reader) avro(ctx context.Context, number uint32) (*ledger.AvroReader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reader, known := r.known[number]; known {
		return reader, nil
	}
	tell := func(error) {}
	if r.Retrying != nil {
		tell = r.Retrying("the schema registry cannot be read", "the schema registry can be read again")
	}
	ask := func() (codec.Registered, error) {
		schema, err := r.Schemas.Schema(ctx, number)
		if errors.Is(err, codec.ErrNoSchema) {
			return codec.Registered{}, nil
		}
		return schema, err
	}
	schema, err := backoff.Retry(ctx, ask, backoff.WithBackOff(kafkaconn.NewBackOff()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) { tell(err) }))
	if err != nil {
		return nil, err
	}
	tell(nil)
	if schema.Text == "" {
		return nil, nil // asked for again with the next record: it may be new
	}
	reader, err := ledger.NewAvroReader(schema.Text)
	if errors.Is(err, ledger.ErrForeign) {
		reader, err = nil, nil
	}
	if err == nil {
		if r.known == nil {
			r.known = map[uint32]*ledger.AvroReader{}
		}
		r.known[number] = reader
	}
	return reader, err
}
