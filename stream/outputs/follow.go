// Package outputs reads the output topics and nothing else. It serves louver watch, the public metrics and the audit.
// None of these needs a right on a personal topic.
package outputs

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/record"
)

// Record is a published figure.
type Record = record.Value

// Decode reads a published record. ok is false for a foreign record in the same topic.
func Decode(value []byte) (r Record, ok bool, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return Record{}, false, fmt.Errorf("output record: %w", err)
	}
	return r, r.Schema == record.Schema, nil
}

// Reader reads output topics, committed records only. It is safe for concurrent use.
type Reader struct {
	Conn  *kafkaconn.Conn
	Fetch *fetch.Client
	// Retrying, if not nil, makes a hook that is called with each failure to find a topic, and with nil when the topic
	// is found. problem and solved describe it in words.
	Retrying func(problem, solved string) func(error)
	// Begins, if not nil, is told the offset at which Follow begins a partition, and the end of the records that were
	// there before. In a topic that did not exist, all records are new.
	Begins func(topic string, partition int, from, end int64)
	// Ends, if not nil, is told each time that Follow has read all that a partition has.
	Ends func(topic string, partition int)
	// Schemas has the schemas of figures in Avro. It is nil if there is no registry: then such figures end Follow and
	// All with ErrNoRegistry.
	Schemas codec.Registry
	// Lenient is for a service, which must not end whatever an output holds. Figures in Avro count as foreign records
	// if there is no registry, damaged batches are left out, and Follow waits for a right that a broker refuses.
	Lenient bool

	schemas schemas
}

// Message is a record of a topic. Key and Value are valid until the function that gets it returns.
type Message struct {
	Topic      string
	Partition  int
	Offset     int64
	Key, Value []byte
	// Avro says that the record is a figure in Avro. Value is the same in JSON.
	Avro bool
	// Ended is the id of a record that ends a series, and has no value; "" for all others.
	Ended string
}

// Follow calls f for every record from the given time on, including new ones, until ctx ends or f fails. Records of one
// series come in order, and f is never called concurrently. With a zero time Follow begins with the next record. It
// waits for topics that do not exist yet. If a topic was deleted and recreated, it returns a *[fetch.TruncatedError].
func (r *Reader) Follow(ctx context.Context, names []string, from time.Time, f func(Message, Record) error) error {
	var one sync.Mutex
	return r.partitions(ctx, names, func(ctx context.Context, topic string, partition int, fresh bool) error {
		begin, err := persist(ctx, r, topic, func(ctx context.Context) (int64, error) {
			return r.begin(ctx, topic, partition, from, fresh)
		})
		if err != nil {
			return err
		}
		reader := r.Fetch.Partition(topic, partition, begin)
		for {
			page, err := persist(ctx, r, topic, reader.Poll)
			if err == nil {
				err = page.Each(func(m *fetch.Record) error {
					message, err := r.message(ctx, topic, partition, m)
					if err != nil {
						return err
					}
					figure, ok, err := Decode(message.Value)
					if err != nil || !ok {
						return nil // the end of a series, or a foreign record: the topic belongs to the user
					}
					one.Lock()
					defer one.Unlock()
					return f(message, figure)
				})
			}
			if r.Lenient {
				if _, damaged := reader.Skip(err); damaged {
					continue
				}
			}
			if err != nil {
				return err
			}
			if r.Ends != nil && reader.Position() >= reader.LastStable() {
				r.Ends(topic, partition)
			}
		}
	})
}

// Figure returns the figure of a record that was fetched from a topic. ok is false for the end of a series, and for
// foreign records: the topic belongs to the user.
func (r *Reader) Figure(ctx context.Context, topic string, partition int,
	m *fetch.Record) (_ Record, ok bool, _ error) {
	message, err := r.message(ctx, topic, partition, m)
	if err != nil {
		return Record{}, false, err
	}
	figure, ok, err := Decode(message.Value)
	return figure, ok && err == nil, nil
}

