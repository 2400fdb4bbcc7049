package txn

import (
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// The meanings of a failed Open, Commit or Send. Match them with errors.Is. The broker's own kafka.Error is wrapped as
// well.
var (
	// ErrFenced: someone else owns the transactional id, the transaction ran into its timeout, the broker no longer
	// knows the producer, or the group's generation is over. The transaction is not committed, unless the error also is
	// an ErrUnknownOutcome.
	ErrFenced = errors.New("fenced: another worker has taken over, or the broker has ended the transaction")
	// ErrUnknownOutcome: the broker did not answer the request to end the transaction. It may be committed.
	ErrUnknownOutcome = errors.New("the transaction's outcome is unknown")
	// ErrTooLarge: a record is larger than the topic's max.message.bytes.
	ErrTooLarge = errors.New("a record is larger than the broker accepts: check max.message.bytes")
	// ErrUnauthorised: a right on a topic, group or transactional id is missing.
	ErrUnauthorised = errors.New("a right is missing")
	// ErrSpent: an earlier Commit failed. Open again.
	ErrSpent = errors.New("the producer cannot be used after an earlier error: open it again")
)

// PartitionError says which partition an error of Commit or Send is about.
type PartitionError struct {
	Topic     string
	Partition int
	Err       error
}

func (e *PartitionError) Error() string { return fmt.Sprintf("%s/%d: %v", e.Topic, e.Partition, e.Err) }

// Unwrap returns the broker's error.
func (e *PartitionError) Unwrap() error { return e.Err }

// typed wraps err, which came from doing what, together with its meaning.
func typed(what string, err error) error {
	if err == nil {
		return nil
	}
	for _, m := range []struct {
		meaning error
		codes   []kafka.Error
	}{
		{ErrFenced, []kafka.Error{kafka.ProducerFenced, kafka.InvalidProducerEpoch, kafka.TransactionCoordinatorFenced,
			kafka.InvalidProducerIDMapping, kafka.UnknownProducerId, kafka.OutOfOrderSequenceNumber,
			kafka.InvalidTransactionState,
			kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.RebalanceInProgress, kafka.FencedInstanceID}},
		{ErrTooLarge, []kafka.Error{kafka.MessageSizeTooLarge, kafka.RecordListTooLarge}},
	} {
		for _, code := range m.codes {
			if errors.Is(err, code) {
				return fmt.Errorf("%s: %w: %w", what, m.meaning, err)
			}
		}
	}
	if kafkaconn.Unauthorised(err) {
		switch {
		case errors.Is(err, kafka.TopicAuthorizationFailed):
			err = kafkaconn.Needs(err, "Write", "the topic")
		case errors.Is(err, kafka.GroupAuthorizationFailed):
			err = kafkaconn.Needs(err, "Read", "the group")
		case errors.Is(err, kafka.TransactionalIDAuthorizationFailed):
			err = kafkaconn.Needs(err, "Write", "the transactional id")
		}
		return fmt.Errorf("%s: %w: %w", what, ErrUnauthorised, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
