package txn_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/txn"
)

const timeout = 30 * time.Second

func open(t *testing.T, client *kafka.Client, id string) *txn.Producer {
	t.Helper()
	p, err := txn.Open(kafkatest.Context(t), client, id, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// one is a transaction of one record and an offset in the same topic.
func one(topic, value string, offset int64) txn.Transaction {
	return txn.Transaction{
		Records: []txn.Record{{Topic: topic, Value: []byte(value)}},
		Offsets: &txn.Offsets{Group: topic, Generation: -1, Topic: topic, Offset: offset},
	}
}

func wantValues(t *testing.T, b *kafkatest.Broker, topic string, want ...string) {
	t.Helper()
	if got := b.ConsumeValues(t, topic, 0); !slices.Equal(got, want) {
		t.Errorf("committed %v, want %v", got, want)
	}
}

func TestCommit(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 2, map[string]string{"retention.ms": "-1"})
		p := open(t, b.Conn.Client, topic)
		for i := range 3 {
			tx := one(topic, fmt.Sprint("v", i), int64(10+i))
			tx.Records[0].Key, tx.Records[0].Time = []byte("k"), 7000
			tx.Records[0].Headers = []txn.Header{{Key: "h", Value: []byte("x")}}
			tx.Records = append(tx.Records, txn.Record{Topic: topic, Partition: 1, Value: fmt.Append(nil, "w", i)})
			if err := p.Commit(kafkatest.Context(t), tx); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Commit(kafkatest.Context(t), txn.Transaction{}); err != nil {
			t.Error("an empty transaction:", err)
		}
		got := b.Consume(t, topic, 0)
		want := kafkatest.Message{Key: "k", Value: "v1", Time: 7000, Headers: map[string]string{"h": "x"}, Offset: 2}
		if len(got) != 3 {
			t.Fatalf("%d messages", len(got))
		}
		if diff := cmp.Diff(want, got[1]); diff != "" {
			t.Error(diff)
		}
		if got, want := b.ConsumeValues(t, topic, 1), []string{"w0", "w1", "w2"}; !slices.Equal(got, want) {
			t.Errorf("partition 1: %v, want %v", got, want)
		}
		if got := committed(t, b, topic, topic); got != 12 {
			t.Errorf("committed offset %d, want 12", got)
		}
	})
}

func TestOffsetsAlone(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		tx := one(topic, "", 5)
		tx.Records = nil
		if err := open(t, b.Conn.Client, topic).Commit(kafkatest.Context(t), tx); err != nil {
			t.Fatal(err)
		}
		if got := committed(t, b, topic, topic); got != 5 {
			t.Errorf("committed offset %d, want 5", got)
		}
	})
}

func TestTransactionOfManyBatches(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		var tx txn.Transaction
		var want []string
		for i := range 30 {
			v := make([]byte, 100_000) // 3 MB that zstd can't shrink below the broker's 1 MB
			if _, err := rand.Read(v); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint(i))
			tx.Records = append(tx.Records, txn.Record{Topic: topic, Key: fmt.Append(nil, i), Value: v})
		}
		p := open(t, b.Conn.Client, topic)
		for range 2 {
			if err := p.Commit(kafkatest.Context(t), tx); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, m := range b.Consume(t, topic, 0) {
			got = append(got, m.Key)
		}
		if !slices.Equal(got, slices.Concat(want, want)) {
			t.Errorf("keys %v", got)
		}
	})
}

// Whatever answer is lost, the transaction is committed once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		for _, sent := range []bool{false, true} {
			for _, step := range steps {
				t.Run(fmt.Sprintf("%v sent %v", step, sent), func(t *testing.T) {
					topic := b.Topic(t, 1, nil)
					client, m := meddle(b)
					if hook := lose(step, 3); sent {
						m.set(nil, hook)
					} else {
						m.set(hook, nil)
					}
					heard := 0
					p, err := txn.Open(kafkatest.Context(t), client, topic, timeout,
						txn.OnRetry(func(error) { heard++ }))
					if err != nil {
						t.Fatal(err)
					}
					for i, v := range []string{"a", "b"} {
						if err := p.Commit(kafkatest.Context(t), one(topic, v, int64(i))); err != nil {
							t.Fatal(err)
						}
					}
					wantValues(t, b, topic, "a", "b")
					if got := committed(t, b, topic, topic); got != 1 {
						t.Errorf("committed offset %d, want 1", got)
					}
					if heard < 3 {
						t.Errorf("heard of %d failures, want at least the 3 made", heard)
					}
				})
			}
		}
	})
}

