// Package control keeps what all processes of one app must agree on, in a compacted topic: the key under which users
// are hashed, the key under which the secrets of watches are sealed, the definitions of the streams and the windows that follow each, which budget pays for a stream, and how
// many partitions of an input a window takes.
//
// Writers take turns with a transactional id. A writer that opens it ends the turns of all earlier ones, reads the
// topic to its end, and writes what is missing in one transaction.
package control

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// Version of the internal topics' format that this code reads and writes.
const Version = 1

// ErrRefused means that the configuration contradicts the app's history.
var ErrRefused = errors.New("refused")

// ErrForgotten means that the control topic has lost records, or holds some that cannot be read. Under a new key of the hashes one user would be two
// users, and what a budget continues would be forgotten.
var ErrForgotten = errors.New("the app's key and definitions are lost")

// State is the content of the control topic. It does not change after [Load] or [Read] returns it.
type State struct {
	// HashKey is the key of the user hashes, random per app.
	HashKey [16]byte
	// WatchKey seals the secrets of watches in the ledger, random per app. It is nil until a stream has a watch.
	WatchKey []byte

	// Older says that the files belong to an earlier epoch, so the process ignores them.
	Older bool
	// Notes tell the operator which parts of the files have no effect, and what changed definitions cost beside their windows.
	Notes []string

	version int
	epochs  []*epoch         // in the order of their numbers
	defined definitions      // of the epochs, as streams
	starts  map[string]int64 // of streams, in Unix nanoseconds, as an earlier version wrote them
	claims  map[reader]claim
	took    map[string][]string // the budgets whose spending a budget has taken over
	former  map[string][]string // the budgets that a topic was read for, as earlier versions recorded it
}

// Keys of the control topic's records.
const (
	keyFormat = "format"
	keyHash   = "user-hash-key"
	keyWatch  = "watch-key"
	keyStart  = "start/"
)

// watchKeySize is that of AES-256.
const watchKeySize = 32

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
	// Used names another topic of the app that has had records, or is "" if none has. Nothing is written to any of them
	// before the control topic has its first records.
	Used(ctx context.Context) (topic string, err error)
	// Published names an output that holds figures of the app, or is "" if none does or that is not to be asked.
	Published(ctx context.Context) (topic string, err error)
}

// Turn can write until another writer takes the turn.
type Turn interface {
	Write(ctx context.Context, records []Record) error
}

// Record is one record of the control topic.
type Record struct{ Key, Value []byte }

// Load reads the state and adds what is wanted and missing. It fails with [ErrRefused] if a stream's budget would
// forget what the users of its input topic have lost and the stream says neither `fresh` nor `continues`.
func Load(ctx context.Context, log Log, w Wanted, payments Payments) (*State, error) {
	s, err := Read(ctx, log)
	if err == nil && s.version == 0 {
		s, err = first(ctx, log)
	}
	if err != nil {
		return nil, err
	}
	if missing, err := s.complete(ctx, w, payments, time.Now(), rand.Reader); err != nil || len(missing) == 0 {
		return s, err
	}
	for wait := kafkaconn.NewBackOff(); ; {
		turn, err := log.Turn(ctx)
		if err != nil {
			return nil, err
		}
		if s, err = Read(ctx, log); err != nil {
			return nil, err
		}
		missing, err := s.complete(ctx, w, payments, time.Now(), rand.Reader)
		if err != nil || len(missing) == 0 {
			return s, err
		}
		err = turn.Write(ctx, missing)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, txn.ErrFenced) && !errors.Is(err, txn.ErrUnknownOutcome) {
			return nil, fmt.Errorf("write the control topic: %w", err)
		}
		if err := pause(ctx, wait.NextBackOff()); err != nil {
			return nil, err
		}
	}
}

// first returns the state of an app that has not begun. It returns an [ErrForgotten] if the app has begun, so that the
// control topic has lost its records: then other topics of the app have records or, if all of them are gone, its outputs
// have figures. The records may also have come just now, from another process.
func first(ctx context.Context, log Log) (*State, error) {
	used, err := log.Used(ctx)
	if err != nil {
		return nil, fmt.Errorf("see whether the app is new: %w", err)
	}
	var published string
	if used == "" {
		if published, err = log.Published(ctx); err != nil {
			return nil, fmt.Errorf("see whether the app has published: %w", err)
		}
	}
	s, err := Read(ctx, log)
	switch {
	case err != nil || s.version != 0:
	case published != "":
		err = fmt.Errorf("%w: the app's own topics are empty, but topic %s has figures of it, so what was charged is unknown; begin again with another app id, or with louver run --begin-again, which forgets those charges", ErrForgotten, published)
	case used != "":
		err = fmt.Errorf("%w: the control topic is empty, but topic %s has records; the control topic must never be deleted or made anew; begin again with another app id", ErrForgotten, used)
	}
	return s, err
}

