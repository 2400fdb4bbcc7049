package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
)

// loadStreams reads the streams files of a pattern.
func loadStreams(pattern string) (*config.File, error) {
	if pattern == "" {
		return nil, usageError(errors.New("no streams file: give --streams or LOUVER_STREAMS"))
	}
	return parse.Load(pattern, os.LookupEnv)
}

// refuse prints what is wrong with streams files.
func refuse(app *App, err error, asJSON bool) error {
	lines := strings.Split(err.Error(), "\n")
	if asJSON {
		if err := writeJSON(app.Out, map[string][]string{"errors": lines}); err != nil {
			return err
		}
	} else {
		for _, line := range lines {
			_, _ = fmt.Fprintln(app.Err, line)
		}
	}
	return reported()
}
