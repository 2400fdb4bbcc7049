// Package feed sends files of events to a topic, and says how such files are read.
package feed

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"iter"
	"math/big"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize"
	"go.uber.org/zap"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/codec"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/kafka/txn"
	"github.com/louver/louver/stream/replay"
)

// ReplayCommand sends a file of events to a topic.
type ReplayCommand struct {
	cli.KafkaSettings
	FileColumns
	WhereFlag
	DelimiterFlag
	TimesFlags
	File       string   `arg:"" help:"CSV with a header, or JSON lines. May be compressed with gzip. -: standard input."`
	Topic      string   `required:"" placeholder:"TOPIC" help:"Topic to send to. It is created if it is missing."`
	Keep       []string `for:"one" sep:"none" placeholder:"COLUMN" help:"Another column that the records keep, such as the group of another stream. Those of CSV are texts. May be given several times."`
	Partitions int      `default:"3" placeholder:"N" help:"Partitions of the topic, if it is created."`
	From       string   `for:"one" placeholder:"TIME" help:"Move all times so that the first event happens then: now, or a time in RFC 3339. Absent: times stay."`
	Speed      float64  `for:"one" placeholder:"X" help:"1: as fast as it happened. 60: an hour in a minute. Absent: as fast as possible. Events of a file are then sent in the order of their times."`
	Keyed      bool     `for:"one" help:"Use the user as the record's key, so that all records of a user go to one partition."`
	Raw        bool     `help:"Send each line as it is, such as those of a Collector's file exporter. Names no columns."`
	DryRun     bool     `help:"Read the whole file and print the input block, but send nothing."`
}

// Help is the long help.
func (ReplayCommand) Help() string {
	return `Sends each row as a JSON record with the columns that you name. The fields have the names of the columns. A
dot in a name leads into an object: geo.city becomes {"geo":{"city":…}}, which a streams file reads as geo.city.

Then it prints the input block that reads these records, for you to copy into a streams file. If a stream would reject
some of them, it says which lines and why.

  louver replay requests.csv --topic web --user client --value bytes \
    --time time --group section

Without --value, records have no number: in a stream with "contribution: count" a user counts with how many they send.

Events keep their times. A stream with "start: now" counts only what happens from now on: for old events give it a start
before them, or move them with --from now --speed X. These two read a file once beforehand, to see which event is the
first. If a file is not in order, --speed also holds it in memory, to sort it. Standard input cannot be read twice:
there the first line counts as the first event, and events that come too late are sent at once.`
}

// Run implements the command.
func (c *ReplayCommand) Run(app *cli.App, parsed *kong.Context) error {
	if c.Raw { // which looks at no columns
		if err := cli.Misplaced(parsed, "raw"); err != nil {
			return err
		}
		return c.raw(app)
	}
	columns, options, err := c.choices()
	if err != nil {
		return err
	}
	ctx, stop := app.UntilSignal()
	defer stop()
	job := &replaying{ReplayCommand: c, app: app, columns: columns, progress: NewProgress(app)}
	defer job.progress.End()
	if err := job.look(ctx, &options); err != nil {
		return job.ended(ctx, err)
	}
	if job.file, err = c.open(app, columns, options); err != nil {
		return FileError(err)
	}
	defer func() { _ = job.file.Close() }() // only read
	if job.trial, err = replay.NewTrial(columns); err != nil {
		return err
	}
	if err := job.deliver(ctx, job.records(ctx)); err != nil {
		return job.ended(ctx, err)
	}
	return job.tell()
}

// choices reads the flags.
func (c *ReplayCommand) choices() (columns replay.Columns, o replay.Options, err error) {
	if columns, err = c.Columns(false); err != nil {
		return columns, o, err
	}
	columns.Keep = c.Keep
	o = replay.Options{Speed: c.Speed, Keyed: c.Keyed}
	if o.Where, err = c.Conditions(); err != nil {
		return columns, o, err
	}
	if o.Delimiter, err = c.Rune(); err != nil {
		return columns, o, err
	}
	if err = c.Fill(&o); err != nil {
		return columns, o, err
	}
	switch c.From {
	case "":
	case "now":
		o.From = time.Now()
	default:
		if o.From, err = time.Parse(time.RFC3339, c.From); err != nil {
			return columns, o, cli.UsageError(fmt.Errorf("--from=%s; want now, or a time such as 2026-11-20T08:00:00Z",
				c.From))
		}
	}
	return columns, o, nil
}

