// Package check says what streams files and single releases will cost and how accurate they will be, from public figures alone:
// the commands check and plan.
package check

import (
	"fmt"
	"os"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/topics"
)

// Command checks streams files.
type Command struct {
	cli.KafkaSettings
	cli.AppSettings
	Connect bool     `help:"Also check on the cluster that the topics exist and keep their records for long enough. Say from which window on the files would change something."`
	Files   []string `arg:"" optional:"" name:"file" help:"Streams files, directories of them, or globs. Absent: LOUVER_STREAMS."`
	Format  string   `default:"text" enum:"text,json" placeholder:"FORMAT" help:"text or json."`
	JSON    bool     `name:"json" help:"The same as --format json."`
}

// Help is the long help.
func (Command) Help() string {
	return `Checks all streams files together. For every stream it prints what one user can lose in a window, how long the budget
lasts, and the mechanism, charge and error of each release. Then come the topics and rights that the streams need.

All mistakes go to standard error, each on a line "file:line: …", and the exit code is 1.`
}

// Run checks and prints.
func (c *Command) Run(app *cli.App) error {
	if c.JSON {
		c.Format = "json"
	}
	patterns := c.Files
	if len(patterns) == 0 {
		if c.Streams == "" {
			return cli.UsageError(fmt.Errorf("no streams file: name one, or set LOUVER_STREAMS"))
		}
		patterns = []string{c.Streams}
	}
	if err := topics.CheckApp(c.AppID); err != nil {
		return err
	}
	file, err := parse.LoadAll(patterns, os.LookupEnv)
	if err != nil {
		return cli.Refuse(app, err, c.Format == "json")
	}
	if err := blind(file); err != nil {
		return cli.Refuse(app, err, c.Format == "json")
	}
	found, err := examine(file, c.AppID, time.Now())
	if err != nil {
		return err
	}
	if c.Format == "json" {
		return c.printJSON(app, file, found)
	}
	if err := found.print(app); err != nil || !c.Connect {
		return err
	}
	warn := func(line string) { _, _ = fmt.Fprintln(app.Err, line) }
	return c.onCluster(app, file, warn, func(agreed cluster.Control) error { return inspect.PrintPreview(app, agreed, file) })
}

// printJSON prints all findings, including those on the cluster, as one
// document.
func (c *Command) printJSON(app *cli.App, file *config.File, found *examination) error {
	var failure error
	if c.Connect {
		warn := func(line string) { found.Warnings = append(found.Warnings, line) }
		failure = c.onCluster(app, file, warn, func(agreed cluster.Control) error {
			p, err := agreed.Foresee(app.Context, file)
			if err == nil {
				found.Preview = inspect.NewPreview(p)
			}
			return err
		})
	}
	if err := cli.WriteJSON(app.Out, found); err != nil {
		return err
	}
	return failure
}

// onCluster verifies the topics, and calls preview to say what the files would
// change.
func (c *Command) onCluster(app *cli.App, file *config.File, warn func(string), preview func(cluster.Control) error) error {
	conn, err := cluster.Connect(app.Context, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := topics.VerifyExisting(app.Context, conn.Client, topics.Plan(c.AppID, file.Streams), warn); err != nil {
		return cluster.WithExitCode(err)
	}
	return preview(cluster.ControlOf(conn, app.Log, c.AppID))
}
