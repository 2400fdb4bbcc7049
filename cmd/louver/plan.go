package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
)

type planCommand struct {
	File string `arg:"" optional:"" help:"Streams file to forecast. Absent: the release that the flags describe."`

	queryFlags
	Lower     *number `group:"privacy" placeholder:"X" help:"Lower bound. Lower values count as this one."`
	Upper     *number `group:"privacy" placeholder:"X" help:"Upper bound. Greater values count as this one."`
	Step      *number `group:"privacy" placeholder:"X" help:"Distance between values that can be released."`
	Epsilon   *number `group:"privacy" placeholder:"E" help:"ε of each window. Absent: the ε that --error needs."`
	MaxGroups int     `default:"1" group:"privacy" placeholder:"N" help:"In how many groups of a window one user counts."`

	Users        int64         `group:"Forecast:" placeholder:"N" help:"Users expected in a window and group. Absent: as many as --error needs, or the file's expected_users."`
	Error        string        `group:"Forecast:" placeholder:"X" help:"Error that you accept: a share of the users such as 2%, or a number. Means and sums take it in the values' unit, and so do quantiles with a --shape. All others take a number of users."`
	Shape        string        `group:"Forecast:" placeholder:"SHAPE" help:"Public guess of the values: lognormal:MEDIAN,SIGMA, normal:MEAN,SD, uniform:LOW,HIGH or uniform."`
	Spread       *number       `group:"Forecast:" placeholder:"SD" help:"Public guess of the values' standard deviation, instead of a shape. They are taken as normal, around the middle of the bounds."`
	CountEpsilon *number       `group:"Forecast:" placeholder:"E" help:"ε of a count of all users that is released too."`
	Every        time.Duration `default:"1h" group:"Forecast:" placeholder:"D" help:"Time from one window to the next."`

	JSON bool `name:"json" help:"Print JSON."`

	found *plannedNeeds // what was computed from the wanted error
}

// Help is the long help.
func (planCommand) Help() string {
	return `Says what errors to expect, from public figures alone, before anything is spent. With --error it works the other way
round: it says which ε, or how many users, an error needs.

  louver plan --statistic median --lower 0 --upper 60000 --step 1 --epsilon 0.1 --users 5000
  louver plan --statistic quantile --p 0.99 --lower 0 --upper 60000 --step 1 --users 5000 --error 1%
  louver plan --lower 0 --upper 60000 --step 1 --epsilon 0.1 --error 5 --shape lognormal:120,0.6
  louver plan streams.yaml --users 2000

With a probability of 95 % a release is off by no more than its error. Half of the releases are off by no more than the
typical error.`
}

// Run forecasts and prints.
func (c *planCommand) Run(app *App) error {
	streams, err := c.streams(app)
	if err != nil {
		return err
	}
	plans := make([]*plannedStream, len(streams))
	for i, s := range streams {
		if plans[i], err = c.plan(s); err != nil {
			return usageError(err)
		}
	}
	if c.JSON {
		return writeJSON(app.Out, map[string]any{"streams": plans})
	}
	return printPlans(app, plans)
}

// streams returns those of the file, or one made from the flags.
func (c *planCommand) streams(app *App) ([]*config.Stream, error) {
	switch {
	case c.Users < 0:
		return nil, usageError(fmt.Errorf("--users %d; want at least 1", c.Users))
	case c.MaxGroups < 1:
		return nil, usageError(fmt.Errorf("--max-groups %d; want at least 1", c.MaxGroups))
	case c.Every < time.Second:
		return nil, usageError(fmt.Errorf("--every %s; want at least 1s", c.Every))
	case c.CountEpsilon != nil && !c.CountEpsilon.IsPositive():
		return nil, usageError(fmt.Errorf("--count-epsilon %s; want a number greater than 0", c.CountEpsilon))
	case c.Spread != nil && !c.Spread.IsPositive():
		return nil, usageError(fmt.Errorf("--spread %s; want a number greater than 0", c.Spread))
	case c.Spread != nil && c.Shape != "":
		return nil, usageError(fmt.Errorf("--spread %s with --shape %s; use one or the other", c.Spread, c.Shape))
	}
	if c.File == "" {
		s, err := c.described()
		if err != nil {
			return nil, usageError(err)
		}
		return []*config.Stream{s}, nil
	}
	for _, p := range mechanisms.Parameters() {
		if _, given := c.given(p); given {
			return nil, usageError(fmt.Errorf("--%s with a streams file, which says it; want one of the two", flagOf(p.Name)))
		}
	}
	for flag, given := range map[string]bool{"--epsilon": c.Epsilon != nil, "--lower": c.Lower != nil, "--upper": c.Upper != nil, "--step": c.Step != nil,
		"--mechanism": c.Mechanism != ""} {
		if given {
			return nil, usageError(fmt.Errorf("%s with a streams file, which sets it; use one or the other", flag))
		}
	}
	file, err := config.LoadAll([]string{c.File}, os.LookupEnv)
	if err != nil {
		return nil, refuse(app, err, c.JSON)
	}
	return file.Streams, nil
}

