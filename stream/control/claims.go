package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/louver/louver/stream/config"
)

// Keys of the control topic's records about budgets.
const (
	keyClaim     = "payer/"     // + stream/topic: a claim
	keyContinues = "continues/" // + budget/former: the former budget
)

// reader is a stream on one input topic.
type reader struct{ stream, topic string }

// claim says which budget pays for a reader. It also has what the file said when it was recorded, because `fresh` and
// `continues` apply only once.
type claim struct {
	Budget    string `json:"budget"`
	Fresh     bool   `json:"fresh,omitempty"`
	Continues string `json:"continues,omitempty"`
}

// Charged reports whether any window was ever charged to a budget, according to the ledger.
type Charged func(ctx context.Context, budget string) (bool, error)

// applyClaim applies a record about budgets and ignores all others.
func (s *State) applyClaim(key string, into func(any) error) error {
	switch {
	case strings.HasPrefix(key, keyClaim):
		var c claim
		if err := into(&c); err != nil {
			return err
		}
		stream, topic, _ := strings.Cut(key[len(keyClaim):], "/")
		s.claims[reader{stream, topic}] = c
	case strings.HasPrefix(key, keyContinues):
		var old string
		if err := into(&old); err != nil {
			return err
		}
		budget, _, _ := strings.Cut(key[len(keyContinues):], "/")
		if !slices.Contains(s.took[budget], old) {
			s.took[budget] = append(s.took[budget], old)
		}
	}
	return nil
}

// Lineage returns the budget and all budgets whose spending it has taken over, nearest first.
func (s *State) Lineage(budget string) []string {
	line := []string{budget}
	for i := 0; i < len(line); i++ {
		for _, old := range s.took[line[i]] {
			if !slices.Contains(line, old) {
				line = append(line, old)
			}
		}
	}
	return line
}

// judgement decides which budgets may pay for streams. Earlier losses must not be forgotten silently. So a stream that
// changes its budget, or charges the users of an input to a second budget, needs `continues` or `fresh`.
type judgement struct {
	*State
	streams []*config.Stream
	charged Charged
	missing *additions
}

// judge records which budgets pay for the streams, or refuses a stream.
func (s *State) judge(ctx context.Context, streams []*config.Stream, charged Charged, missing *additions) error {
	j := &judgement{s, streams, charged, missing}
	for _, stream := range streams {
		if err := j.recordContinues(ctx, stream); err != nil {
			return err
		}
	}
	// Streams that say `fresh` come last. So if two budgets begin together, one of them has to say it.
	for _, fresh := range []bool{false, true} {
		for _, stream := range streams {
			if stream.Fresh != fresh {
				continue
			}
			if err := j.recordPayer(ctx, stream); err != nil {
				return err
			}
		}
	}
	return j.checkClosed()
}

// checkClosed checks that no stream uses a budget that another stream's budget has taken over. That other budget waits
// until all windows of the one it took over are decided.
func (j *judgement) checkClosed() error {
	for _, heir := range j.streams {
		for _, old := range j.Lineage(heir.Budget.Name)[1:] {
			if s := j.payingFrom(old); s != nil {
				return refuse(s, "budget %q is closed, because budget %q of stream %s has taken over its spending; "+
					"use that budget, or a new one", old, heir.Budget.Name, heir.Name)
			}
		}
	}
	return nil
}

// recordContinues lets a stream's budget take over another one's spending, if the stream says so for the first time.
func (j *judgement) recordContinues(ctx context.Context, s *config.Stream) error {
	budget, old := s.Budget.Name, s.Continues
	if old == "" || slices.Contains(j.Lineage(budget), old) {
		return nil
	}
	line := j.Lineage(old)
	before, known := j.claims[reader{s.Name, s.Input.Topic}]
	switch {
	case slices.Contains(line, budget):
		return refuse(s, "continues: %s, but %s has already taken over what %s spent, and two budgets cannot continue "+
			"each other; use a new budget with `continues: %s`, or write `fresh: true` to ignore what %s has spent",
			old, old, budget, old, old)
	case known && before.Budget != budget && !slices.Contains(line, before.Budget):
		return refuse(s, "continues: %s, but until now budget %q paid for input topic %s; write `continues: %s`",
			old, before.Budget, s.Input.Topic, before.Budget)
	}
	if other := j.payingFrom(old); other != nil {
		return refuse(s, "continues: %s, but stream %s still uses that budget; write `budget: %s` in both, or `fresh: "+
			"true` if users may lose the sum of both budgets", old, other.Name, old)
	}
	used, err := j.everUsed(ctx, old)
	if err != nil {
		return err
	}
	if !used {
		return refuse(s, "continues: %s, but no stream has ever used a budget of that name; write the name of the "+
			"budget that paid before, or remove the line", old)
	}
	j.takeOver(budget, old)
	return nil
}

