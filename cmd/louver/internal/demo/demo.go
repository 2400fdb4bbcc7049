// Package demo shows the whole service in one process: an embedded broker, simulated events or those of a file, and the
// figures on a screen. The broker is a command of its own, too.
package demo

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/service"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
)

// Command runs everything in one process: broker, events, service, table.
type Command struct {
	cli.HTTPSettings
	cli.MetricsSettings
	cli.ServiceSettings
	Day time.Duration `default:"2m" placeholder:"DURATION" help:"How long a day of the simulated service takes. With 24h its clock keeps real time."`
	fileFlags
}

// Help is the long help.
func (Command) Help() string {
	return `Without --csv it shows a simulated service. Its users are not real, so it can show the truth next to each
private figure. The service has a clock of its own, by which a day takes two minutes: figures, ages, metrics and /readyz
are by that clock. The day before is there from the start.

With --csv it shows the figures of a file of your own, with the file's own times. The rows may be in any order. All of
them are sent before the first window closes, so none is late. Times in which nothing happens are skipped.

  louver demo --csv requests.csv --user client --value bytes --time time \
    --group section --upper 100000

With --contribution count a user counts with the number of their events, and with sum with what their values add up to.
Then the total of all is shown too:

  louver demo --csv requests.csv --user client --time time \
    --contribution count

A terminal shows the figures as a table. A pipe gets a header and then a line for each figure.

The last line of a wide terminal has the address of the demo's Kafka, for other programs. In the sources, the demo's
streams file is stream/simulate/demo.yaml:

  louver watch stream/simulate/demo.yaml --kafka-brokers ADDRESS

The demo of a file ends by printing a streams file for it, and the commands that run it on Kafka. These do not go into a
pipe, but to standard error.`
}

// Run implements the command.
func (c *Command) Run(app *cli.App) error {
	ctx, stop := app.UntilSignal()
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.scene()
	if err != nil {
		return err
	}
	d, log, flush := newDisplay(app, s, c.HTTPAddr != "")
	defer flush()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer cancel()
		return d.run(ctx)
	})
	group.Go(func() error { return unlessCancelled(ctx, c.play(ctx, app.Build.Version, s, d, log)) })
	return group.Wait()
}

// usualDay is how long a day of the simulated service takes if nobody says otherwise.
const usualDay = 2 * time.Minute

// scene returns the scene of the simulated service or of a file.
func (c *Command) scene() (scene, error) {
	if c.CSV == "" {
		if c.Day <= 0 || c.Day > 24*time.Hour {
			return nil, cli.UsageError(fmt.Errorf("--day %s; want more than 0 and at most 24h, such as 2m", c.Day))
		}
		return newSimulation(c.Day), c.check()
	}
	if c.Day != usualDay {
		return nil, cli.UsageError(fmt.Errorf("--day %s with --csv; want one of them: windows of a file stay for two "+
			"seconds each", c.Day))
	}
	return newFileScene(c.fileFlags)
}

// newDisplay makes a screen on a terminal, and lines elsewhere. With a screen, log lines wait for flush.
func newDisplay(app *cli.App, s scene, served bool) (d display, log *zap.Logger, flush func()) {
	log = app.Log.WithOptions(zap.IncreaseLevel(zap.ErrorLevel))
	out, ok := app.Out.(*os.File)
	if !ok || !cli.IsScreen(out) {
		return newLines(app.Out, app.Err, s), log, func() {}
	}
	held := &held{to: app.Err}
	return newScreen(out, s, served), held.logger(), held.flush
}

// play runs broker, events and service until ctx ends.
func (c *Command) play(ctx context.Context, version string, s scene, d display, log *zap.Logger) error {
	streams, err := s.streams(ctx, d.say)
	if err != nil {
		return err
	}
	d.say("starting a Kafka broker in this process")
	broker, err := embedded("127.0.0.1", 0, "", inPieces())
	if err != nil {
		return err
	}
	defer broker.Close()
	d.kafka(broker.ListenAddrs()[0])
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: broker.ListenAddrs(), ClientID: "louver-demo"})
	if err != nil {
		return err
	}
	defer conn.Close()
	inputs, err := createInputs(ctx, conn, streams)
	if err != nil {
		return err
	}
	if err := s.begin(ctx, conn, d.say); err != nil {
		return err
	}
	d.say("starting the stages; the first figures are on their way")
	shown := newBoard(listed(streams), func(p picture) {
		s.tell(&p)
		d.show(p)
	}, d.over)
	serving := &service.Service{AppID: demoApp, TopicSettings: cli.TopicSettings{TopicsCreate: true,
		TopicsReplication: 1}, HTTPSettings: c.HTTPSettings, MetricsSettings: c.MetricsSettings,
		ServiceSettings: c.ServiceSettings, Stages: stream.Stages, Streams: streams, Conn: conn, Log: log,
		Version: version, AnyPort: true, Since: start(streams), Listening: d.listening, Demo: s.demo(), Clock: s.time(),
		Released: func(r outputs.Record) {
			s.published(r)
			shown.add(r)
		}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serving.Run(ctx) })
	group.Go(func() error { return unlessCancelled(ctx, s.feed(ctx, d.say)) })
	group.Go(func() error { forget(ctx, conn, inputs, s.needed); return nil })
	return group.Wait()
}

// listed returns the streams whose groups are known beforehand.
func listed(streams []*config.Stream) []*config.Stream {
	return slices.DeleteFunc(slices.Clone(streams), func(s *config.Stream) bool { return s.Found != nil })
}

// start returns when the first window of the streams starts.
func start(streams []*config.Stream) time.Time {
	first := streams[0].Window.Start
	for _, s := range streams {
		first = min(first, s.Window.Start)
	}
	return time.Unix(0, first)
}

// createInputs makes the input topics. Streams that read the same one have the same kind of window.
func createInputs(ctx context.Context, conn *kafkaconn.Conn,
	streams []*config.Stream) (plan []topics.Topic, err error) {
	for _, s := range streams {
		if slices.ContainsFunc(plan, func(t topics.Topic) bool { return t.Name == s.Input.Topic }) {
			continue
		}
		t := topics.Topic{Name: s.Input.Topic, Partitions: inputPartitions, MinRetention: inputRetention}
		if s.Window.End != 0 {
			t.MinRetention = topics.Forever
		}
		plan = append(plan, t)
	}
	_, err = topics.Create(ctx, conn.Client, plan, 1)
	return plan, err
}

// unlessCancelled hides an error that is due to ctx's end.
func unlessCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
