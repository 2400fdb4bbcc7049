package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkatest"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
)

// memory is a control topic in memory. A turn that is not the last one taken is fenced.
type memory struct {
	mu      sync.Mutex
	records []Record
	turn    int
	used    func() string // nil: nothing is
}

func (m *memory) Used(context.Context) (string, error) {
	if m.used == nil {
		return "", nil
	}
	return m.used(), nil
}

func (m *memory) Read(_ context.Context, f func(key, value []byte) error) error {
	m.mu.Lock()
	records := slices.Clone(m.records)
	m.mu.Unlock()
	for _, r := range records {
		if err := f(r.Key, r.Value); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Turn(context.Context) (Turn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	return memoryTurn{m, m.turn}, nil
}

type memoryTurn struct {
	*memory
	number int
}

func (m memoryTurn) Write(_ context.Context, records []Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.number != m.turn {
		return txn.ErrFenced
	}
	m.records = append(m.records, records...)
	return nil
}

func streams(t *testing.T, names ...string) []*config.Stream {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: 1\nstreams:\n")
	for _, name := range names {
		fmt.Fprintf(&b, `  - name: %s
    input: {topic: in-%s, user: user, value: value}
    bounds: {lower: 0, upper: 10, step: 1}
    window: {size: 1h, grace: 1s, start: now}
    releases: [{name: users, statistic: count, epsilon: 1}]
    output: {topic: out}
    budget: {epsilon: 100, per: 24h}
`, name, name)
	}
	file, err := parse.File("streams.yaml", []byte(b.String()), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return file.Streams
}

func never(context.Context, string) (bool, error) { return false, nil }

// agree loads the state from many processes at once: all must have the same key and starts.
func agree(t *testing.T, log Log) *State {
	t.Helper()
	s := streams(t, "a", "b")
	states := make([]*State, 12)
	var all sync.WaitGroup
	for i := range states {
		all.Go(func() {
			var err error
			if states[i], err = Load(kafkatest.Context(t), log, Wanted{Streams: s}, never); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, state := range states {
		if state.HashKey != states[0].HashKey || state.HashKey == [16]byte{} ||
			begins(t, state, "a") != begins(t, states[0], "a") {
			t.Fatal("two processes disagree on the key or on a start")
		}
	}
	return states[0]
}

// begins is the start of a stream's first window.
func begins(t *testing.T, s *State, stream string) int64 {
	t.Helper()
	return s.newest().Streams[stream][0].Start
}

func TestProcessesAgree(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		for range 50 {
			agree(t, &memory{})
		}
	})
	kafkatest.Each(t, func(t *testing.T, b *kafkatest.Broker) {
		names := topics.Names{App: kafkatest.Name(t)}
		b.CreateTopic(t, names.Control(), 1, map[string]string{"cleanup.policy": "compact"})
		b.CreateTopic(t, names.Ledger(), topics.Partitions, nil)
		b.CreateTopic(t, names.Partials(), topics.Partitions, nil)
		log := Kafka{Fetch: b.Fetch(fetch.Options{}), Names: names,
			Open: func(ctx context.Context, id string) (*txn.Producer,
				error) {
				return txn.Open(ctx, b.Conn.Client, id, 10*time.Second)
			}}
		first := agree(t, log)
		if again := agree(t, log); again.HashKey != first.HashKey || begins(t, again, "b") != begins(t, first, "b") {
			t.Error("a restart has another key or start")
		}
	})
}

// The key of the watches' secrets is drawn when the first stream has a watch, and stays: under another one, no secret
// would open.
func TestTheKeyOfWatches(t *testing.T) {
	log, plain := &memory{}, streams(t, "a")
	load := func(all []*config.Stream) *State {
		t.Helper()
		s, err := Load(t.Context(), log, Wanted{Streams: all}, never)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := load(plain); s.WatchKey != nil {
		t.Errorf("a key of %d bytes, and no stream has a watch", len(s.WatchKey))
	}
	watched := slices.Clone(plain)
	file, err := parse.File("streams.yaml", []byte(strings.Replace(string(plain[0].Definition), "window: ",
		"watches: [{name: few, users_below: 50, epsilon: 1, false_alarms: {at_most: 0.05, per: 30d}, hold: 0s, "+
			"at_most: 2}], window: ", 1)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	watched[0] = file.Streams[0]
	key := load(watched).WatchKey
	// of random bytes, so many are 0 with a probability below 10^-30
	if len(key) != 32 || bytes.Count(key, []byte{0}) > 16 {
		t.Fatalf("a key of %d bytes, of which %d are 0", len(key), bytes.Count(key, []byte{0}))
	}
	if again := load(watched).WatchKey; !bytes.Equal(again, key) {
		t.Error("a restart has another key")
	}
	if s, err := Load(t.Context(), &memory{}, Wanted{Streams: watched}, never); err != nil ||
		bytes.Equal(s.WatchKey, key) {
		t.Errorf("another app has the same key, or %v", err)
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	log := &memory{records: []Record{{[]byte("format"), []byte("2")}}}
	if _, err := Load(context.Background(), log, Wanted{Streams: streams(t, "a")}, never); !errors.Is(err, ErrRefused) {
		t.Errorf("a newer format gives %v", err)
	}
}

// TestALostControlTopicIsRefused: a new key would make two users of one. An app that begins in two processes at a time
// is not mistaken for one that has lost its topic. One that begins again is new.
func TestALostControlTopicIsRefused(t *testing.T) {
	w := Wanted{Streams: streams(t, "a")}
	log := &memory{used: func() string { return "app.ledger" }}
	if _, err := Load(t.Context(), log, w, never); !errors.Is(err, ErrForgotten) ||
		!strings.Contains(err.Error(), "topic app.ledger has records") {
		t.Errorf("an empty topic of an app with records gives %v", err)
	}
	if len(log.records) > 0 {
		t.Errorf("%d records were written", len(log.records))
	}
	again := map[string][]int64{"out": {7, 0}}
	if err := BeginAgain(t.Context(), log, again); err != nil {
		t.Fatal(err)
	}
	log.used = func() string {
		if _, err := Load(t.Context(), &other{log}, w, never); err != nil {
			t.Error(err)
		}
		return "app.ledger"
	}
	s, err := Load(t.Context(), log, w, never)
	if err != nil || s.HashKey == [16]byte{} || s.Epoch() != 1 || !reflect.DeepEqual(s.Forgotten, again) {
		t.Errorf("beside another process that begins: %+v, %v", s, err)
	}
}

// TestADamagedControlTopicIsRefused: the key may be among what cannot be read.
func TestADamagedControlTopicIsRefused(t *testing.T) {
	w := Wanted{Streams: streams(t, "a")}
	for name, log := range map[string]Log{
		"a record that is cut": &memory{records: []Record{{[]byte("format"), []byte("1")},
			{[]byte("user-hash-key"), []byte(`"AAA`)}}},
		"a key that is short": &memory{records: []Record{{[]byte("format"), []byte("1")},
			{[]byte("user-hash-key"), []byte(`"AAAA"`)}}},
		"a batch that is damaged":   broken{&memory{}, &fetch.BatchError{Topic: "app.control"}},
		"records that were deleted": broken{&memory{}, &fetch.LostError{Topic: "app.control"}},
		"an end that is gone":       broken{&memory{}, &fetch.TruncatedError{Topic: "app.control"}},
	} {
		if _, err := Load(t.Context(), log, w, never); !errors.Is(err, ErrForgotten) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}

// broken is a control topic that cannot be read.
type broken struct {
	*memory
	err error
}

func (b broken) Read(context.Context, func(key, value []byte) error) error { return b.err }

// other is the control topic as another process sees it, which begins.
type other struct{ *memory }

func (other) Used(context.Context) (string, error) { return "", nil }

// contended is a control topic of which others have the turn for a while.
type contended struct {
	*memory
	fenced int
}

func (c *contended) Turn(ctx context.Context) (Turn, error) {
	if c.fenced > 0 {
		c.fenced--
		return memoryTurn{c.memory, -1}, nil
	}
	return c.memory.Turn(ctx)
}

// TestWritersWaitForEachOther: a writer whose turn was ended waits, each time for longer, before it ends another's.
func TestWritersWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := Load(t.Context(), &contended{&memory{}, 8}, wanted(t), never); err != nil {
			t.Fatal(err)
		}
		// Of eight waits, from 10 ms doubling, half or less is chance.
		if took, least := time.Since(began), 255*10*time.Millisecond/2; took < least {
			t.Errorf("eight turns that were ended took %v, want %v at least", took, least)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := Load(ctx, &contended{&memory{}, 1 << 30}, wanted(t), never); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("while others never end: %v", err)
		}
	})
}
