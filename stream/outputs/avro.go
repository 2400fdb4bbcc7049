package outputs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/record"
)

// ErrNoRegistry says that a topic has figures in Avro, and that no registry is known.
var ErrNoRegistry = errors.New("its figures are in Avro; " +
	"want the address of their schema registry in LOUVER_SCHEMA_REGISTRY_URL")

// headerSize is the length of what precedes a figure in Avro: a zero byte and the number of the schema.
const headerSize = 5

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

// schemas keeps the readers that are known. It is safe for concurrent use.
type schemas struct {
	mu    sync.Mutex
	known map[uint32]knownSchema // by number
}

// reader returns the reader for a schema. It is nil if the registry has no such schema, or if the schema is not that of
// a figure. While the registry does not answer, reader waits. retrying makes a hook for its failures; see [Reader].
func (s *schemas) reader(ctx context.Context, registry codec.Registry, number uint32,
	retrying func(problem, solved string) func(error)) (*record.AvroReader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, known := s.known[number]; known && (of.until.IsZero() || time.Now().Before(of.until)) {
		return of.reader, nil
	}
	tell := retrying("the schema registry cannot be read", "the schema registry can be read again")
	ask := func() (codec.Registered, error) {
		schema, err := registry.Schema(ctx, codec.Numbered(number))
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
	var of knownSchema
	if schema.Text == "" {
		of.until = time.Now().Add(askAgain)
	} else if of.reader, err = record.NewAvroReader(schema.Text); err != nil && !errors.Is(err, record.ErrForeign) {
		return nil, err
	}
	if s.known == nil || len(s.known) >= mostKnown {
		s.known = map[uint32]knownSchema{}
	}
	s.known[number] = of
	return of.reader, nil
}

// knownSchema is what is known about a schema. reader is nil if there is none, or if it is the schema of something
// else.
type knownSchema struct {
	reader *record.AvroReader
	until  time.Time // when to ask again; zero: never, because a schema never changes
}

// mostKnown bounds the memory for schemas, even if somebody writes records with invented numbers.
const mostKnown = 1000
