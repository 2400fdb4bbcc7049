package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// keyInput begins the keys of the records about the partitions of input topics.
const keyInput = "input/"

// Step says how many partitions of an input topic a window takes that is due at Due (Unix nanoseconds) or later.
type Step struct {
	Partitions int   `json:"partitions"`
	Due        int64 `json:"due"`
}

// Always is the Due of a topic's first step.
const Always = math.MinInt64

// Inputs knows how many partitions of each input topic a window takes. All processes of an app agree on that, because
// it is in the control topic. So the new partitions of a growing topic count from a certain window on, and not before.
//
// Every window waits for the mark of partition 0, and a mark says how many partitions its windows take. So only the
// worker of partition 0 proposes another number, and it marks no window that is due at [Inputs.Certain] or later. It
// reads all steps when it begins. So that mark has the right number, which is the largest of a window's marks. Inputs
// is safe for concurrent use.
type Inputs struct {
	log   Log
	turn  chan struct{} // holds one while a proposal is made
	mu    sync.Mutex
	steps map[string][]Step
	open  map[string]int64 // the due of a proposal of which nobody knows whether it was written, by topic
}

// NewInputs returns empty Inputs; see [Inputs.Learn].
func NewInputs(log Log) *Inputs {
	return &Inputs{log: log, turn: make(chan struct{}, 1), steps: map[string][]Step{},
		open: map[string]int64{}}
}

// Learn reads what has been agreed on. Another worker may have proposed a step since the reading began. Steps are only
// added, so the longer of two lists is the newer one.
func (i *Inputs) Learn(ctx context.Context) error {
	steps := map[string][]Step{}
	err := i.log.Read(ctx, func(key, value []byte) error {
		topic, ok := strings.CutPrefix(string(key), keyInput)
		if !ok {
			return nil
		}
		var s []Step
		if err := json.Unmarshal(value, &s); err != nil {
			return fmt.Errorf("record %q: %w", key, err)
		}
		steps[topic] = s
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the control topic: %w", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for topic, s := range steps {
		if len(s) > len(i.steps[topic]) {
			i.steps[topic] = s
		}
	}
	return nil
}

// Steps returns the steps of a topic, in the order of their Due.
func (i *Inputs) Steps(topic string) []Step {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.steps[topic]
}

// Partitions returns how many partitions a window takes that is due at a moment, or 0 for an unknown topic.
func (i *Inputs) Partitions(topic string, due int64) int {
	n := 0
	for _, s := range i.Steps(topic) {
		if s.Due <= due {
			n = s.Partitions
		}
	}
	return n
}

// Certain returns the moment from which on windows that are due may take another number of partitions than is known
// here, because a proposal was made and its outcome is not known. math.MaxInt64: all is known. [Inputs.Propose] for the
// same topic finds out.
func (i *Inputs) Certain(topic string) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	if due, open := i.open[topic]; open {
		return due
	}
	return math.MaxInt64
}

// Propose makes windows that are due at a moment or later take n partitions, unless another worker was first. The first
// step of a topic applies to all windows. After an error nobody knows whether it was written; see [Inputs.Certain].
//
// A turn ends the previous one. So the workers of a process take turns one after another, and a process whose turn was
// ended waits for a random time before the next. Otherwise slow processes could end each other's turns for ever.
func (i *Inputs) Propose(ctx context.Context, topic string, n int, due int64) error {
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if i.Partitions(topic, math.MaxInt64) == n && i.Certain(topic) == math.MaxInt64 {
		return nil // another worker was first
	}
	i.mu.Lock()
	i.open[topic] = min(due, cmp.Or(i.open[topic], due))
	i.mu.Unlock()
	var steps []Step
	err := inTurn(ctx, i.log, func() ([]Record, error) {
		if err := i.Learn(ctx); err != nil {
			return nil, err
		}
		steps = slices.Clone(i.Steps(topic))
		var begin int64
		switch last := len(steps) - 1; {
		case last < 0:
			begin = Always
		case steps[last].Partitions == n:
			return nil, nil
		default:
			begin = max(due, steps[last].Due)
		}
		steps = append(steps, Step{n, begin})
		value, err := json.Marshal(steps)
		return []Record{{[]byte(keyInput + topic), value}}, err
	})
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.steps[topic] = steps
	delete(i.open, topic)
	return nil
}
