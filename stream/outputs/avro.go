package outputs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/record"
)

// ErrNoRegistry says that a topic has figures in Avro and no registry is known.
var ErrNoRegistry = errors.New("its figures are in Avro; " +
	"want the address of their schema registry in LOUVER_SCHEMA_REGISTRY_URL")

// headerSize is the length of what is before a figure in Avro: a zero byte and the number of the schema.
const headerSize = 5

// message makes the message of a record. A figure in Avro becomes JSON; what cannot be read stays as it is.
func (r *Reader) message(ctx context.Context, topic string, partition int, m *fetch.Record) (Message, error) {
	out := Message{Topic: topic, Partition: partition, Offset: m.Offset, Key: m.Key, Value: m.Value}
	if len(m.Value) < headerSize || m.Value[0] != 0 || !inAvro(m) {
		return out, nil
	}
	switch {
	case r.Schemas == nil && r.Lenient:
		return out, nil
	case r.Schemas == nil:
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
	figure, avro := false, false
	for key, value := range m.Headers() {
		figure = figure || key == "ce_type" && string(value) == record.Schema
		avro = avro || key == "content-type" && string(value) == record.ContentAvro
	}
	return figure && avro
}

// askAgain is how soon a number that the registry did not know is asked for again.
const askAgain = 10 * time.Second

// avro returns the reader for a schema, or nil if the registry has no such schema or it is not that of a figure. It
// waits for a registry that does not answer.
func (r *Reader) avro(ctx context.Context, number uint32) (*record.AvroReader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, known := r.known[number]; known && (s.until.IsZero() || time.Now().Before(s.until)) {
		return s.reader, nil
	}
	tell := r.retrying("the schema registry cannot be read", "the schema registry can be read again")
	ask := func() (codec.Registered, error) {
		schema, err := r.Schemas.Schema(ctx, number)
		if errors.Is(err, codec.ErrNoSchema) {
			return codec.Registered{}, nil
		}
		return schema, err
	}
	schema, err := kafkaconn.Again(ctx, tell, ask)
	if err != nil {
		return nil, err
	}
	tell(nil)
	var s knownSchema
	if schema.Text == "" {
		s.until = time.Now().Add(askAgain)
	} else if s.reader, err = record.NewAvroReader(schema.Text); err != nil && !errors.Is(err, record.ErrForeign) {
		return nil, err
	}
	if r.known == nil || len(r.known) >= mostKnown {
		r.known = map[uint32]knownSchema{}
	}
	r.known[number] = s
	return s.reader, nil
}

// knownSchema is what is known of a schema. reader is nil if there is none, or if it is the schema of something else.
type knownSchema struct {
	reader *record.AvroReader
	until  time.Time // when to ask again; zero: never, because a schema never changes
}

// mostKnown bounds the memory for schemas, also if somebody writes records with invented numbers.
const mostKnown = 1000
