// Package publish is the third stage: it copies the values of the ledger to the outputs, one record for each, together
// with its progress. It draws nothing, decides nothing and holds nothing personal.
//
// Where the records go is a [Sink]. An output that cannot be written to holds up no other: the worker goes on without
// it, remembers where it stopped, and fills in what is missing once the output takes records again.
package publish

import (
	"context"

	"github.com/louver/louver/stream/kafka/group"
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
