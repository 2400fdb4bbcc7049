// Command louver turns a Kafka topic of personal numbers into a Kafka topic of private statistics.
//
// Every command is a struct in a file of its own: its fields are the flags, by github.com/alecthomas/kong, and its
// method Run(*cli.App) error does the work. A new one becomes a field of [commands]. Settings that several commands
// share are the structs of package cli. A command that embeds one has its flags, with the environment's values as
// defaults. Where a command can do several things, the tag for of a flag says for which it has a meaning: see
// [cli.Misplaced].
//
// The packages under internal, each of which uses only those before it: cli is what all commands have in common,
// cluster reaches Kafka, feed sends files, generate writes files for others, service serves, inspect looks at an app
// from outside, check forecasts, offline draws without Kafka, try chooses for a file, and demo shows it all.
package main

import (
	"context"
	"io"
	"os"

	"github.com/louver/louver/cmd/louver/internal/check"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/demo"
	"github.com/louver/louver/cmd/louver/internal/feed"
	"github.com/louver/louver/cmd/louver/internal/generate"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/cmd/louver/internal/offline"
	"github.com/louver/louver/cmd/louver/internal/service"
	"github.com/louver/louver/cmd/louver/internal/try"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

// commands are the commands of the command line.
type commands struct {
	Demo        demo.Command               `cmd:"" help:"See it work: an embedded broker, a simulated service, a live table. Needs no Kafka."`
	Try         try.Command                `cmd:"" help:"Try a file of events: which windows and which ε give useful figures. Needs no Kafka."`
	Init        generate.InitCommand       `cmd:"" help:"Write a first streams file, with comments."`
	Run         service.RunCommand         `cmd:"" help:"Run the service until SIGTERM. SIGHUP reads the streams files again."`
	Check       check.Command              `cmd:"" help:"Check streams files. Print what one user can lose and how accurate the figures will be."`
	Release     offline.ReleaseCommand     `cmd:"" help:"Make one private release from a list of numbers or a CSV file, without Kafka."`
	Plan        check.PlanCommand          `cmd:"" help:"Forecast errors before anything is spent, or the ε or users needed for a given error."`
	Replay      feed.ReplayCommand         `cmd:"" help:"Send a CSV or JSON-lines file to a topic."`
	Watch       inspect.WatchCommand       `cmd:"" help:"Print figures as they are published."`
	Dashboard   service.DashboardCommand   `cmd:"" help:"Serve the page and the API from the output topics alone."`
	Export      service.ExportCommand      `cmd:"" help:"Send figures to a metrics backend by OpenTelemetry (OTLP), such as Prometheus."`
	Budget      inspect.BudgetCommand      `cmd:"" help:"Print what each stream and budget has spent and what is left, from the ledger."`
	Audit       inspect.AuditCommand       `cmd:"" help:"Compare the ledger with what was published: every charge once, every value the same."`
	Windows     inspect.WindowsCommand     `cmd:"" help:"Print the windows that are not out yet, and what each of them waits for."`
	Streams     inspect.StreamsCommand     `cmd:"" help:"Print which definition of each stream applies from when, and what a file would change."`
	Topics      inspect.TopicsCommand      `cmd:"" help:"List the topics, consumer groups and rights that the streams need. Create missing topics."`
	Rules       generate.RulesCommand      `cmd:"" help:"Write Prometheus alert rules that know how noisy the figures are."`
	Schema      generate.SchemaCommand     `cmd:"" help:"Print the contracts: the streams file, the published record, the HTTP API, the output topics."`
	Broker      demo.BrokerCommand         `cmd:"" help:"Run the embedded broker alone, to try things out."`
	Version     cli.VersionCommand         `cmd:"" help:"Print the version."`
	Healthcheck service.HealthcheckCommand `cmd:"" help:"Ask a running louver on this host whether it is ready."`
	Completion  cli.CompletionCommand      `cmd:"" help:"Print the completion script of a shell."`
	Man         cli.ManCommand             `cmd:"" help:"Print the manual page."`
	Help        cli.HelpCommand            `cmd:"" help:"Explain a command."`
}

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	return program().Execute(ctx, args, in, out, errOut)
}

// program is the command line.
func program() cli.Program {
	return cli.Program{Version: version, Commands: func() any {
		return &commands{
			Release: offline.ReleaseCommand{QueryFlags: cli.NewQueryFlags()},
			Plan:    check.PlanCommand{QueryFlags: cli.NewQueryFlags()},
		}
	}}
}
