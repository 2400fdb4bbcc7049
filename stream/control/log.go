package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// Records reads the control topic.
type Records interface {
	// Read calls f for every committed record of the control topic.
	Read(ctx context.Context, f func(key, value []byte) error) error
}

// Log reads and writes the control topic.
type Log interface {
	Records
	// Turn takes the writers' turn and ends all others.
	Turn(ctx context.Context) (Turn, error)
	// Used returns the name of another topic of the app that has had records, or "" if none has. Nothing is written to
	// these topics before the control topic has its first records.
	Used(ctx context.Context) (topic string, err error)
}

// Turn can write until another writer takes the turn.
type Turn interface {
	Write(ctx context.Context, records []Record) error
}

// Record is one record of the control topic.
type Record struct{ Key, Value []byte }

// inTurn takes the turn, asks which records are missing, and writes them. If another writer ends the turn, or if nobody
// knows whether the records were written, it waits and takes another turn. The waits are random and grow, so slow
// writers do not end each other's turns for ever.
func inTurn(ctx context.Context, log Log, missing func() ([]Record, error)) error {
	for wait := kafkaconn.NewBackOff(); ; {
		turn, err := log.Turn(ctx)
		if err != nil {
			return err
		}
		records, err := missing()
		if err != nil || len(records) == 0 {
			return err
		}
		err = turn.Write(ctx, records)
		if err == nil {
			return nil
		}
		if !errors.Is(err, txn.ErrFenced) && !errors.Is(err, txn.ErrUnknownOutcome) {
			return fmt.Errorf("write the control topic: %w", err)
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Kafka is the [Log] in the app's control topic.
type Kafka struct {
	Fetch *fetch.Client
	Open  func(ctx context.Context, id string) (*txn.Producer, error)
	Names topics.Names
}

// Read implements [Log].
func (k Kafka) Read(ctx context.Context, f func(key, value []byte) error) error {
	_, err := k.Fetch.ReadAll(ctx, k.Names.Control(), 0, 0, func(r *fetch.Record) error { return f(r.Key, r.Value) })
	return err
}

// Turn implements [Log].
func (k Kafka) Turn(ctx context.Context) (Turn, error) {
	p, err := k.Open(ctx, k.Names.ControlID())
	return kafkaTurn{p, k.Names.Control()}, err
}

// Used implements [Log].
func (k Kafka) Used(ctx context.Context) (string, error) {
	for _, topic := range []string{k.Names.Ledger(), k.Names.Partials()} {
		if used, err := k.Fetch.Used(ctx, topic, topics.Partitions); err != nil || used {
			return topic, err
		}
	}
	return "", nil
}

type kafkaTurn struct {
	producer *txn.Producer
	topic    string
}

func (t kafkaTurn) Write(ctx context.Context, records []Record) error {
	var tx txn.Transaction
	for _, r := range records {
		tx.Records = append(tx.Records, txn.Record{Topic: t.topic, Key: r.Key, Value: r.Value,
			Time: time.Now().UnixMilli()})
	}
	return t.producer.Commit(ctx, tx)
}
