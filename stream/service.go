// Package stream is the service: three stages between Kafka topics.
//
// ingest reads events into bags and seals them, release merges sealed bags and draws the figures, publish copies the
// figures to the output topics. Any number of processes with one app id share the work through Kafka's consumer groups;
// transactions fence those that have been replaced. All that lasts is in Kafka.
package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/fetch"
	"github.com/louver/louver/stream/group"
	"github.com/louver/louver/stream/ingest"
	"github.com/louver/louver/stream/kafkaconn"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/publish"
	"github.com/louver/louver/stream/release"
	"github.com/louver/louver/stream/stage"
	"github.com/louver/louver/stream/topics"
	"github.com/louver/louver/stream/txn"
	"github.com/louver/louver/windows"
)

// The stages, by which a process may take on only some of the work.
const (
	Ingest  = "ingest"
	Release = "release"
	Publish = "publish"
)

// Stages lists all stages.
var Stages = []string{Ingest, Release, Publish}

// Service runs stages. Fields must not change while it runs.
type Service struct {
	App     string
	Streams []*config.Stream
	// Stages to run; see [Stages].
	Stages []string
	Conn   *kafkaconn.Conn
	// ReadUncommitted counts records of open and aborted transactions too.
	ReadUncommitted bool
	// CreateTopics lets the service create what is missing, with this replication (−1: the broker's default).
	CreateTopics bool
	Replication  int
	Metrics      *metrics.Operator
	Log          *zap.Logger

	ready atomic.Bool
}

// sessionTimeout is after how long a silent worker's partitions go to others.
const sessionTimeout = 10 * time.Second

// Ready says whether the service has verified its topics and joined its groups.
func (s *Service) Ready() bool { return s.ready.Load() }

// Run works until ctx ends, and then returns nil. An error says what was refused: [topics.ErrUnfit],
// [control.ErrRefused], or [ledger.ErrUnreadable], which is a privacy stop.
func (s *Service) Run(ctx context.Context) error {
	plan := topics.Plan(s.App, s.Streams)
	if err := s.prepare(ctx, plan); err != nil {
		return stopped(ctx, err)
	}
	names := topics.Names{App: s.App}
	committed := fetch.New(s.Conn.Transport, s.Conn.Addr, fetch.Options{ClientID: s.Conn.ClientID, MaxWait: maxWait, OnRetry: s.onRetry})
	place := func(budget string) int { return stage.Place(budget, topics.Partitions) }
	state, err := control.Load(ctx, control.Kafka{Fetch: committed, Names: names, Open: func(ctx context.Context, id string) (*txn.Producer, error) {
		return txn.Open(ctx, s.Conn.Client, id, stage.TransactionTimeout, txn.OnRetry(s.notify))
	}}, s.Streams, func(ctx context.Context, topic, budget string) (bool, error) {
		return charged(ctx, committed, names, place(budget), topic, budget)
	})
	if err != nil {
		return stopped(ctx, err)
	}
	env := stage.Env{Names: names, Conn: s.Conn, Fetch: committed, Metrics: s.Metrics, Log: s.Log, Sizes: &topics.Sizes{Client: s.Conn.Client,
		OnRetry: func(topic string, err error) {
			s.Log.Warn("topic not ready", zap.String("topic", topic), zap.Error(err))
		}}}
	events := env
	events.Fetch = fetch.New(s.Conn.Transport, s.Conn.Addr, fetch.Options{ClientID: s.Conn.ClientID, MaxWait: maxWait, MaxBytes: 4 << 20,
		ReadUncommitted: s.ReadUncommitted, OnRetry: s.onRetry})
	hasher := windows.NewHasher(state.HashKey)
	run, working := errgroup.WithContext(ctx)
	if slices.Contains(s.Stages, Ingest) {
		g := &ingest.Ingest{Env: events, Streams: s.Streams, Starts: state.Starts, Hasher: hasher, Place: place,
			Group: s.group(names.IngestGroup(), s.inputs())}
		run.Go(func() error { return g.Run(working) })
	}
	if slices.Contains(s.Stages, Release) {
		r := &release.Release{Env: env, Streams: s.Streams, Starts: state.Starts, Hasher: hasher, Lineage: state.Lineage, Place: place,
			Group: s.group(names.ReleaseGroup(), []string{names.Partials()})}
		run.Go(func() error { return r.Run(working) })
	}
	if slices.Contains(s.Stages, Publish) {
		p := &publish.Publish{Env: env, Group: s.group(names.PublishGroup(), []string{names.Ledger()})}
		run.Go(func() error { return p.Run(working) })
	}
	s.ready.Store(true)
	defer s.ready.Store(false)
	return stopped(ctx, run.Wait())
}

// maxWait bounds how long an idle partition's fetch holds up the next cut.
const maxWait = 250 * time.Millisecond

// stopped hides an error that comes of ctx's end.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// prepare waits until the topics are there and fit, creating what it may.
func (s *Service) prepare(ctx context.Context, plan []topics.Topic) error {
	_, err := kafkaconn.Retry(ctx, s.notify, func(ctx context.Context) (struct{}, error) {
		if s.CreateTopics {
			if err := topics.Create(ctx, s.Conn.Client, plan, s.Replication); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, topics.Verify(ctx, s.Conn.Client, plan)
	})
	return err
}

func (s *Service) notify(err error) { s.Log.Info("not ready, trying again", zap.Error(err)) }

func (s *Service) onRetry(topic string, partition int, err error) {
	s.Log.Info("cannot read yet, trying again", zap.String("topic", topic), zap.Int("partition", partition), zap.Error(err))
}

func (s *Service) inputs() []string {
	var names []string
	for _, stream := range s.Streams {
		names = append(names, stream.Input.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *Service) group(id string, of []string) group.Config {
	return group.Config{Conn: s.Conn, GroupID: id, Topics: of, SessionTimeout: sessionTimeout, OnError: func(err error) {
		s.Log.Info("group not ready, trying again", zap.String("group", id), zap.Error(err))
	}}
}

// charged looks in the ledger for a charge of this budget for a stream that read this input topic.
func charged(ctx context.Context, client *fetch.Client, names topics.Names, partition int, topic, budget string) (bool, error) {
	found := errors.New("found")
	_, err := client.ReadAll(ctx, names.Ledger(), partition, 0, func(r *fetch.Record) error {
		e, err := ledger.Decode(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d at offset %d: %w", names.Ledger(), partition, r.Offset, err)
		}
		if e.Budget == budget && e.Input == topic {
			return found
		}
		return nil
	})
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}
