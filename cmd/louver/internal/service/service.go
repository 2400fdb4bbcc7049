package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/clock"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/publish"
	"github.com/louver/louver/stream/web"
)

// Service is the stages with their HTTP addresses.
type Service struct {
	AppID string
	cli.TopicSettings
	cli.HTTPSettings
	cli.MetricsSettings
	cli.ServiceSettings
	Stages      []string
	BeginAgain  bool
	Uncommitted bool
	Streams     []*config.Stream
	Revision    int
	Removed     []string
	Schemas     codec.Registry    // nil: no stream needs it
	Registrar   publish.Registrar // the same
	Conn        *kafkaconn.Conn
	Log         *zap.Logger
	// Level, if not nil, says from which level on Log writes, and changes it.
	Level   http.Handler
	Version string // of this program
	// Remembers, if not nil, is told how much memory may not be dropped; see [stream.Service].
	Remembers func(partition int, bytes int64)
	// Reach, if not nil, waits for the first answer of Kafka.
	Reach func(context.Context) error
	// Greeted are the streams of whose first figures this process has told before; nil: it runs one service only.
	Greeted map[string]bool
	// AnyPort takes a free port if the wanted one is in use.
	AnyPort bool
	// Since is the window end from which figures are followed. Zero means those that the public metrics show.
	Since time.Time
	// Released and Listening, if not nil, are called with every published figure, and with the HTTP addresses.
	Released  func(outputs.Record)
	Listening func(addresses []string)
	// Demo, if not nil, tells what only a demo knows.
	Demo web.Demo
	// Clock, if not nil, is the time by which windows close; see [stream.Service].
	Clock clock.Clock
}

// Now is the time by which windows close.
func (s *Service) Now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	now, _ := s.Clock.Now()
	return now
}

// Run works until ctx ends and then for at most the shutdown timeout. It listens before it connects and until all work
// has ended, so that the probes always answer.
func (s *Service) Run(ctx context.Context) error {
	if s.BagBytes < leastBagBytes {
		return fmt.Errorf("LOUVER_BAG_BYTES=%d; want at least %d (1 MiB)", s.BagBytes, leastBagBytes)
	}
	if err := topics.CheckApp(s.AppID); err != nil {
		return err
	}
	if s.CheckpointEvery < 1 {
		return fmt.Errorf("LOUVER_CHECKPOINT_EVERY=%d; want at least 1", s.CheckpointEvery)
	}
	operators := prometheus.NewRegistry()
	shown := newPublished(cli.OutputTopics(s.Streams), s.Streams, s.Now)
	shown.own = s.Clock != nil
	arrived := newArrivals(s.Log, s.Now(), s.outputs(), s.Greeted)
	defer arrived.end()
	shown.released, shown.demo = func(r outputs.Record, fresh bool) {
		if fresh {
			arrived.add(r)
		}
		if s.Released != nil {
			s.Released(r)
		}
	}, s.Demo
	engine := s.engine(OperatorMetrics(operators, s.Streams, s.Version))
	public, err := publicServer(s.HTTPSettings, shown, engine.Health.Report)
	if err != nil {
		return err
	}
	internal, err := operatorsServer(s.MetricsSettings, operators, engine.Health.Report, s.Level)
	if err != nil {
		return err
	}
	addresses, serving, err := serve(s.AnyPort, slices.Concat(public, internal)...)
	if err != nil {
		return err
	}
	if s.Listening != nil {
		s.Listening(addresses)
	}
	s.Log.Info("louver starts", zap.String("version", s.Version), zap.String("app", s.AppID),
		zap.Int("streams", len(s.Streams)), zap.Strings("stages", s.Stages),
		zap.Strings("http", addresses))
	if s.HTTPAddr != "" {
		s.Log.Info("the page is at " + pageAt(s.HTTPSettings, addresses[0]))
	}
	done := make(chan error, 1)
	go func() { done <- s.work(ctx, engine, shown, serving) }()
	select {
	case err = <-done:
	case <-overdue(ctx, s.ShutdownTimeout):
		return fmt.Errorf("not stopped within LOUVER_SHUTDOWN_TIMEOUT=%s", s.ShutdownTimeout)
	}
	if err == nil || ctx.Err() != nil {
		s.Log.Info("louver has stopped")
		return nil
	}
	return err
}

