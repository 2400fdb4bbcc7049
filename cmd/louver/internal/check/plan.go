package check

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

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
	File    string `arg:"" optional:"" help:"Streams file to forecast. Absent: the release that the flags describe."`
	Streams string `placeholder:"FILE" help:"The same as that argument."` // LOUVER_STREAMS must not hide the flags

	cli.QueryFlags
	Lower     *cli.Number `group:"privacy" placeholder:"X" help:"Lower bound. Lower values count as this one."`
	Upper     *cli.Number `group:"privacy" placeholder:"X" help:"Upper bound. Greater values count as this one."`
	Step      *cli.Number `group:"privacy" placeholder:"X" help:"Distance between values that can be released."`
	Epsilon   *cli.Number `group:"privacy" placeholder:"E" help:"ε of each window. Absent: the ε that --error needs."`
	MaxGroups int         `default:"1" group:"privacy" placeholder:"N" help:"In how many groups of a window one user counts."`

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
func (c *PlanCommand) Run(app *cli.App) error {
	c.File = cmp.Or(c.File, c.Streams)
	switch {
	case c.Statistic == string(mechanisms.Groups):
		return c.planGroups(app)
	case c.misplacedGroups() != "":
		return cli.UsageError(fmt.Errorf("%s without --statistic groups; want it with that only", c.misplacedGroups()))
	case c.Active != 0:
		return c.planActive(app)
	case c.Since != "":
		return c.planTotal(app)
	case c.MaxTotal != nil || c.Update != 0:
		return cli.UsageError(errors.New("--max-total or --update without --since; want --since with the period of " +
			"a total, such as --since midnight, or --update with --active"))
	case c.Watch != "":
		return c.planWatch(app)
	}
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
	if err := c.check(); err != nil {
		return nil, nil, cli.UsageError(err)
	}
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

// check refuses flags that are out of range, or do not go together.
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
	case c.File == "":
		return nil
	}
	flags := map[string]bool{"--epsilon": c.Epsilon != nil, "--lower": c.Lower != nil, "--upper": c.Upper != nil,
		"--step": c.Step != nil, "--mechanism": c.Mechanism != ""}
	for _, p := range mechanisms.Parameters() {
		_, flags["--"+cli.FlagOf(p.Name)] = c.Given(p)
	}
	if flag := cli.FirstGiven(flags); flag != "" {
		return fmt.Errorf("%s with a streams file, which sets it; use one or the other", flag)
	}
	return nil
}

// described returns a stream with the one release that the flags describe. Its ε or users may be missing.
func (c *PlanCommand) described() (*config.Stream, error) {
	q, err := c.Query()
	if err != nil {
		return nil, err
	}
	if q.Grid, err = c.bounds(q); err != nil {
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

// bounds returns the grid of the flags. Where no bounds matter, some are taken.
func (c *PlanCommand) bounds(q mechanisms.Query) (*mechanisms.Grid, error) {
	bounds := []struct {
		flag  string
		value *cli.Number
	}{{"--lower", c.Lower}, {"--upper", c.Upper}, {"--step", c.Step}}
	if q.CountsUsers() || q.Statistic == mechanisms.Outside {
		for i, x := range []int64{0, 1, 1} {
			if bounds[i].value == nil {
				bounds[i].value = &cli.Number{Decimal: decimal.NewFromInt(x)}
			}
		}
	}
	for _, b := range bounds {
		if b.value == nil {
			return nil, fmt.Errorf("missing flag %s; want the public bounds (--lower, --upper and --step), or a "+
				"streams file", b.flag)
		}
	}
	return mechanisms.NewGrid(bounds[0].value.Decimal, bounds[1].value.Decimal, bounds[2].value.Decimal)
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
