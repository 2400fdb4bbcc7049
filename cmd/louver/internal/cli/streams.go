package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/config/parse"
)

// StreamsArgument is a streams file without its flag. It is apart from the flag, which has a variable.
type StreamsArgument struct {
	File string `arg:"" optional:"" help:"The same as --streams."`
}

// Or returns the argument or, without one, what the flag says.
func (a StreamsArgument) Or(streams string) string { return cmp.Or(a.File, streams) }

// Patterns returns the streams files of a command that takes several, or what its flag says.
func Patterns(files []string, streams string) ([]string, error) {
	switch {
	case len(files) > 0:
		return files, nil
	case streams != "":
		return []string{streams}, nil
	}
	return nil, UsageError(errors.New("no streams file: name one, or set LOUVER_STREAMS"))
}

// LoadStreams reads the streams files of a pattern.
func LoadStreams(pattern string) (*config.File, error) {
	if pattern == "" {
		return nil, UsageError(errors.New("no streams file: name one, or set LOUVER_STREAMS"))
	}
	return parse.Load(pattern, os.LookupEnv)
}

// Refuse prints what is wrong with streams files, as text, json or github.
func Refuse(app *App, err error, format string) error {
	mistakes := form.Mistakes(err)
	switch format {
	case "json":
		if err := WriteJSON(app.Out, map[string]any{
			"errors": strings.Split(err.Error(), "\n"), "error_details": mistakes,
		}); err != nil {
			return err
		}
	case "github":
		if err := WriteGitHub(app.Out, "error", mistakes); err != nil {
			return err
		}
	default:
		for _, m := range mistakes {
			app.Say("%s", m.Error())
		}
	}
	return Reported()
}

// OutputTopics are the streams' output topics, each once.
func OutputTopics(streams []*config.Stream, others ...string) []string {
	names := slices.Clone(others)
	for _, s := range streams {
		names = append(names, s.Output)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// GitHub's runner reads its commands from the log, a line each, and decodes these characters.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteGitHub writes mistakes as workflow commands, which GitHub shows next to the lines of a file. level is error or
// warning.
//
// Source: GitHub Docs, "Workflow commands for GitHub Actions", "Setting an error message".
func WriteGitHub(w io.Writer, level string, mistakes []form.Mistake) error {
	for _, m := range mistakes {
		place := ""
		if m.Line > 0 {
			place = fmt.Sprintf(" file=%s,line=%d", inProperty.Replace(m.File), m.Line)
		}
		if _, err := fmt.Fprintf(w, "::%s%s::%s\n", level, place, inMessage.Replace(m.Text())); err != nil {
			return err
		}
	}
	return nil
}