// outputs are the topics of the streams' figures.
func (s *Service) outputs() map[string]string {
	topics := map[string]string{}
	for _, of := range s.Streams {
		topics[of.Name] = of.Output
	}
	return topics
}

// leastBagBytes prevents parts so small that writing them would dominate.
const leastBagBytes = 1 << 20

// engine makes the service from the settings.
func (s *Service) engine(m *metrics.Operator) *stream.Service {
	return &stream.Service{App: s.AppID, Streams: s.Streams, Revision: s.Revision, Removed: s.Removed,
		Version: s.Version, Stages: s.Stages, BeginAgain: s.BeginAgain, Conn: s.Conn, Schemas: s.Schemas,
		Registrar: s.Registrar, ReadUncommitted: s.Uncommitted, CreateTopics: s.TopicsCreate,
		Replication: s.TopicsReplication, BagBytes: s.BagBytes, Remembers: s.Remembers,
		CheckpointEvery: s.CheckpointEvery, Metrics: m, Log: s.Log, Clock: s.Clock,
		Health: health.New(s.Log, s.Stages...)}
}

// work serves, connects, and runs the stages until ctx ends.
func (s *Service) work(ctx context.Context, engine *stream.Service, shown *published,
	serving func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	listening, silence := context.WithCancel(context.WithoutCancel(ctx))
	group.Go(func() error { return serving(listening) })
	group.Go(func() error {
		defer silence()
		engine.Health.Waiting("connecting to Kafka at " + strings.Join(s.Conn.Brokers, ","))
		if s.Reach != nil {
			if err := s.Reach(ctx); err != nil {
				return err
			}
		}
		working, ctx := errgroup.WithContext(ctx)
		working.Go(func() error { return cluster.WithExitCode(engine.Run(ctx)) })
		working.Go(func() error {
			reader := cluster.Follower(s.Conn, s.Schemas, shown.store.Retrying(engine.Health.Retrying))
			reader.Lenient = true // nothing that somebody writes to an output may end the service
			return shown.follow(ctx, reader, s.Since)
		})
		working.Go(func() error {
			reader := cluster.Follower(s.Conn, nil, engine.Health.Retrying)
			err := restore(ctx, reader, s.AppID, s.Streams, shown.gauges, s.Now)
			if err != nil && ctx.Err() == nil && !s.stopsFor(err) {
				s.Log.Warn("the ledger cannot be read: the public metrics show only what is published from now on, "+
					"and no sums of objectives", zap.Error(err))
			}
			return nil
		})
		return working.Wait()
	})
	return group.Wait()
}

// stopsFor reports whether a stage reads the ledger and stops for the same fault, so that it need not be told twice: an
// entry of another version.
func (s *Service) stopsFor(err error) bool {
	return errors.Is(err, ledger.ErrVersion) &&
		(slices.Contains(s.Stages, stream.Release) || slices.Contains(s.Stages, stream.Publish))
}

// overdue is closed when the timeout has passed after ctx ended.
func overdue(ctx context.Context, timeout time.Duration) <-chan struct{} {
	late := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(timeout, func() { close(late) }) })
	return late
}

// OperatorMetrics registers the operators' metrics.
func OperatorMetrics(r prometheus.Registerer, streams []*config.Stream, version string) *metrics.Operator {
	processMetrics(r, version)
	return metrics.New(r, described(streams), reasons())
}

// processMetrics registers the metrics that every process has which serves.
func processMetrics(r prometheus.Registerer, version string) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		versionGauge(version))
}

// described returns what the metrics must know about the streams.
func described(streams []*config.Stream) []metrics.Stream {
	var all []metrics.Stream
	for _, s := range streams {
		m := metrics.Stream{Name: s.Name, Topic: s.Input.Topic, Output: s.Output}
		for _, r := range s.Input.Skips() {
			m.Skips = append(m.Skips, r.String())
		}
		for _, f := range s.Figures {
			if q := f.About().Query; q != nil && f.Cost().Per != config.PerNothing {
				m.Statistics = append(m.Statistics, string(q.Statistic))
			}
		}
		all = append(all, m)
	}
	return all
}

func reasons() []string {
	var names []string
	for _, r := range codec.Reasons() {
		names = append(names, r.String())
	}
	return names
}

func versionGauge(version string) prometheus.Collector {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "louver_build_info",
		Help: "Always 1. The label gives the version."}, []string{"version"})
	g.WithLabelValues(version).Set(1)
	return g
}
