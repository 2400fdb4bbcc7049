package txn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Producer writes transactions under one transactional id. It is not safe for concurrent use. It holds no resources:
// drop it when done.
type Producer struct {
	client  *kafka.Client
	id      string
	session kafka.ProducerSession
	// sequence is the number of the next record of each partition.
	sequence map[partition]int32
	// last is the offset of the last record of each partition.
	last   map[partition]int64
	spent  bool
	notify func(error)
}

// Transaction holds everything that one Commit writes.
type Transaction struct {
	Records []Record
	// Offsets, if not nil, is committed for a consumer group with the records.
	Offsets *Offsets
}

// Offsets is a consumer group's position in one partition: the offset of the next record to read. Generation and Member
// are those of the group's current generation; the broker refuses those of an earlier one (ErrFenced).
type Offsets struct {
	Group      string
	Generation int
	Member     string
	Topic      string
	Partition  int
	Offset     int64
}

// abortTimeout is how long a failed Commit tries to abort. After that, the next Open or the transaction's timeout ends
// the transaction.
const abortTimeout = 5 * time.Second

// Open takes over the transactional id. It fences earlier owners, aborts their open transaction, and waits for one that
// is being committed. timeout is how long a transaction may take before the coordinator aborts it and fences this
// producer; brokers accept up to 15 minutes. Temporary failures are retried until ctx ends. A hook given by OnRetry
// also gets the temporary failures of later Commits.
func Open(
	ctx context.Context, client *kafka.Client, id string, timeout time.Duration, options ...Option,
) (*Producer, error) {
	notify := collect(options).notify
	res, err := kafkaconn.Retry(ctx, unlessUsual(notify), func(
		ctx context.Context,
	) (*kafka.InitProducerIDResponse, error) {
		res, err := client.InitProducerID(ctx, &kafka.InitProducerIDRequest{
			TransactionalID:      id,
			TransactionTimeoutMs: int(timeout.Milliseconds()),
			ProducerID:           -1,
			ProducerEpoch:        -1,
		})
		if err == nil {
			err = res.Error
		}
		return res, err
	})
	if err != nil {
		return nil, typed(fmt.Sprintf("open transactional id %q", id), err)
	}
	return &Producer{client: client, id: id, session: *res.Producer, sequence: make(map[partition]int32),
		last: make(map[partition]int64), notify: notify}, nil
}

// unlessUsual hides the first CONCURRENT_TRANSACTIONS errors of an operation from notify. They are usual: the broker is
// still writing the markers of the last transaction.
func unlessUsual(notify func(error)) func(error) {
	if notify == nil {
		return nil
	}
	const usual = 6 // tries, in about half a second
	tries := 0
	return func(err error) {
		if tries++; tries > usual || !errors.Is(err, kafka.ConcurrentTransactions) {
			notify(err)
		}
	}
}

// Commit writes t as one transaction. It returns nil when the transaction is committed; records and offsets are then
// visible together. After any error the producer cannot be used again: see the package's documentation. An empty t is
// committed without a request.
func (p *Producer) Commit(ctx context.Context, t Transaction) error {
	if p.spent {
		return ErrSpent
	}
	if len(t.Records) == 0 && t.Offsets == nil {
		return nil
	}
	p.spent = true
	if err := p.write(ctx, t); err != nil {
		p.abort(ctx)
		return fmt.Errorf("transaction of %q: %w", p.id, err)
	}
	if err := p.end(ctx); err != nil {
		if !errors.Is(err, ErrUnknownOutcome) {
			p.abort(ctx)
		}
		return fmt.Errorf("transaction of %q: %w", p.id, err)
	}
	p.spent = false
	return nil
}

// Last is the offset of the last record that was committed to a partition, or −1 if there is none or the broker did not
// say.
func (p *Producer) Last(topic string, id int) int64 {
	if at, ok := p.last[partition{topic, id}]; ok && !p.spent {
		return at
	}
	return -1
}

// write does everything up to the end of the transaction.
func (p *Producer) write(ctx context.Context, t Transaction) error {
	order, batches := split(t.Records)
	if err := p.addPartitions(ctx, order); err != nil {
		return err
	}
	for _, to := range order {
		for _, records := range batches[to] {
			sequence := p.sequence[to]
			batch := encodeBatch(Session{
				ProducerID:    int64(p.session.ProducerID),
				Epoch:         int16(p.session.ProducerEpoch),
				Sequence:      sequence,
				Transactional: true,
			}, records, true)
			at, err := produce(ctx, p.client, p.id, to, batch, p.notify)
			if err != nil {
				return err
			}
			if p.last[to] = -1; at.offset >= 0 {
				p.last[to] = at.offset + int64(len(records)) - 1
			}
			// After the largest number comes 0.
			p.sequence[to] = int32((int64(sequence) + int64(len(records))) & math.MaxInt32)
		}
	}
	if t.Offsets == nil {
		return nil
	}
	return p.addOffsets(ctx, t.Offsets)
}

