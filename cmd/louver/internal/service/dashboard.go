package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
	"github.com/louver/louver/stream/health"
	"github.com/louver/louver/stream/kafka/kafkaconn"
)

// DashboardCommand shows the published figures, without the service.
type DashboardCommand struct {
	cli.KafkaSettings
	cli.RegistrySettings
	cli.HTTPSettings
	cli.OptionalMetricsSettings
	cli.StreamsArgument
	Streams string   `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of streams files, or glob. It says what the figures are and what they cost."`
	Topic   []string `placeholder:"TOPIC" help:"Output topic to show, besides those of the streams file."`
}

// Help is the long help.
func (DashboardCommand) Help() string {
	return `Serves the page, the API and the public metrics from the output topics alone. It needs the right Read on
these topics and no other, so it can run where nobody may see personal data. With --metrics-addr operators see there
whether it works.

With a streams file the page also shows the schedule, what one person can lose, and until when the budget lasts. SIGHUP
reads the file again. Without one, name the topics:

  louver dashboard --topic checkout.private`
}

// Run implements the command.
func (c *DashboardCommand) Run(app *cli.App) error {
	c.Streams = c.Or(c.Streams)
	file, err := anyStreams(c.Streams)
	if err != nil {
		return err
	}
	if _, _, err := c.sources(file.Streams); err != nil {
		return err
	}
	if c.HTTPAddr == "" {
		return cli.UsageError(errors.New("LOUVER_HTTP_ADDR is empty; want an address to serve the page at, such as " +
			"127.0.0.1:8080"))
	}
	ctx, again, stop := app.UntilStopped()
	defer stop()
	conn, err := cluster.Open(c.KafkaSettings)
	if err != nil {
		return err
	}
	defer conn.Close()
	return reload(ctx, again, c.Streams, file, app.Log, func(ctx context.Context, file *config.File) error {
		return c.serve(ctx, app, conn, file.Streams)
	})
}

// sources returns the output topics of streams and those that were named, and how their records are read.
func (c *DashboardCommand) sources(streams []*config.Stream) ([]string, codec.Registry, error) {
	topics := cli.OutputTopics(streams, c.Topic...)
	if len(topics) == 0 {
		return nil, nil, cli.UsageError(errors.New("nothing to show: give --streams (LOUVER_STREAMS) or --topic"))
	}
	schemas, _, err := cluster.Registries(c.RegistrySettings, streams, true)
	return topics, schemas, err
}

// serve shows what is published until ctx ends.
func (c *DashboardCommand) serve(ctx context.Context, app *cli.App, conn *kafkaconn.Conn,
	streams []*config.Stream) error {
	topics, schemas, err := c.sources(streams)
	if err != nil { // those that were read at the start had sources
		return fmt.Errorf("%w: %w", control.ErrRefused, err)
	}
	shown, monitor := newPublished(topics, streams, time.Now), health.New(app.Log)
	public, err := publicServer(c.HTTPSettings, shown, monitor.Report)
	if err != nil {
		return err
	}
	operators := prometheus.NewRegistry()
	processMetrics(operators, app.Build.Version)
	internal, err := operatorsServer(cli.MetricsSettings(c.OptionalMetricsSettings), operators, monitor.Report,
		logLevel(app.Level))
	if err != nil {
		return err
	}
	addresses, serving, err := serve(false, slices.Concat(public, internal)...)
	if err != nil {
		return err
	}
	app.Log.Info("louver shows what is published", zap.Strings("http", addresses), zap.Strings("topics", topics))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serving(ctx) })
	group.Go(func() error {
		monitor.Waiting("connecting to Kafka at " + strings.Join(conn.Brokers, ","))
		if err := cluster.Reach(ctx, c.KafkaSettings, conn, app.Log); err != nil {
			return err
		}
		monitor.Started(nil)
		watching, done := context.WithCancel(ctx)
		defer done()
		go monitor.Watch(watching, conn.Known)
		return shown.follow(ctx, cluster.Follower(conn, schemas, shown.store.Retrying(monitor.Retrying)), time.Time{})
	})
	return group.Wait()
}
