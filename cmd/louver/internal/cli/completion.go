package cli

import (
	_ "embed" // the scripts
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// CompletionCommand prints a shell's completion script.
type CompletionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the long help.
func (CompletionCommand) Help() string {
	return `Prints a script that makes the Tab key complete commands and flags. To load it whenever a shell starts:

  bash:  echo 'source <(louver completion bash)' >>~/.bashrc
  zsh:   echo 'source <(louver completion zsh)' >>~/.zshrc
  fish:  louver completion fish >~/.config/fish/completions/louver.fish`
}

//go:embed completion.bash.tmpl
var bashCompletion string

//go:embed completion.fish.tmpl
var fishCompletion string

// Run prints the script.
func (c *CompletionCommand) Run(app *App, parsed *kong.Context) error {
	text := bashCompletion
	if c.Shell == "fish" {
		text = fishCompletion
	}
	join := func(words []string) string { return strings.Join(words, " ") }
	script, err := template.New("completion").Funcs(template.FuncMap{"join": join, "quote": quoteFish}).Parse(text)
	if err != nil {
		return fmt.Errorf("completion: %w", err)
	}
	return script.Execute(app.Out, map[string]any{"Zsh": c.Shell == "zsh", "Commands": completed(parsed.Model)})
}

// completedCommand is a command as the scripts see it.
type completedCommand struct {
	Name, Help string
	Words      []string // what may follow it: the few values of its argument, or its commands
	Flags      []completedFlag
}

type completedFlag struct {
	Name, Help string
	Bool       bool     // it has no value
	Values     []string // its few possible values; empty means any
}

// completed returns the commands and flags that the help shows.
func completed(line *kong.Application) (commands []completedCommand) {
	for _, node := range line.Children {
		if node.Hidden {
			continue
		}
		c := completedCommand{Name: node.Name, Help: node.Help}
		for _, arg := range node.Positional {
			c.Words = append(c.Words, values(arg)...)
		}
		for _, inner := range node.Children {
			c.Words = append(c.Words, inner.Name)
		}
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				c.Flags = append(c.Flags, completedFlag{Name: f.Name, Help: f.Help, Bool: f.IsBool() || f.IsCounter(),
					Values: values(f.Value)})
			}
		}
		commands = append(commands, c)
	}
	for i := range commands {
		if commands[i].Name == "help" {
			for _, c := range commands {
				commands[i].Words = append(commands[i].Words, c.Name)
			}
		}
	}
	return commands
}

// values returns the values of an argument or flag, if they are few.
func values(v *kong.Value) []string {
	return slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" })
}

// quoteFish quotes a text for fish.
func quoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
