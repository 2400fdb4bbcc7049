package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/cluster"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/kafka/topics"
	"github.com/louver/louver/stream/stage"
)

// TopicsCommand lists, and creates, what the streams need on the cluster.
type TopicsCommand struct {
	cli.KafkaSettings
	cli.StreamsArgument
	AppID             string `envconfig:"LOUVER_APP_ID" name:"app-id" default:"louver" placeholder:"NAME" help:"Prefix of the internal topics and groups."`
	Streams           string `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of streams files, or glob."`
	TopicsReplication int    `envconfig:"LOUVER_TOPICS_REPLICATION" default:"-1" group:"kafka" placeholder:"N" help:"Replication factor of topics that Louver creates; -1: the broker's default."`
	Create            bool   `help:"Create missing topics and check all of them. Say which were created, which existed and which are yours to create."`
	Export            bool   `help:"List what louver export needs, and not what the service needs."`
	Format            string `enum:"table,acls,strimzi" default:"table" placeholder:"FORMAT" help:"table; acls: the arguments of kafka-acls.sh, one line for each right; strimzi: KafkaTopic and KafkaUser resources for Kubernetes."`
	Cluster           string `default:"kafka" placeholder:"NAME" help:"Name of the Kafka resource that Strimzi runs, for --format strimzi."`
	JSON              bool   `name:"json" help:"Print JSON."`
}

// Run implements the command.
func (c *TopicsCommand) Run(app *cli.App) error {
	c.Streams = c.Or(c.Streams)
	if err := topics.CheckApp(c.AppID); err != nil {
		return err
	}
	if err := (cli.TopicSettings{TopicsReplication: c.TopicsReplication}).Check(); err != nil {
		return err
	}
	file, err := cli.LoadStreams(c.Streams)
	if err != nil {
		return err
	}
	plan := topics.Plan(c.AppID, file.Streams)
	rights := topics.Rights(c.AppID, plan)
	switch {
	case c.Export && c.Create:
		return cli.UsageError(errors.New("--create with --export: louver export creates nothing"))
	case c.Export:
		plan, rights = topics.Export(topics.Names{App: c.AppID}.Group(stage.Export), file.Streams)
	}
	if !c.Create {
		return c.print(app, plan, rights, nil)
	}
	conn, err := cluster.Connect(app.Context, c.KafkaSettings, app.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	states, err := topics.Create(app.Context, conn.Client, plan, c.TopicsReplication)
	if states != nil {
		err = errors.Join(c.print(app, plan, rights, states), err)
	}
	if err != nil {
		return cluster.WithExitCode(err)
	}
	return cluster.WithExitCode(topics.Verify(app.Context, conn.Client, plan,
		func(line string) { app.Say("%s", line) }))
}

// print writes topics and rights in the chosen form.
func (c *TopicsCommand) print(app *cli.App, plan []topics.Topic, rights []topics.Right,
	states map[string]topics.State) error {
	switch {
	case c.Format == "acls":
		for _, r := range rights {
			for _, op := range r.Operations {
				pattern := ""
				if r.Prefixed {
					pattern = " --resource-pattern-type prefixed"
				}
				if _, err := fmt.Fprintf(app.Out, "--add --allow-principal User:%s --operation %s --%s %s%s\n",
					c.principal(), op, r.Resource, r.Name, pattern); err != nil {
					return err
				}
			}
		}
		return nil
	case c.Format == "strimzi":
		to := strimzi{cluster: c.Cluster, user: c.principal(), login: strimziLogin(c.KafkaSettings),
			replication: c.TopicsReplication}
		return to.print(app.Out, plan, rights)
	case c.JSON:
		listed := make([]listedTopic, len(plan))
		for i, t := range plan {
			listed[i] = listedTopic{t, states[t.Name], t.MinRetention.Milliseconds()}
			if t.MinRetention == topics.Forever {
				listed[i].MinRetentionMS = -1
			}
		}
		return cli.WriteJSON(app.Out, map[string]any{"topics": listed, "rights": rights})
	}
	return PrintTopics(app, plan, rights, states)
}

// listedTopic is a topic in JSON.
type listedTopic struct {
	topics.Topic
	State          topics.State `json:"state,omitempty"`
	MinRetentionMS int64        `json:"min_retention_ms"` // −1 means for ever, 0 any
}

func (c *TopicsCommand) principal() string {
	switch {
	case c.KafkaSASLUsername != "":
		return c.KafkaSASLUsername
	case c.Export:
		return "louver-export"
	}
	return "louver"
}

// PrintTopics writes two tables: what topics must look like, with their states if these are known, and what the service
// must be allowed to do.
func PrintTopics(app *cli.App, plan []topics.Topic, rights []topics.Right, states map[string]topics.State) error {
	head := []string{"topic", "for", "partitions", "cleanup", "retention"}
	if states != nil {
		head = append(head, "state")
	}
	var rows [][]string
	for _, t := range plan {
		use := t.Use
		if t.Personal {
			use += " (personal)"
		}
		row := []string{t.Name, use, partitions(t.Partitions), cmp.Or(strings.ReplaceAll(t.Cleanup, ",", ", "), "any"),
			retention(t.MinRetention)}
		if states != nil {
			row = append(row, string(states[t.Name]))
		}
		rows = append(rows, row)
	}
	if err := cli.WriteTable(app.Out, app.Width(), head, rows); err != nil {
		return err
	}
	rows = nil
	for _, r := range rights {
		name := r.Name
		if r.Prefixed {
			name += "…"
		}
		rows = append(rows, []string{r.Resource, name, strings.Join(r.Operations, ", ")})
	}
	return cli.WriteTable(app.Out, app.Width(), []string{"resource", "name", "rights"}, rows)
}

func partitions(n int) string {
	switch {
	case n == 0:
		return "yours"
	case n < 0:
		return "default"
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
