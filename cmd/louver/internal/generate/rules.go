package generate

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/parse"
	"github.com/louver/louver/stream/rules"
)

// RulesCommand writes alert rules for Prometheus.
type RulesCommand struct {
	Streams    string                     `envconfig:"LOUVER_STREAMS" placeholder:"FILE" help:"Streams file, directory of streams files, or glob."`
	Files      []string                   `arg:"" optional:"" name:"file" help:"Streams files, directories of them, or globs. Absent: LOUVER_STREAMS."`
	Above      map[string]decimal.Decimal `mapsep:"none" placeholder:"STREAM/RELEASE=VALUE" help:"Alert while a figure is above a value. May be repeated."`
	Below      map[string]decimal.Decimal `mapsep:"none" placeholder:"STREAM/RELEASE=VALUE" help:"Alert while a figure is below a value. May be repeated."`
	Behind     map[string]time.Duration   `mapsep:"none" placeholder:"STREAM/RELEASE=DURATION" help:"Alert while a running total, or a number of active users, is lower than it was that long before, such as 7d, by more than noise explains. May be repeated."`
	SLO        []string                   `name:"slo" placeholder:"STREAM/RELEASE" help:"Alert while the users above the limit of a share use up its objective too fast. May be repeated."`
	FalsePages decimal.Decimal            `name:"false-pages" default:"0.05" placeholder:"P" help:"With --slo: the probability that noise alone raises any alert of an objective in 30 days."`
	Windows    int                        `placeholder:"K" help:"How many windows in a row must be beyond the value. Absent: enough to keep false alarms below one in 30 days if the distribution of the noise is known, else at least 3."`
	Runbook    string                     `name:"runbook-url" placeholder:"URL" help:"Where the runbook is, for the annotation runbook_url. Absent: with the sources of Louver."`
	Noisy      bool                       `help:"Also write alerts that noise alone raises more than once a day."`
}

// Runbook is the address of deploy/RUNBOOK.md.
const Runbook = "https://github.com/louver/louver/blob/main/deploy/RUNBOOK.md"

// Help is the long help.
func (RulesCommand) Help() string {
	return `Writes a rule file for Prometheus to standard output. An alert fires when the whole band of a figure lies
beyond the value, not when the figure alone does. Its description says how many alarms the noise alone raises in 30
days. If there may be more than three, a warning says so. An alert with more than one a day is refused without --noisy.

  louver rules streams.yaml --below checkout-latency/users=500 \
    --above checkout-latency/users=20000 > louver-rules.yaml
  promtool check rules louver-rules.yaml

Figures from a histogram are named like others. Those of its roll-ups have the period in their name, such as
checkout-latency/p99.1h. Those over the newest hour, new with every window, are named like checkout-latency/p99.last_1h.

With --behind a running total is compared with what it was a day or a week before, at the same time after its period
began. The margin follows from the published errors of both, and is so wide that noise alone raises the alarm less than
once in 30 days. Prometheus has to keep its samples for that long:

  louver rules streams.yaml --behind checkout-latency/today=7d

Recording rules merge the series of all processes into one: louver:release_value:newest, and low, high and
window_end_timestamp_seconds in the same way. They are in the file once, for all streams. So write one file for all
streams files and alerts of an app, instead of several that record the same:

  louver rules streams/*.yaml --below checkout-latency/users=500 \
    --slo checkout-latency/slow > louver-rules.yaml

For a share with an objective, --slo writes the burn-rate alerts of the Site Reliability Workbook, with a margin against
noise: pages over 1h and 6h, and tickets over 1d and 3d.

  louver rules streams.yaml --slo checkout-latency/slow > louver-rules.yaml`
}

// Run writes the rules.
func (c *RulesCommand) Run(app *cli.App) error {
	if c.Windows < 0 {
		return cli.UsageError(fmt.Errorf("--windows %d; want 1 or more", c.Windows))
	}
	patterns, err := cli.Patterns(c.Files, c.Streams)
	if err != nil {
		return err
	}
	file, err := parse.LoadAll(patterns, os.LookupEnv)
	if err != nil {
		return cli.Refuse(app, err, "text")
	}
	var thresholds []rules.Threshold
	for _, side := range []struct {
		below  bool
		values map[string]decimal.Decimal
	}{{false, c.Above}, {true, c.Below}} {
		for _, name := range slices.Sorted(maps.Keys(side.values)) {
			t := rules.Threshold{Below: side.below, Value: side.values[name], Windows: c.Windows, Noisy: c.Noisy}
			var ok bool
			if t.Stream, t.Release, ok = strings.Cut(name, "/"); !ok {
				return cli.UsageError(fmt.Errorf("%s=%s names no release; want STREAM/RELEASE=VALUE", name, t.Value))
			}
			thresholds = append(thresholds, t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Behind)) {
		t := rules.Threshold{Ago: c.Behind[name]}
		var ok bool
		if t.Stream, t.Release, ok = strings.Cut(name, "/"); !ok || t.Ago <= 0 {
			return cli.UsageError(fmt.Errorf("--behind %s=%s; want STREAM/RELEASE=DURATION, such as web/today=7d", name,
				config.Duration(t.Ago)))
		}
		thresholds = append(thresholds, t)
	}
	want := rules.Wanted{Thresholds: thresholds, Runbook: cmp.Or(c.Runbook, Runbook)}
	if want.Objectives, err = c.objectives(); err != nil {
		return cli.UsageError(err)
	}
	warnings, err := rules.Write(app.Out, file.Streams, want)
	for _, line := range warnings {
		app.Say("warning: %s", line)
	}
	return err
}

// objectives are those that --slo names.
func (c *RulesCommand) objectives() (all []rules.Objective, err error) {
	if p := c.FalsePages; !p.IsPositive() || p.GreaterThanOrEqual(decimal.NewFromInt(1)) {
		return nil, fmt.Errorf("--false-pages %s; want a probability greater than 0 and less than 1, for example 0.05",
			p)
	}
	for _, name := range c.SLO {
		stream, release, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("--slo %s names no release; want STREAM/RELEASE", name)
		}
		o := rules.Objective{Stream: stream, Release: release, FalsePages: c.FalsePages}
		if slices.Contains(all, o) {
			continue
		}
		all = append(all, o)
	}
	return all, nil
}
