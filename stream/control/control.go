// Package control keeps what all processes of one app must agree on, in a compacted topic: the key under which users
// are hashed, the key under which the secrets of watches are sealed, the definitions of the streams and the windows
// that follow each, which budget pays for a stream, and how many partitions of an input a window takes.
//
// Writers take turns with a transactional id. A writer that opens it ends the turns of all earlier writers. Then it
// reads the topic to its end, and writes what is missing in one transaction.
package control

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/fetch"
)

// Version is the version of the control topic's format that this code reads and writes.
const Version = 1

// ErrRefused means that the configuration contradicts the app's history.
var ErrRefused = errors.New("refused")

// ErrForgotten means that the control topic has lost records, or holds some that cannot be read. With a new hash key
// one user would become two, and nobody would know which budgets continue which.
var ErrForgotten = errors.New("the app's key and definitions are lost")

// State is the content of the control topic. It does not change after [Load] or [Read] returns it.
type State struct {
	// HashKey is the key of the user hashes, random per app.
	HashKey [16]byte
	// WatchKey seals the secrets of watches in the ledger, random per app. It is nil until a stream has a watch.
	WatchKey []byte
	// Forgotten are outputs, with the ends that their partitions had when the app began again; see [BeginAgain]. It is
	// nil if the app never did.
	Forgotten map[string][]int64

	// Older says that the files belong to an earlier epoch, so the process ignores them.
	Older bool
	// Notes tell the operator which parts of the files have no effect, and what changed definitions cost in addition to
	// their windows.
	Notes []string

	version int
	epochs  []*epoch    // in the order of their numbers
	defined definitions // of the epochs, as streams
	claims  map[reader]claim
	took    map[string][]string // the budgets whose spending a budget has taken over
}

// Keys of the control topic's records.
const (
	keyFormat = "format"
	keyHash   = "user-hash-key"
	keyWatch  = "watch-key"
	keyAgain  = "begun-again"
)

// watchKeySize is the key size of AES-256, in bytes.
const watchKeySize = 32

// Load reads the state, and adds what is wanted and missing. It fails with [ErrRefused] if a stream's budget would
// forget what the users of its input topic have lost, and the stream says neither `fresh` nor `continues`.
func Load(ctx context.Context, log Log, w Wanted, charged Charged) (*State, error) {
	s, err := Read(ctx, log)
	if err == nil && s.version == 0 {
		s, err = readUnbegun(ctx, log)
	}
	if err != nil {
		return nil, err
	}
	missing, err := s.complete(ctx, w, charged, w.now())
	if err != nil || len(missing) == 0 {
		return s, err
	}
	err = inTurn(ctx, log, func() (missing []Record, err error) {
		if s, err = Read(ctx, log); err == nil {
			missing, err = s.complete(ctx, w, charged, w.now())
		}
		return missing, err
	})
	return s, err
}

// readUnbegun reads the state of an app that seems not to have begun. If other topics of the app have records, the
// control topic has lost its own, and it returns an [ErrForgotten]. But another process may have begun the app just
// now, so the control topic is read again first.
func readUnbegun(ctx context.Context, log Log) (*State, error) {
	used, err := log.Used(ctx)
	if err != nil {
		return nil, fmt.Errorf("see whether the app is new: %w", err)
	}
	s, err := Read(ctx, log)
	switch {
	case err != nil || s.version != 0:
	case used != "":
		err = fmt.Errorf("%w: the control topic is empty, but topic %s has records; the control topic must never be "+
			"deleted or recreated; begin again with another app id", ErrForgotten, used)
	}
	return s, err
}

// BeginAgain records that the app begins again, because its operator says so. outputs are the ends of the outputs'
// partitions: what the app charged for figures before them is forgotten.
func BeginAgain(ctx context.Context, log Log, outputs map[string][]int64) error {
	value, err := json.Marshal(outputs)
	if err != nil {
		return err
	}
	return inTurn(ctx, log, func() ([]Record, error) { return []Record{{[]byte(keyAgain), value}}, nil })
}

// Read reads the state and changes nothing.
func Read(ctx context.Context, log Records) (*State, error) {
	s := &State{claims: map[reader]claim{}, took: map[string][]string{}}
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

// Unreadable turns an error about lost or damaged records of the control topic into an [ErrForgotten]. It leaves all
// other errors as they are.
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
	secret := func(size int) (b []byte, err error) {
		if err = into(&b); err == nil && len(b) != size {
			err = fmt.Errorf("record %q has %d bytes; want %d", k, len(b), size)
		}
		return b, err
	}
	switch {
	case k == keyFormat:
		if err := into(&s.version); err != nil {
			return err
		}
		if s.version > Version {
			return fmt.Errorf("%w: the control topic has format version %d; this release of louver knows formats up "+
				"to %d; run a newer one", ErrRefused, s.version, Version)
		}
	case k == keyHash:
		b, err := secret(len(s.HashKey))
		copy(s.HashKey[:], b)
		return err
	case k == keyWatch:
		var err error
		s.WatchKey, err = secret(watchKeySize)
		return err
	case k == keyAgain:
		return into(&s.Forgotten)
	case strings.HasPrefix(k, keyEpoch):
		return s.applyEpoch(into)
	default:
		return s.applyClaim(k, into)
	}
	return nil
}

// additions are records that the control topic lacks. If a value cannot be encoded, err says why.
type additions struct {
	records []Record
	err     error
}

func (a *additions) put(key string, v any) {
	value, err := json.Marshal(v)
	a.records, a.err = append(a.records, Record{[]byte(key), value}), errors.Join(a.err, err)
}

// complete adds what is wanted and missing to the state, and returns it as records.
func (s *State) complete(ctx context.Context, w Wanted, charged Charged, now time.Time) ([]Record, error) {
	var missing additions
	if s.version == 0 {
		s.version = Version
		missing.put(keyFormat, Version)
		_, _ = rand.Read(s.HashKey[:]) // it never returns an error
		missing.put(keyHash, s.HashKey[:])
	}
	if s.Older = s.older(w); s.Older {
		return missing.records, missing.err
	}
	if s.WatchKey == nil && w.watches() {
		s.WatchKey = make([]byte, watchKeySize)
		_, _ = rand.Read(s.WatchKey)
		missing.put(keyWatch, s.WatchKey)
	}
	if err := s.judge(ctx, w.Streams, charged, &missing); err != nil {
		return nil, err
	}
	next, err := s.propose(w, now)
	if err != nil {
		return nil, err
	}
	if next != nil {
		s.epochs = append(s.epochs, next)
		missing.put(keyEpoch+strconv.Itoa(next.Number), next)
	}
	return missing.records, missing.err
}

// definitions turns recorded definitions into streams, each once. It is safe for concurrent use.
type definitions struct {
	mutex sync.Mutex
	read  map[config.Definition]*config.Stream
}

// stream returns the stream of a definition. It fails if a later release wrote it, with keys that this one does not
// know.
func (all *definitions) stream(d config.Definition) (*config.Stream, error) {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	if stream, known := all.read[d]; known {
		return stream, nil
	}
	stream, err := parse.Definition(d)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("the control topic has a definition that this release of louver cannot read (%s); "+
			"run the release that wrote it, or a newer one", first)
	}
	if all.read == nil {
		all.read = map[config.Definition]*config.Stream{}
	}
	all.read[d] = stream
	return stream, nil
}
