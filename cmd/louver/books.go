package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/audit"
	"github.com/louver/louver/stream/kafka/fetch"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/outputs"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/stream/release"
)

// budgetCommand reports what has been spent.
type budgetCommand struct {
	KafkaSettings
	AppID  string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"App whose ledger is read."`
	JSON   bool   `help:"Print JSON."`
	Stream string `placeholder:"NAME" help:"Only this stream and its budget."`
}

// Help is the long help.
func (budgetCommand) Help() string {
	return `Reads from the ledger what is spent and what is left. What one person loses at most, in a window and in any 24 hours,
follows from the newest definitions of the streams, which louver streams prints. No streams file is read.

After a change, windows of the former definition count until they leave the budget's period: they are part of what is spent. A
loss is left out if the definition is not known, as that of a stream that has ended.

Watches have a table of their own: how often each was armed, and whether it is armed now, has fired, is withheld or has ended.`
}

// Run implements the command.
func (c *budgetCommand) Run(app *App) error {
	conn, err := c.connect(app.Context, app)
	if err != nil {
		return err
	}
	defer conn.Close()
	tails, err := agreedOn(conn, app, c.AppID).tails(app, 0)
	if err != nil {
		return err
	}
	var parts []*ledger.Books
	for _, t := range tails {
		parts = append(parts, t.Books)
	}
	now := time.Now()
	r := ledger.NewReport(ledger.Join(parts), now)
	if c.Stream != "" {
		if r, err = only(r, c.Stream, c.AppID); err != nil {
			return err
		}
	}
	editions, err := agreedOn(conn, app, c.AppID).editions(app.Context)
	if err != nil { // what is spent is known all the same
		app.Log.Warn("the definitions of the streams cannot be read: what one person loses at most is left out", zap.Error(err))
	}
	report := withMost(r, editions, now)
	if c.JSON {
		return writeJSON(app.Out, report)
	}
	var out strings.Builder
	if err := printBudgets(&out, app.width(), report); err != nil {
		return err
	}
	_, err = io.WriteString(app.Out, app.fold(out.String()))
	return err
}

// only keeps one stream of a report, and its budget.
func only(r ledger.Report, stream, app string) (ledger.Report, error) {
	at := slices.IndexFunc(r.Streams, func(s ledger.StreamFigures) bool { return s.Stream == stream })
	if at < 0 {
		return r, fmt.Errorf("--stream=%s: the ledger of app %s has no such stream", stream, app)
	}
	r.Streams = r.Streams[at : at+1]
	r.Budgets = slices.DeleteFunc(r.Budgets, func(b ledger.Figures) bool { return b.Budget != r.Streams[0].Budget })
	r.Watches = slices.DeleteFunc(r.Watches, func(w ledger.WatchFigures) bool { return w.Stream != stream })
	return r, nil
}

// auditCommand compares the ledger with what has been published.
type auditCommand struct {
	KafkaSettings
	RegistrySettings
	AppID string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"App whose ledger is read."`
	Full  bool   `help:"Read the whole ledger, and compare the checkpoints and all outputs too."`
	JSON  bool   `help:"Print JSON."`
}

// Help is the long help.
func (auditCommand) Help() string {
	return `Compares the ledger with the outputs, and every decision and sum in it with the entries before. The exit code is 1 if anything
differs.

It begins at the last checkpoints of the ledger, as a process does that starts, and takes what they say for granted. So it compares
the newest windows only, and not what adaptive figures had learnt. With --full it compares everything since the first
window, the checkpoints among it. That takes a minute or two for a million entries.`
}

