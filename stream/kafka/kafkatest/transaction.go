package kafkatest

import (
	"bytes"
	"context"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/louver/louver/stream/kafka/txn"
)

// Transaction lets a test control each step of a transaction, which txn.Producer does not. It is open from the first
// Produce until Commit or Abort.
type Transaction struct {
	broker   *Broker
	id       string
	session  kafka.ProducerSession
	sequence map[string]int32
}

// Begin makes a transaction under a transactional id, which aborts any that is open under the same id.
func (b *Broker) Begin(t testing.TB, id string) *Transaction {
	t.Helper()
	x := &Transaction{broker: b, id: id}
	x.begin(t)
	return x
}

// begin gets a new epoch. The coordinator gives none until the markers of the previous transaction are in all its
// partitions.
func (x *Transaction) begin(t testing.TB) {
	t.Helper()
	try(t, "init producer id", func(ctx context.Context) error {
		res, err := x.broker.Conn.Client.InitProducerID(ctx, &kafka.InitProducerIDRequest{TransactionalID: x.id,
			TransactionTimeoutMs: int(patience.Milliseconds()), ProducerID: -1, ProducerEpoch: -1})
		if err != nil {
			return err
		}
		if res.Error != nil {
			return res.Error
		}
		x.session, x.sequence = *res.Producer, make(map[string]int32)
		return nil
	})
}

// Produce writes one batch. Use only one partition of each topic.
func (x *Transaction) Produce(t testing.TB, topic string, partition int, records ...txn.Record) {
	t.Helper()
	try(t, "add partition to transaction", func(ctx context.Context) error {
		res, err := x.broker.Conn.Client.AddPartitionsToTxn(ctx, &kafka.AddPartitionsToTxnRequest{
			TransactionalID: x.id, ProducerID: x.session.ProducerID, ProducerEpoch: x.session.ProducerEpoch,
			Topics: map[string][]kafka.AddPartitionToTxn{topic: {{Partition: partition}}}})
		if err != nil {
			return err
		}
		return res.Topics[topic][0].Error
	})
	batch := txn.EncodeBatch(txn.Session{ProducerID: int64(x.session.ProducerID), Epoch: int16(x.session.ProducerEpoch),
		Sequence: x.sequence[topic], Transactional: true}, records)
	x.sequence[topic] += int32(len(records))
	try(t, "produce in transaction", func(ctx context.Context) error {
		res, err := x.broker.Conn.Client.RawProduce(ctx, &kafka.RawProduceRequest{Topic: topic, Partition: partition,
			RequiredAcks: kafka.RequireAll, TransactionalID: x.id,
			RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(batch)}})
		if err != nil {
			return err
		}
		return res.Error
	})
}

// Commit commits the transaction, and waits until its records can be read. A busy broker answers some time before they
// can.
func (x *Transaction) Commit(t testing.TB) {
	t.Helper()
	x.end(t, true)
}

// Abort aborts it, and waits until readers know.
func (x *Transaction) Abort(t testing.TB) {
	t.Helper()
	x.end(t, false)
}

func (x *Transaction) end(t testing.TB, commit bool) {
	t.Helper()
	try(t, "end transaction", func(ctx context.Context) error {
		res, err := x.broker.Conn.Client.EndTxn(ctx, &kafka.EndTxnRequest{TransactionalID: x.id,
			ProducerID: x.session.ProducerID, ProducerEpoch: x.session.ProducerEpoch, Committed: commit})
		if err != nil {
			return err
		}
		return res.Error
	})
	x.begin(t)
}

// ProducerID is the id under which brokers know the transaction's producer.
func (x *Transaction) ProducerID() int64 { return int64(x.session.ProducerID) }
