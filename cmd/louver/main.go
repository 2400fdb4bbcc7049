// Command louver turns a Kafka topic of personal numbers into a Kafka topic of private statistics.
//
// Every subcommand is a struct in a file of its own: its fields are the flags, by github.com/alecthomas/kong, and its
// method Run(*App) error does the work. A new one becomes a field of [commands]. Settings that several commands share
// are the structs of env.go. A command that embeds one has its flags, with the environment's values as defaults.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/parse"
)

// commands is the command line.
type commands struct {
	LogSettings
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`

	Demo        demoCommand        `cmd:"" help:"See it work: an embedded broker, a simulated service, a live table. Needs no Kafka."`
	Init        initCommand        `cmd:"" help:"Write a first streams file, with comments."`
	Run         runCommand         `cmd:"" help:"Run the service until SIGTERM."`
	Check       checkCommand       `cmd:"" help:"Check streams files. Print what one user can lose and how accurate the figures will be."`
	Release     releaseCommand     `cmd:"" help:"Make one private release from a list of numbers or a CSV file, without Kafka."`
	Plan        planCommand        `cmd:"" help:"Forecast errors before anything is spent, or the ε or users needed for a given error."`
	Replay      replayCommand      `cmd:"" help:"Send a CSV or JSON-lines file to a topic."`
	Watch       watchCommand       `cmd:"" help:"Print figures as they are published."`
	Dashboard   dashboardCommand   `cmd:"" help:"Serve the page and the API from the output topics alone."`
	Budget      budgetCommand      `cmd:"" help:"Print what each stream and budget has spent and what is left, from the ledger."`
	Audit       auditCommand       `cmd:"" help:"Compare the ledger with what was published: every charge once, every value the same."`
	Windows     windowsCommand     `cmd:"" help:"Print the windows that are not out yet, and what each of them waits for."`
	Streams     streamsCommand     `cmd:"" help:"Print which definition of each stream applies from when, and what a file would change."`
	Topics      topicsCommand      `cmd:"" help:"List the topics, consumer groups and rights that the streams need. Create missing topics."`
	Rules       rulesCommand       `cmd:"" help:"Write Prometheus alert rules that know how noisy the figures are."`
	Schema      schemaCommand      `cmd:"" help:"Print the contracts: the streams file, the published record, the HTTP API, the output topics."`
	Broker      brokerCommand      `cmd:"" help:"Run the embedded broker alone, to try things out."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask a running louver on this host whether it is ready."`
	Completion  completionCommand  `cmd:"" help:"Print the completion script of a shell."`
	Help        helpCommand        `cmd:"" help:"Explain a command."`
}

const description = `Louver turns a Kafka topic of personal numbers into a Kafka topic of private statistics.

Flags win over the environment (LOUVER_…, named at each flag), the environment over defaults.
`

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	app := &App{Context: ctx, In: in, Out: out, Err: errOut}
	helped := false
	line := commands{Release: releaseCommand{queryFlags: newQueryFlags()}, Plan: planCommand{queryFlags: newQueryFlags()}}
	statistics := statisticNames(mechanisms.Statistics())
	parser, err := kong.New(&line,
		kong.Name("louver"),
		kong.Description(description+exitText()),
		kong.Writers(out, errOut),
		kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 120}),
		kong.ValueFormatter(helpText),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(durations)),
		kong.Vars{"version": build().String(), "statistics": strings.Join(statistics, ","), "statistic_series": english.WordSeries(statistics, "or")},
		kong.ExplicitGroups([]kong.Group{
			{Key: "what", Title: "What to draw:"},
			{Key: "privacy", Title: "Bounds and privacy (no defaults where it matters):"},
			{Key: "input", Title: "Input:"},
			{Key: "watch", Title: "Watch:"},
			{Key: "kafka", Title: "Kafka:"},
			{Key: "http", Title: "HTTP:"},
			{Key: "log", Title: "Log:"},
		}),
		kong.WithHyphenPrefixedParameters(true), // --lower -10
	)
	if err != nil {
		return report(errOut, err)
	}
	if len(args) == 0 {
		return report(errOut, usageError(errors.New("no command; try louver demo, or louver help for a list")))
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return exitDone
	case unfinished(parsed, err, args) != nil:
		return report(errOut, usageError(unfinished(parsed, err, args)))
	case err != nil:
		return report(errOut, usageError(lineError(err)))
	}
	if err := applyEnvironment(parsed); err != nil {
		return report(errOut, err)
	}
	if app.Log, err = line.logger(errOut); err != nil {
		return report(errOut, err)
	}
	err = parsed.Run(app)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil // stopped by a signal, as asked
	}
	return report(errOut, err)
}

