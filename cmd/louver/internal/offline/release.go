// Package offline draws from a file, without Kafka and without an account: single releases, and trials of a watch.
package offline

import (
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
)

// ReleaseCommand draws from a list of numbers or a CSV file. Make its QueryFlags with [cli.NewQueryFlags].
type ReleaseCommand struct {
	File string `arg:"" optional:"" help:"File with the values. Absent or -: standard input."`

	cli.QueryFlags
	cli.Bounds
	Epsilon cli.Number `required:"" group:"privacy" placeholder:"E" help:"ε of each draw: what it costs each user."`
	Repeat  int        `rare:"" for:"one" default:"1" group:"privacy" placeholder:"N" help:"Draw N times; each draw costs ε again."`

	valueFlags

	watchFlags

	totalFlags

	activeFlags

	groupFlags

	JSON bool `name:"json" help:"Print JSON: one object a draw, window, value or group."`
}

// Help is the long help.
func (ReleaseCommand) Help() string {
	return `Reads numbers, one for each user, or with --value a CSV file with a header. Both may be compressed with gzip.
It prints a line for each draw, and on a terminal says how far off the value may be, with a probability of 95 %:

  louver release --statistic median --epsilon 0.5 \
    --lower 0 --upper 100 --step 1 <ages.txt
  louver release --statistic quantile --p 0.99 --epsilon 1 \
    --user id --value ms --lower 0 --upper 60000 --step 1 requests.csv
  louver release --statistic count --epsilon 1 <ages.txt

Each draw costs every user ε. Costs add up, and no account is kept of them.

With --watch it tries an alarm on a file, with --since it prints a running total, with --active the users seen lately,
and with --statistic groups it finds the names that many users share. --help-all has examples.`
}

// MoreHelp is what the whole help says beyond Help.
func (ReleaseCommand) MoreHelp() string {
	return `Numbers are separated by spaces or lines. A line of the output has the value, and with --interval also the ends of the
interval. Several quantiles have a line each, such as p99=812, and so do the buckets of a histogram, such as
"le=250 41". Rows without a number or a user are left out, and standard error says how many.

With --watch it goes through the windows of a stretch of time instead, and says when an alarm would have fired. Each
time that it is armed costs ε, however many windows it looks at. So you can try alarms on yesterday's file:

  louver release --watch "above: 2000, more_than: 0.01" --epsilon 1 \
    --from 2026-11-20T00:00:00Z --to 2026-11-21T00:00:00Z --window 1m \
    --hold 15m --at-most 3 --user id --value ms --time ts \
    --lower 0 --upper 60000 --step 1 requests.csv

With --since it prints a running total: for the end of each stretch of --update, the total so far and how far off it is
at most, with a probability of 95 %. All values of the period together cost ε once. It is the period that contains the
time of --from:

  louver release --since midnight --zone Europe/Berlin --update 15m \
    --epsilon 1 --from 2026-11-20T12:00:00Z \
    --user id --time time requests.csv

With --statistic histogram it is the distribution so far: each value is a line for each bucket.

With --active it prints how many users were seen lately, such as in the last 15 minutes, every --update until --to.
Until that much time has passed since --from, a line ends with "incomplete". Whatever the values are, any 24 hours
together cost ε once. With --delta the mechanism is centred_gaussian, which is more exact and costs ρ = ε²/2; --json
says what that comes to:

  louver release --active 15m --update 5m --epsilon 1 \
    --from 2026-11-20T00:00:00Z --user id --time time requests.csv

With --statistic groups it finds the names that many users share, such as the pages of a site. For each one found, it
prints a noisy number of users and the name. It says nothing about the others. A user counts for --max-groups of their
names, each of which costs them ε and δ:

  louver release --statistic groups --epsilon 1 --delta 0.000001 \
    --user id --group page requests.csv

If the input has no users at all, a line on standard error says so. That line is not private: it is for the file's
owner. Publish standard output only.`
}

// Run reads, draws and prints.
func (c *ReleaseCommand) Run(app *cli.App, parsed *kong.Context) error {
	mode, run := c.mode()
	if err := cli.Misplaced(parsed, mode); err != nil {
		return err
	}
	return run(app)
}

// mode is what the flags ask for, and what does it.
func (c *ReleaseCommand) mode() (string, func(*cli.App) error) {
	switch {
	case c.Statistic == string(mechanisms.Groups):
		return "groups", c.groups
	case c.Active != 0:
		return "active", c.active
	case c.Since != "":
		return "since", c.total
	case c.Watch != "":
		return "watch", c.watch
	}
	return cli.One, c.one
}

// one draws once, or several times, from one sample.
func (c *ReleaseCommand) one(app *cli.App) error {
	query, err := c.asked()
	if err != nil {
		return cli.UsageError(err)
	}
	mechanism, err := mechanisms.New(query)
	if err != nil {
		return cli.UsageError(err)
	}
	name, in, err := open(app, c.File, "a file with numbers or CSV")
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	sample, err := c.read(app, name, in, query.Grid)
	if err != nil {
		return err
	}
	if c.Value != "" && c.User == "" {
		app.Say("louver: %s: each row counts as a user of its own; want --user COLUMN if "+
			"somebody can have several rows", name)
	}
	if sample.Users() == 0 {
		app.Say("louver: %s holds no users, so the output is only noise (this line is not "+
			"private: do not publish it)", name)
	}
	d := newDraws(query, mechanism, sample, c.JSON)
	d.beside = app.OnTerminal()
	return repeat(app, c.Repeat, d)
}

func (c *ReleaseCommand) asked() (mechanisms.Query, error) {
	q, err := c.Query()
	switch {
	case err != nil:
		return q, err
	case c.Repeat < 1:
		return q, fmt.Errorf("--repeat %d; want at least 1", c.Repeat)
	case c.User != "" && c.Value == "" && !c.counts():
		return q, fmt.Errorf("--user %s without --value; want --value with the column of the values", c.User)
	}
	q.Epsilon = c.Epsilon.Decimal
	if q.Grid, err = c.Grid(q.CountsUsers()); err == nil {
		_, err = c.adding(q.Grid)
	}
	return q, err
}