// recordPayer records that a stream's budget pays for its input topic.
func (j *judgement) recordPayer(ctx context.Context, s *config.Stream) error {
	r := reader{s.Name, s.Input.Topic}
	now := claim{s.Budget.Name, s.Fresh, s.Continues}
	before, known := j.claims[r]
	same := known && before.Budget == now.Budget
	switch {
	case same && (before == now || !s.Fresh && s.Continues == ""):
		return nil
	case same && s.Fresh && before.Continues != "":
		return refuse(s, "fresh: true, but budget %q has taken over what %q spent, which cannot be undone; "+
			"remove the line, or use a new budget", before.Budget, before.Continues)
	case !same && !s.Fresh:
		for _, old := range j.leftBehind(r, now.Budget) {
			if err := j.takeOverUncharged(ctx, s, old); err != nil {
				return err
			}
		}
	}
	j.claim(r, now)
	return nil
}

// claim records which budget pays for a reader.
func (j *judgement) claim(r reader, c claim) {
	j.claims[r] = c
	j.missing.put(keyClaim+r.stream+"/"+r.topic, c)
}

// leftBehind returns the budgets that have charged a reader's users, and whose charges would not count in the given
// one.
func (j *judgement) leftBehind(r reader, budget string) []string {
	old := j.payersOf(r.topic)
	if before, known := j.claims[r]; known {
		old = []string{before.Budget}
	} else if slices.Contains(old, budget) {
		return nil // it pays for another stream already
	}
	line := j.Lineage(budget)
	return slices.DeleteFunc(old, func(b string) bool { return slices.Contains(line, b) })
}

// takeOverUncharged takes over a budget that would be left behind, if nothing has been charged to it yet. Windows that
// are still open may be charged later, and then count too. If something was charged, the stream is refused.
func (j *judgement) takeOverUncharged(ctx context.Context, s *config.Stream, old string) error {
	if other := j.payingFrom(old); other != nil && other.Name != s.Name {
		return refuse(s, "budget %q would charge the users of input topic %s, whom budget %q of stream %s already "+
			"charges; write `budget: %s` to share that budget, or `fresh: true` if users may lose the sum of both",
			s.Budget.Name, s.Input.Topic, old, other.Name, old)
	}
	charged, err := j.charged(ctx, old)
	if err != nil {
		return err
	}
	if charged || slices.Contains(j.Lineage(old), s.Budget.Name) {
		return refuse(s, "budget %q paid for input topic %s before, but the file now names %q; write `continues: %s` "+
			"to count what it has spent, or `fresh: true` to ignore that", old, s.Input.Topic, s.Budget.Name, old)
	}
	j.takeOver(s.Budget.Name, old)
	return nil
}

// takeOver makes the spending of a former budget count against a budget, which also gets its claims. So a stream that
// goes back to the former budget is judged again.
func (j *judgement) takeOver(budget, old string) {
	j.took[budget] = append(j.took[budget], old)
	j.missing.put(keyContinues+budget+"/"+old, old)
	for r, c := range j.claims {
		if c.Budget == old {
			j.claim(r, claim{Budget: budget})
		}
	}
}

// payersOf returns the budgets that pay for a topic, sorted.
func (j *judgement) payersOf(topic string) []string {
	var budgets []string
	for r, c := range j.claims {
		if r.topic == topic {
			budgets = append(budgets, c.Budget)
		}
	}
	slices.Sort(budgets)
	return slices.Compact(budgets)
}

// payingFrom returns a stream that uses a budget, or nil.
func (j *judgement) payingFrom(budget string) *config.Stream {
	i := slices.IndexFunc(j.streams, func(s *config.Stream) bool { return s.Budget.Name == budget })
	if i < 0 {
		return nil
	}
	return j.streams[i]
}

// everUsed reports whether a stream ever used a budget.
func (j *judgement) everUsed(ctx context.Context, budget string) (bool, error) {
	for c := range maps.Values(j.claims) {
		if c.Budget == budget {
			return true, nil
		}
	}
	if len(j.took[budget]) > 0 {
		return true, nil
	}
	return j.charged(ctx, budget)
}

// refuse makes the error about a stream's budget.
func refuse(s *config.Stream, format string, args ...any) error {
	return fmt.Errorf("%w: %s: stream %s: %s", ErrRefused, s.Where, s.Name, fmt.Sprintf(format, args...))
}
