// Package publish is the third stage: it copies the values of the ledger to the outputs, one record for each, together
// with its progress. It draws nothing, decides nothing and holds nothing personal.
//
// Where the records go is a [Sink]. An output that cannot be written to holds up no other: the worker goes on without
// it, remembers where it stopped, and fills in what is missing once the output takes records again.
package publish

import (
	"context"
	"fmt"

	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/stage"
)

// Publish is the stage. Fields must not change while it runs.
type Publish struct {
	stage.Env
	// Group is the membership of the ledger's consumer group.
	Group group.Config
	// Sink makes the sink of a partition, as [Topics] does.
	Sink func(env stage.Env, at stage.Partition, m *stage.Membership) Sink
}

// Run works until ctx ends.
func (s *Publish) Run(ctx context.Context) error {
	return stage.Run(ctx, s.Env, s.Group, func(ctx context.Context, at stage.Partition, m *stage.Membership) error {
		c := &copier{Env: s.Env, at: at, sink: s.Sink(s.Env, at, m), retries: map[string]*retry{}}
		return c.run(ctx)
	})
}

// Sink receives what is published from one partition of the ledger. One goroutine uses it.
type Sink interface {
	// Begin takes over from earlier writers, whose writes have no effect from then on, and returns their progress.
	Begin(ctx context.Context) (Progress, error)
	// Write writes the entries' records, and how far the worker has come with them: both or neither. A [BlockedError]
	// means that a single output prevented the write and nothing was written. Write may then be called again. After any
	// other error, call Begin first.
	Write(ctx context.Context, entries []ledger.Entry, p Progress) error
}

// Progress says how far a partition of the ledger is published: every entry below Offset, except that an output in
// Behind is published only below its own offset.
type Progress struct {
	Offset int64            `json:"offset"`
	Behind map[string]int64 `json:"behind,omitempty"`
}

// BlockedError says that an output cannot be written to now.
type BlockedError struct {
	Output string
	Err    error
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("output topic %s does not accept records: %v", e.Output, e.Err)
}

// Unwrap returns the broker's error.
func (e *BlockedError) Unwrap() error { return e.Err }
