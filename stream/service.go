package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/episode"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/progress"
	"github.com/louver/louver/stream/publish"
	"github.com/louver/louver/stream/stage"
)

// The stages. A process may run only some of them.
const (
	Ingest  = stage.Ingest
	Release = stage.Release
	Publish = stage.Publish
)

// Stages lists all stages.
var Stages = []string{Ingest, Release, Publish}

// Service runs stages. Fields must not change while it runs.
type Service struct {
	App string
	// Streams, Revision and Removed come from the streams files; see [control.Wanted].
	Streams  []*config.Stream
	Revision int
	Removed  []string
	// Version is the program's version. It is recorded with the definitions that this process proposes.
	Version string
	// Stages to run; see [Stages].
	Stages []string
	Conn   *kafkaconn.Conn
	// ReadUncommitted counts records of open and aborted transactions too.
	ReadUncommitted bool
	// CreateTopics lets the service create what is missing, with this replication (−1: the broker's default).
	CreateTopics bool
	Replication  int
	// BeginAgain lets an app begin although it has published and its ledger is lost. What it charged is forgotten.
	BeginAgain bool
	// BagBytes is how much memory open windows may take. Half is for bags; larger ones are written as parts. A quarter
	// is for the parts of undecided windows; parts beyond that are read again. A quarter is for the users of windows
	// that are being merged; more users take several passes. Half as much again may be taken for what discoveries note
	// while their periods last. 0 means [DefaultBagBytes].
	BagBytes int64
	// Remembers is told how many bytes a partition of the release stage takes beside BagBytes, for who has counted and
	// for what its figures have learnt. It may be nil. It must be safe for concurrent use.
	Remembers func(partition int, bytes int64)
	// CheckpointEvery is how many ledger entries there are between two checkpoints. 0 means 1000.
	CheckpointEvery int64
	Metrics         *metrics.Operator
	// Wall is the machine's clock, for tests. nil means time.Now.
	Wall func() time.Time
	// Clock, if not nil, is the time by which windows close, as in a demo whose days take two minutes. nil means the
	// machine's clock, once it agrees with the brokers'.
	Clock clock.Clock
	// Schemas has the schemas of records that name them; nil: there is no registry.
	Schemas codec.Registry
	// Registrar takes the schemas of outputs in Avro; nil: there is no registry.
	Registrar publish.Registrar
	// Health says whether the service works. Required.
	Health *health.Monitor
	Log    *zap.Logger
}

// sessionTimeout is how long a worker may be silent before its partitions go to others.
const sessionTimeout = 10 * time.Second

// Run works until ctx ends, and then returns nil. An error wraps [topics.ErrUnfit], [control.ErrRefused], or
// [ledger.ErrUnreadable] or [control.ErrForgotten], which are privacy stops.
func (s *Service) Run(ctx context.Context) error {
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go s.Health.Watch(watching, s.Conn.Known)
	defer context.AfterFunc(ctx, s.Health.Stop)()
	meet := s.meet
	for {
		err := s.follow(ctx, meet)
		if !errors.Is(err, errNewEpoch) {
			return stopped(ctx, err)
		}
		s.Log.Info("the streams' definitions have changed: this process continues with the new ones")
		// The service has worked before, so a right that is missing now may be granted again.
		meet = func(ctx context.Context) (*met, error) {
			return kafkaconn.Persist(ctx, s.Health.Retrying("cannot continue with the new definitions",
				"this process can continue with the new definitions"), s.meet)
		}
	}
}

// errNewEpoch ends the stages. They begin again with the newer definitions.
var errNewEpoch = errors.New("a new epoch")

// met is what the processes have agreed on.
type met struct {
	env      stage.Env
	log      control.Kafka
	state    *control.State
	editions []config.Edition
	own      []topics.Topic
}

// meet agrees with the other processes on the streams' definitions, and waits for their topics.
func (s *Service) meet(ctx context.Context) (*met, error) {
	if err := s.prepare(ctx, topics.Plan(s.App, s.Streams)); err != nil {
		return nil, err
	}
	env := s.env()
	s.Health.Waiting("reading the control topic")
	log := s.controlLog(env)
	if err := s.whole(ctx, env, log); err != nil {
		return nil, err
	}
	state, editions, err := s.agree(ctx, env, log)
	if err != nil {
		return nil, err
	}
	s.tell(state)
	plan := topics.Plan(s.App, streamsOf(editions))
	own := slices.DeleteFunc(slices.Clone(plan), func(t topics.Topic) bool { return !t.Own() })
	if !state.Older {
		plan = own // a definition that is about to end may need a topic that this process's files do not
	}
	if err := s.prepare(ctx, plan); err != nil {
		return nil, err
	}
	return &met{env, log, state, editions, own}, nil
}

