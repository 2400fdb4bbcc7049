package check

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/config/parse"
)

// PlanCommand forecasts the errors of a streams file, or of what the flags describe. Make its QueryFlags with
// [cli.NewQueryFlags].
type PlanCommand struct {
	File    string `arg:"" optional:"" for:"file" help:"Streams file to forecast. Absent: the release that the flags describe."`
	Streams string `for:"file" placeholder:"FILE" help:"The same as that argument."` // LOUVER_STREAMS must not hide the flags

	cli.QueryFlags
	cli.Bounds
	Epsilon   *cli.Number `for:"one,watch,since,active,groups" group:"privacy" placeholder:"E" help:"ε of each window. Absent: the ε that --error needs."`
	MaxGroups int         `for:"one,since,active,groups" default:"1" group:"privacy" placeholder:"N" help:"In how many groups of a window one user counts."`

	forecastFlags
	planWatchFlags
	planTotalFlags
	planActiveFlags
	planGroupFlags

	JSON bool `name:"json" help:"Print JSON."`
}

// Help is the long help.
func (PlanCommand) Help() string {
	return `Says what errors to expect, from public figures alone, before anything is spent. With --error it works the
other way round: it says which ε, or how many users, it takes to reach an error.

  louver plan streams.yaml --users 2000
  louver plan --statistic median --epsilon 0.1 --users 5000 \
    --lower 0 --upper 60000 --step 1
  louver plan --statistic quantile --p 0.99 --error 1% --users 5000 \
    --lower 0 --upper 60000 --step 1
  louver plan --error 5 --shape lognormal:120,0.6 --epsilon 0.1 \
    --lower 0 --upper 60000 --step 1
  louver plan --watch "above: 2000, more_than: 0.01" --window 1m \
    --users 5000 --lower 0 --upper 60000 --step 1
  louver plan --since midnight --window 15m --error 20
  louver plan --since midnight --statistic histogram --buckets scale:3 \
    --epsilon 1 --users 50000 --lower 0 --upper 60000 --step 1
  louver plan --active 15m --window 5m --error 100
  louver plan --statistic groups --epsilon 0.5 --delta 0.00000001 \
    --names-per-user 8

With a probability of 95 % a release is off by no more than its error, and this is the error that --error asks for. Half
of the releases are off by no more than the typical error. With --shape, several quantiles are compared with those of a
histogram for the same cost.`
}

// Run forecasts and prints.
func (c *PlanCommand) Run(app *cli.App, parsed *kong.Context) error {
	c.File = cmp.Or(c.File, c.Streams)
	mode, plan := c.mode()
	if err := cli.Misplaced(parsed, mode); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return cli.UsageError(err)
	}
	return plan(app)
}

// mode is what the flags ask for, and what does it.
func (c *PlanCommand) mode() (string, func(*cli.App) error) {
	switch {
	case c.Statistic == string(mechanisms.Groups):
		return "groups", c.planGroups
	case c.Active != 0:
		return "active", c.planActive
	case c.Since != "":
		return "since", c.planTotal
	case c.Watch != "":
		return "watch", c.planWatch
	case c.File != "":
		return "file", c.plan
	}
	return cli.One, c.plan
}

// plan forecasts the errors of a streams file, or of a single release.
func (c *PlanCommand) plan(app *cli.App) error {
	file, unpaid, err := c.file(app)
	if err != nil {
		return err
	}
	found, err := find(file, &c.forecastFlags, time.Now())
	switch {
	case err != nil:
		return cli.UsageError(err)
	case c.JSON:
		err = cli.WriteJSON(app.Out, found)
	default:
		err = found.print(app)
	}
	if err == nil && unpaid != nil {
		err = cli.Refuse(app, unpaid, "text")
	}
	return err
}