// message makes the message of a record. A figure in Avro becomes JSON; what cannot be read stays as it is.
func (r *Reader) message(ctx context.Context, topic string, partition int, m *fetch.Record) (Message, error) {
	out := Message{Topic: topic, Partition: partition, Offset: m.Offset, Key: m.Key, Value: m.Value, Ended: endOf(m)}
	if len(m.Value) < headerSize || m.Value[0] != 0 || !inAvro(m) {
		return out, nil
	}
	switch {
	case r.Schemas == nil && r.Lenient:
		return out, nil
	case r.Schemas == nil:
		return out, fmt.Errorf("topic %s: %w", topic, ErrNoRegistry)
	}
	reader, err := r.schemas.reader(ctx, r.Schemas, binary.BigEndian.Uint32(m.Value[1:]), r.retrying)
	if err != nil || reader == nil {
		return out, err
	}
	if value, err := reader.JSON(m.Value[headerSize:]); err == nil {
		out.Value, out.Avro = value, true
	}
	return out, nil
}

// endOf returns the id of a record that ends a series, or "".
func endOf(m *fetch.Record) string {
	if m.Value != nil {
		return ""
	}
	for key, value := range m.Headers() {
		if key == record.HeaderID {
			return string(value)
		}
	}
	return ""
}

// persist calls f. A lenient Reader calls it again as long as a broker refuses.
func persist[T any](ctx context.Context, r *Reader, topic string, f func(context.Context) (T, error)) (T, error) {
	if !r.Lenient {
		return f(ctx)
	}
	return kafkaconn.Persist(ctx, r.retrying("cannot read topic "+topic, "topic "+topic+" can be read again"), f)
}

// retrying makes a hook as Retrying does, or one that does nothing.
func (r *Reader) retrying(problem, solved string) func(error) {
	if r.Retrying == nil {
		return func(error) {}
	}
	return r.Retrying(problem, solved)
}

// begin returns the offset to begin at. A fresh topic is read from its start.
func (r *Reader) begin(ctx context.Context, topic string, partition int, from time.Time, fresh bool) (int64, error) {
	ends, err := r.Fetch.Ends(ctx, topic, []int{partition})
	begin := ends[partition]
	if err == nil && (fresh || !from.IsZero()) {
		begin, err = r.Fetch.OffsetAt(ctx, topic, partition, from.UnixMilli())
	}
	if err == nil && r.Begins != nil {
		end := ends[partition]
		if fresh {
			end = begin
		}
		r.Begins(topic, partition, begin, end)
	}
	return begin, err
}

// All calls f for every record that the named topics hold now, in order within each partition. f is never called
// concurrently.
func (r *Reader) All(ctx context.Context, names []string, f func(Message) error) error {
	return r.AllFrom(ctx, names, nil, f)
}

// AllFrom is All, but leaves out records before the offset of their partition in from, the same for all topics.
func (r *Reader) AllFrom(ctx context.Context, names []string, from map[int]int64, f func(Message) error) error {
	var one sync.Mutex
	return r.partitions(ctx, names, func(ctx context.Context, topic string, partition int, _ bool) error {
		starts, err := r.Fetch.Starts(ctx, topic, []int{partition})
		if err != nil {
			return err
		}
		_, err = r.Fetch.ReadAll(ctx, topic, partition, max(starts[partition], from[partition]),
			func(m *fetch.Record) error {
				message, err := r.message(ctx, topic, partition, m)
				if err != nil {
					return err
				}
				one.Lock()
				defer one.Unlock()
				return f(message)
			})
		return err
	})
}

// partitions runs work on every partition of the topics concurrently. It waits for missing topics while it works on the
// others; fresh says that the topic was missing.
func (r *Reader) partitions(ctx context.Context, names []string,
	work func(ctx context.Context, topic string, partition int, fresh bool) error) error {
	run, ctx := errgroup.WithContext(ctx)
	for _, name := range names {
		run.Go(func() error {
			count, fresh, err := r.find(ctx, name)
			for partition := range count {
				run.Go(func() error { return work(ctx, name, partition, fresh) })
			}
			return err
		})
	}
	return run.Wait()
}

// Await waits until a topic exists.
func (r *Reader) Await(ctx context.Context, topic string) error {
	_, _, err := r.find(ctx, topic)
	return err
}

// find waits for a topic and counts its partitions. fresh says that the topic was missing at first.
func (r *Reader) find(ctx context.Context, name string) (partitions int, fresh bool, err error) {
	notify := r.retrying("waiting for topic "+name, "topic "+name+" exists now")
	counts, err := kafkaconn.Retry(ctx, func(err error) {
		fresh = fresh || errors.Is(err, topics.ErrMissing)
		notify(err)
	}, func(ctx context.Context) (map[string]int, error) {
		return topics.Counts(ctx, r.Conn.Client, []topics.Topic{{Name: name}})
	})
	return counts[name], fresh, err
}
