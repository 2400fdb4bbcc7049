package inspect

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/control"
)

// StreamsCommand prints the definitions that the app has agreed on.
type StreamsCommand struct {
	cli.KafkaSettings
	cli.AppSettings
	cli.StreamsArgument
	Stream string `placeholder:"NAME" help:"Only this stream."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Help is the long help.
func (StreamsCommand) Help() string {
	return `All processes of an app use the same definitions of its streams. These are kept in the control topic, not in
anybody's file. A changed file makes a new definition. It applies from a window that begins a little later. The old
definition finishes the windows before it.

Prints every definition of every stream, when its windows begin and end, and what it changes. With --streams, also says
what that file would change and from which window on. Nothing is written.`
}

// Run prints the definitions, and what a file would change.
func (c *StreamsCommand) Run(app *cli.App) error {
	c.Streams = c.Or(c.Streams)
	var file *config.File
	if c.Streams != "" {
		var err error
		if file, err = parse.Load(c.Streams, os.LookupEnv); err != nil {
			return err
		}
	}
	conn, err := cluster.Connect(app.Context, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	agreed := cluster.ControlOf(conn, app.Log, c.AppID)
	state, err := control.Read(app.Context, agreed)
	if err != nil {
		return cluster.WithExitCode(err)
	}
	history, err := state.History()
	if err != nil {
		return err
	}
	if history.Epoch == 0 && file == nil {
		return agreed.NoStreams()
	}
	history.Definitions = ofStream(history.Definitions, c.Stream)
	if c.Stream != "" && len(history.Definitions) == 0 && (file == nil || file.Stream(c.Stream) == nil) {
		return fmt.Errorf("--stream=%s: app %s has no such stream; louver streams lists them", c.Stream, c.AppID)
	}
	if c.JSON {
		return printHistoryJSON(app, agreed, history, file, c.Stream)
	}
	if err := printHistory(app, c.AppID, history, time.Now()); err != nil || file == nil {
		return err
	}
	return PrintPreview(app, agreed, file, c.Stream)
}

// printHistoryJSON writes the definitions, and with a file those that it would begin and end.
func printHistoryJSON(app *cli.App, agreed cluster.Control, history control.History, file *config.File,
	stream string) error {
	listed := struct {
		control.History
		Preview *Preview `json:"preview,omitempty"`
	}{History: history}
	if file != nil {
		p, err := agreed.Foresee(app.Context, file)
		if err != nil {
			return err
		}
		listed.Preview = NewPreview(p, stream)
	}
	return cli.WriteJSON(app.Out, listed)
}

// printHistory writes the definitions as a table, and below it what each of them has changed.
func printHistory(app *cli.App, id string, h control.History, now time.Time) error {
	if h.Epoch == 0 {
		_, err := fmt.Fprintf(app.Out, "app %s has no streams yet\n", id)
		return err
	}
	by := ""
	if h.By != nil {
		by = fmt.Sprintf(", proposed by %s (client id %s, version %s)", cmp.Or(h.By.Host, "a host without a name"),
			h.By.ClientID, cmp.Or(h.By.Version, "unknown"))
	}
	if _, err := fmt.Fprintf(app.Out, "app %s: epoch %d, revision %d, agreed on %s%s\n", id, h.Epoch, h.Revision,
		cli.Instant(*h.At), by); err != nil {
		return err
	}
	var rows [][]string
	stamp := func(t time.Time) string { return cli.Stamp(t, now) }
	for _, d := range h.Definitions {
		rows = append(rows, []string{d.Stream, strconv.Itoa(int(d.Number)), stamp(d.From), lastOf(d, stamp),
			windowsOf(d), d.Budget, d.Fingerprint})
	}
	if err := cli.WriteTable(app.Out, app.Width(), []string{"stream", "no.", "first window starts", "last window ends",
		"windows", "budget", "fingerprint"}, rows); err != nil {
		return err
	}
	for _, d := range h.Definitions {
		if err := printChanges(app.Out, d); err != nil {
			return err
		}
	}
	return nil
}
