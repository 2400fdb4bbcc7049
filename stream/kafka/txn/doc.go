// Package txn writes records to Kafka: in transactions, exactly once or not at
// all (Producer), or plainly, at least once (Send).
//
// A Producer owns a transactional id. Open fences every earlier owner of that
// id and ends what it left open: after Open, what its predecessor wrote is
// either committed or gone for good, and only then may the new owner read back
// what is there. Commit writes records, and a consumer group's offset, as one
// transaction.
//
// # After an error
//
// An error of Commit spends the producer. What it means for the transaction
// is in its type: with ErrUnknownOutcome it may or may not be committed, with
// every other error it is not. In both cases the way on is the same: Open
// again, read what is committed, and decide from that. Nothing is ever
// written twice by a producer's own retries: batches carry sequence numbers
// by which the broker recognises a batch that it already has.
//
// kafka-go's own Writer is not used: it sends without a producer id, so that
// a retry may duplicate, and knows no transactions. Batches are encoded here
// (EncodeBatch) and sent raw; everything else is kafka-go's Client.
package txn
