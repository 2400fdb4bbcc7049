// Package feed sends files of events to a topic, and says how such files are read.
package feed

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"iter"
	"math/big"
	"strings"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/replay"
)

// ReplayCommand sends a file of events to a topic.
type ReplayCommand struct {
	cli.KafkaSettings
	FileColumns
	DelimiterFlag
	File       string  `arg:"" help:"CSV with a header, or JSON lines. May be compressed with gzip. -: standard input."`
	Topic      string  `required:"" placeholder:"TOPIC" help:"Topic to send to. It is created if it is missing."`
	Partitions int     `default:"3" placeholder:"N" help:"Partitions of the topic, if it is created."`
	From       string  `placeholder:"TIME" help:"Move all times so that the first event happens then: now, or a time in RFC 3339. Absent: times stay."`
	Speed      float64 `placeholder:"X" help:"1: as fast as it happened. 60: an hour in a minute. Absent: as fast as possible."`
	Keyed      bool    `help:"Use the user as the record's key, so that all records of a user go to one partition."`
	DryRun     bool    `help:"Read the whole file and print the input block, but send nothing."`
}

// Help is the long help.
func (ReplayCommand) Help() string {
	return `Sends each row as a JSON record with the columns that you name. The fields have the names of the columns. A
dot in a name leads into an object: geo.city becomes {"geo":{"city":…}}, which a streams file reads as geo.city.

Then it prints the input block that reads these records, for you to copy into a streams file. If a stream would reject
some of them, it says which lines and why.

  louver replay requests.csv --topic web --user client --value bytes \
    --time time --group section

Events keep their times. A stream with "start: now" counts only what happens from now on: for old events give it a start
before them, or move them with --from now --speed X.`
}

// Run implements the command.
func (c *ReplayCommand) Run(app *cli.App) error {
	columns, err := c.Columns()
	if err != nil {
		return err
	}
	options := replay.Options{Speed: c.Speed, Keyed: c.Keyed}
	if options.Delimiter, err = c.Rune(); err != nil {
		return err
	}
	switch c.From {
	case "":
	case "now":
		options.From = time.Now()
	default:
		if options.From, err = time.Parse(time.RFC3339, c.From); err != nil {
			return cli.UsageError(fmt.Errorf("--from=%s; want now, or a time such as 2026-11-20T08:00:00Z", c.From))
		}
	}
	if c.DryRun {
		options.Speed = min(options.Speed, 0) // do not wait
	}
	file, err := c.open(app, columns, options)
	if err != nil {
		return FileError(err)
	}
	defer func() { _ = file.Close() }() // only read
	trial, err := replay.NewTrial(columns)
	if err != nil {
		return err
	}
	ctx, stop := app.UntilSignal()
	defer stop()
	n, err := c.send(ctx, app, tried(file.Records(ctx), trial))
	if ctx.Err() != nil && app.Context.Err() == nil {
		_, err = fmt.Fprintf(app.Err, "louver: stopped after %s\n", cli.Plural(n, "event"))
		return err
	}
	if err != nil && n > 0 && !c.DryRun {
		return fmt.Errorf("%w (after sending %s)", err, cli.Plural(n, "event"))
	} else if err != nil {
		return err
	}
	return c.tell(app, columns, n, trial)
}

// open opens the file or standard input.
func (c *ReplayCommand) open(app *cli.App, columns replay.Columns, options replay.Options) (*replay.File, error) {
	if c.File == "-" {
		return replay.New("stdin", app.In, columns, options)
	}
	return replay.Open(c.File, columns, options)
}

// tried passes records through a trial.
func tried(records iter.Seq2[replay.Record, error], trial *replay.Trial) iter.Seq2[replay.Record, error] {
	return func(yield func(replay.Record, error) bool) {
		for r, err := range records {
			if err == nil {
				trial.Add(r, time.Now())
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// send sends the records, or only reads them in a dry run.
func (c *ReplayCommand) send(ctx context.Context, app *cli.App, records iter.Seq2[replay.Record, error],
) (n int, err error) {
	if c.DryRun {
		for _, err := range records {
			if err != nil {
				return n, FileError(err)
			}
			n++
		}
		return n, nil
	}
	conn, err := cluster.Connect(ctx, c.KafkaSettings, app.Log)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	plan := []topics.Topic{{Name: c.Topic, Partitions: c.Partitions}}
	if _, err := topics.Create(ctx, conn.Client, plan, -1); err != nil {
		return 0, cluster.WithExitCode(err)
	}
	return SendRecords(ctx, conn, records, c.Topic)
}

// tell prints what was sent, and the input that reads it, as YAML.
func (c *ReplayCommand) tell(app *cli.App, columns replay.Columns, n int, trial *replay.Trial) error {
	sent := fmt.Sprintf("Sent %s to %s.", cli.Plural(n, "event"), c.Topic)
	if c.DryRun {
		sent = fmt.Sprintf("Would send %s to %s.", cli.Plural(n, "event"), c.Topic)
	}
	text := fmt.Sprintf("# %s This input, in a stream of a streams file, reads them:\ninput:\n  %s\n", sent,
		strings.ReplaceAll(strings.TrimSpace(columns.Input(c.Topic)), "\n", "\n  "))
	if columns.Group != "" {
		text += fmt.Sprintf("# groups: [...]   list the names in %s that you want figures for. The list is public.\n",
			columns.Group)
	}
	if c.From == "" {
		text += "# The events keep their times. For all of them to count, the stream's start must lie before the " +
			"first.\n"
	}
	if _, err := io.WriteString(app.Out, text); err != nil {
		return err
	}
	for _, r := range trial.Rejected() {
		_, _ = fmt.Fprintf(app.Err, "louver: a stream will reject %d of %s: %s, first on line %d (%s)\n", r.Count,
			cli.Plural(n, "event"), r.Reason, r.First, Meaning(r.Reason, columns))
	}
	return nil
}

// sendAtOnce is how many records are gathered before they are sent, if they come that fast.
const sendAtOnce = 10_000

// sendEvery is how long gathered records wait at most before they are sent.
const sendEvery = 100 * time.Millisecond

// SendRecords sends records as they come. Their timestamp is the time of sending, because a topic would delete records
// that look older than its retention.
func SendRecords(ctx context.Context, conn *kafkaconn.Conn, records iter.Seq2[replay.Record, error],
	topic string) (sent int, err error) {
	partitions, err := topics.PartitionsOf(ctx, conn.Client, topic, 0, nil)
	if err != nil {
		return 0, cluster.WithExitCode(err)
	}
	var batch []txn.Record
	last := time.Now()
	flush := func() error {
		err := txn.Send(ctx, conn.Client, batch)
		sent += len(batch)
		batch, last = batch[:0], time.Now()
		return cluster.WithExitCode(err)
	}
	for r, err := range records {
		if err != nil {
			return sent, FileError(err)
		}
		partition, err := anywhere(r, partitions)
		if err != nil {
			return sent, err
		}
		batch = append(batch, txn.Record{Topic: topic, Partition: partition, Key: r.Key, Value: r.Value})
		if len(batch) >= sendAtOnce || time.Since(last) >= sendEvery {
			if err := flush(); err != nil {
				return sent, err
			}
		}
	}
	return sent, flush()
}

// anywhere returns the partition of a record's key, or any.
func anywhere(r replay.Record, partitions int) (int, error) {
	if r.Key != nil {
		return topics.Place(string(r.Key), partitions), nil
	}
	n, err := rand.Int(rand.Reader, big.NewInt(int64(partitions)))
	if err != nil {
		return 0, err
	}
	return int(n.Int64()), nil
}
