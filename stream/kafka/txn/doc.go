// Package txn writes records to Kafka: in transactions, exactly once or not at all (Producer), or plainly, at least
// once (Send).
//
// A Producer owns a transactional id. Open fences every earlier owner of that id and ends its open transaction. After
// Open, everything that the predecessor wrote is either committed or gone for good, so the new owner can read back what
// is there. Commit writes records, and a consumer group's offset, as one transaction.
//
// # After an error
//
// After an error of Commit the producer cannot be used again. With ErrUnknownOutcome the transaction may be committed;
// with any other error it is not. In both cases do the same: Open again, read what is committed, and decide from that.
// A producer's own retries never write twice: batches carry sequence numbers, by which the broker recognises a batch
// that it already has.
//
// kafka-go's own Writer is not used: it sends without a producer id, so a retry may duplicate records, and it has no
// transactions. This package encodes batches (EncodeBatch) and sends them raw. Everything else is done by kafka-go's
// Client.
package txn
