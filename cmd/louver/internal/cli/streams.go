package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/form"
	"github.com/louver/louver/stream/config/parse"
)

// LoadStreams reads the streams files of a pattern.
func LoadStreams(pattern string) (*config.File, error) {
	if pattern == "" {
		return nil, UsageError(errors.New("no streams file: give --streams or LOUVER_STREAMS"))
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
			_, _ = fmt.Fprintln(app.Err, m.Error())
		}
	}
	return Reported()
}

// OutputTopics are the streams' output topics, each once.
func OutputTopics(streams []*config.Stream) []string {
	var names []string
	for _, s := range streams {
		names = append(names, s.Output)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