// pause makes a writer wait after another one ended its turn. The waits are random and grow, so that slow writers do
// not end each other's turns for ever.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Read reads the state and changes nothing.
func Read(ctx context.Context, log Records) (*State, error) {
	s := &State{starts: map[string]int64{}, claims: map[reader]claim{}, took: map[string][]string{}, former: map[string][]string{}}
	err := log.Read(ctx, func(key, value []byte) error {
		err := s.apply(key, value)
		if err != nil && !errors.Is(err, ErrRefused) {
			err = fmt.Errorf("%w: %w", ErrForgotten, err)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the control topic: %w", Unreadable(err))
	}
	return s, nil
}

// Unreadable turns the error about lost or damaged records of the control topic into an [ErrForgotten]. It does not
// change other errors.
func Unreadable(err error) error {
	var lost *fetch.LostError
	var damaged *fetch.BatchError
	var truncated *fetch.TruncatedError
	if errors.As(err, &lost) || errors.As(err, &damaged) || errors.As(err, &truncated) {
		return fmt.Errorf("%w: %w", ErrForgotten, err)
	}
	return err
}

func (s *State) apply(key, value []byte) error {
	k := string(key)
	into := func(v any) error {
		if err := json.Unmarshal(value, v); err != nil {
			return fmt.Errorf("record %q: %w", k, err)
		}
		return nil
	}
	switch {
	case k == keyFormat:
		if err := into(&s.version); err != nil {
			return err
		}
		if s.version > Version {
			return fmt.Errorf("%w: the control topic has format version %d; this release of louver knows formats up to %d; run a newer one", ErrRefused, s.version, Version)
		}
	case k == keyHash:
		var b []byte
		if err := into(&b); err != nil {
			return err
		}
		if copy(s.HashKey[:], b) != len(s.HashKey) {
			return fmt.Errorf("record %q has %d bytes; want %d", k, len(b), len(s.HashKey))
		}
	case k == keyWatch:
		if err := into(&s.WatchKey); err != nil {
			return err
		}
		if len(s.WatchKey) != watchKeySize {
			return fmt.Errorf("record %q has %d bytes; want %d", k, len(s.WatchKey), watchKeySize)
		}
	case strings.HasPrefix(k, keyEpoch):
		return s.applyEpoch(into)
	case strings.HasPrefix(k, keyStart):
		var t time.Time
		if err := into(&t); err != nil {
			return err
		}
		s.starts[k[len(keyStart):]] = t.UnixNano()
	default:
		return s.applyClaim(k, into)
	}
	return nil
}

// complete adds what is wanted and missing to the state, and returns it as records.
func (s *State) complete(ctx context.Context, w Wanted, payments Payments, now time.Time, random io.Reader) ([]Record, error) {
	var missing []Record
	put := func(key string, v any) error {
		value, err := json.Marshal(v)
		missing = append(missing, Record{[]byte(key), value})
		return err
	}
	if s.version == 0 {
		s.version = Version
		if err := put(keyFormat, Version); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(random, s.HashKey[:]); err != nil {
			return nil, err
		}
		if err := put(keyHash, s.HashKey[:]); err != nil {
			return nil, err
		}
	}
	if s.Older = s.older(w); s.Older {
		return missing, nil
	}
	if s.WatchKey == nil && w.watches() {
		s.WatchKey = make([]byte, watchKeySize)
		if _, err := io.ReadFull(random, s.WatchKey); err != nil {
			return nil, err
		}
		if err := put(keyWatch, s.WatchKey); err != nil {
			return nil, err
		}
	}
	if err := s.judge(ctx, w.Streams, payments, put); err != nil {
		return nil, err
	}
	next, err := s.propose(w, now)
	if err != nil || next == nil {
		return missing, err
	}
	s.epochs = append(s.epochs, next)
	record, err := next.record()
	return append(missing, record), err
}

// Kafka is the [Log] in the app's control topic.
type Kafka struct {
	Fetch *fetch.Client
	Open  func(ctx context.Context, id string) (*txn.Producer, error)
	Names topics.Names
	// Figures, if not nil, names an output that holds figures of the app, or is "" if none does.
	Figures func(ctx context.Context) (topic string, err error)
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
	all := make([]int, topics.Partitions)
	for i := range all {
		all[i] = i
	}
	for _, topic := range []string{k.Names.Ledger(), k.Names.Partials()} {
		ends, err := k.Fetch.Ends(ctx, topic, all)
		if err != nil {
			return "", err
		}
		for _, end := range ends {
			if end > 0 {
				return topic, nil
			}
		}
	}
	return "", nil
}

// Published implements [Log].
func (k Kafka) Published(ctx context.Context) (string, error) {
	if k.Figures == nil {
		return "", nil
	}
	return k.Figures(ctx)
}

type kafkaTurn struct {
	producer *txn.Producer
	topic    string
}

func (t kafkaTurn) Write(ctx context.Context, records []Record) error {
	var tx txn.Transaction
	for _, r := range records {
		tx.Records = append(tx.Records, txn.Record{Topic: t.topic, Key: r.Key, Value: r.Value, Time: time.Now().UnixMilli()})
	}
	return t.producer.Commit(ctx, tx)
}