// file returns the streams file, or one made from the flags. unpaid says what the budgets of a file cannot pay for: its
// errors are of use before a budget is chosen.
func (c *PlanCommand) file(app *cli.App) (file *config.File, unpaid, err error) {
	if c.File == "" {
		s, err := c.described()
		if err != nil {
			return nil, nil, cli.UsageError(err)
		}
		return &config.File{Streams: []*config.Stream{s}, Budgets: []*config.Budget{s.Budget}}, nil, nil
	}
	if file, unpaid, err = parse.LoadUnpaid(c.File, os.LookupEnv); err != nil {
		format := "text"
		if c.JSON {
			format = "json"
		}
		return nil, nil, cli.Refuse(app, err, format)
	}
	return file, unpaid, nil
}

// check refuses flags that are out of range, whatever is planned.
func (c *PlanCommand) check() error {
	switch {
	case c.Users < 0:
		return fmt.Errorf("--users %d; want at least 1", c.Users)
	case c.MaxGroups < 1:
		return fmt.Errorf("--max-groups %d; want at least 1", c.MaxGroups)
	case c.Window < time.Second:
		return fmt.Errorf("--window %s; want at least 1s", c.Window)
	case c.CountEpsilon != nil && !c.CountEpsilon.IsPositive():
		return fmt.Errorf("--count-epsilon %s; want a number greater than 0", c.CountEpsilon)
	case c.Spread != nil && !c.Spread.IsPositive():
		return fmt.Errorf("--spread %s; want a number greater than 0", c.Spread)
	case c.Spread != nil && c.Shape != "":
		return fmt.Errorf("--spread %s with --shape %s; use one or the other", c.Spread, c.Shape)
	}
	return nil
}

// described returns a stream with the one release that the flags describe. Its ε or users may be missing.
func (c *PlanCommand) described() (*config.Stream, error) {
	q, err := c.Query()
	if err != nil {
		return nil, err
	}
	if q.Grid, err = c.Grid(q.CountsUsers() || q.Statistic == mechanisms.Outside); err != nil {
		return nil, err
	}
	s := &config.Stream{Grid: q.Grid, MaxGroups: c.MaxGroups, ExpectedUsers: c.Users,
		Window: config.Window{Size: c.Window, Every: c.Window, StartNow: true},
		Budget: &config.Budget{Limit: budget.Limit{Per: day}}} // of any ε
	switch q.Epsilon = decimal.NewFromInt(1); {
	case c.Epsilon != nil:
		q.Epsilon = c.Epsilon.Decimal
	case c.Error == "":
		return nil, errors.New("missing flag --epsilon; want it, or --error to learn which ε you need")
	}
	if c.Error != "" && (c.Epsilon == nil || c.Users == 0) {
		if err := c.solve(s, &q); err != nil {
			return nil, err
		}
	}
	m, err := mechanisms.New(q)
	if err != nil {
		return nil, err
	}
	s.Add(&config.Release{Head: config.Head{Name: string(q.Statistic)}, Query: q, Mechanism: m})
	if cost.Of(s.Budget.Limit, s.Price()).Unbounded {
		s.Budget.Delta = cost.Suggested // it will need one
	}
	return s, nil
}

// solve sets the ε, or else the number of users, with which the error is as wanted. An error in ranks does not depend
// on the number of users, which stays unknown.
func (c *PlanCommand) solve(s *config.Stream, q *mechanisms.Query) error {
	public, err := c.public(s, q.Grid)
	if err != nil {
		return err
	}
	n, err := c.needsOf(*q, public)
	switch {
	case err != nil:
		return err
	case c.Epsilon == nil && n.Epsilon == nil:
		return c.unsolved(n.noEpsilon, s.ExpectedUsers)
	case c.Epsilon == nil:
		q.Epsilon, n.Users = n.Epsilon.Decimal, nil
	case n.noUsers != nil:
		return c.unsolved(n.noUsers, 1)
	case n.Users != nil:
		s.ExpectedUsers, n.Epsilon = *n.Users, nil
	}
	c.found = n
	return nil
}
