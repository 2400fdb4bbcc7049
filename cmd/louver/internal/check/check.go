// Package check says what streams files and single releases will cost and how accurate they will be, from public
// figures alone: the commands check and plan. Both print the same findings, and check adds warnings. On request it also
// asks the brokers about topics and rights.
package check

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/kafka/kafkaconn"
	"github.com/louver/louver/stream/kafka/topics"
)

// Command checks streams files.
type Command struct {
	cli.KafkaSettings
	cli.AppSettings
	Connect bool     `help:"Also check on the cluster that the topics exist and keep their records for long enough. Say from which window on the files would change something."`
	Rights  bool     `help:"Also print the topics and rights that the streams need, and ask the brokers which of the rights are missing."`
	Files   []string `arg:"" optional:"" name:"file" help:"Streams files, directories of them, or globs. Absent: LOUVER_STREAMS."`
	Format  string   `default:"text" enum:"text,json,github" placeholder:"FORMAT" help:"text, json, or github: errors and warnings alone, as workflow commands of GitHub."`
	JSON    bool     `name:"json" help:"The same as --format json."`
	Strict  bool     `help:"End with exit code 1 if there are warnings."`
}

// Help is the long help.
func (Command) Help() string {
	return `Checks all streams files together. For every stream it prints what one user can lose in a window, and the
mechanism, charge and error of each release. For every budget it prints what one person can lose in its period and in
any 24 hours, as odds, and how long it lasts. With --rights come the topics and rights that the streams need, and what
the brokers say of them. The JSON has both in any case.

All mistakes go to standard error, each on a line "file:line: …", and the exit code is 1. So do warnings, with exit
code 0, or 1 with --strict. In a GitHub workflow, --format github shows both next to the lines of the file:

  louver check --strict --format github streams/`
}

// Run checks and prints.
func (c *Command) Run(app *cli.App) error {
	if c.JSON {
		c.Format = "json"
	}
	patterns, err := cli.Patterns(c.Files, c.Streams)
	if err != nil {
		return err
	}
	if err := topics.CheckApp(c.AppID); err != nil {
		return err
	}
	file, err := parse.LoadAll(patterns, os.LookupEnv)
	if err == nil {
		err = blind(file)
	}
	if err != nil {
		return cli.Refuse(app, err, c.Format)
	}
	found, err := examine(file, c.AppID, time.Now())
	if err != nil {
		return err
	}
	if c.Format == "text" {
		if err := found.print(app); err != nil {
			return err
		}
		if !c.Rights {
			const more = "louver check --rights also lists the topics and rights that these streams need, and asks the " +
				"brokers for them\n"
			if err := app.Print(more); err != nil {
				return err
			}
		}
		for _, line := range found.Warnings {
			app.Say("%s", line)
		}
	}
	if c.Rights || c.Connect {
		err = c.onCluster(app, file, found)
	}
	if finished := c.finish(app, found); err == nil { // what is wrong with the cluster matters more
		err = finished
	}
	return err
}

// finish prints what the text does not have, and says whether the warnings are too many.
func (c *Command) finish(app *cli.App, found *examination) error {
	switch c.Format {
	case "json":
		if err := cli.WriteJSON(app.Out, found); err != nil {
			return err
		}
	case "github":
		if err := cli.WriteGitHub(app.Out, "warning", found.Details); err != nil {
			return err
		}
	}
	if c.Strict && len(found.Warnings) > 0 {
		return cli.Reported()
	}
	return nil
}

// onCluster asks for rights, and verifies the brokers and topics and says what the files would change: whatever the
// flags want of it.
func (c *Command) onCluster(app *cli.App, file *config.File, found *examination) error {
	if c.Rights && c.Format == "text" {
		if err := inspect.PrintTopics(app, found.Topics, found.Rights, nil); err != nil {
			return err
		}
	}
	conn, err := cluster.Connect(app.Context, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	warn := func(line string) {
		found.warn(form.Mistake{Message: line}, line)
		if c.Format == "text" {
			app.Say("%s", line)
		}
	}
	if c.Rights {
		if err := c.granted(app, conn.Client, found, warn); err != nil || !c.Connect {
			return err
		}
	}
	away, err := conn.Away(app.Context)
	if err != nil {
		return cluster.WithExitCode(err)
	}
	err = c.compare(app, conn, file, found, warn)
	if named := (*kafkaconn.AwayError)(nil); errors.As(err, &named) {
		return err // which is about such a broker
	}
	for _, broker := range away {
		warn("warning: " + broker.Error())
	}
	return err
}

// compare verifies the topics against the files, and the files against what the app has agreed on.
func (c *Command) compare(app *cli.App, conn *kafkaconn.Conn, file *config.File, found *examination,
	warn func(string)) error {
	if err := topics.VerifyExisting(app.Context, conn.Client, topics.Plan(c.AppID, file.Streams), warn); err != nil {
		return cluster.WithExitCode(err)
	}
	agreed := cluster.ControlOf(conn, app.Log, c.AppID)
	if c.Format == "text" {
		return inspect.PrintPreview(app, agreed, file, "")
	}
	preview, err := agreed.Foresee(app.Context, file)
	if err == nil {
		found.Preview = inspect.NewPreview(preview, "")
	}
	return err
}

// examination is what check finds. Its JSON names are public.
type examination struct {
	findings
	Topics []topics.Topic `json:"topics"`
	Rights []topics.Right `json:"rights"`
	// Missing are the rights that the brokers do not grant; nil if they were not asked.
	Missing []topics.Right `json:"rights_missing,omitzero"`
	// Warnings are lines of text, and Details the same with their places.
	Warnings []string       `json:"warnings"`
	Details  []form.Mistake `json:"warning_details"`
	// Preview says what the files would change; nil if the cluster was not asked.
	Preview *inspect.Preview `json:"preview,omitempty"`
}

// examine finds everything that check prints. now is the start of streams with start: now.
func examine(file *config.File, app string, now time.Time) (*examination, error) {
	found, err := find(file, new(forecastFlags), now)
	if err != nil {
		return nil, err
	}
	plan := topics.Plan(app, file.Streams)
	x := &examination{findings: found, Topics: plan, Rights: topics.Rights(app, plan), Warnings: []string{},
		Details: []form.Mistake{}}
	for _, m := range warnings(file, found, now) {
		x.warn(*m, fmt.Sprintf("%s: warning: %s", m.Where(), m.Text()))
	}
	return x, nil
}

func (e *examination) warn(m form.Mistake, text string) {
	e.Details, e.Warnings = append(e.Details, m), append(e.Warnings, text)
}
