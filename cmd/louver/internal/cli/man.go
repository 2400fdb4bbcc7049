package cli

import (
	_ "embed" // the page
	"fmt"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// ManCommand prints the manual page.
type ManCommand struct{}

// Help is the long help.
func (ManCommand) Help() string {
	return `Prints a page for man, with every command and every flag:

  louver man | man -l -
  louver man >/usr/local/share/man/man1/louver.1`
}

//go:embed man.1.tmpl
var manPage string

// Run prints the page.
func (c *ManCommand) Run(app *App, p Program) error {
	model, err := p.Model()
	if err != nil {
		return err
	}
	page, err := template.New("man").Funcs(template.FuncMap{"roff": roff, "text": roffText, "flag": roffFlag,
		"help": helpText, "detail": wholeDetail, "flags": shownFlags}).Parse(manPage)
	if err != nil {
		return fmt.Errorf("man: %w", err)
	}
	return page.Execute(app.Out, map[string]any{"Version": app.Build.Version, "App": model,
		"ExitCodes": ExitMeanings})
}

// shownFlags are the flags of a command itself that the help shows.
func shownFlags(node *kong.Node) (all []*kong.Flag) {
	for _, flag := range node.Flags {
		if !flag.Hidden {
			all = append(all, flag)
		}
	}
	return all
}

// roff escapes a text for a line of a manual page.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}

// roffFlag writes a flag with the form of its value.
func roffFlag(f *kong.Flag) string {
	s := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Short != 0 {
		s = `\fB` + roff("-"+string(f.Short)) + `\fR, ` + s
	}
	if !f.IsBool() && !f.IsCounter() {
		s += `=\fI` + roff(f.FormatPlaceHolder()) + `\fR`
	}
	return s
}

// roffText writes paragraphs. Indented lines are examples, and stay as they are.
func roffText(text string) string {
	var b strings.Builder
	example := false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "  ")
		switch {
		case indented && !example:
			b.WriteString(".RS 4\n.EX\n")
		case !indented && example:
			b.WriteString(".EE\n.RE\n")
		}
		example = indented
		switch {
		case line == "" && !indented:
			b.WriteString(".PP\n")
		default:
			b.WriteString(roff(line) + "\n")
		}
	}
	if example {
		b.WriteString(".EE\n.RE\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