// lineError explains mistakes in a command line better than its parser does.
func lineError(err error) error {
	var p *kong.ParseError
	if !errors.As(err, &p) {
		return err
	}
	command := p.Context.Selected()
	if name, found := strings.CutPrefix(err.Error(), "unexpected argument "); found && command == nil {
		name, hint, hinted := strings.Cut(name, ", ")
		if !hinted {
			hint = "louver help lists them"
		}
		return fmt.Errorf("%s is not a command; %s", name, hint)
	}
	if argument, found := strings.CutPrefix(err.Error(), "unexpected argument "); found && takesStreams(command) {
		return fmt.Errorf("unexpected argument %s; want --streams %s", argument, argument)
	}
	if argument, found := strings.CutPrefix(err.Error(), "expected "); found && command != nil {
		return fmt.Errorf("%s is missing; louver help %s explains it", strings.Trim(argument, `"`), command.Name)
	}
	if flag, got, found := strings.Cut(err.Error(), ": expected a valid 64 bit int but got "); found {
		return fmt.Errorf("%s %s; want a whole number", flag, strings.Trim(got, `"`))
	}
	if flag, got, found := strings.Cut(err.Error(), `: expected "<key>=<value>" but got `); found {
		return fmt.Errorf("%s %s; want %s", flag, strings.Trim(got, `"`), placeholder(command, flag))
	}
	if what, rest, found := strings.Cut(err.Error(), " must be one of "); found {
		words, got, _ := strings.Cut(strings.ReplaceAll(rest, `"`, ""), " but got ")
		if strings.HasPrefix(what, "<") && command != nil {
			what = command.Name
		}
		if meant := parse.MeantStatistic(got); what == "--statistic" && meant != "" {
			return fmt.Errorf("%s %s is not a statistic; did you mean %s?", what, got, meant)
		}
		return fmt.Errorf("%s %s; want %s", what, got, english.WordSeries(strings.Split(words, ","), "or"))
	}
	return err
}

// unfinished refuses a command line that ends with a flag whose value is missing. The parser reads an empty text there.
func unfinished(parsed *kong.Context, err error, args []string) error {
	var p *kong.ParseError
	if errors.As(err, &p) {
		parsed = p.Context
	}
	name, isFlag := strings.CutPrefix(args[len(args)-1], "--")
	if parsed == nil || parsed.Selected() == nil || !isFlag {
		return nil
	}
	for _, group := range parsed.Selected().AllFlags(false) {
		for _, f := range group {
			if f.Name == name && !f.IsBool() {
				return fmt.Errorf("--%s without a value; want --%s=%s", name, name, f.PlaceHolder)
			}
		}
	}
	return nil
}

// takesStreams reports whether a command has the flag --streams.
func takesStreams(command *kong.Node) bool {
	return command != nil && slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool { return f.Name == "streams" })
}

// placeholder returns how the value of a command's flag is written.
func placeholder(command *kong.Node, flag string) string {
	for _, f := range command.Flags {
		if "--"+f.Name == flag {
			return f.PlaceHolder
		}
	}
	return "KEY=VALUE"
}
