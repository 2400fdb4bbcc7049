package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/louver/louver/stream/replay"
)

// fileColumns name the columns of a file of events.
type fileColumns struct {
	User  string `placeholder:"COLUMN" help:"Column of the user (for JSON lines a path with dots, as for all columns)."`
	Value string `placeholder:"COLUMN" help:"Column of the value."`
	Time  string `placeholder:"COLUMN" help:"Column of the time."`
	Group string `placeholder:"COLUMN" help:"Column of the group; absent: no groups."`
}

// columns are those that the flags name.
func (c fileColumns) columns() (replay.Columns, error) {
	var missing []string
	for _, f := range []struct{ flag, value string }{{"--user", c.User}, {"--value", c.Value}, {"--time", c.Time}} {
		if f.value == "" {
			missing = append(missing, f.flag)
		}
	}
	if missing != nil {
		return replay.Columns{}, usageError(fmt.Errorf("a file of events needs %s: the names of its columns", strings.Join(missing, ", ")))
	}
	return replay.Columns{User: c.User, Value: c.Value, Time: c.Time, Group: c.Group}, nil
}

// fileError gives what went wrong with a file its exit code.
func fileError(err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return err
	}
	return &exitError{exitInvalid, err}
}
