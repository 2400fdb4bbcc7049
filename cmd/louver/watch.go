package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/outputs"
)

// watchCommand prints releases as they come.
type watchCommand struct {
	KafkaSettings
	Streams string        `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of such, or glob."`
	Stream  string        `placeholder:"NAME" help:"Only this stream."`
	Since   time.Duration `placeholder:"DURATION" help:"Begin with the windows that ended this long ago; absent: with what comes next."`
	JSON    bool          `help:"Print the output records."`
}

// Run implements the command.
func (c *watchCommand) Run(app *App) error {
	file, err := loadStreams(c.Streams)
	if err != nil {
		return err
	}
	streams := file.Streams
	if c.Stream != "" {
		streams = slices.DeleteFunc(slices.Clone(streams), func(s *config.Stream) bool { return s.Name != c.Stream })
		if len(streams) == 0 {
			return fmt.Errorf("--stream=%s: %s has no such stream", c.Stream, c.Streams)
		}
	}
	ctx, stop := app.UntilSignal()
	defer stop()
	conn, err := c.connect(ctx, app)
	if err != nil {
		return err
	}
	defer conn.Close()
	var from time.Time
	if c.Since > 0 {
		from = time.Now().Add(-c.Since)
	}
	err = reader(conn, app.Log).Follow(ctx, outputTopics(streams), from, func(r outputs.Record, value []byte) error {
		if c.Stream != "" && r.Stream != c.Stream {
			return nil
		}
		if c.JSON {
			_, err := fmt.Fprintf(app.Out, "%s\n", value)
			return err
		}
		return printLine(app.Out, r)
	})
	if ctx.Err() != nil {
		return nil
	}
	return classed(err)
}

// printLine writes a figure as one plain line, beginning with the window's end.
func printLine(w io.Writer, r outputs.Record) error {
	figure := shown(r)
	if r.Unit != "" && r.Value != nil {
		figure += " " + r.Unit
	}
	series := r.Stream + "/" + r.Group + "/" + r.Release
	_, err := fmt.Fprintf(w, "%s  %-40s %-14s %-26s %s\n", r.WindowEnd.Format(time.RFC3339), series, figure, bound(r), spending(r))
	return err
}

// shown is the value, or why there is none.
func shown(r outputs.Record) string {
	if r.Value == nil {
		if r.Reason != nil {
			return "withheld: " + *r.Reason
		}
		return "withheld"
	}
	return r.Value.String()
}

// bound is what is known of the value's error.
func bound(r outputs.Record) string {
	switch {
	case r.Value == nil:
		return ""
	case r.PLow != nil && r.PHigh != nil:
		return fmt.Sprintf("p%s–p%s", percent(*r.PLow), percent(*r.PHigh))
	case r.RankError95 != nil:
		return "± " + r.RankError95.String() + " ranks"
	case r.Error95 != nil:
		return "± " + r.Error95.String()
	}
	return ""
}

// spending is the ε that counts against the budget's limit.
func spending(r outputs.Record) string {
	if r.BudgetSpent == nil {
		return "ε unbounded of " + r.BudgetLimit.String()
	}
	return "ε " + r.BudgetSpent.String() + " of " + r.BudgetLimit.String()
}

// percent turns a probability into percent, as people say percentiles.
func percent(p json.Number) string {
	d, err := decimal.NewFromString(p.String())
	if err != nil {
		return p.String()
	}
	return d.Shift(2).Round(1).String()
}
