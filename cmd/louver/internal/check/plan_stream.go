package check

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/cmd/louver/internal/inspect"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// forecastFlags are what is wanted, and known in public.
type forecastFlags struct {
	Users        int64         `group:"Forecast:" placeholder:"N" help:"Users expected in a window and group. Absent: as many as --error needs, or the file's expected_users."`
	Error        string        `group:"Forecast:" placeholder:"X" help:"Error that you accept: a share of the users such as 2%, or a number. Means and sums take it in the values' unit, and so do quantiles with a --shape. All others take a number of users."`
	Shape        string        `group:"Forecast:" placeholder:"SHAPE" help:"Public guess of the values: lognormal:MEDIAN,SIGMA, normal:MEAN,SD, uniform:LOW,HIGH or uniform."`
	Spread       *cli.Number   `group:"Forecast:" placeholder:"SD" help:"Public guess of the values' standard deviation, instead of a shape. They are taken as normal, around the middle of the bounds."`
	CountEpsilon *cli.Number   `group:"Forecast:" placeholder:"E" help:"ε of a count of all users that is released too."`
	Every        time.Duration `default:"1h" group:"Forecast:" placeholder:"D" help:"Time from one window to the next."`

	found *plannedNeeds // what was computed from the wanted error
}

// plannedStream is the plan of a stream.
type plannedStream struct {
	Stream string `json:"stream"`
	Unit   string `json:"unit"`
	// Users is how many users are expected in a window and group; 0 if unknown.
	Users     int64            `json:"users"`
	Shape     string           `json:"shape,omitempty"`
	MaxGroups int              `json:"max_groups"`
	Releases  []plannedRelease `json:"releases"`
	Watches   []examinedWatch  `json:"watches,omitempty"`
	OnChange  []examinedChange `json:"on_change,omitempty"`
	Window    plannedLoss      `json:"window"`
	// Day is what the windows that end in any 24 hours cost, with watches and releases on change; nil if windows are further apart.
	Day *plannedLoss `json:"day"`
	// Advanced is what the day would cost if the budget had a δ; nil if it has one, or if that is not less.
	Advanced *plannedLoss `json:"day_with_delta"`
	every    time.Duration
	capped   bool   // a user does not count in every window of a day
	besides  string // what tells of windows too
}

// plannedLoss says how much a user can lose through some windows.
type plannedLoss struct {
	Windows int64      `json:"windows"`
	Epsilon cli.Figure `json:"epsilon"`
	Delta   cli.Figure `json:"delta"`
	// Sum is the plain sum, where that is more.
	Sum *cli.Figure `json:"epsilon_sum,omitempty"`
	// Belief is how high a belief of 50 % that a given user took part can become.
	Belief float64 `json:"belief"`

	lost cost.Loss
}

type plannedRelease struct {
	drawnRelease
	Values []examinedValue `json:"values"`
	Needs  *plannedNeeds   `json:"needs,omitempty"`
}

// plannedNeeds says what the wanted error needs: this ε with the expected users, or these users with the planned ε.
type plannedNeeds struct {
	Error   string      `json:"error"`
	Epsilon *cli.Figure `json:"epsilon"`
	Users   *int64      `json:"users"`
}

// plan forecasts a stream.
func (c *forecastFlags) plan(s *config.Stream) (*plannedStream, error) {
	public, err := c.public(s, s.Grid)
	if err != nil {
		return nil, err
	}
	p := &plannedStream{Stream: s.Name, Unit: s.Unit, Users: public.Users, MaxGroups: s.MaxGroups, every: s.Window.Every}
	if public.Shape != nil {
		p.Shape = public.Shape.String()
	}
	for _, r := range s.Releases {
		planned, err := c.planRelease(r, public)
		if err != nil {
			return nil, err
		}
		p.Releases = append(p.Releases, planned)
	}
	if p.Watches, p.OnChange, err = examineBesides(s, public); err != nil {
		return nil, err
	}
	p.loses(s)
	return p, nil
}

