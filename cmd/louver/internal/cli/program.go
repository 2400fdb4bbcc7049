package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize/english"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/parse"
)

// Program is the command line: its commands, and what they have in common.
type Program struct {
	// Commands makes a new table of the commands: a pointer to a struct with a field for each.
	Commands func() any
	// Version is what the linker says of the build, or "".
	Version string
}

// everyCommand are the flags that all commands have.
type everyCommand struct {
	LogSettings
	HelpAll     helpAll          `help:"Explain rare flags too."`
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

const description = `Louver turns a Kafka topic of personal numbers into a Kafka topic of private statistics.

Flags win over environment variables (LOUVER_…, named with each flag), and these over defaults.
`

// Execute runs a command line and returns the exit code.
func (p Program) Execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	app := &App{Context: ctx, In: in, Out: out, Err: errOut, Build: build(p.Version)}
	helped := false
	parser, line, err := p.parser(app, func(int) { helped = true })
	if err != nil {
		return report(errOut, err)
	}
	if len(args) == 0 {
		return report(errOut, UsageError(errors.New("no command; try louver demo, or louver help for a list")))
	}
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return ExitDone
	case unfinished(parsed, err, args) != nil:
		return report(errOut, UsageError(unfinished(parsed, err, args)))
	case err != nil:
		return report(errOut, UsageError(lineError(err)))
	}
	if err := applyEnvironment(parsed); err != nil {
		return report(errOut, err)
	}
	if app.Log, app.Level, err = line.logger(errOut); err != nil {
		return report(errOut, err)
	}
	err = parsed.Run(app, p)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil // stopped by a signal, as asked
	}
	return report(errOut, err)
}

// Model returns the commands with their flags.
func (p Program) Model() (*kong.Application, error) {
	parser, _, err := p.parser(&App{Out: io.Discard, Err: io.Discard}, func(int) {})
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// parser makes the parser of the command line, and what it fills in for all commands.
func (p Program) parser(app *App, exit func(int)) (*kong.Kong, *everyCommand, error) {
	line := new(everyCommand)
	statistics := statisticNames(slices.DeleteFunc(mechanisms.Statistics(), func(s mechanisms.Statistic) bool {
		return len(mechanisms.Available(s)) == 0 // it is computed, and not drawn
	}))
	statistics = append(statistics, string(mechanisms.Groups))
	parser, err := kong.New(line,
		kong.Embed(p.Commands()),
		kong.Name("louver"),
		kong.Description(description+exitText()),
		kong.Writers(app.Out, app.Err),
		kong.Exit(exit),
		kong.ConfigureHelp(helpOptions),
		kong.Help(shortHelp),
		kong.ValueFormatter(helpText),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(durations)),
		kong.Vars{"version": app.Build.String(), "statistics": strings.Join(statistics, ","),
			"statistic_series": english.WordSeries(statistics, "or")},
		kong.ExplicitGroups([]kong.Group{
			{Key: "what", Title: "What to draw:"},
			{Key: "privacy", Title: "Bounds and privacy (no defaults where it matters):"},
			{Key: "input", Title: "Input:"},
			{Key: "watch", Title: "Watch:"},
			{Key: "total", Title: "Running total:"},
			{Key: "groups", Title: "Groups that nobody can list (--statistic groups):"},
			{Key: "kafka", Title: "Kafka:"},
			{Key: "otlp", Title: "OpenTelemetry:"},
			{Key: "http", Title: "HTTP:"},
			{Key: "log", Title: "Log:"},
		}),
		kong.WithHyphenPrefixedParameters(true), // --lower -10
	)
	return parser, line, err
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
	if argument, found := strings.CutPrefix(err.Error(), "unexpected argument "); found {
		want := "louver help " + command.Name + " says what it takes"
		if takesStreams(command) {
			want = "want one streams file, a directory of them, or a glob in quotes"
		}
		return fmt.Errorf("unexpected argument %s; %s", argument, want)
	}
	if flag, found := strings.CutPrefix(err.Error(), "unknown flag "); found {
		return unknownFlag(flag, command)
	}
	if argument, found := strings.CutPrefix(err.Error(), "expected "); found && command != nil {
		return fmt.Errorf("%s is missing; louver help %s explains it", strings.Trim(argument, `"`), command.Name)
	}
	if strings.HasSuffix(err.Error(), `" is not a number`) {
		return fmt.Errorf("%w; want one such as 0.5", err)
	}
	if flag, got, found := strings.Cut(err.Error(), ": expected a valid 64 bit int but got "); found {
		return fmt.Errorf("%s %s; want a whole number", flag, strings.Trim(got, `"`))
	}
	if flag, got, found := strings.Cut(err.Error(), `: expected "<key>=<value>" but got `); found {
		return fmt.Errorf("%s %s; want %s", flag, strings.Trim(got, `"`), placeholder(command, flag))
	}
	if flag, got, found := strings.Cut(err.Error(), `: invalid map value "`); found {
		value, _, _ := strings.Cut(got, `"`)
		want, what := placeholder(command, flag), "number"
		if strings.HasSuffix(want, "=DURATION") {
			what = "duration"
		}
		return fmt.Errorf("%s: %q is not a %s; want %s", flag, value, what, want)
	}
	if what, rest, found := strings.Cut(err.Error(), " must be one of "); found {
		words, got, _ := strings.Cut(strings.ReplaceAll(rest, `"`, ""), " but got ")
		words = strings.TrimSuffix(words, ",") // "" is what an absent flag has
		if strings.HasPrefix(what, "<") && command != nil {
			what = command.Name
		}
		if meant := parse.MeantStatistic(got); what == "--statistic" && meant == got {
			return fmt.Errorf("%s %s is only computed from a histogram; want --statistic histogram with --buckets",
				what, got)
		} else if what == "--statistic" && meant != "" {
			return fmt.Errorf("%s %s is not a statistic; did you mean %s?", what, got, meant)
		}
		return fmt.Errorf("%s %s; want %s", what, got, english.WordSeries(strings.Split(words, ","), "or"))
	}
	return err
}

