// Package service has the commands that serve: run, dashboard, and the healthcheck of both; and what they serve at the
// two HTTP addresses.
package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config"
)

// RunCommand is the service.
type RunCommand struct {
	cli.KafkaSettings
	cli.RegistrySettings
	cli.AppSettings
	cli.StreamsArgument
	cli.TopicSettings
	cli.HTTPSettings
	cli.MetricsSettings
	cli.ServiceSettings
	Stages     []string `default:"ingest,release,publish" placeholder:"STAGE" help:"Stages that this process takes part in."`
	BeginAgain bool     `help:"Begin although the ledger and the progress of the app are gone and its outputs have figures. What these cost is forgotten, and the budgets begin at zero."`
}

// Run implements the command.
func (c *RunCommand) Run(app *cli.App) error {
	if len(c.Stages) == 0 {
		return cli.UsageError(fmt.Errorf("--stages is empty; want one or more of %s", strings.Join(stream.Stages, ",")))
	}
	for _, s := range c.Stages {
		if !slices.Contains(stream.Stages, s) {
			return cli.UsageError(fmt.Errorf("--stages: %q is not a stage; want one or more of %s", s,
				strings.Join(stream.Stages, ",")))
		}
	}
	if err := c.notYet(); err != nil {
		return err
	}
	c.Streams = c.Or(c.Streams)
	file, err := cli.LoadStreams(c.Streams)
	if err != nil {
		return err
	}
	ctx, again, stop := app.UntilStopped()
	defer stop()
	defer context.AfterFunc(ctx, func() { app.Log.Info("louver stops; a second signal ends it at once") })()
	conn, err := cluster.Open(c.KafkaSettings)
	if err != nil {
		return err
	}
	defer conn.Close()
	remembers := limitMemory(c.BagBytes).remembers
	reach := func(ctx context.Context) error { return cluster.Reach(ctx, c.KafkaSettings, conn, app.Log) }
	return reload(ctx, again, c.Streams, file, app.Log, func(ctx context.Context, file *config.File) error {
		schemas, registrar, err := cluster.Registries(c.RegistrySettings, file.Streams, false)
		if err != nil {
			return err
		}
		s := &Service{AppID: c.AppID, TopicSettings: c.TopicSettings, HTTPSettings: c.HTTPSettings,
			MetricsSettings: c.MetricsSettings,
			ServiceSettings: c.ServiceSettings, Stages: c.Stages, BeginAgain: c.BeginAgain,
			Uncommitted: c.KafkaIsolation == "read_uncommitted",
			Streams:     file.Streams, Revision: file.Revision, Removed: file.Removed, Schemas: schemas,
			Registrar: registrar,
			Conn:      conn, Remembers: remembers, Log: app.Log,
			Level: logLevel(app.Level), Version: app.Build.Version, Reach: reach}
		reach = nil // a broker that has answered before is waited for
		go tellEdits(ctx, c.Streams, file, app.Log)
		return s.Run(ctx)
	})
}

// notYet refuses settings that this version would ignore.
func (c *RunCommand) notYet() error {
	if c.KafkaIsolation != "read_committed" && c.KafkaIsolation != "read_uncommitted" {
		return fmt.Errorf("LOUVER_KAFKA_ISOLATION=%q; want read_committed or read_uncommitted", c.KafkaIsolation)
	}
	return c.Check()
}