// open opens the file or standard input.
func (c *ReplayCommand) open(app *cli.App, columns replay.Columns, options replay.Options) (*replay.File, error) {
	if c.File == "-" {
		return replay.New("stdin", app.In, columns, options)
	}
	return replay.Open(c.File, columns, options)
}

// replaying is a replay that runs.
type replaying struct {
	*ReplayCommand
	app      *cli.App
	columns  replay.Columns
	file     *replay.File
	trial    *replay.Trial
	progress *Progress
	total    int // events, if known
	sent     int
	disorder bool // was told of
}

// look reads a file beforehand if it matters which event is the first.
func (j *replaying) look(ctx context.Context, o *replay.Options) error {
	if info, err := os.Stat(j.File); o.Speed <= 0 && o.From.IsZero() || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	before := *o
	before.Speed, before.From = 0, time.Time{}
	file, err := j.open(j.app, j.columns, before)
	if err != nil {
		return FileError(err)
	}
	defer func() { _ = file.Close() }() // only read
	times, err := file.Scan(ctx, func(read int) {
		j.progress.Say(func() string { return fmt.Sprintf("%s in %s so far", cli.Plural(read, "event"), j.File) })
	})
	if err != nil {
		return FileError(err)
	}
	j.total, o.First, o.Sort = times.Events, times.First, o.Speed > 0 && times.Backwards.Count > 0
	if o.Sort {
		j.say("%s is not in the order of its times: line %d is earlier than the one before. Its events are sent in "+
			"that order", j.File, times.Backwards.First)
	}
	return nil
}

// say tells the owner of the file something.
func (j *replaying) say(format string, args ...any) {
	j.progress.End()
	j.app.Say("louver: "+format, args...)
}

