package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/topics"
)

// topicsCommand lists, and creates, what the streams need on the cluster.
type topicsCommand struct {
	KafkaSettings
	AppID             string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"Names the internal topics and groups."`
	Streams           string `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of such, or glob."`
	File              string `arg:"" optional:"" help:"The same as --streams."`
	TopicsReplication int    `envconfig:"LOUVER_TOPICS_REPLICATION" default:"-1" group:"kafka" placeholder:"N" help:"Replication factor of created topics; -1: the broker's default."`
	Create            bool   `help:"Create the topics that are missing, and verify all of them."`
	Format            string `enum:"table,acls" default:"table" help:"table, or acls: an argument line of kafka-acls.sh for each right."`
}

// Run implements the command.
func (c *topicsCommand) Run(app *App) error {
	if c.File != "" {
		c.Streams = c.File
	}
	file, err := loadStreams(c.Streams)
	if err != nil {
		return err
	}
	plan := topics.Plan(c.AppID, file.Streams)
	rights := topics.Rights(c.AppID, plan)
	if c.Format == "acls" {
		for _, r := range rights {
			for _, op := range r.Operations {
				if _, err := fmt.Fprintf(app.Out, "--add --allow-principal User:%s --operation %s --%s %s\n", c.principal(), op, r.Resource, r.Name); err != nil {
					return err
				}
			}
		}
	} else if err := printTopics(app, plan, rights); err != nil {
		return err
	}
	if !c.Create {
		return nil
	}
	conn, err := c.connect(app.Context, app)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := topics.Create(app.Context, conn.Client, plan, c.TopicsReplication); err != nil {
		return classed(err)
	}
	return classed(topics.Verify(app.Context, conn.Client, plan))
}

func (c *topicsCommand) principal() string {
	if c.KafkaSASLUsername != "" {
		return c.KafkaSASLUsername
	}
	return "louver"
}

func printTopics(app *App, plan []topics.Topic, rights []topics.Right) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"topic", "for", "personal", "partitions", "cleanup", "retention", "rights"})
	for _, topic := range plan {
		personal := "no"
		if topic.Personal {
			personal = "yes"
		}
		t.AppendRow(table.Row{topic.Name, topic.Use, personal, partitions(topic.Partitions), or(topic.Cleanup, "any"), retention(topic.MinRetention), strings.Join(topic.Operations, ", ")})
	}
	others := table.NewWriter()
	others.SetStyle(table.StyleLight)
	others.AppendHeader(table.Row{"resource", "name", "rights"})
	for _, r := range rights {
		if r.Resource != "topic" {
			others.AppendRow(table.Row{r.Resource, r.Name, strings.Join(r.Operations, ", ")})
		}
	}
	_, err := fmt.Fprintf(app.Out, "%s\n%s\n", t.Render(), others.Render())
	return err
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func partitions(n int) string {
	switch {
	case n == 0:
		return "yours"
	case n < 0:
		return "the broker's default"
	}
	return fmt.Sprint(n)
}

func retention(d time.Duration) string {
	switch d {
	case topics.Forever:
		return "for ever"
	case 0:
		return "any"
	}
	return "at least " + config.Duration(d)
}
