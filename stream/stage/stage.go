// Package stage holds what the three stages share: membership in a consumer group, with one worker for each assigned
// partition.
package stage

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/kafka/group"
)

// The names of the stages.
const (
	Ingest  = "ingest"
	Release = "release"
	Publish = "publish"
	// Export is no part of the service: it runs by itself.
	Export = "export"
)

// Run joins the group and keeps one worker on each assigned partition until ctx ends. A rebalance stops only the
// workers whose partition went away. The others continue undisturbed, unless this member missed a generation. Then
// another member may have worked on their partitions, and they start again.
func Run(ctx context.Context, env Env, config group.Config, work Worker) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	member, err := group.Join(ctx, config)
	if err != nil {
		return err
	}
	r := &running{env: env, group: config.GroupID, work: work, workers: map[Partition]*worker{}, fail: cancel}
	defer func() {
		r.keep(nil)
		_ = member.Close()
	}()
	var before *group.Generation
	for {
		env.Health.Joining()
		g, err := member.Next(ctx)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		env.Metrics.Rebalances.Inc()
		assigned := map[Partition]bool{}
		for topic, partitions := range g.Partitions {
			for _, n := range partitions {
				assigned[Partition{Topic: topic, Number: n}] = true
			}
		}
		env.Log.Info("partitions assigned", zap.String("group", config.GroupID), zap.Int32("generation", g.ID),
			zap.Int("partitions", len(assigned)))
		if before != nil && g.ID != before.ID+1 {
			r.keep(nil)
		}
		before = g
		r.keep(assigned)
		r.membership.generation.Store(g)
		r.start(ctx, assigned)
		env.Health.Joined()
		select {
		case <-g.Done():
		case <-ctx.Done():
		}
	}
}