// follow uses the definitions that the processes agree on when they meet, until there are newer ones.
func (s *Service) follow(ctx context.Context, meet func(context.Context) (*met, error)) error {
	m, err := meet(ctx)
	if err != nil {
		return err
	}
	env, state, editions := m.env, m.state, m.editions
	if err := showDefinitions(s.Metrics, state); err != nil {
		return err
	}
	run, working := errgroup.WithContext(ctx)
	keeps := s.Clock
	var watch *clock.Watch
	if keeps == nil {
		watch = s.watch(env.Progress, editions)
		run.Go(func() error { watch.Run(working); return nil })
		keeps = watch
	}
	s.Health.Clock(keeps.Now)
	run.Go(func() error { return s.await(working, env.Names.Control(), state.Epoch()) })
	guard := guard{s.Conn.Client, env.Names, s.Health, s.Log, s.CreateTopics, s.Replication}
	run.Go(func() error { return guard.run(working, m.own) })
	s.Health.Started(schedules(editions))
	s.Log.Info("louver works: "+upcoming(editions, env.Now()), zap.Int("streams", len(schedules(editions))))
	run.Go(func() error { tellOver(working, editions, s.Log); return nil })
	run.Go(func() error { gaugeDelays(working, s.Health, s.Metrics); return nil })
	for _, row := range s.rows(state, editions, keeps, m.log) {
		if !slices.Contains(s.Stages, row.stage) {
			continue
		}
		of := env
		of.Health = s.Health.Stage(row.stage)
		group := s.group(env.Names.Group(row.stage), row.inputs)
		w := row.worker(of, group)
		if row.stage == Ingest && watch != nil { // only this stage needs the time
			run.Go(func() error { return s.shift(watch, of.Health, group.GroupID).Run(working, w.Run) })
			continue
		}
		run.Go(func() error { return w.Run(working) })
	}
	return run.Wait()
}

func (s *Service) controlLog(env stage.Env) control.Kafka {
	return control.Kafka{Fetch: env.Fetch, Names: env.Names,
		Open: func(ctx context.Context, id string) (*txn.Producer, error) {
			return txn.Open(ctx, s.Conn.Client, id, stage.TransactionTimeout,
				txn.OnRetry(env.Transactions(env.Names.Control())))
		}}
}

// agree proposes this process's definitions, and returns those that the app follows.
func (s *Service) agree(ctx context.Context, env stage.Env,
	log control.Kafka) (*control.State, []config.Edition, error) {
	wanted := control.Wanted{Streams: s.Streams, Revision: s.Revision, Removed: s.Removed, By: s.proposer(), Now: s.now}
	state, err := control.Load(ctx, log, wanted, func(ctx context.Context, budget string) (bool, error) {
		return Charged(ctx, env.Fetch, env.Names, budget)
	})
	if err != nil {
		return nil, nil, err
	}
	editions, err := state.Editions(wanted)
	return state, editions, err
}

// now is the time by which windows close.
func (s *Service) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	now, _ := s.Clock.Now()
	return now
}

// proposer describes this process. The host is empty if it does not know its name.
func (s *Service) proposer() control.Proposer {
	host, _ := os.Hostname()
	return control.Proposer{Host: host, ClientID: s.Conn.ClientID, Version: s.Version}
}

// tell logs which parts of the files have no effect, and what changed definitions cost beside their windows.
func (s *Service) tell(state *control.State) {
	if state.Older {
		s.Log.Warn("this process's streams files are older than the current definitions, which it follows; to go back "+
			"to the files, raise their revision", zap.Int("epoch", state.Epoch()))
	}
	for _, note := range state.Notes {
		s.Log.Warn(note)
	}
}