// described returns a stream with the one release that the flags describe. Its ε or users may be missing.
func (c *planCommand) described() (*config.Stream, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	bounds := []struct {
		flag  string
		value *number
	}{{"--lower", c.Lower}, {"--upper", c.Upper}, {"--step", c.Step}}
	if q.CountsUsers() || q.Statistic == mechanisms.Outside {
		for i, x := range []int64{0, 1, 1} { // no bounds matter
			if bounds[i].value == nil {
				bounds[i].value = &number{decimalOf(x)}
			}
		}
	}
	for _, b := range bounds {
		if b.value == nil {
			return nil, fmt.Errorf("missing flag %s; want the public bounds (--lower, --upper and --step), or a streams file", b.flag)
		}
	}
	if q.Grid, err = mechanisms.NewGrid(bounds[0].value.Decimal, bounds[1].value.Decimal, bounds[2].value.Decimal); err != nil {
		return nil, err
	}
	s := &config.Stream{Grid: q.Grid, MaxGroups: c.MaxGroups, ExpectedUsers: c.Users, Window: config.Window{Size: c.Every, Every: c.Every}}
	switch {
	case c.Epsilon != nil:
		q.Epsilon = c.Epsilon.Decimal
	case c.Error == "":
		return nil, errors.New("missing flag --epsilon; want it, or --error to learn which ε you need")
	default:
		q.Epsilon = decimalOf(1)
		wanted, err := c.wanted(q)
		if err != nil {
			return nil, err
		}
		public, err := c.public(s, q.Grid)
		if err != nil {
			return nil, err
		}
		if q.Epsilon, err = forecast.Epsilon(q, public, wanted); err != nil {
			return nil, c.unsolved(err, s.ExpectedUsers)
		}
		c.found = &plannedNeeds{Error: c.Error, Epsilon: &figure{q.Epsilon}}
	}
	m, err := mechanisms.New(q)
	if err != nil {
		return nil, err
	}
	if c.Users == 0 && c.Epsilon != nil && c.Error != "" {
		wanted, err := c.wanted(q)
		if err != nil {
			return nil, err
		}
		public, err := c.public(s, q.Grid)
		if err != nil {
			return nil, err
		}
		// An error in ranks does not depend on the number of users, which stays unknown.
		if wanted.In != forecast.Ranks {
			if s.ExpectedUsers, err = forecast.Users(q, public, wanted); err != nil {
				return nil, c.unsolved(err, 1)
			}
			c.found = &plannedNeeds{Error: c.Error, Users: &s.ExpectedUsers}
		}
	}
	s.Releases = []config.Release{{Name: string(q.Statistic), Query: q, Mechanism: m}}
	return s, nil
}

// unsolved says why an error cannot be reached.
func (c *planCommand) unsolved(err error, users int64) error {
	switch {
	case errors.Is(err, forecast.ErrUnknown) && users == 0:
		return fmt.Errorf("--error %s: %w without the number of users; want --users or --epsilon as well", c.Error, err)
	case errors.Is(err, forecast.ErrUnknown):
		return fmt.Errorf("--error %s: %w; want --shape or --spread as well", c.Error, err)
	}
	return fmt.Errorf("--error %s: %w; want a greater error", c.Error, err)
}

// wanted reads --error for a release.
func (c *planCommand) wanted(q mechanisms.Query) (forecast.Wanted, error) {
	text, isShare := strings.CutSuffix(strings.TrimSpace(c.Error), "%")
	size, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(size > 0) || math.IsInf(size, 0) {
		return forecast.Wanted{}, fmt.Errorf("--error %q; want a number greater than 0, or a percentage such as 2%%", c.Error)
	}
	w := forecast.Wanted{Size: size}
	family := q.Statistic.Family()
	if family == mechanisms.OfAmounts || family == mechanisms.OfRanks && (c.Shape != "" || c.Spread != nil) {
		w.In = forecast.Value
	}
	if isShare {
		w = forecast.Wanted{Size: size / 100, In: forecast.Share}
	}
	return w, nil
}

// public returns what is known about a window and group of a stream.
func (c *planCommand) public(s *config.Stream, grid *mechanisms.Grid) (forecast.Public, error) {
	public := publicOf(s)
	if c.Users > 0 {
		public.Users = c.Users
	}
	if c.CountEpsilon != nil {
		public.CountEpsilon = c.CountEpsilon.InexactFloat64()
	}
	shape := c.Shape
	if c.Spread != nil {
		middle := grid.Lower().Add(grid.Upper()).Div(decimalOf(2))
		shape = fmt.Sprintf("normal:%s,%s", middle, c.Spread)
	}
	if shape == "" {
		return public, nil
	}
	var err error
	if public.Shape, err = forecast.ParseShape(shape, grid); err != nil {
		return public, fmt.Errorf("--shape: %w", err)
	}
	return public, nil
}

// publicOf returns what a stream's configuration says about a window and group.
func publicOf(s *config.Stream) forecast.Public {
	public := forecast.Public{Users: s.ExpectedUsers}
	for _, r := range s.Releases {
		if r.Query.CountsUsers() {
			public.CountEpsilon = r.Query.Epsilon.InexactFloat64()
			break
		}
	}
	return public
}