// When the end is never answered the outcome is unknown, and the next Open
// settles it.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		for _, sent := range []bool{false, true} {
			t.Run(fmt.Sprintf("sent %v", sent), func(t *testing.T) {
				topic := b.Topic(t, 1, nil)
				client, m := meddle(b)
				p := open(t, client, topic)
				ctx, cancel := context.WithCancel(kafkatest.Context(t))
				defer cancel()
				losing, lost := lose(protocol.EndTxn, -1), 0
				hook := func(k protocol.ApiKey) error {
					err := losing(k)
					if err != nil {
						if lost++; lost == 3 {
							cancel() // the caller gives up
						}
					}
					return err
				}
				if sent {
					m.set(nil, hook)
				} else {
					m.set(hook, nil)
				}
				err := p.Commit(ctx, one(topic, "a", 1))
				if !errors.Is(err, txn.ErrUnknownOutcome) {
					t.Fatalf("%v, want an unknown outcome", err)
				}
				if err := p.Commit(t.Context(), one(topic, "b", 2)); !errors.Is(err, txn.ErrSpent) {
					t.Errorf("%v, want the producer to be spent", err)
				}
				p = open(t, b.Conn.Client, topic)
				if sent {
					wantValues(t, b, topic, "a")
				} else {
					wantValues(t, b, topic)
				}
				if err := p.Commit(t.Context(), one(topic, "c", 3)); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// A producer that another Open overtakes, at whatever step, commits nothing
// more.
func TestFenced(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		for _, step := range steps[1:] {
			t.Run(fmt.Sprint("before ", step), func(t *testing.T) {
				topic := b.Topic(t, 1, nil)
				client, m := meddle(b)
				zombie := open(t, client, topic)
				if err := zombie.Commit(kafkatest.Context(t), one(topic, "while it lived", 1)); err != nil {
					t.Fatal(err)
				}
				var successor *txn.Producer
				m.set(func(k protocol.ApiKey) error {
					if k == step && successor == nil {
						successor = open(t, b.Conn.Client, topic)
					}
					return nil
				}, nil)
				err := zombie.Commit(kafkatest.Context(t), one(topic, "as a zombie", 2))
				if !errors.Is(err, txn.ErrFenced) || errors.Is(err, txn.ErrUnknownOutcome) {
					t.Fatalf("%v, want to be fenced", err)
				}
				if err := successor.Commit(kafkatest.Context(t), one(topic, "successor", 3)); err != nil {
					t.Fatal(err)
				}
				wantValues(t, b, topic, "while it lived", "successor")
				if got := committed(t, b, topic, topic); got != 3 {
					t.Errorf("committed offset %d, want 3", got)
				}
			})
		}
	})
}

// A lost answer to a commit that was carried out, then a successor: the retry
// is fenced, yet the transaction is committed. That must not be called fenced
// alone.
func TestFencedAfterACommitWhoseAnswerWasLost(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		client, m := meddle(b)
		p := open(t, client, topic)
		lost := lose(protocol.EndTxn, 1)
		m.set(nil, func(k protocol.ApiKey) error {
			err := lost(k)
			if err != nil {
				open(t, b.Conn.Client, topic)
			}
			return err
		})
		err := p.Commit(kafkatest.Context(t), one(topic, "a", 1))
		if !errors.Is(err, txn.ErrUnknownOutcome) || !errors.Is(err, txn.ErrFenced) {
			t.Errorf("%v, want fenced with an unknown outcome", err)
		}
		wantValues(t, b, topic, "a")
	})
}

// The coordinator aborts a transaction that takes longer than its timeout.
func TestTimedOutTransaction(t *testing.T) {
	t.Parallel()
	b := kafkatest.Real(t)
	topic := b.Topic(t, 1, nil)
	client, m := meddle(b)
	p, err := txn.Open(kafkatest.Context(t), client, topic, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	m.set(func(k protocol.ApiKey) error {
		if k == protocol.EndTxn {
			r := b.Fetch(fetch.Options{}).Partition(topic, 0, 0)
			kafkatest.Await(t, "its abort marker", func() bool {
				_, err := r.Poll(kafkatest.Context(t))
				return err == nil && r.Position() == 2
			})
		}
		return nil
	}, nil)
	if err := p.Commit(kafkatest.Context(t), one(topic, "late", 1)); !errors.Is(err, txn.ErrFenced) {
		t.Errorf("%v, want to be fenced", err)
	}
	wantValues(t, b, topic)
}

// An offset of an earlier generation takes the records down with it.
func TestStaleGeneration(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, nil)
		p := open(t, b.Conn.Client, topic)
		tx := one(topic, "a", 1)
		tx.Offsets.Generation, tx.Offsets.Member = 4, "somebody who left"
		if err := p.Commit(kafkatest.Context(t), tx); !errors.Is(err, txn.ErrFenced) {
			t.Errorf("%v, want to be fenced", err)
		}
		// Aborted at once, not when its timeout comes.
		wantValues(t, b, topic)
		if got := committed(t, b, topic, topic); got != -1 {
			t.Errorf("committed offset %d, want none", got)
		}
	})
}

func TestTooLarge(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 1, map[string]string{"max.message.bytes": "1000"})
		v := make([]byte, 2000)
		if _, err := rand.Read(v); err != nil {
			t.Fatal(err)
		}
		tx := txn.Transaction{Records: []txn.Record{{Topic: topic, Value: []byte("small")}}}
		p := open(t, b.Conn.Client, topic)
		if err := p.Commit(kafkatest.Context(t), tx); err != nil {
			t.Fatal(err)
		}
		tx.Records = append(tx.Records, txn.Record{Topic: topic, Value: v})
		if err := p.Commit(kafkatest.Context(t), tx); !errors.Is(err, txn.ErrTooLarge) {
			t.Errorf("%v, want too large", err)
		}
		if err := txn.Send(kafkatest.Context(t), b.Conn.Client, tx.Records); !errors.Is(err, txn.ErrTooLarge) {
			t.Errorf("Send: %v, want too large", err)
		}
		wantValues(t, b, topic, "small")
	})
}

func TestSend(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		topic := b.Topic(t, 3, nil)
		var records []txn.Record
		for i := range 60 {
			records = append(records, txn.Record{Topic: topic, Partition: i % 3, Key: fmt.Append(nil, i),
				Value: make([]byte, 200_000)})
		}
		client, m := meddle(b)
		m.set(lose(protocol.Produce, 2), nil)
		if err := txn.Send(kafkatest.Context(t), client, records); err != nil {
			t.Fatal(err)
		}
		for p := range 3 {
			got := b.Consume(t, topic, p)
			for i, msg := range got {
				if msg.Key != fmt.Sprint(p+3*i) {
					t.Fatalf("partition %d: record %d has key %s", p, i, msg.Key)
				}
			}
			if len(got) != 20 {
				t.Errorf("partition %d: %d records, want 20", p, len(got))
			}
		}
	})
}
