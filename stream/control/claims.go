package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/louver/louver/stream/config"
)

// Keys of the control topic's records about budgets.
const (
	keyClaim     = "claim/"
	keyContinues = "continues/"
)

type claim struct{ topic, budget string }

// Charged says whether the ledger holds a charge of this budget for a stream that read this input topic.
type Charged func(ctx context.Context, topic, budget string) (bool, error)

// applyClaim takes in a record about budgets; others it leaves alone.
func (s *State) applyClaim(key string, into func(any) error) error {
	switch {
	case strings.HasPrefix(key, keyClaim):
		topic, budget, _ := strings.Cut(key[len(keyClaim):], "/")
		s.claims[claim{topic, budget}] = true
	case strings.HasPrefix(key, keyContinues):
		var old string
		if err := into(&old); err != nil {
			return err
		}
		s.Continues[key[len(keyContinues):]] = old
	}
	return nil
}

// claim records which budget pays for a stream's input topic, unless that is refused.
func (s *State) claim(ctx context.Context, stream *config.Stream, streams []*config.Stream, charged Charged, put func(key string, v any) error) error {
	own := claim{stream.Input.Topic, stream.Budget.Name}
	if s.claims[own] {
		return nil
	}
	if err := s.refuseRename(ctx, stream, streams, charged); err != nil {
		return err
	}
	s.claims[own] = true
	if err := put(keyClaim+own.topic+"/"+own.budget, true); err != nil {
		return err
	}
	old := stream.Continues
	if old == "" || s.Continues[own.budget] == old {
		return nil
	}
	s.Continues[own.budget] = old
	return put(keyContinues+own.budget, old)
}

// refuseRename keeps a new budget's name from resetting what the topic's people have lost.
func (s *State) refuseRename(ctx context.Context, stream *config.Stream, streams []*config.Stream, charged Charged) error {
	if stream.Fresh || stream.Continues != "" {
		return nil
	}
	for c := range s.claims {
		inUse := slices.ContainsFunc(streams, func(o *config.Stream) bool {
			return o.Input.Topic == c.topic && o.Budget.Name == c.budget
		})
		if c.topic != stream.Input.Topic || inUse {
			continue
		}
		yes, err := charged(ctx, c.topic, c.budget)
		if err != nil {
			return err
		}
		if yes {
			return fmt.Errorf("%w: stream %s: its input topic %s was charged to budget %q before, not to %q: say `continues: %s` to take over what that has spent, or `fresh: true` to begin anew",
				ErrRefused, stream.Name, c.topic, c.budget, stream.Budget.Name, c.budget)
		}
	}
	return nil
}

// Lineage is the budget and all those whose spending it took over, nearest first.
func (s *State) Lineage(budget string) []string {
	line := []string{budget}
	for {
		old, ok := s.Continues[line[len(line)-1]]
		if !ok || slices.Contains(line, old) {
			return line
		}
		line = append(line, old)
	}
}
