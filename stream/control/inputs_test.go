package control

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/louver/louver/stream/kafka/txn"
)

// slowLog is a log on which everything takes its time: a turn that is taken meanwhile ends the one before.
type slowLog struct {
	mu      sync.Mutex
	turns   int
	records map[string][]byte
}

const (
	slowTurn  = time.Millisecond
	slowWrite = 10 * time.Millisecond
)

func (l *slowLog) Read(_ context.Context, f func(key, value []byte) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, v := range l.records {
		if err := f([]byte(k), v); err != nil {
			return err
		}
	}
	return nil
}

func (l *slowLog) Used(context.Context) (string, error) { return "", nil }

func (l *slowLog) Turn(ctx context.Context) (Turn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	time.Sleep(slowTurn) // of the bubble's clock, as all here
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns++
	return &slowTurnOf{l, l.turns}, nil
}

type slowTurnOf struct {
	log    *slowLog
	number int
}

func (t *slowTurnOf) Write(_ context.Context, records []Record) error {
	time.Sleep(slowWrite)
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	if t.log.turns != t.number {
		return txn.ErrFenced
	}
	for _, r := range records {
		t.log.records[string(r.Key)] = r.Value
	}
	return nil
}

// Proposals that are made at once come to an end, be they of one process or of several, though each turn ends the one
// before. The times are such that without waiting all would be fenced for ever.
func TestProposalsEnd(t *testing.T) {
	for _, processes := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			log := &slowLog{records: map[string][]byte{}}
			var inputs []*Inputs
			for range processes {
				inputs = append(inputs, NewInputs(log))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var wait sync.WaitGroup
			for worker := range 3 {
				wait.Go(func() {
					time.Sleep(time.Duration(worker) * 3 * time.Millisecond)
					if err := inputs[worker%processes].Propose(ctx, "events", 4, 0); err != nil {
						t.Errorf("worker %d: %v", worker, err)
					}
				})
			}
			wait.Wait()
			var steps []Step
			if err := json.Unmarshal(log.records[keyInput+"events"], &steps); err != nil || len(steps) != 1 ||
				steps[0] != (Step{4, Always}) {
				t.Errorf("agreed on %+v, %v; want one step of 4", steps, err)
			}
		})
	}
}

// What was read before a proposal does not undo it.
func TestLearnForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &slowLog{records: map[string][]byte{}}
		i := NewInputs(log)
		for _, n := range []int{3, 4} {
			if err := i.Propose(t.Context(), "events", n, 100); err != nil {
				t.Fatal(err)
			}
		}
		for _, old := range []map[string][]byte{{},
			{keyInput + "events": []byte(`[{"partitions":3,"due":-9223372036854775808}]`)}} {
			log.records = old
			if err := i.Learn(t.Context()); err != nil {
				t.Fatal(err)
			}
			if before, now := i.Partitions("events", 99), i.Partitions("events", 100); before != 3 || now != 4 {
				t.Errorf("%d partitions and then %d, want 3 and 4", before, now)
			}
		}
	})
}

// No step begins before the one ahead of it, whatever is asked for: otherwise a window would take the later number of
// partitions and then the earlier one again.
func TestStepsAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInputs(&slowLog{records: map[string][]byte{}})
		for _, p := range []Step{{2, 0}, {4, 100}, {6, 50}} {
			if err := i.Propose(t.Context(), "events", p.Partitions, p.Due); err != nil {
				t.Fatal(err)
			}
		}
		if want := []Step{{2, Always}, {4, 100}, {6, 100}}; !slices.Equal(i.Steps("events"), want) {
			t.Errorf("agreed on %v, want %v", i.Steps("events"), want)
		}
	})
}

// A proposal may be written although its answer is lost, and so may each attempt after it. Until one is answered, windows
// are certain only before all of them.
func TestCertainUntilAProposalIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &deafLog{slowLog: slowLog{records: map[string][]byte{}}}
		i := NewInputs(log)
		for _, c := range []struct {
			due  int64
			deaf bool
			want int64
		}{{100, true, 100}, {200, true, 100}, {300, false, math.MaxInt64}} {
			log.deaf = c.deaf
			if err := i.Propose(t.Context(), "events", 4, c.due); (err != nil) != c.deaf {
				t.Fatalf("due at %d: %v", c.due, err)
			}
			if got := i.Certain("events"); got != c.want {
				t.Errorf("after a proposal for %d, windows are certain before %d, want %d", c.due, got, c.want)
			}
		}
	})
}

// deafLog is a log that may hear no answer.
type deafLog struct {
	slowLog
	deaf bool
}

func (l *deafLog) Turn(ctx context.Context) (Turn, error) {
	if l.deaf {
		return nil, errors.New("no answer")
	}
	return l.slowLog.Turn(ctx)
}
