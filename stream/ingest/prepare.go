package ingest

import (
	"context"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// prepare lets a decoder ask for the schema of a record, until it gets an answer or ctx ends. The partition waits:
// without the schema, nobody can tell a good record from a bad one.
func (p *input) prepare(ctx context.Context, decoder codec.Preparer, rec *fetch.Record) error {
	if rec.TooLarge > 0 {
		return nil
	}
	if err := decoder.Prepare(ctx, rec.Value); err == nil || ctx.Err() != nil { // almost always the schema is known
		return err
	}
	ask := func() (struct{}, error) { return struct{}{}, decoder.Prepare(ctx, rec.Value) }
	tell := p.Monitor.Retrying("the schema registry cannot be read", "the schema registry can be read again")
	_, err := kafkaconn.Again(ctx, tell, ask)
	if err == nil {
		tell(nil)
	}
	return err
}
