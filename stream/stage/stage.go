// Package stage holds what the three stages share: membership in a consumer group, with one worker for each assigned
// partition.
package stage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/progress"
)

// The names of the stages.
const (
	Ingest  = "ingest"
	Release = "release"
	Publish = "publish"
)

// Env holds the tools of every stage. They are shared and safe for concurrent use.
type Env struct {
	Names topics.Names
	Conn  *kafkaconn.Conn
	Fetch *fetch.Client
	Sizes *topics.Sizes
	// Progress tells workers where to resume.
	Progress *progress.Log
	Metrics  *metrics.Operator
	// Monitor gets the failures that are retried, Health what this stage does.
	Monitor *health.Monitor
	Health  *health.Stage
	Log     *zap.Logger
}

// Writing returns the hook for retried writes to a topic.
func (e Env) Writing(topic string) func(error) {
	hook := e.Monitor.Retrying("cannot write to topic "+topic, "topic "+topic+" can be written to again")
	return func(err error) { hook(kafkaconn.Needs(err, "Write", "topic "+topic)) }
}

// Reading returns the hook for retried reads of a topic.
func (e Env) Reading(topic string) func(error) {
	hook := e.Monitor.Retrying("cannot read topic "+topic, "topic "+topic+" can be read again")
	return func(err error) { hook(kafkaconn.Needs(err, "Read", "topic "+topic)) }
}

// Transactions returns the hook for retried steps of a transaction.
func (e Env) Transactions(topic string) func(error) {
	return e.Monitor.Retrying("Kafka does not accept transactions for "+topic,
		"Kafka accepts transactions for "+topic+" again")
}

// Lag records how far a reader is behind its partition's end, in records and in time, until the partition is gone.
func (e Env) Lag(group string, at Partition, r *fetch.Reader) {
	records, seconds := max(0, r.HighWatermark()-r.Position()), 0.
	if newest := r.Newest(); records > 0 && newest >= 0 {
		seconds = max(0, time.Since(time.UnixMilli(newest)).Seconds())
	}
	labels := []string{group, at.Topic, strconv.Itoa(at.Number)}
	e.Metrics.Lag.WithLabelValues(labels...).Set(float64(records))
	e.Metrics.LagSeconds.WithLabelValues(labels...).Set(seconds)
}

// noLag forgets how far behind a partition was that another process reads from now on.
func (e Env) noLag(group string, at Partition) {
	labels := []string{group, at.Topic, strconv.Itoa(at.Number)}
	e.Metrics.Lag.DeleteLabelValues(labels...)
	e.Metrics.LagSeconds.DeleteLabelValues(labels...)
}

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

// running is the set of workers of a stage.
type running struct {
	env        Env
	group      string
	work       Worker
	membership Membership
	workers    map[Partition]*worker
	fail       context.CancelCauseFunc
}

type worker struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

// keep stops the workers of all other partitions and waits for them.
func (r *running) keep(assigned map[Partition]bool) {
	leaving := map[Partition]*worker{}
	for p, w := range r.workers {
		if !assigned[p] {
			w.stop()
			leaving[p] = w
			delete(r.workers, p)
		}
	}
	for p, w := range leaving {
		w.done.Wait()
		r.env.noLag(r.group, p)
		r.env.Health.Gone(p)
	}
}

func (r *running) start(ctx context.Context, assigned map[Partition]bool) {
	for p := range assigned {
		if r.workers[p] != nil {
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		w := &worker{stop: stop}
		r.workers[p] = w
		r.env.Health.Assigned(p)
		w.done.Go(func() {
			if err := r.supervise(ctx, p); err != nil {
				r.fail(err)
			}
		})
	}
}
