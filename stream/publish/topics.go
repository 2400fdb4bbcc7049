package publish

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/stage"
)

// topicSink publishes to output topics. Records and progress are one transaction, so a consumer of committed records
// sees each record once. A consumer of uncommitted records may see the same value twice.
type topicSink struct {
	stage.Env
	at         stage.Partition
	membership *stage.Membership
	producer   *txn.Producer  // nil after a transaction that failed
	sizes      map[string]int // partitions of output topics
	prefixes   *prefixes
}

// Topics makes sinks that write to the output topics. schemas may be nil if no output is in Avro.
func Topics(schemas Registrar) func(env stage.Env, at stage.Partition, m *stage.Membership) Sink {
	return func(env stage.Env, at stage.Partition, m *stage.Membership) Sink {
		return &topicSink{Env: env, at: at, membership: m, sizes: map[string]int{},
			prefixes: &prefixes{schemas: schemas}}
	}
}

// writeTimeout is how long one transaction may take before its output counts as blocked.
const writeTimeout = 20 * time.Second

// askAfter is how long a transaction may take before the sink asks whether its outputs still exist. If one was deleted,
// all others wait for it.
const askAfter = 2 * time.Second

// Begin implements [Sink].
func (s *topicSink) Begin(ctx context.Context) (Progress, error) {
	if err := s.open(ctx); err != nil {
		return Progress{}, err
	}
	var p Progress
	found, err := s.Progress.Read(ctx, progress.PublishKey(s.at.Number), &p)
	if err != nil || found {
		return p, err
	}
	// Without progress, because its topic was recreated, the group's offset says how far it was.
	committed, err := s.membership.Committed(ctx, s.at)
	return Progress{Offset: max(0, committed.Offset)}, err
}

func (s *topicSink) open(ctx context.Context) (err error) {
	s.producer, err = txn.Open(ctx, s.Conn.Client, s.Names.PublishID(s.at.Number), stage.TransactionTimeout,
		txn.OnRetry(s.Transactions(s.at.Topic)))
	return err
}

// Write implements [Sink].
func (s *topicSink) Write(ctx context.Context, entries []ledger.Entry, p Progress) error {
	if s.producer == nil {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	mark, err := s.Progress.Record(progress.PublishKey(s.at.Number), p)
	if err != nil {
		return err
	}
	// The group's offset is for tools that show the lag, and its generation fences a worker that lost the partition.
	generation, member := s.membership.Generation()
	tx := txn.Transaction{Offsets: &txn.Offsets{
		Group: s.Names.Group(stage.Publish), Generation: int(generation), Member: member,
		Topic: s.at.Topic, Partition: s.at.Number, Offset: p.Offset,
	}}
	outputs := map[string]bool{}
	for _, e := range entries {
		if tx.Records, err = s.append(ctx, tx.Records, e); err != nil {
			return err
		}
		outputs[e.Output] = true
	}
	tx.Records = append(tx.Records, mark)
	limited, cancel := limit(ctx, func(ctx context.Context) *BlockedError { return s.deleted(ctx, outputs) })
	defer cancel()
	if err = s.producer.Commit(limited, tx); err == nil {
		return nil
	}
	s.producer = nil
	if errors.Is(err, txn.ErrFenced) || errors.Is(err, txn.ErrUnknownOutcome) {
		return err
	}
	if gone := (*BlockedError)(nil); errors.As(context.Cause(limited), &gone) {
		delete(s.sizes, gone.Output)
		return gone
	}
	var at *txn.PartitionError
	if !errors.As(err, &at) || !outputs[at.Topic] || !answered(err) {
		return err
	}
	delete(s.sizes, at.Topic) // it may be recreated with another number of partitions
	return &BlockedError{at.Topic, at.Err}
}

// limit returns a context for one transaction, which ends after writeTimeout. After askAfter it asks deleted once, and
// ends the context if an output does not exist, with that error as its cause.
func limit(ctx context.Context, deleted func(context.Context) *BlockedError) (context.Context, context.CancelFunc) {
	timed, cancel := context.WithTimeout(ctx, writeTimeout)
	limited, end := context.WithCancelCause(timed)
	asking := time.AfterFunc(askAfter, func() {
		if gone := deleted(timed); gone != nil {
			end(gone)
		}
	})
	return limited, func() {
		asking.Stop()
		cancel()
		end(nil)
	}
}

// deleted returns an error about an output that does not exist, or nil if the broker says so of none.
func (s *topicSink) deleted(ctx context.Context, outputs map[string]bool) *BlockedError {
	for output := range outputs {
		if _, err := topics.ID(ctx, s.Conn.Client, output); errors.Is(err, kafka.UnknownTopicOrPartition) {
			return &BlockedError{output, err}
		}
	}
	return nil
}

// answered reports whether a broker was reached and refused, so the failure concerns only this output.
func answered(err error) bool {
	var code kafka.Error
	return errors.As(err, &code) || errors.Is(err, protocol.ErrNoTopic) || errors.Is(err, protocol.ErrNoPartition)
}

// append adds the records of an entry.
func (s *topicSink) append(ctx context.Context, to []txn.Record, e ledger.Entry) ([]txn.Record, error) {
	partitions, known := s.sizes[e.Output]
	if !known {
		counts, err := topics.Counts(ctx, s.Conn.Client, []topics.Topic{{Name: e.Output}})
		if errors.Is(err, topics.ErrMissing) {
			return nil, &BlockedError{e.Output, err}
		}
		if err != nil {
			return nil, err
		}
		partitions = counts[e.Output]
		s.sizes[e.Output] = partitions
	}
	records, err := e.Records()
	if err != nil {
		return nil, err
	}
	if e.OutputFormat == record.FormatAvro {
		if err := s.prefixes.avro(ctx, records); err != nil {
			return nil, err
		}
	}
	for _, out := range records {
		record := txn.Record{Topic: e.Output, Key: out.Key, Value: out.Value, Time: out.Time.UnixMilli(),
			Partition: topics.Place(string(out.Key), partitions)}
		for _, h := range out.Headers {
			record.Headers = append(record.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		to = append(to, record)
	}
	return to, nil
}
