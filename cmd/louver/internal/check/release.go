package check

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
)

// releaseReport describes a release of every window: how it is drawn, and what one draw costs.
type releaseReport struct {
	Release   string        `json:"release"`
	Statistic string        `json:"statistic"`
	Mechanism string        `json:"mechanism"`
	Epsilon   cli.Digits    `json:"epsilon"`
	Delta     cli.Digits    `json:"delta"`
	Charge    cli.Digits    `json:"epsilon_per_window"`
	Values    []valueReport `json:"values"`
	Needs     *needsReport  `json:"needs,omitempty"`

	of       *config.Release
	scatters bool   // its band follows from the last values of the series
	charge   string // in words: a mechanism with a ρ has no ε of its own
}

// valueReport is one released figure and its error.
type valueReport struct {
	Release string `json:"release"`
	forecast.Figure
}

func describeRelease(s *config.Stream, r *config.Release, public forecast.Public) (x releaseReport, err error) {
	promise, groups := r.Mechanism.Promise(), decimal.NewFromInt(int64(s.MaxGroups))
	x = releaseReport{of: r, Release: r.Name, Statistic: string(r.Query.Statistic), Mechanism: r.Mechanism.Name(),
		Epsilon: cli.NewDigits(promise.Epsilon), Delta: cli.NewDigits(promise.Delta),
		Charge: cli.NewDigits(promise.Epsilon.Mul(groups))}
	least, ok := r.Query.BandFrom()
	x.scatters = ok && public.CountEpsilon > 0 && public.Users >= least
	if x.charge = x.Charge.String(); promise.Kind == privacy.ZCDP {
		x.charge = "ρ " + promise.Rho.Mul(groups).String()
	}
	x.Values, err = describeValues(r, public)
	return x, err
}

// describeValues forecasts each value of a draw.
func describeValues(r *config.Release, public forecast.Public) (all []valueReport, err error) {
	figures, err := forecast.Of(r.Query, r.Mechanism, public)
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", r.Name, err)
	}
	for i, name := range r.Names() {
		all = append(all, valueReport{name, figures[i]})
	}
	return all, nil
}

// tableOf has a row for each value of the releases of a stream with this unit. The columns that depend on what is known
// are there if charged (a user may be in several groups), shaped (the values are guessed) or counted (so are the
// users).
func tableOf(all []releaseReport, unit string, charged, shaped, counted bool) (head []string, rows [][]string) {
	for _, r := range all {
		unit := mechanisms.Statistic(r.Statistic).Unit(unit)
		for i, v := range r.Values {
			columns := []struct {
				head, cell string
				shown      bool
			}{
				{"release", v.Release, true}, {"statistic", r.Statistic, !shaped}, // no room
				{"mechanism", mechanismText(r.Mechanism, r.Values[0].Figure), true},
				{"ε", epsilons(r.Epsilon, r.Delta), true}, {"charge per window", r.charge, charged},
				{"error, 95 %", errorText(r.Mechanism, v.Figure, unit, shaped), true},
				{"typical error", valueText(v.TypicalError, unit), shaped},
				{"19 of 20 within", valueText(v.Error95, unit), shaped},
				{"quality", cmp.Or(string(v.Quality), "unknown"), counted},
			}
			head = nil
			var row []string
			for at, c := range columns {
				if i > 0 && at > 0 && at < 5 {
					c.cell = "" // as in the row above
				}
				if c.shown {
					head, row = append(head, c.head), append(row, c.cell)
				}
			}
			rows = append(rows, row)
		}
	}
	return head, rows
}

// epsilons writes an ε, and the δ that goes with it if there is one.
func epsilons(epsilon, delta cli.Digits) string {
	if delta.IsZero() {
		return epsilon.String()
	}
	return fmt.Sprintf("%s, δ %s", epsilon, delta)
}

// errorText says how far off a value may be for any data. If that is unknown and no shape was given, it says that one
// would tell.
func errorText(mechanism string, f forecast.Figure, unit string, shaped bool) string {
	tenths := func(share float64, to func(float64) float64) string { return cli.Tenths(to(1000*share) / 10) }
	switch {
	case f.CountError != nil:
		return "± " + users(*f.CountError)
	case f.Lead != nil:
		return "none if it leads by " + users(*f.Lead)
	case f.ValueError != nil:
		return "± " + valueText(f.ValueError, unit)
	case strings.Contains(mechanism, "/") && f.Mechanism == "": // each draw chooses one of two
		return "depends on the number of users"
	case f.OutsideShare != nil:
		return "up to " + percent(*f.OutsideShare) + " of users cut off"
	case f.RankError == nil && shaped:
		return "depends on the data"
	case f.RankError == nil:
		return "depends on the data: see plan --shape"
	case f.Low != nil && f.High != nil:
		return fmt.Sprintf("percentiles %s to %s", tenths(*f.Low, math.Floor), tenths(*f.High, math.Ceil))
	}
	return "up to " + rankText(f) + " above or below"
}

// rankText is how many users lie between a value and the true one, at most.
func rankText(f forecast.Figure) string { return users(int64(math.Ceil(*f.RankError))) }

// mechanismText names the mechanism. If the draw chooses one, it names the likely choice or, if that is unknown, all of
// them.
func mechanismText(mechanism string, f forecast.Figure) string {
	return strings.ReplaceAll(cmp.Or(f.Mechanism, mechanism), "/", " or ")
}

func valueText(x *float64, unit string) string {
	if x == nil {
		return ""
	}
	return strings.TrimSpace(cli.ShortUp(*x) + " " + unit)
}

// needs adds to releases what the wanted error needs.
func (c *forecastFlags) needs(releases []releaseReport, public forecast.Public) (err error) {
	for i := range releases {
		r := &releases[i]
		if r.Needs = c.found; c.Error == "" || c.found != nil {
			continue
		}
		if r.Needs, err = c.needsOf(r.of.Query, public); err != nil {
			return err
		}
	}
	return nil
}
