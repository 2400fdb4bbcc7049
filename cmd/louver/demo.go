package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"os"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafkaconn"
	"github.com/louver/louver/stream/simulate"
	"github.com/louver/louver/stream/topics"
	"github.com/louver/louver/stream/txn"
	"github.com/louver/louver/windows"
)

// demoCommand runs everything in one process: broker, events, service, table.
type demoCommand struct {
	HTTPSettings
	MetricsSettings
	ServiceSettings
	fileColumns
	CSV   string  `name:"csv" placeholder:"FILE" help:"Show a file's figures instead of the simulated service's, as if its events happened now."`
	Speed float64 `default:"1440" placeholder:"X" help:"How much faster than they happened the file's events come; 1440: a day a minute."`
	Lower string  `default:"0" placeholder:"X" help:"Lower bound of the file's values. Bounds are public: choose them without looking at the data."`
	Upper string  `default:"1000000" placeholder:"X" help:"Upper bound of the file's values."`
	Step  string  `default:"1" placeholder:"X" help:"Distance of the grid's points."`
	Unit  string  `placeholder:"UNIT" help:"Unit of the file's values."`
}

// feeder sends events to a stream's input topic until there are no more or ctx ends.
type feeder func(ctx context.Context, conn *kafkaconn.Conn, s *config.Stream) error

// demoApp names the internal topics of a demo, which live as long as it does.
const demoApp = "demo"

// past is how much of the simulated service's past the demo begins with, so that there are figures at once.
const past = time.Minute

// Run implements the command.
func (c *demoCommand) Run(app *App) error {
	ctx, stop := app.UntilSignal()
	defer stop()
	yaml, feed, err := c.source()
	if err != nil {
		return err
	}
	file, err := config.Parse("the demo's streams", yaml, os.LookupEnv)
	if err != nil {
		return err
	}
	for _, s := range file.Streams {
		if w := &s.Window; w.StartNow {
			w.StartNow, w.Start = false, windows.NextBoundary(time.Now().Add(-past).UnixNano(), w.Every)
		}
	}
	broker, err := embedded("127.0.0.1", 0, "")
	if err != nil {
		return err
	}
	defer broker.Close()
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: broker.ListenAddrs(), ClientID: "louver-demo"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := createInputs(ctx, conn, file.Streams); err != nil {
		return err
	}
	screen := newScreen(app.Out, file.Streams)
	s := &service{AppSettings: AppSettings{AppID: demoApp}, TopicSettings: TopicSettings{TopicsCreate: true, TopicsReplication: 1},
		HTTPSettings: c.HTTPSettings, MetricsSettings: c.MetricsSettings, ServiceSettings: c.ServiceSettings, stages: stream.Stages,
		streams: file.Streams, conn: conn, log: app.Log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel)), anyPort: true, since: begin(file.Streams),
		released: screen.show, listening: screen.listening}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.run(ctx) })
	group.Go(func() error { return feed(ctx, conn, file.Streams[0]) })
	group.Go(func() error { return screen.run(ctx) })
	return group.Wait()
}

// begin is when the first window of the streams starts.
func begin(streams []*config.Stream) time.Time {
	first := time.Now()
	for _, s := range streams {
		if at := time.Unix(0, s.Window.Start); at.Before(first) {
			first = at
		}
	}
	return first
}

// source gives the streams file and what feeds its input topic.
func (c *demoCommand) source() (yaml []byte, feed feeder, err error) {
	if c.CSV != "" {
		return c.fromFile()
	}
	return simulate.Streams(), feedSimulation, nil
}

// createInputs makes the input topics, with a few partitions as in life.
func createInputs(ctx context.Context, conn *kafkaconn.Conn, streams []*config.Stream) error {
	var plan []topics.Topic
	for _, s := range streams {
		plan = append(plan, topics.Topic{Name: s.Input.Topic, Partitions: 3})
	}
	_, err := topics.Create(ctx, conn.Client, plan, 1)
	return err
}

// feedSimulation sends the simulated service's requests as they happen, after those of the last minute.
func feedSimulation(ctx context.Context, conn *kafkaconn.Conn, s *config.Stream) error {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return err
	}
	simulated := simulate.New(simulate.Config{Seed: binary.NativeEndian.Uint64(seed[:])})
	sent := time.Unix(0, s.Window.Start)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		now := time.Now()
		var records []txn.Record
		simulated.Events(sent, now, func(e simulate.Event) {
			// Not by user: events of one user reach all partitions, and still count once.
			records = append(records, txn.Record{Topic: s.Input.Topic, Partition: len(records) % 3, Value: e.AppendJSON(nil), Time: e.Time.UnixMilli()})
		})
		sent = now
		if err := txn.Send(ctx, conn.Client, records); err != nil {
			return stoppedAs(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// stoppedAs hides an error that comes of ctx's end.
func stoppedAs(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
