package publish

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/louver/louver/stream/record"
)

// Registrar adds schemas to a registry.
type Registrar interface {
	// Register adds a schema of Avro to a subject, unless the subject has it, and returns its number.
	Register(ctx context.Context, subject, schema string) (uint32, error)
}

// registerTimeout is how long a registry may take to answer before the output counts as blocked.
const registerTimeout = 5 * time.Second

// prefixes are what records in Avro begin with: a zero byte and the number of their schema. The registry is asked once
// for the number of a topic. After that, records are written without it.
type prefixes struct {
	schemas Registrar
	numbers map[string]uint32 // by topic
}

// avro turns the values of an output's records into Avro. While the registry does not answer, the output is blocked.
func (p *prefixes) avro(ctx context.Context, records []record.Record) error {
	for i := range records {
		r := &records[i]
		if r.Value == nil { // it ends a series
			continue
		}
		number, err := p.number(ctx, r.Topic)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return &BlockedError{r.Topic, err}
		}
		datum, err := record.EncodeAvro(r.Value)
		if err != nil {
			return fmt.Errorf("record %s as Avro: %w", r.Key, err)
		}
		r.Value = append(binary.BigEndian.AppendUint32([]byte{0}, number), datum...)
	}
	return nil
}

func (p *prefixes) number(ctx context.Context, topic string) (uint32, error) {
	if n, known := p.numbers[topic]; known {
		return n, nil
	}
	if p.schemas == nil {
		return 0, errors.New("it takes Avro, but no schema registry is known; want its address in " +
			"LOUVER_SCHEMA_REGISTRY_URL")
	}
	schema, err := record.AvroSchema()
	if err != nil {
		return 0, err
	}
	timed, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	n, err := p.schemas.Register(timed, topic+"-value", string(schema))
	if err != nil {
		return 0, fmt.Errorf("the schema registry does not take its schema: %w", err)
	}
	if p.numbers == nil {
		p.numbers = map[string]uint32{}
	}
	p.numbers[topic] = n
	return n, nil
}