// Run implements the command.
func (c *auditCommand) Run(app *App) error {
	schemas, _, err := c.registries(nil, true)
	if err != nil {
		return err
	}
	conn, err := c.connect(app.Context, app)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := reader(conn, app.Log)
	r.Schemas = schemas
	a := audit.New()
	from, published, err := c.begin(app, r, a)
	if err != nil {
		return err
	}
	err = entries(app.Context, r, c.AppID, from, func(m outputs.Message) error {
		// The audit itself, below, reports unreadable entries.
		if e, err := ledger.Decode(m.Value); err == nil {
			published[e.Output] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(from) == 0 {
		if a.Learner, err = c.measures(conn, app); err != nil {
			return err
		}
	}
	for topic := range published {
		if err := auditOutput(app, r, agreedOn(conn, app, c.AppID), a, topic); err != nil {
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
		if err := writeJSON(app.Out, found); err != nil {
			return err
		}
	} else {
		printFindings(app.Out, found)
	}
	if !found.OK {
		return reported()
	}
	return nil
}

// begin has the audit begin at the checkpoints that fit. It returns where it goes on in their partitions, and the output topics of
// what they cover. Checkpoints that do not fit are compared, as all are with --full: their partitions are read from the
// first entry. Checkpoints are read before entries, so that these include those that a checkpoint covers.
func (c *auditCommand) begin(app *App, r *outputs.Reader, a *audit.Audit) (from map[int]int64, published map[string]bool, err error) {
	if err := hasLedger(app.Context, r.Conn, c.AppID); err != nil {
		return nil, nil, err
	}
	from, published = map[int]int64{}, map[string]bool{}
	checkpoints, err := stream.Checkpoints(app.Context, r.Conn.Client, r.Fetch, c.AppID)
	if err != nil {
		return nil, nil, classed(err)
	}
	var folds []*ledger.Fold
	names := topics.Names{App: c.AppID}
	for _, partition := range slices.Sorted(maps.Keys(checkpoints)) {
		text := checkpoints[partition]
		at := audit.Position{Topic: names.Progress(), Partition: text.Partition, Offset: text.Offset}
		if c.Full {
			a.Checkpoint(at, c.AppID, partition, text.Text)
			continue
		}
		f, err := audit.Covered(text.Text, c.AppID, partition, func(from int64, f func(value []byte, offset int64) error) error {
			_, err := r.Fetch.ReadAll(app.Context, names.Ledger(), partition, from, func(m *fetch.Record) error { return f(m.Value, m.Offset) })
			return err
		})
		truncated := (*fetch.TruncatedError)(nil)
		switch {
		case err == nil:
			folds, from[partition] = append(folds, f), f.From()+1
			for _, stream := range f.Books.Streams() {
				latest, _ := f.Books.Latest(stream)
				published[latest.Output] = true
			}
		case errors.Is(err, ledger.ErrCheckpoint), errors.As(err, &truncated):
			a.Checkpoint(at, c.AppID, partition, text.Text)
		default:
			return nil, nil, classed(err)
		}
	}
	if len(folds) > 0 {
		a.Begin(folds)
	}
	return from, published, nil
}

// auditOutput compares an output topic.
func auditOutput(app *App, r *outputs.Reader, agreed agreement, a *audit.Audit, topic string) error {
	switch there, err := agreed.has(app.Context, topic); { // a reader would wait for it for ever
	case err != nil:
		return classed(err)
	case !there:
		return brokerError(fmt.Errorf("output topic %s does not exist, or you may not describe it, so its figures cannot be compared; grant Describe, or create it again, even empty", topic))
	}
	return classed(r.All(app.Context, []string{topic}, func(m outputs.Message) error {
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

// measures returns the learner for the definitions of all streams, or nil if the app has none.
func (c *auditCommand) measures(conn *kafkaconn.Conn, app *App) (audit.Learner, error) {
	editions, err := agreedOn(conn, app, c.AppID).editions(app.Context)
	if err != nil || len(editions) == 0 {
		return nil, classed(err)
	}
	return release.NewMeasures(editions), nil
}

func printFindings(w io.Writer, found audit.Findings) {
	for _, f := range found.Faults {
		_, _ = fmt.Fprintln(w, f)
	}
	verdict := "ok"
	if !found.OK {
		verdict = plural(found.FaultCount, "fault")
	}
	_, _ = fmt.Fprintf(w, "%s: %s, %s, %d match the ledger, %d pending, %d no longer in the output topics, %s and the priors of %s as the ledger gives them\n",
		verdict, plural(found.Entries, "ledger entry"), plural(found.Outputs, "output"), found.Matched, found.Pending, found.Absent, plural(found.Checkpoints, "checkpoint"), plural(found.Priors, "window"))
	if found.Earlier > 0 {
		_, _ = fmt.Fprintf(w, "%s of windows that the checkpoints of the ledger cover: --full compares them, too\n", plural(found.Earlier, "output"))
	}
	if found.Instances > 0 {
		_, _ = fmt.Fprintf(w, "watches: %s armed, each charged once; %d of them fired\n", plural(found.Instances, "instance"), found.Firings)
	}
}

// entries reads the committed records of the app's ledger, in each partition from an offset on.
func entries(ctx context.Context, r *outputs.Reader, app string, from map[int]int64, f func(outputs.Message) error) error {
	return classed(r.AllFrom(ctx, []string{topics.Names{App: app}.Ledger()}, from, f))
}

// hasLedger refuses an app that has none.
func hasLedger(ctx context.Context, conn *kafkaconn.Conn, app string) error {
	topic := topics.Names{App: app}.Ledger()
	switch _, err := topics.Counts(ctx, conn.Client, []topics.Topic{{Name: topic}}); {
	case errors.Is(err, topics.ErrMissing):
		return brokerError(fmt.Errorf("app %s has no ledger: topic %s does not exist, or you may not describe it; check LOUVER_APP_ID, or run louver first", app, topic))
	default:
		return classed(err)
	}
}

// tails reads the ledger from its checkpoints on: see [stream.Tails].
func (a agreement) tails(app *App, keep int) ([]stream.Tail, error) {
	if err := hasLedger(app.Context, a.conn, a.Names.App); err != nil {
		return nil, err
	}
	tails, err := stream.Tails(app.Context, a.conn.Client, reader(a.conn, app.Log).Fetch, a.Names.App, keep, func(err error) {
		app.Log.Warn("a checkpoint of the ledger is left out: the ledger is read from its first entry", zap.Error(err))
	})
	return tails, classed(err)
}
