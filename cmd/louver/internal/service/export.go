package service

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/export"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/group"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/metrics"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/stage"
)

// ExportCommand sends figures to a metrics backend.
type ExportCommand struct {
	cli.KafkaSettings
	cli.RegistrySettings
	cli.OTLPSettings
	cli.OptionalMetricsSettings
	cli.StreamsArgument
	AppID      string   `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"App id of the service. The consumer group is named after it."`
	Streams    string   `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of streams files, or glob. Its output topics are read."`
	Topic      []string `placeholder:"TOPIC" help:"Output topic to read, besides those of the streams file."`
	Group      string   `placeholder:"NAME" help:"Consumer group that remembers what has been sent. Absent: the app id with .export. Each further backend wants a group of its own."`
	From       string   `default:"now" placeholder:"WHEN" help:"Where to begin if the group has no offset yet: with windows that end from now on, from so long ago on, such as 24h, or from a time on."`
	Histograms string   `enum:"gauges,delta,none" default:"gauges" placeholder:"FORM" help:"How the counts of histograms are sent: gauges, one for each bucket; delta: as histograms of OTLP, which Prometheus does not take; none."`
}

// Help is the long help.
func (ExportCommand) Help() string {
	return `Sends every published figure as OTLP metrics over HTTP, with the time of its window, to Prometheus, an
OpenTelemetry Collector or another backend. It needs the right Read on the output topics and on its consumer group, and
no other: louver topics --export lists them.

  louver export streams.yaml --endpoint http://prometheus:9090/api/v1/otlp

A figure is sent at least once, and always with the same value. While the backend takes nothing, Kafka keeps the figures
for as long as the topics do, and the log and /readyz say why. What it refuses for good is counted and left out. Several
processes share the partitions.

Prometheus needs --web.enable-otlp-receiver, and an out_of_order_time_window of at least the longest outage.`
}

// Run implements the command.
func (c *ExportCommand) Run(app *cli.App) error {
	if err := topics.CheckApp(c.AppID); err != nil {
		return err
	}
	from, err := cli.Since("from", c.From, time.Now())
	if err != nil {
		return err
	}
	c.Streams = c.Or(c.Streams)
	file, err := anyStreams(c.Streams)
	if err != nil {
		return err
	}
	if len(cli.OutputTopics(file.Streams, c.Topic...)) == 0 {
		return cli.UsageError(errors.New("nothing to export: give --streams (LOUVER_STREAMS) or --topic"))
	}
	backend, err := cluster.Backend(c.OTLPSettings, app.Build.Version)
	if err != nil {
		return err
	}
	ctx, again, stop := app.UntilStopped()
	defer stop()
	conn, err := cluster.Open(c.KafkaSettings)
	if err != nil {
		return err
	}
	defer conn.Close()
	return reload(ctx, again, c.Streams, file, app.Log, func(ctx context.Context, file *config.File) error {
		return c.export(ctx, app, conn, backend, from, file.Streams)
	})
}

// export sends until ctx ends.
func (c *ExportCommand) export(ctx context.Context, app *cli.App, conn *kafkaconn.Conn, backend *export.Backend,
	from time.Time, streams []*config.Stream) error {
	names, of := cli.OutputTopics(streams, c.Topic...), c.Group
	if len(names) == 0 {
		return errors.Join(control.ErrRefused, errors.New("the streams files have no streams any more"))
	}
	if of == "" {
		of = topics.Names{App: c.AppID}.Group(stage.Export)
	}
	schemas, _, err := cluster.Registries(c.RegistrySettings, streams, true)
	if err != nil {
		return err
	}
	monitor := health.New(app.Log, stage.Export)
	sending := monitor.Stage(stage.Export)
	sending.Only()
	operators := prometheus.NewRegistry()
	processMetrics(operators, app.Build.Version)
	reading := metrics.New(prometheus.NewRegistry(), nil, nil) // of these only what is read here is shown
	var unreached since
	counts := metrics.NewExport(operators, names, reading, func() float64 {
		return max(unreached.seconds(), sending.BlockedOutputs()[backend.Name()].Seconds())
	})
	internal, err := operatorsServer(cli.MetricsSettings(c.OptionalMetricsSettings), operators, monitor.Report,
		logLevel(app.Level))
	if err != nil {
		return err
	}
	addresses, serving, err := serve(false, internal...)
	if err != nil {
		return err
	}
	app.Log.Info("louver exports figures", zap.String("endpoint", backend.Name()), zap.Strings("topics", names),
		zap.String("group", of), zap.Strings("http", addresses))
	env := stage.Env{Names: topics.Names{App: c.AppID}, Conn: conn, Metrics: reading, Monitor: monitor, Health: sending,
		Log: app.Log}
	env.Fetch = fetch.New(conn.Transport, conn.Addr, fetch.Options{ClientID: conn.ClientID,
		OnRetry: func(topic string, _ int, err error) { env.Reading(topic)(err) }})
	e := &export.Export{Env: env, Backend: backend, From: from, Histograms: export.Histograms(c.Histograms),
		Counts: counts, Reader: &outputs.Reader{Conn: conn, Fetch: env.Fetch, Schemas: schemas, Retrying: monitor.Retrying},
		Group: group.Config{Conn: conn, GroupID: of, Topics: names,
			OnError: monitor.Retrying("cannot work in consumer group "+of, "consumer group "+of+" works again")}}
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return serving(ctx) })
	running.Go(func() error {
		monitor.Waiting("connecting to Kafka at " + strings.Join(conn.Brokers, ","))
		if err := cluster.Reach(ctx, c.KafkaSettings, conn, app.Log); err != nil {
			return err
		}
		if err := reachBackend(ctx, monitor, backend, &unreached, app.Log); err != nil {
			return err
		}
		monitor.Started(nil)
		watching, done := context.WithCancel(ctx)
		defer done()
		go monitor.Watch(watching, conn.Known)
		return cluster.WithExitCode(e.Run(ctx))
	})
	return running.Wait()
}

// reachBackend waits until the backend answers. Whoever starts the command learns at once that its address is wrong,
// and not with the first figure. failing is the time since its first failure.
func reachBackend(ctx context.Context, monitor *health.Monitor, backend *export.Backend, failing *since,
	log *zap.Logger) error {
	teller := export.Teller{Log: monitor.Episodes, Backend: backend}
	monitor.Waiting("asking " + backend.Name())
	doubt, err := backend.Reach(ctx, func(err error) {
		failing.begin()
		monitor.Waiting("no figures can be sent to " + backend.Name() + ": " + err.Error())
		teller.Tell(err)
	})
	if err == nil {
		failing.end()
		teller.Tell(nil)
	}
	if doubt != nil {
		log.Warn("the backend refuses a request without figures; those with figures that it refuses are left out",
			zap.String("endpoint", backend.Name()), zap.Error(doubt))
	}
	return err
}

// since is how long something has lasted. It is safe for concurrent use.
type since struct{ began atomic.Pointer[time.Time] }

func (s *since) begin() {
	now := time.Now()
	s.began.CompareAndSwap(nil, &now)
}

func (s *since) end() { s.began.Store(nil) }

// seconds is 0 if it has not begun, or is over.
func (s *since) seconds() float64 {
	if began := s.began.Load(); began != nil {
		return time.Since(*began).Seconds()
	}
	return 0
}
