package check

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
)

// forecastFlags are what is wanted, and known in public. The zero value knows what the streams file says.
type forecastFlags struct {
	Users        int64         `group:"Forecast:" placeholder:"N" help:"Users expected in a window and group, or with --since in a period. Absent: as many as --error needs, or the file's expected_users."`
	Error        string        `for:"one,file,since,active" group:"Forecast:" placeholder:"X" help:"Error that is exceeded with a probability of at most 5 %: a share of the users such as 2%, or a number. Means and sums take it in the values' unit, and so do quantiles with a --shape. All others take a number of users."`
	Shape        string        `for:"one,file" group:"Forecast:" placeholder:"SHAPE" help:"Public guess of the values: lognormal:MEDIAN,SIGMA, normal:MEAN,SD, uniform:LOW,HIGH, uniform, zeros:SHARE,MEDIAN,SIGMA (a share of zeros and log-normal amounts) or two:SHARE,LOW,HIGH (a share near HIGH, the others near LOW)."`
	Spread       *cli.Number   `for:"one,file" group:"Forecast:" placeholder:"SD" help:"Public guess of the values' standard deviation, instead of a shape. They are taken as normal, around the middle of the bounds."`
	CountEpsilon *cli.Number   `for:"one,file" group:"Forecast:" placeholder:"E" help:"ε of a count of all users that is released too."`
	Window       time.Duration `for:"one,watch,since,active" aliases:"every" default:"1h" group:"Forecast:" placeholder:"D" help:"Length of a window, and time from one to the next."`

	found *needsReport // what was computed from the wanted error
}

// needsReport says what the wanted error needs: this ε with the expected users, or these users with the planned ε.
type needsReport struct {
	Error   string      `json:"error"`
	Epsilon *cli.Digits `json:"epsilon"`
	Users   *int64      `json:"users"`

	noEpsilon, noUsers error // why these are not known
}

func (n *needsReport) text(epsilon cli.Digits, expected int64) string {
	var ways []string
	if n.Epsilon != nil && expected > 0 {
		ways = append(ways, fmt.Sprintf("ε %s with %s", n.Epsilon, users(expected)))
	} else if n.Epsilon != nil {
		ways = append(ways, "ε "+n.Epsilon.String())
	}
	if n.Users != nil {
		ways = append(ways, fmt.Sprintf("%s with ε %s", users(*n.Users), epsilon))
	}
	if ways == nil {
		return n.Error + " is out of reach, or cannot be forecast"
	}
	return n.Error + " needs " + strings.Join(ways, ", or ")
}

// public returns what is known about a window and group of a stream.
func (c *forecastFlags) public(s *config.Stream, grid *mechanisms.Grid) (forecast.Public, error) {
	public := forecast.Public{Users: s.ExpectedUsers}
	if r := s.Counting(); r != nil {
		public.CountEpsilon, public.CountMechanism = r.Query.Epsilon.InexactFloat64(), r.Mechanism.Name()
	}
	if c.Users > 0 {
		public.Users = c.Users
	}
	if c.CountEpsilon != nil {
		public.CountEpsilon = c.CountEpsilon.InexactFloat64()
	}
	shape, given := c.Shape, "--shape "+c.Shape
	if c.Spread != nil {
		given = "--spread " + c.Spread.String()
		middle := grid.Lower().Add(grid.Upper()).Div(decimal.NewFromInt(2))
		shape = fmt.Sprintf("normal:%s,%s", middle, c.Spread)
	}
	if shape == "" {
		return public, nil
	}
	if public.Users > forecast.MostUsers {
		return public, fmt.Errorf("%s with %d users; want at most %d: beyond them, only ranks are forecast", given,
			public.Users, forecast.MostUsers)
	}
	var err error
	if public.Shape, err = forecast.ParseShape(shape, grid); err != nil {
		return public, fmt.Errorf("--shape: %w", err)
	}
	return public, nil
}

// needsOf finds what the wanted error needs. It leaves out what is unknown or out of reach.
func (c *forecastFlags) needsOf(q mechanisms.Query, public forecast.Public) (*needsReport, error) {
	wanted, err := c.wanted(q)
	if err != nil {
		return nil, err
	}
	n := &needsReport{Error: c.Error}
	var epsilon decimal.Decimal
	if epsilon, n.noEpsilon = forecast.Epsilon(q, public, wanted); n.noEpsilon == nil {
		n.Epsilon = new(cli.NewDigits(epsilon))
	}
	if wanted.In != forecast.Ranks {
		var users int64
		if users, n.noUsers = forecast.Users(q, public, wanted); n.noUsers == nil {
			n.Users = &users
		}
	}
	for _, err := range []error{n.noEpsilon, n.noUsers} {
		if err != nil && !errors.Is(err, forecast.ErrUnknown) && !errors.Is(err, forecast.ErrUnreachable) {
			return nil, err
		}
	}
	return n, nil
}

// wanted reads --error for a release.
func (c *forecastFlags) wanted(q mechanisms.Query) (forecast.Wanted, error) {
	text, isShare := strings.CutSuffix(strings.TrimSpace(c.Error), "%")
	size, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(size > 0) || math.IsInf(size, 0) {
		return forecast.Wanted{}, fmt.Errorf("--error %q; want a number greater than 0, or a percentage such as 2%%",
			c.Error)
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

// unsolved says why an error cannot be reached.
func (c *forecastFlags) unsolved(err error, users int64) error {
	switch {
	case errors.Is(err, forecast.ErrUnknown) && users == 0:
		return fmt.Errorf("--error %s: %w without the number of users; want --users or --epsilon as well", c.Error, err)
	case errors.Is(err, forecast.ErrUnknown) && strings.Contains(c.Error, "%"):
		return fmt.Errorf("--error %s: %w as a share of the users; want it in the unit of the values%s", c.Error, err,
			c.wantShape(", with "))
	case errors.Is(err, forecast.ErrUnknown) && c.Shape == "" && c.Spread == nil:
		return fmt.Errorf("--error %s: %w; want %s as well", c.Error, err, c.wantShape(""))
	case errors.Is(err, forecast.ErrUnknown):
		return fmt.Errorf("--error %s: %w, even with a shape; want another statistic or mechanism", c.Error, err)
	}
	return fmt.Errorf("--error %s: %w; want a greater error", c.Error, err)
}

// wantShape names the flags for the shape of the values, if none is given.
func (c *forecastFlags) wantShape(before string) string {
	if c.Shape != "" || c.Spread != nil {
		return ""
	}
	return before + "--shape or --spread"
}

// users writes a number of users. Figures of 2⁵³ and more stand for no bound.
func users(n int64) string {
	if n >= 1<<53 {
		return "more users than can be counted"
	}
	return cli.Plural(n, "user")
}
