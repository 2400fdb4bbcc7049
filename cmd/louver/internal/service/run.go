// Package service has the commands that serve: run, dashboard, and the healthcheck of both; and what they serve at the
// two HTTP addresses.
package service

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

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
	greeted := map[string]bool{}
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
			Conn:      conn, Remembers: remembers, Greeted: greeted, Log: app.Log,
			Level: logLevel(app.Level), Version: app.Build.Version, Reach: reach}
		reach = nil // a broker that has answered before is waited for
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

// besidesBags is the memory that a process needs in addition to open windows: pages of records, decoders, connections,
// records for the page. With the program itself, about 30 MiB, that is less than 200 MiB.
const besidesBags = 150 << 20

// memoryStep is how much the limit moves at once: each move stops the program for a moment.
const memoryStep = 32 << 20

// memory is the soft limit of the process. Below it, the garbage collector works harder before the process uses much
// more than the memory for open windows. The limit grows with what may not be dropped, so that the collector does not
// fight what it cannot change. It is safe for concurrent use.
type memory struct {
	bags int64
	set  func(limit int64)

	mu    sync.Mutex
	fixed map[int]int64 // by partition of the release stage
	limit int64
}

// limitMemory sets the limit. If GOMEMLIMIT is set, it applies instead, and nothing moves it.
func limitMemory(bags int64) *memory {
	m := &memory{bags: bags, set: func(limit int64) { debug.SetMemoryLimit(limit) }, fixed: map[int]int64{}}
	if os.Getenv("GOMEMLIMIT") != "" {
		m.set = func(int64) {}
	}
	m.move()
	return m
}

// remembers says how much a partition of the release stage holds that may not be dropped.
func (m *memory) remembers(partition int, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fixed[partition] = bytes
	m.move()
}

// move sets the limit if it has changed. What may not be dropped counts twice: it is copied when it grows.
func (m *memory) move() {
	var fixed int64
	for _, bytes := range m.fixed {
		fixed += 2 * bytes
	}
	limit := m.bags + besidesBags + (fixed+memoryStep-1)/memoryStep*memoryStep
	if limit != m.limit {
		m.limit = limit
		m.set(limit)
	}
}
