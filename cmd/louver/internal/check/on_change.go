package check

import (
	"bytes"
	"fmt"
	"math"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// changeReport describes a release that is published on change, from public figures only.
type changeReport struct {
	Release   string `json:"release"`
	Statistic string `json:"statistic"`
	Mechanism string `json:"mechanism"`
	// Low and High are the quantiles between which the last value still holds.
	Low  cli.Figure `json:"low"`
	High cli.Figure `json:"high"`
	// WatchEpsilon is the cost to one user of a test, from its start until it finds a change. Epsilon is the cost of one
	// draw. At most AtMost tests begin in a period of the budget. Worst is their total cost, with the first values.
	WatchEpsilon cli.Figure `json:"watch_epsilon"`
	Epsilon      cli.Figure `json:"epsilon"`
	AtMost       int64      `json:"at_most"`
	Worst        cli.Figure `json:"epsilon_at_most"`
	// Excess is how many users must be on the wrong side of the last value, beyond the tolerance, for the change to be
	// seen with 95 % in the first window.
	Excess float64     `json:"excess_95"`
	Draw   valueReport `json:"draw"`

	each, draw, worst cost.Loss
}

func describeChange(s *config.Stream, w config.Watch, public forecast.Public) (changeReport, error) {
	limit, q := s.Budget.Limit, w.Release.Query
	p := q.Probabilities()[0]
	x := changeReport{Release: w.Name, Statistic: string(q.Statistic), Mechanism: w.Release.Mechanism.Name(),
		Low: cli.NewFigure(p.Sub(w.Tolerance)), High: cli.NewFigure(p.Add(w.Tolerance)),
		WatchEpsilon: cli.NewFigure(w.Query.Epsilon), AtMost: w.AtMost, Excess: w.Mechanism.Excess95(),
		each: cost.Of(limit, w.Price()), draw: cost.Of(limit, w.Redraw()), worst: cost.Of(limit, w.Most())}
	x.Epsilon, x.Worst = cli.NewFigure(x.draw.Epsilon), cli.NewFigure(x.worst.Epsilon)
	public.CountEpsilon = 0 // it is drawn without the count
	values, err := describeValues(*w.Release, public)
	if err == nil {
		x.Draw = values[0]
	}
	return x, err
}

// print writes what the release costs and sees.
func (x changeReport) print(w *bytes.Buffer, unit string, expected int64) {
	of := ""
	if expected > 0 {
		of = fmt.Sprintf(" of %d expected", expected)
	}
	fmt.Fprintf(w, "  release %s (%s) is drawn anew in a group once its last value is not between the quantiles %s and %s any more\n",
		x.Release, x.Statistic, x.Low, x.High)
	fmt.Fprintf(w, "    costs one user %s until then: ε %s for the test, %s for the draw by %s\n",
		x.each, x.WatchEpsilon, x.draw, mechanismText(x.Mechanism, x.Draw.Figure))
	fmt.Fprintf(w, "    this happens at most %s in a period of the budget: at most %s, with the first values\n",
		cli.Plural(x.AtMost, "time"), x.worst)
	fmt.Fprintf(w, "    error of a draw, 95 %%: %s\n",
		errorText(x.Mechanism, x.Draw.Figure, mechanisms.Statistic(x.Statistic).Unit(unit)))
	fmt.Fprintf(w, "    once %s%s are beyond the tolerance, that is seen in the first window with a probability of 95 %%\n",
		users(int64(math.Ceil(x.Excess))), of)
}
