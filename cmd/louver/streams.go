package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/control"
)

// streamsCommand prints the definitions that the app has agreed on.
type streamsCommand struct {
	cli.KafkaSettings
	cli.AppSettings
	JSON bool `name:"json" help:"Print JSON."`
}

// Help is the long help.
func (streamsCommand) Help() string {
	return `All processes of an app use the same definitions of its streams. These are kept in the control topic, not in anybody's
file. A changed file makes a new definition. It applies from a window that begins a little later. The old definition
finishes the windows before it.

Prints every definition of every stream, when its windows begin and end, and what it changes. With --streams, also says
what that file would change and from which window on. Nothing is written.`
}

// Run prints the definitions, and what a file would change.
func (c *streamsCommand) Run(app *cli.App) error {
	var file *config.File
	if c.Streams != "" {
		var err error
		if file, err = config.Load(c.Streams, os.LookupEnv); err != nil {
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
	if c.JSON {
		return printHistoryJSON(app, agreed, history, file)
	}
	if err := printHistory(app, c.AppID, history); err != nil || file == nil {
		return err
	}
	return printPreview(app, agreed, file)
}

// printHistoryJSON writes the definitions, and with a file those that it would begin and end.
func printHistoryJSON(app *cli.App, agreed cluster.Control, history control.History, file *config.File) error {
	listed := struct {
		control.History
		Preview *foreseen `json:"preview,omitempty"`
	}{History: history}
	if file != nil {
		p, err := agreed.Foresee(app.Context, file)
		if err != nil {
			return err
		}
		listed.Preview = newForeseen(p)
	}
	return cli.WriteJSON(app.Out, listed)
}

// foreseen is a preview in JSON.
type foreseen struct {
	Epoch    int             `json:"epoch"`
	Older    bool            `json:"older"`
	Begins   []control.Dated `json:"begins"`
	Ends     []control.Dated `json:"ends"`
	Replaces []control.Dated `json:"replaces"`
	Notes    []string        `json:"notes"`
}

func newForeseen(p control.Preview) *foreseen {
	return &foreseen{p.After.Epoch, p.Older, orEmpty(p.Begins()), orEmpty(p.Ends()), orEmpty(p.Replaces()), orEmpty(p.Notes)}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// printHistory writes the definitions as a table, and below it what each of them has changed.
func printHistory(app *cli.App, id string, h control.History) error {
	if h.Epoch == 0 {
		_, err := fmt.Fprintf(app.Out, "app %s has no streams yet\n", id)
		return err
	}
	by := ""
	if h.By != nil {
		by = fmt.Sprintf(", proposed by %s (client id %s, version %s)", cmp.Or(h.By.Host, "a host without a name"), h.By.ClientID, cmp.Or(h.By.Version, "unknown"))
	}
	if _, err := fmt.Fprintf(app.Out, "app %s: epoch %d, revision %d, agreed on %s%s\n", id, h.Epoch, h.Revision, instant(*h.At), by); err != nil {
		return err
	}
	var rows [][]string
	for _, d := range h.Definitions {
		rows = append(rows, []string{d.Stream, strconv.Itoa(int(d.Number)), folding(d.From), lastOf(d, folding), windowsOf(d), d.Budget, d.Fingerprint})
	}
	if err := cli.WriteTable(app.Out, app.Width(), []string{"stream", "no.", "first window starts", "last window ends", "windows", "budget", "fingerprint"}, rows); err != nil {
		return err
	}
	for _, d := range h.Definitions {
		if err := printChanges(app.Out, d); err != nil {
			return err
		}
	}
	return nil
}

func printChanges(w io.Writer, d control.Dated) error {
	for _, change := range d.Changes {
		if _, err := fmt.Fprintf(w, "%s %d: %s\n", d.Stream, d.Number, change); err != nil {
			return err
		}
	}
	return nil
}

// printPreview writes what a file would change.
func printPreview(app *cli.App, agreed cluster.Control, file *config.File) error {
	p, err := agreed.Foresee(app.Context, file)
	if err != nil {
		return err
	}
	var b strings.Builder
	switch {
	case p.Older:
		fmt.Fprintf(&b, "the file is older than epoch %d: a process that has it follows the newer definitions; to go back to the file, raise its revision\n", p.Before.Epoch)
	case p.After.Epoch == p.Before.Epoch:
		fmt.Fprintf(&b, "the file changes nothing: epoch %d already has its definitions\n", p.Before.Epoch)
	default:
		fmt.Fprintf(&b, "louver run with this file would begin epoch %d if it started now:\n", p.After.Epoch)
	}
	for _, d := range p.Replaces() {
		fmt.Fprintf(&b, "stream %s: definition %d, from %s, is replaced before it begins\n", d.Stream, d.Number, instant(d.From))
	}
	for _, d := range p.Ends() {
		fmt.Fprintf(&b, "stream %s: the last window of definition %d ends %s\n", d.Stream, d.Number, lastOf(d, instant))
	}
	for _, d := range p.Begins() {
		fmt.Fprintf(&b, "stream %s: definition %d applies from the window that starts %s: %s, budget %s\n", d.Stream, d.Number, instant(d.From), windowsOf(d), d.Budget)
		if err := printChanges(&b, d); err != nil {
			return err
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintln(&b, note)
	}
	_, err = io.WriteString(app.Out, b.String())
	return err
}

func windowsOf(d control.Dated) string {
	if d.Every == d.Size {
		return d.Size
	}
	return d.Size + " every " + d.Every
}

// lastOf writes when a definition's last window ends.
func lastOf(d control.Dated, write func(time.Time) string) string {
	text := "never"
	if d.Until != nil {
		text = write(*d.Until)
	}
	if d.Removed {
		text += " (removed)"
	}
	return text
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// folding writes a time that may wrap in a table.
func folding(t time.Time) string { return strings.Replace(instant(t), "T", " ", 1) }
