package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/segmentio/kafka-go"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream"
	"github.com/louver/louver/stream/kafka/topics"
)

// granted asks the brokers for rights, and warns of each that is missing. The error says that one is without which the
// service cannot work.
func (c *Command) granted(app *cli.App, client *kafka.Client, found *examination, warn func(string)) error {
	var groups []string
	for _, stage := range stream.Stages {
		groups = append(groups, topics.Names{App: c.AppID}.Group(stage))
	}
	asked, err := topics.AskRights(app.Context, client, found.Topics, groups)
	if err != nil {
		return cluster.WithExitCode(err)
	}
	needed := 0
	found.Missing = append([]topics.Right{}, asked.Lacking...)
	for _, r := range asked.Lacking {
		what := ""
		if slices.Equal(r.Operations, []string{"Delete"}) {
			what = ": personal data would be kept longer than necessary"
		} else {
			needed++
		}
		warn(fmt.Sprintf("the brokers do not grant %s on %s %s%s", english.WordSeries(r.Operations, "and"), r.Resource,
			r.Name, what))
	}
	if c.Format == "text" {
		var lines strings.Builder
		if len(asked.Lacking) == 0 {
			lines.WriteString("\nThe brokers grant these rights. They cannot be asked about transactional ids.\n")
		}
		if len(asked.Unknown) > 0 {
			cli.Fprintf(&lines, "Not there yet, so only the right to create them was asked for: %s\n",
				english.WordSeries(asked.Unknown, "and"))
		}
		if err := app.Print(lines.String()); err != nil {
			return err
		}
	}
	if needed > 0 {
		return cli.BrokerError(errors.New("rights are missing; grant them: louver topics --format acls prints the " +
			"arguments of kafka-acls.sh"))
	}
	return nil
}
