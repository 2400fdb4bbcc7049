package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/outputs"
)

// WatchCommand prints releases as they come.
type WatchCommand struct {
	cli.KafkaSettings
	cli.RegistrySettings
	cli.StreamsArgument
	Streams string        `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of streams files, or glob."`
	Stream  string        `placeholder:"NAME" help:"Only this stream."`
	Last    time.Duration `aliases:"since" placeholder:"DURATION" help:"Begin with the windows that ended in so much time before now, such as 1h. Absent: print new figures only."`
	JSON    bool          `help:"Print the published records, as JSON."`
}

// Help is the long help.
func (WatchCommand) Help() string {
	return `Prints every figure as it is published, by window and in the order of the streams file: its value, its error
and its quality. The error is the band of the record, low to high: written as (110–128), as ± 15 where the noise is
even, or as at most 18 of few users. Where there is none, it is a range of percentiles. The value has the digits
that its error allows; --json prints all of them. The quality is useful, rough or noise. Error and quality are
computed from public figures alone, so some statistics have none. If a figure is noise, the line says what would
make it readable: that many users in the window and group, or a larger ε that the budget could pay for. When the
released counts of a stream or a group have fallen to what their noise explains, a line says since when hardly
anybody is there. It follows from published counts alone: a single person may be there all the same.

The watches of a streams file, its alarms, are among the figures: silent, firing or withheld.

In a pipe, every figure is one line that begins with the window's end. Ctrl-C ends it.`
}

// Run implements the command.
func (c *WatchCommand) Run(app *cli.App) error {
	c.Streams = c.Or(c.Streams)
	file, err := cli.LoadStreams(c.Streams)
	if err != nil {
		return err
	}
	streams := file.Streams
	if c.Stream != "" {
		streams = slices.DeleteFunc(slices.Clone(streams), func(s *config.Stream) bool { return s.Name != c.Stream })
		if len(streams) == 0 {
			return fmt.Errorf("--stream=%s: %s has no such stream", c.Stream, c.Streams)
		}
	}
	schemas, _, err := cluster.Registries(c.RegistrySettings, streams, true)
	if err != nil {
		return err
	}
	ctx, stop := app.UntilSignal()
	defer stop()
	conn, err := cluster.Connect(ctx, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	var from time.Time
	if c.Last > 0 {
		from = time.Now().Add(-c.Last)
	}
	names := cli.OutputTopics(streams)
	lines := newWatchLines(app, streams)
	lines.all = file.Streams
	if !c.JSON {
		for _, s := range streams {
			if where := codec.InWords(s.Input.Where); where != "" {
				app.Say("louver: stream %s: only events with %s", s.Name, where)
			}
		}
	}
	shown := newInOrder(streams, func(f shownFigure) error {
		if c.JSON {
			_, err := fmt.Fprintf(app.Out, "%s\n", f.text)
			return err
		}
		return lines.print(f.Record)
	})
	shown.ahead = lines.ahead
	reader := cluster.Follower(conn, schemas, tellOnce(app.Say))
	begin, past := from, cluster.Ends{}
	if !c.JSON {
		// Records of the time before are not printed. They say whether hardly anybody is there any more.
		shown.done, reader.Begins = lines.remark, past.Begins
		begin = time.Now().Add(-max(c.Last, silenceReach(streams)))
	}
	if c.Last > 0 {
		partitions, err := partitionsOf(ctx, conn, names)
		if err != nil {
			return cluster.WithExitCode(err)
		}
		shown.after(partitions)
		reader.Ends = shown.ended
	}
	err = reader.Follow(ctx, names, begin, func(m outputs.Message, r outputs.Record) error {
		switch {
		case c.Stream != "" && r.Stream != c.Stream:
			return nil
		case r.WindowEnd.Before(from), c.Last == 0 && past.Had(m):
			lines.learn(r)
			return nil
		case c.JSON:
			return shown.add(shownFigure{r, slices.Clone(m.Value)})
		}
		return shown.add(shownFigure{Record: r})
	})
	if unprinted := shown.flush(); unprinted != nil || ctx.Err() != nil {
		return unprinted
	}
	return cluster.WithExitCode(err)
}

// partitionsOf returns the partitions of the topics that exist.
func partitionsOf(ctx context.Context, conn *kafkaconn.Conn, names []string) (map[partition]bool, error) {
	all := map[partition]bool{}
	for _, name := range names {
		counts, err := topics.Counts(ctx, conn.Client, []topics.Topic{{Name: name}})
		if err != nil && !errors.Is(err, topics.ErrMissing) {
			return nil, err
		}
		for n := range counts[name] {
			all[partition{name, n}] = true
		}
	}
	return all, nil
}

// tellOnce makes hooks that tell a person of a failure when it begins and when it is over. They may be used
// concurrently.
func tellOnce(say func(format string, args ...any)) func(problem, solved string) func(error) {
	var mu sync.Mutex
	return func(problem, solved string) func(error) {
		told := false
		return func(err error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && told:
				say("louver: %s", solved)
			case err != nil && !told && errors.Is(err, topics.ErrMissing):
				say("louver: %s: it does not exist yet, or you may not describe it; louver run creates it", problem)
			case err != nil && !told:
				say("louver: %s: %v", problem, err)
			}
			told = err != nil
		}
	}
}
