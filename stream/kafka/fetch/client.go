package fetch

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Options of a Client. The zero value is fine.
type Options struct {
	// ReadUncommitted also delivers the records of open and aborted transactions. Defaults to false: read committed.
	ReadUncommitted bool
	// Aborted also delivers, under read committed, the records of aborted transactions, with Record.Aborted set.
	Aborted bool
	// MaxWait is how long the broker waits for a first record before it answers with none. At most 5 s; defaults to 500
	// ms.
	MaxWait time.Duration
	// MaxBytes is how much one fetch asks for. A batch larger than that is still delivered, whole. Defaults to 1 MiB.
	MaxBytes int
	// MaxRecordBytes limits the decompressed size of a record. A larger one is delivered without its content: see
	// Record.TooLarge. Batches are unpacked as a stream and have no limit. Defaults to 128 MiB.
	MaxRecordBytes int64
	// ClientID is the name that brokers see in quotas and logs.
	ClientID string
	// Patience bounds how long a request is retried while it fails; 0: until its context ends.
	Patience time.Duration
	// OnRetry, if not nil, is called for each failure that is about to be retried. It is called on the goroutine that
	// polls.
	OnRetry func(topic string, partition int, err error)
}

// maxWait is well below the time limit of a request.
const maxWait = 5 * time.Second

func (o Options) withDefaults() Options {
	if o.MaxWait <= 0 {
		o.MaxWait = 500 * time.Millisecond
	}
	o.MaxWait = min(o.MaxWait, maxWait)
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 20
	}
	if o.MaxRecordBytes <= 0 {
		o.MaxRecordBytes = 128 << 20
	}
	return o
}

// Client makes Readers and answers questions about offsets. It is safe for concurrent use. A Reader has a connection to
// itself while it polls, so there are about as many connections as partitions.
type Client struct {
	transport kafka.RoundTripper
	addr      net.Addr
	options   Options
	// zstd is made at first use. All readers share it, because a decoder is large and its DecodeAll is safe for
	// concurrent use.
	zstd func() (*zstd.Decoder, error)
}

// New makes a client of the cluster at addr. transport is a *kafka.Transport, or wraps one and passes its requests on
// unchanged.
func New(transport kafka.RoundTripper, addr net.Addr, o Options) *Client {
	o = o.withDefaults()
	return &Client{
		transport: transport,
		addr:      addr,
		options:   o,
		zstd: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true))
		}),
	}
}

func (c *Client) notify(topic string, partition int) func(error) {
	if c.options.OnRetry == nil {
		return nil
	}
	return func(err error) { c.options.OnRetry(topic, partition, err) }
}

// retry asks as [kafkaconn.Retry] does, for no longer than the client's patience.
func retry[T any](ctx context.Context, c *Client, notify func(error), f func(context.Context) (T, error)) (T, error) {
	if c.options.Patience == 0 {
		return kafkaconn.Retry(ctx, notify, f)
	}
	limited, cancel := context.WithTimeout(ctx, c.options.Patience)
	defer cancel()
	res, err := kafkaconn.Retry(limited, notify, f)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no success within %s: %w", c.options.Patience, err)
	}
	return res, err
}

// BatchError reports a batch that can't be read: its CRC is wrong, its format is too old, or its content breaks the
// format. Polling again fetches it again; Reader.Skip continues after it.
type BatchError struct {
	Topic     string
	Partition int
	// Offset is the first one that was not delivered.
	Offset int64
	// Next is where to continue: the first offset after the batch, or Offset + 1 if the batch's end is not reliable.
	Next   int64
	Reason string
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("batch at offset %d of %s/%d can't be read: %s", e.Offset, e.Topic, e.Partition, e.Reason)
}

// TruncatedError reports a position above the end of the partition: the log was truncated (an unclean leader election),
// or the topic was deleted and recreated. Only the caller can decide what the position means now. Polling again fails
// in the same way until the log has grown past the position.
type TruncatedError struct {
	Topic         string
	Partition     int
	Position, End int64
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf(
		"position %d of %s/%d is above the end %d: the log was truncated, or the topic was deleted and recreated",
		e.Position, e.Topic, e.Partition, e.End)
}

// LostError says that ReadAll was incomplete, because the broker had deleted the records from offset From to below
// Start.
type LostError struct {
	Topic       string
	Partition   int
	From, Start int64
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%s/%d begins at offset %d, the records from %d on were deleted: check its retention",
		e.Topic, e.Partition, e.Start, e.From)
}
