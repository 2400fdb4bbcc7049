package stage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// Partition is one assigned partition.
type Partition = health.Partition

// Worker works on one partition until ctx ends, because the partition goes to another member or the service stops. If
// it returns an error before that, it is called again; see [Final] for errors that stop the stage.
type Worker func(ctx context.Context, p Partition, m *Membership) error

// Membership is a worker's access to the group's committed offsets. It lives as long as the stage, through all
// generations.
type Membership struct {
	generation atomic.Pointer[group.Generation]
}

// Commit commits an offset of a partition in the current generation.
func (m *Membership) Commit(ctx context.Context, p Partition, offset int64, metadata string) error {
	return m.generation.Load().Commit(ctx,
		[]group.Offset{{Topic: p.Topic, Partition: p.Number, Offset: offset, Metadata: metadata}})
}

// Committed returns the committed offset of a partition. Its Offset is negative if there is none.
func (m *Membership) Committed(ctx context.Context, p Partition) (group.Offset, error) {
	offsets, err := m.generation.Load().Committed(ctx, p.Topic, []int{p.Number})
	if err != nil {
		return group.Offset{}, fmt.Errorf("read the committed offset of %s/%d: %w", p.Topic, p.Number, err)
	}
	return offsets[p.Number], nil
}

// Generation returns the current generation's id and the member's id, for transactional offset commits.
func (m *Membership) Generation() (id int32, member string) {
	g := m.generation.Load()
	return g.ID, g.MemberID
}

// Confirm returns nil once the group confirms that this process is a member. If it no longer is, Confirm waits until it
// has joined again, or until ctx ends because its partition has gone.
func (m *Membership) Confirm(ctx context.Context) error {
	wait := kafkaconn.NewBackOff()
	for {
		err := m.generation.Load().Confirm(ctx)
		if !errors.Is(err, group.ErrEnded) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait.NextBackOff()):
		}
	}
}