// records passes the file's records through the trial.
func (j *replaying) records(ctx context.Context) iter.Seq2[replay.Record, error] {
	return func(yield func(replay.Record, error) bool) {
		j.progress.Say(func() string { return "reading " + j.events() }) // and sorting them, which takes longer
		for r, err := range j.file.Records(ctx) {
			if err == nil {
				at := time.Now()
				if r.Due.After(at) {
					at = r.Due
				}
				j.trial.Add(r, at)
			}
			if late := j.file.Times().Backwards; j.total == 0 && j.Speed > 0 && late.Count > 0 && !j.disorder {
				j.disorder = true
				j.say("line %d is earlier than the one before. Such events are sent at once, and later ones may wait "+
					"long for the latest: sort the lines by time, or replay a file, which is sorted", late.First)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// sendAll sends records to the topic, which is created if it is missing.
func (j *replaying) sendAll(ctx context.Context, records iter.Seq2[replay.Record, error]) error {
	conn, err := cluster.Connect(ctx, j.KafkaSettings, j.app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	plan := []topics.Topic{{Name: j.Topic, Partitions: j.Partitions}}
	trying, cancel := context.WithTimeout(ctx, cluster.Patience) // the controller may be out of reach
	defer cancel()
	waiting := cluster.Waiting(j.app.Log, "cannot create topic "+j.Topic+" yet")
	if _, err := kafkaconn.Retry(trying, waiting, func(ctx context.Context) (map[string]topics.State, error) {
		return topics.Create(ctx, conn.Client, plan, -1)
	}); err != nil {
		return cluster.WithExitCode(err)
	}
	j.sent, err = SendRecords(ctx, conn, j.app.Log, records, j.Topic, j.told)
	return err
}

// events says how many were sent, and how many there are.
func (j *replaying) events() string {
	if j.total > 0 {
		return fmt.Sprintf("%s of %s", humanize.Comma(int64(j.sent)), cli.Plural(j.total, "event"))
	}
	return cli.Plural(j.sent, "event")
}

// ended says how far the replay came.
func (j *replaying) ended(ctx context.Context, err error) error {
	j.progress.End()
	switch {
	case ctx.Err() != nil && j.app.Context.Err() == nil:
		j.app.Say("louver: stopped after %s", cli.Plural(j.sent, "event"))
		return nil
	case j.sent > 0 && !j.DryRun:
		return fmt.Errorf("%w (after sending %s)", err, cli.Plural(j.sent, "event"))
	}
	return err
}

// tell prints what was sent, and the input that reads it, as YAML. What the owner of the file should know of it goes to
// standard error.
func (j *replaying) tell() error {
	j.progress.End()
	c := j.ReplayCommand
	if n := j.file.Skipped(); n > 0 && j.sent == 0 {
		return c.None(c.File)
	} else if n > 0 {
		j.say("%s", c.Skipped(n, j.sent))
	}
	sent := fmt.Sprintf("Sent %s to %s.", cli.Plural(j.sent, "event"), c.Topic)
	if c.DryRun {
		sent = fmt.Sprintf("Would send %s to %s.", cli.Plural(j.sent, "event"), c.Topic)
	}
	text := fmt.Sprintf("# %s This input, in a stream of a streams file, reads them:\ninput:\n  %s\n", sent,
		strings.ReplaceAll(strings.TrimSpace(j.columns.Input(c.Topic)), "\n", "\n  "))
	if j.columns.Value == "" {
		text += "# contribution: count   the events have no value, so a user counts with how many they send.\n"
	}
	if j.columns.Group != "" {
		text += fmt.Sprintf("# groups: [...]   list the names in %s that you want figures for. The list is public.\n",
			j.columns.Group)
	}
	if c.From == "" {
		text += "# The events keep their times. For all of them to count, the stream's start must lie before the " +
			"first.\n"
	}
	if _, err := io.WriteString(j.app.Out, text); err != nil {
		return err
	}
	times := j.file.Times()
	for _, about := range AboutTimes(times, j.columns.Time, c.TimesFlags) {
		j.say("%s", about)
	}
	if n := times.Untimed; n.Count > 0 {
		j.say("%s left out, first on line %d (%s)", cli.Part(n.Count, times.Events+n.Count, "event")+are(n.Count), n.First,
			Meaning(codec.BadTime, j.columns))
	}
	for _, r := range j.trial.Rejected() {
		hint := ""
		if r.Reason == codec.Future && c.From != "" && c.Speed == 0 {
			hint = "; --speed 1 sends events when they are due"
		}
		j.say("a stream will reject %s: %s, first on line %d (%s)%s", cli.Part(r.Count, j.sent, "event"),
			r.Reason, r.First, Meaning(r.Reason, j.columns), hint)
	}
	return nil
}

// sendAtOnce is how many records are gathered before they are sent, if they come that fast.
const sendAtOnce = 10_000

// sendEvery is how long gathered records wait at most before they are sent.
const sendEvery = 100 * time.Millisecond

// SendRecords sends records when they are due. Their timestamp is the time of sending, because a topic would delete
// records that look older than its retention. told, if not nil, is called after some were sent with how many there are
// now, and when the next one is due if that is not at once. log hears of a topic that takes none for a while.
func SendRecords(ctx context.Context, conn *kafkaconn.Conn, log *zap.Logger, records iter.Seq2[replay.Record, error],
	topic string, told func(sent int, next time.Time)) (sent int, err error) {
	partitions, err := topics.PartitionsOf(ctx, conn.Client, topic, 0, nil)
	if err != nil {
		return 0, cluster.WithExitCode(err)
	}
	var batch []txn.Record
	last := time.Now()
	flush := func(next time.Time) error {
		var accepted atomic.Int64
		trying, cancel := context.WithTimeout(ctx, cluster.Patience)
		err := txn.Send(trying, conn.Client, batch,
			txn.OnRetry(cluster.Waiting(log, "topic "+topic+" takes no events yet")),
			txn.OnAccepted(func(records int) { accepted.Add(int64(records)) }))
		if err = cluster.WithExitCode(err); err != nil && trying.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("topic %s took no events for %s: %w", topic, cluster.Patience, err)
		}
		cancel()
		sent += int(accepted.Load())
		batch, last = batch[:0], time.Now()
		if told != nil && err == nil {
			told(sent, next)
		}
		return err
	}
	for r, err := range records {
		if err != nil {
			return sent, FileError(err)
		}
		if time.Until(r.Due) >= sendEvery { // what is gathered is due now
			if err := flush(r.Due); err != nil {
				return sent, err
			}
		}
		if err := r.Wait(ctx); err != nil {
			return sent, err
		}
		partition, err := anywhere(r, partitions)
		if err != nil {
			return sent, err
		}
		batch = append(batch, txn.Record{Topic: topic, Partition: partition, Key: r.Key, Value: r.Value})
		if len(batch) >= sendAtOnce || time.Since(last) >= sendEvery {
			if err := flush(time.Time{}); err != nil {
				return sent, err
			}
		}
	}
	return sent, flush(time.Time{})
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