// await returns errNewEpoch when the control topic has a newer epoch than the given one, and nil when ctx ends.
func (s *Service) await(ctx context.Context, topic string, epoch int) error {
	const patience = 5 * time.Second // how long the broker holds a request that finds nothing new
	reader := fetch.New(s.Conn.Transport, s.Conn.Addr,
		fetch.Options{ClientID: s.Conn.ClientID, MaxWait: patience}).Partition(topic, 0, 0)
	for ctx.Err() == nil {
		page, err := kafkaconn.Persist(ctx,
			s.Health.Retrying("cannot read topic "+topic, "topic "+topic+" can be read again"), reader.Poll)
		if err != nil {
			return control.Unreadable(err)
		}
		err = page.Each(func(r *fetch.Record) error {
			if n, ok := control.EpochOf(r.Key); ok && n > epoch {
				return errNewEpoch
			}
			return nil
		})
		if err != nil {
			return control.Unreadable(err)
		}
	}
	return nil
}

// watch makes the clock by which windows close. It may be off by less than half the shortest grace.
func (s *Service) watch(log *progress.Log, editions []config.Edition) *clock.Watch {
	limit := time.Duration(math.MaxInt64)
	for _, e := range editions {
		limit = min(limit, max(e.Schedule.Grace, time.Second)/2)
	}
	wall := s.Wall
	if wall == nil {
		wall = time.Now
	}
	brokers := func(ctx context.Context) (time.Time, error) {
		ctx, cancel := context.WithTimeout(ctx, askBrokers)
		defer cancel()
		return log.Time(ctx)
	}
	w := clock.New(limit, brokers, func(err error) {
		if err != nil {
			s.Metrics.ClockDoubted.Set(1)
			s.Log.Error("no window closes, because the clock cannot be trusted", zap.Error(err))
		} else {
			s.Metrics.ClockDoubted.Set(0)
			s.Log.Info("the clock is right again, and windows close")
		}
	}, wall)
	return w
}

// shift lets other processes read the inputs while this one's clock cannot be trusted.
func (s *Service) shift(watch *clock.Watch, at *health.Stage, group string) clock.Shift {
	return clock.Shift{Watch: watch, Members: func(ctx context.Context) (int, error) {
		res, err := s.Conn.Client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
		switch {
		case err != nil:
			return 0, err
		case len(res.Groups) != 1:
			return 0, fmt.Errorf("%d groups are described, want 1", len(res.Groups))
		}
		return len(res.Groups[0].Members), res.Groups[0].Error
	}, Left: func(err error) {
		at.Left(err)
		if err != nil {
			s.Log.Warn("this process leaves its partitions of the inputs to others, because its clock cannot "+
				"be trusted", zap.Error(err))
		} else {
			s.Log.Info("this process takes part in reading the inputs again")
		}
	}}
}

// askBrokers bounds how long a broker may take to tell its time.
const askBrokers = 10 * time.Second

// maxWait is how long an idle partition's fetch waits, unless a window is due before.
const maxWait = 250 * time.Millisecond

// maxEvent is the size in bytes beyond which an event is rejected as malformed. By default brokers accept batches of 1
// MiB, but these may unpack to any size.
const maxEvent = 4 << 20

// stopped hides an error that the end of ctx has caused.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// prepare waits until the topics exist and are suitable. It creates those that it may.
func (s *Service) prepare(ctx context.Context, plan []topics.Topic) error {
	s.Health.Waiting("waiting for topics")
	notify := func(err error) {
		const key = "topics"
		if err == nil {
			s.Health.Episodes.Over(key, "all topics are ready")
			return
		}
		s.Health.Waiting(err.Error())
		if s.Health.Tells(err) {
			return // and what is known about topics may be stale
		}
		s.Health.Episodes.On(key, episode.Rule{After: 2 * time.Second, Every: time.Minute, Count: true},
			"cannot start yet", zap.Error(err))
	}
	_, err := kafkaconn.Retry(ctx, notify, func(ctx context.Context) (struct{}, error) {
		if s.CreateTopics {
			if _, err := topics.Create(ctx, s.Conn.Client, plan, s.Replication); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, topics.Verify(ctx, s.Conn.Client, plan, func(line string) {
			s.Health.Episodes.On(line, episode.Rule{}, line)
		})
	})
	return err
}

func streamsOf(editions []config.Edition) []*config.Stream {
	var all []*config.Stream
	for _, e := range editions {
		all = append(all, e.Stream)
	}
	return all
}

func inputs(editions []config.Edition) []string {
	var names []string
	for _, e := range editions {
		names = append(names, e.Stream.Input.Topic)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s *Service) group(id string, of []string) group.Config {
	return group.Config{Conn: s.Conn, GroupID: id, Topics: of, SessionTimeout: sessionTimeout,
		OnError: s.Health.Retrying("cannot work in consumer group "+id, "consumer group "+id+" works again")}
}