// unknownFlag explains a flag that the command does not have. The parser may have added what it guesses.
func unknownFlag(text string, command *kong.Node) error {
	flag, _, _ := strings.Cut(text, ", ")
	switch {
	case command == nil && flag == "-v":
		return errors.New("unknown flag -v; want --version, or louver COMMAND --log-level debug")
	case command == nil && strings.HasPrefix(flag, "--") && !strings.Contains(text, ", "):
		return fmt.Errorf("unknown flag %s; flags of a command come after its name, as in louver run %s", flag, flag)
	case command != nil && flag == "--streams":
		return fmt.Errorf("unknown flag --streams: louver %s reads no streams file, and knows the streams from Kafka",
			command.Name)
	case command != nil && !strings.Contains(text, ", "):
		return fmt.Errorf("unknown flag %s; louver help %s lists them", flag, command.Name)
	}
	return errors.New("unknown flag " + text)
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

// longestDays is how many days a duration can have.
const longestDays = 100 * 366

// durations reads durations as streams files have them: also 7d.
func durations(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := duration(text)
	if err == nil {
		target.SetInt(int64(d))
	}
	return err
}

// duration reads a duration that is not negative.
func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		var n int
		if n, err = strconv.Atoi(days); n > longestDays {
			return 0, fmt.Errorf("%s is too long; want at most %dd", text, longestDays)
		}
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; want one such as 90s, 15m, 1h30m or 7d", text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%s is negative; want a duration of 0s or more, such as 90s, 15m, 1h30m or 7d",
			text)
	}
	return d, nil
}

// Since reads when something begins: now, a time, or so long before now.
func Since(flag, text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if d, err := duration(text); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, UsageError(fmt.Errorf("--%s=%s; want now, how long ago, such as 24h or 7d, or a time such as "+
		"2026-11-20T08:00:00Z", flag, text))
}
