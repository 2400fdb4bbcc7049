package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/ledger/log"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release/decide"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// AuditCommand compares the ledger with what has been published.
type AuditCommand struct {
	cli.KafkaSettings
	cli.RegistrySettings
	AppID string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"App whose ledger is read."`
	Full  bool   `help:"Read the whole ledger, and compare the checkpoints and all outputs too."`
	JSON  bool   `help:"Print JSON."`
}

// Help is the long help.
func (AuditCommand) Help() string {
	return `Compares the ledger with the outputs, and every decision and sum in it with the entries before. The exit
code is 1 if anything differs.

It begins at the last checkpoints of the ledger, as a starting process does, and takes them for granted. So it compares
only the newest windows, and not what adaptive figures had learnt before. With --full it compares everything since the
first window, checkpoints included. That takes a minute or two for a million entries.

A note is not an error, and the exit code stays 0. It says that the period of a running total, or of a roll-up of local
days, differs from this program's time zones: the program that wrote it had other rules for the zone.`
}

// Run implements the command.
func (c *AuditCommand) Run(app *cli.App) error {
	schemas, _, err := cluster.Registries(c.RegistrySettings, nil, true)
	if err != nil {
		return err
	}
	conn, err := cluster.Connect(app.Context, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	agreed := cluster.ControlOf(conn, app.Log, c.AppID)
	r := cluster.Reader(conn, app.Log)
	r.Schemas = schemas
	a := audit.New()
	if err := agreed.HasLedger(app.Context); err != nil {
		return err
	}
	from, published, err := c.begin(app, r, a)
	if err != nil {
		return err
	}
	err = entries(app.Context, r, c.AppID, from, func(m outputs.Message) error {
		e, err := ledger.Decode(m.Value)
		switch {
		case errors.Is(err, ledger.ErrVersion): // nothing can be compared
			return fmt.Errorf("%s/%d at offset %d: %w", m.Topic, m.Partition, m.Offset, err)
		case err == nil: // the audit itself, below, reports other unreadable entries
			published[e.Output] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	editions, err := agreed.Editions(app.Context)
	if err != nil {
		return cluster.WithExitCode(err)
	}
	a.Calendar = newCalendar(editions)
	if len(from) == 0 && len(editions) > 0 {
		a.Learner = decide.NewMeasures(editions)
	}
	for topic := range published {
		if err := auditOutput(app, r, agreed, a, topic); err != nil {
			return err
		}
	}
	err = entries(app.Context, r, c.AppID, from, func(m outputs.Message) error {
		a.Entry(position(m), m.Key, m.Value)
		return nil
	})
	if err != nil {
		return err
	}
	found := a.Findings()
	if c.JSON {
		if err := cli.WriteJSON(app.Out, found); err != nil {
			return err
		}
	} else {
		printFindings(app.Out, found)
	}
	if !found.OK {
		return cli.Reported()
	}
	return nil
}

// begin has the audit begin at the checkpoints that fit. It returns where it goes on in their partitions, and the
// output topics of what they cover. Checkpoints that do not fit are compared, as all are with --full: their partitions
// are read from the first entry. Checkpoints are read before entries, so that these include those that a checkpoint
// covers.
func (c *AuditCommand) begin(app *cli.App, r *outputs.Reader,
	a *audit.Audit) (from map[int]int64, published map[string]bool, err error) {
	checkpoints, err := stream.Checkpoints(app.Context, r.Conn.Client, r.Fetch, c.AppID)
	if err != nil {
		return nil, nil, cluster.WithExitCode(err)
	}
	from, published = map[int]int64{}, map[string]bool{}
	var states []*ledger.State
	names := topics.Names{App: c.AppID}
	for _, partition := range slices.Sorted(maps.Keys(checkpoints)) {
		text := checkpoints[partition]
		at := audit.Position{Topic: names.Progress(), Partition: text.Partition, Offset: text.Offset}
		if c.Full {
			a.Checkpoint(at, c.AppID, partition, text.Text)
			continue
		}
		of := log.Partition{Topic: names.Ledger(), Number: partition}
		f, err := of.Covered(app.Context, r.Fetch, c.AppID, text.Text)
		truncated := (*fetch.TruncatedError)(nil)
		switch {
		case err == nil:
			states, from[partition] = append(states, f), f.From()+1
			for _, stream := range f.Books.Streams() {
				latest, _ := f.Books.Latest(stream)
				published[latest.Output] = true
			}
		case errors.Is(err, ledger.ErrCheckpoint), errors.As(err, &truncated):
			a.Checkpoint(at, c.AppID, partition, text.Text)
		default:
			return nil, nil, cluster.WithExitCode(err)
		}
	}
	if len(states) > 0 {
		a.Begin(states)
	}
	return from, published, nil
}

// auditOutput compares an output topic.
func auditOutput(app *cli.App, r *outputs.Reader, agreed cluster.Control, a *audit.Audit, topic string) error {
	switch there, err := agreed.Has(app.Context, topic); { // a reader would wait for it for ever
	case err != nil:
		return cluster.WithExitCode(err)
	case !there:
		return cli.BrokerError(fmt.Errorf("output topic %s does not exist, or you may not describe it, so its figures "+
			"cannot be compared; grant Describe, or create it again, even empty", topic))
	}
	return cluster.WithExitCode(r.All(app.Context, []string{topic}, func(m outputs.Message) error {
		if m.Ended != "" {
			a.Ended(position(m), m.Key, m.Ended)
			return nil
		}
		value := m.Value
		if m.Avro {
			if kept, err := record.AvroContent(value); err == nil { // else the audit says that it is no figure
				value = kept
			}
		}
		a.Output(position(m), m.Key, value)
		return nil
	}))
}

// position is where a message is.
func position(m outputs.Message) audit.Position {
	return audit.Position{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset}
}

// calendar has the definitions of all streams, by stream and number.
type calendar map[string]map[uint32]*config.Stream

func newCalendar(editions []config.Edition) calendar {
	c := calendar{}
	for _, e := range editions {
		if c[e.Stream.Name] == nil {
			c[e.Stream.Name] = map[uint32]*config.Stream{}
		}
		c[e.Stream.Name][e.Number] = e.Stream
	}
	return c
}

// Period implements [audit.Calendar].
func (c calendar) Period(e ledger.Entry, release, rollup string) (since, until int64, known bool) {
	s := c[e.Stream][e.Epoch]
	if s == nil {
		return 0, 0, false
	}
	var length time.Duration
	if rollup != "" {
		var err error
		if length, err = period.Parse(rollup); err != nil {
			return 0, 0, false
		}
	}
	return s.Period(release, length, windows.Window{Start: e.WindowStart.UnixNano(), End: e.WindowEnd.UnixNano()})
}

func printFindings(w io.Writer, found audit.Findings) {
	for _, f := range found.Faults {
		_, _ = fmt.Fprintln(w, f)
	}
	for _, f := range found.Notes {
		_, _ = fmt.Fprintln(w, "note:", f)
	}
	verdict := "ok"
	if !found.OK {
		verdict = cli.Plural(found.FaultCount, "fault")
	}
	_, _ = cli.Fprintf(w, "%s: %s, %s: %d match the ledger, %d pending, %d no longer in the output topics; computed "+
		"again from the ledger: %s and the priors of %s\n", verdict, cli.Plural(found.Entries, "ledger entry"),
		cli.Plural(found.Outputs, "output"), found.Matched, found.Pending, found.Absent,
		cli.Plural(found.Checkpoints, "checkpoint"), cli.Plural(found.Priors, "window"))
	if found.Earlier > 0 {
		_, _ = fmt.Fprintf(w, "not compared: %s of windows that the checkpoints of the ledger cover; --full compares "+
			"these too\n", cli.Plural(found.Earlier, "output"))
	}
	if found.Instances > 0 {
		_, _ = cli.Fprintf(w, "%s: %s armed, each charged once; %d of them fired\n", config.Lasting(),
			cli.Plural(found.Instances, "instance"), found.Firings)
	}
}

// entries reads the committed records of the app's ledger, in each partition from an offset on.
func entries(ctx context.Context, r *outputs.Reader, app string, from map[int]int64,
	f func(outputs.Message) error) error {
	return cluster.WithExitCode(r.AllFrom(ctx, []string{topics.Names{App: app}.Ledger()}, from, f))
}
