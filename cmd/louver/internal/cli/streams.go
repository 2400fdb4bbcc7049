package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// LoadStreams reads the streams files of a pattern.
func LoadStreams(pattern string) (*config.File, error) {
	if pattern == "" {
		return nil, UsageError(errors.New("no streams file: give --streams or LOUVER_STREAMS"))
	}
	return parse.Load(pattern, os.LookupEnv)
}

// Refuse prints what is wrong with streams files.
func Refuse(app *App, err error, asJSON bool) error {
	lines := strings.Split(err.Error(), "\n")
	if asJSON {
		if err := WriteJSON(app.Out, map[string][]string{"errors": lines}); err != nil {
			return err
		}
	} else {
		for _, line := range lines {
			_, _ = fmt.Fprintln(app.Err, line)
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
