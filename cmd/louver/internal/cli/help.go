package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// HelpCommand is --help as a command.
type HelpCommand struct {
	Command []string `arg:"" optional:"" help:"Command to explain. Absent: an overview of all."`
	All     bool     `help:"Explain rare flags too."`
}

// Run prints what --help prints, or --help-all.
func (c *HelpCommand) Run(app *App, p Program) error {
	flag := "--help"
	if c.All {
		flag = "--help-all"
	}
	if code := p.Execute(app.Context, append(c.Command, flag), app.In, app.Out, app.Err); code != ExitDone {
		return &ExitError{Code: code}
	}
	return nil
}

// helpOptions say how help is laid out.
var helpOptions = kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 120}

// MoreHelp is what --help-all says of a command beyond its Help. A flag with the tag rare:"" is explained there only.
type MoreHelp interface{ MoreHelp() string }

// helpAll prints the whole help.
type helpAll bool

// IgnoreDefault implements kong's interface for flags without a value of their own.
func (helpAll) IgnoreDefault() {}

// BeforeReset prints the help before anything else is looked at, as --help does.
func (helpAll) BeforeReset(ctx *kong.Context) error {
	if node := ctx.Selected(); node != nil {
		node.Detail = wholeDetail(node)
	}
	options := helpOptions
	options.ValueFormatter = helpText
	err := kong.DefaultHelpPrinter(options, ctx)
	if err == nil {
		ctx.Exit(0)
	}
	return err
}

// wholeDetail is everything that the help says of a command before its flags.
func wholeDetail(node *kong.Node) string {
	detail := node.Detail
	if node.Target.IsValid() && node.Target.CanAddr() {
		if more, ok := node.Target.Addr().Interface().(MoreHelp); ok {
			detail += "\n\n" + more.MoreHelp()
		}
	}
	return detail
}

// shortHelp prints the help without rare flags, and says how many these are. A command with rare flags also leaves out
// those of the log, which the overview of all commands explains.
func shortHelp(options kong.HelpOptions, ctx *kong.Context) error {
	var rare, log []*kong.Flag
	for _, flag := range ctx.Flags() {
		switch {
		case flag.Tag.Has("rare"):
			rare = append(rare, flag)
		case flag.Group != nil && flag.Group.Key == "log":
			log = append(log, flag)
		}
	}
	if len(rare) == 0 {
		hideHelpAll(ctx)
		return kong.DefaultHelpPrinter(options, ctx)
	}
	more := slices.Concat(rare, log)
	for _, flag := range more {
		flag.Hidden = true
	}
	options.ValueFormatter = shortText
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nlouver %s --help-all explains %s more.\n", ctx.Selected().Path(),
		Plural(len(more), "flag"))
	return err
}

// hideHelpAll leaves out --help-all where it would say no more than --help.
func hideHelpAll(ctx *kong.Context) {
	for _, flag := range ctx.Flags() {
		if flag.Name == "help-all" {
			flag.Hidden = true
		}
	}
}

// shortText is the first sentence of a parameter of a statistic, and the whole text of other flags.
func shortText(v *kong.Value) string {
	text := helpText(v)
	if first, _, more := strings.Cut(text, ". "); more && v.Tag.Has("parameter") {
		return first + "."
	}
	return text
}