// loses says what a stream costs alone, whatever else its budget pays for.
func (p *plannedStream) loses(s *config.Stream) {
	of := s.Cost(time.Now())
	pays := cost.Payer{Streams: []cost.Stream{of}}
	if s.Budget != nil {
		pays.Limit = s.Budget.Limit
	}
	window := pays.Lost(of, 1)
	if window.Unbounded { // there is no budget yet, and it will need a δ
		pays.Delta = cost.Suggested
		window = pays.Lost(of, 1)
	}
	p.Window, p.besides = newPlannedLoss(window, 1), config.Besides(s)
	const day = 24 * time.Hour
	perDay := int64(day / s.Window.Every)
	if perDay <= 1 {
		return
	}
	most := min(perDay, of.Counts(day))
	p.capped = most < perDay
	lost := pays.InAnyDay()
	p.Day = new(newPlannedLoss(lost, most))
	if pays.Delta.IsZero() {
		pays.Limit = budget.Limit{Delta: cost.Suggested, Per: pays.Per} // whatever its ε will be
		pays.Streams = []cost.Stream{s.CostWithDelta(time.Now())}
		if less := pays.InAnyDay(); less.Epsilon.LessThan(lost.Epsilon) {
			p.Advanced = new(newPlannedLoss(less, most))
		}
	}
}

func newPlannedLoss(lost cost.Loss, windows int64) plannedLoss {
	return plannedLoss{windows, cli.NewFigure(lost.Epsilon), cli.NewFigure(lost.Delta), inspect.SumOf(lost), budget.Spending{Epsilon: lost.Epsilon}.Guess(), lost}
}

func (c *forecastFlags) planRelease(r config.Release, public forecast.Public) (p plannedRelease, err error) {
	if p.drawnRelease, p.Values, err = describe(r, public); err != nil {
		return p, err
	}
	if p.Needs = c.found; c.Error != "" && c.found == nil {
		p.Needs, err = c.needs(r, public)
	}
	return p, err
}

// needs finds what the wanted error needs. It leaves out what is unknown or out of reach.
func (c *forecastFlags) needs(r config.Release, public forecast.Public) (*plannedNeeds, error) {
	wanted, err := c.wanted(r.Query)
	if err != nil {
		return nil, err
	}
	open := func(err error) bool {
		return errors.Is(err, forecast.ErrUnknown) || errors.Is(err, forecast.ErrUnreachable)
	}
	n := &plannedNeeds{Error: c.Error}
	epsilon, err := forecast.Epsilon(r.Query, public, wanted)
	switch {
	case err == nil:
		n.Epsilon = new(cli.NewFigure(epsilon))
	case !open(err):
		return nil, err
	}
	if wanted.In == forecast.Ranks {
		return n, nil
	}
	users, err := forecast.Users(r.Query, public, wanted)
	switch {
	case err == nil:
		n.Users = &users
	case !open(err):
		return nil, err
	}
	return n, nil
}

// wanted reads --error for a release.
func (c *forecastFlags) wanted(q mechanisms.Query) (forecast.Wanted, error) {
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
func (c *forecastFlags) public(s *config.Stream, grid *mechanisms.Grid) (forecast.Public, error) {
	public := publicOf(s)
	if c.Users > 0 {
		public.Users = c.Users
	}
	if c.CountEpsilon != nil {
		public.CountEpsilon = c.CountEpsilon.InexactFloat64()
	}
	shape := c.Shape
	if c.Spread != nil {
		middle := grid.Lower().Add(grid.Upper()).Div(decimal.NewFromInt(2))
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

// unsolved says why an error cannot be reached.
func (c *forecastFlags) unsolved(err error, users int64) error {
	switch {
	case errors.Is(err, forecast.ErrUnknown) && users == 0:
		return fmt.Errorf("--error %s: %w without the number of users; want --users or --epsilon as well", c.Error, err)
	case errors.Is(err, forecast.ErrUnknown):
		return fmt.Errorf("--error %s: %w; want --shape or --spread as well", c.Error, err)
	}
	return fmt.Errorf("--error %s: %w; want a greater error", c.Error, err)
}