func (p *Producer) addPartitions(ctx context.Context, to []partition) error {
	if len(to) == 0 {
		return nil
	}
	topics := make(map[string][]kafka.AddPartitionToTxn)
	for _, t := range to {
		topics[t.topic] = append(topics[t.topic], kafka.AddPartitionToTxn{Partition: t.id})
	}
	_, err := kafkaconn.Retry(ctx, unlessUsual(p.notify), func(ctx context.Context) (struct{}, error) {
		res, err := p.client.AddPartitionsToTxn(ctx, &kafka.AddPartitionsToTxnRequest{
			TransactionalID: p.id,
			ProducerID:      p.session.ProducerID,
			ProducerEpoch:   p.session.ProducerEpoch,
			Topics:          topics,
		})
		if err != nil {
			return struct{}{}, err
		}
		answered := 0
		for topic, partitions := range res.Topics {
			for _, r := range partitions {
				answered++
				// If one partition fails, the others fail with "not attempted", which says nothing about the cause.
				if r.Error != nil && (err == nil || errors.Is(err, operationNotAttempted)) {
					err = &PartitionError{Topic: topic, Partition: r.Partition, Err: r.Error}
				}
			}
		}
		if err == nil && answered < len(to) {
			err = fmt.Errorf("%d of %d partitions answered: %w", answered, len(to), kafka.Unknown)
		}
		return struct{}{}, err
	})
	return typed("add partitions", err)
}

// operationNotAttempted is OPERATION_NOT_ATTEMPTED; kafka-go gives 55 another name.
const operationNotAttempted kafka.Error = 55

func (p *Producer) addOffsets(ctx context.Context, o *Offsets) error {
	_, err := kafkaconn.Retry(ctx, unlessUsual(p.notify), func(ctx context.Context) (struct{}, error) {
		res, err := p.client.AddOffsetsToTxn(ctx, &kafka.AddOffsetsToTxnRequest{
			TransactionalID: p.id,
			ProducerID:      p.session.ProducerID,
			ProducerEpoch:   p.session.ProducerEpoch,
			GroupID:         o.Group,
		})
		if err == nil {
			err = res.Error
		}
		return struct{}{}, err
	})
	if err != nil {
		return typed("add offsets of group "+o.Group, err)
	}
	_, err = kafkaconn.Retry(ctx, unlessUsual(p.notify), func(ctx context.Context) (struct{}, error) {
		res, err := p.client.TxnOffsetCommit(ctx, &kafka.TxnOffsetCommitRequest{
			TransactionalID: p.id,
			GroupID:         o.Group,
			ProducerID:      p.session.ProducerID,
			ProducerEpoch:   p.session.ProducerEpoch,
			GenerationID:    o.Generation,
			MemberID:        o.Member,
			Topics:          map[string][]kafka.TxnOffsetCommit{o.Topic: {{Partition: o.Partition, Offset: o.Offset}}},
		})
		if err != nil {
			return struct{}{}, err
		}
		answers := res.Topics[o.Topic]
		if len(answers) != 1 {
			return struct{}{}, fmt.Errorf("%d answers for %s/%d: %w", len(answers), o.Topic, o.Partition, kafka.Unknown)
		}
		return struct{}{}, answers[0].Error
	})
	return typed("commit offsets of group "+o.Group, err)
}

func (p *Producer) endTxn(ctx context.Context, commit bool) error {
	res, err := p.client.EndTxn(ctx, &kafka.EndTxnRequest{
		TransactionalID: p.id,
		ProducerID:      p.session.ProducerID,
		ProducerEpoch:   p.session.ProducerEpoch,
		Committed:       commit,
	})
	if err == nil {
		err = res.Error
	}
	return err
}

// end commits, and asks again until it learns the outcome. Asking again is safe: the coordinator answers a commit that
// it has carried out with success.
func (p *Producer) end(ctx context.Context) error {
	// carriedOut says that an unanswered attempt may have been carried out.
	carriedOut := false
	_, err := kafkaconn.Retry(ctx, unlessUsual(p.notify), func(ctx context.Context) (struct{}, error) {
		err := p.endTxn(ctx, true)
		carriedOut = carriedOut || mayHaveEnded(err)
		return struct{}{}, err
	})
	if err == nil {
		return nil
	}
	err = typed("commit", err)
	if carriedOut {
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// mayHaveEnded reports whether the coordinator may have committed although it answered err, or nothing. Two answers
// come before anything is done: the coordinator is still loading, or the producer is not allowed. While an earlier end
// is being carried out, the coordinator answers CONCURRENT_TRANSACTIONS. All other answers can also mean that the
// decision was only partly written.
func mayHaveEnded(err error) bool {
	if err == nil {
		return false
	}
	for _, before := range []kafka.Error{kafka.GroupLoadInProgress, kafka.ConcurrentTransactions, kafka.ProducerFenced,
		kafka.InvalidProducerEpoch, kafka.InvalidProducerIDMapping, kafka.TransactionalIDAuthorizationFailed} {
		if errors.Is(err, before) {
			return false
		}
	}
	return true
}

// abort ends a failed transaction at once, so that readers need not wait for its timeout. If that fails too, the next
// Open does it; a fenced producer can't end anything, and learns so at once.
func (p *Producer) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_, _ = kafkaconn.Retry(ctx, unlessUsual(p.notify), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.endTxn(ctx, false)
	})
}
