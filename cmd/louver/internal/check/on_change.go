package check

import (
	"bytes"
	"fmt"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/forecast"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
)

// examinedChange describes a release that is published on change, from public figures only.
type examinedChange struct {
	Release   string `json:"release"`
	Statistic string `json:"statistic"`
	Mechanism string `json:"mechanism"`
	// Low and High are the quantiles between which the last value still holds.
	Low  cli.Figure `json:"low"`
	High cli.Figure `json:"high"`
	// WatchEpsilon is the cost to one user of a test, from its start until it finds a change. Epsilon is the cost of one draw. At
	// most AtMost tests begin in a period of the budget. Worst is their total cost, with the first values.
	WatchEpsilon cli.Figure `json:"watch_epsilon"`
	Epsilon      cli.Figure `json:"epsilon"`
	AtMost       int64      `json:"at_most"`
	Worst        cli.Figure `json:"epsilon_at_most"`
	each, draw   cost.Loss
	worst        cost.Loss
	// Excess is how many users must be on the wrong side of the last value, beyond the tolerance, for the change to be seen with
	// 95 % in the first window.
	Excess float64       `json:"excess_95"`
	Draw   examinedValue `json:"draw"`
}

func examineChange(s *config.Stream, w config.OnChange, public forecast.Public) (examinedChange, error) {
	q := w.Release.Query
	p := q.Probabilities()[0]
	x := examinedChange{Release: w.Name, Statistic: string(q.Statistic), Mechanism: w.Release.Mechanism.Name(), Low: cli.NewFigure(p.Sub(w.Tolerance)), High: cli.NewFigure(p.Add(w.Tolerance)),
		WatchEpsilon: cli.NewFigure(w.Query.Epsilon), AtMost: w.AtMost, Excess: w.Mechanism.Excess95(),
		each: cost.Of(s.Budget.Limit, w.Price()), draw: cost.Of(s.Budget.Limit, w.Redraw()), worst: cost.Of(s.Budget.Limit, w.Step().Most())}
	x.Epsilon, x.Worst = cli.NewFigure(x.draw.Epsilon), cli.NewFigure(x.worst.Epsilon)
	public.CountEpsilon = 0 // it is drawn without the count
	figures, err := forecast.Of(q, w.Release.Mechanism, public)
	if err != nil {
		return x, fmt.Errorf("release %s: %w", w.Name, err)
	}
	x.Draw = examinedValue{w.Name, figures[0]}
	return x, nil
}

// print writes what the release costs and sees, behind an indent.
func (x examinedChange) print(w *bytes.Buffer, indent, unit string, users int64) {
	fmt.Fprintf(w, indent+"release %s (%s) is drawn anew in a group once its last value is not between the quantiles %s and %s any more\n", x.Release, x.Statistic, x.Low, x.High)
	fmt.Fprintf(w, indent+"  costs one user %s until then: ε %s for the test, %s for the draw by %s\n", x.each, x.WatchEpsilon, x.draw, mechanismText(x.Mechanism, x.Draw.Figure))
	fmt.Fprintf(w, indent+"  this happens at most %s in a period of the budget: at most %s, with the first values\n", cli.Plural(x.AtMost, "time"), x.worst)
	fmt.Fprintf(w, indent+"  error of a draw, 95 %%: %s\n", errorText(x.Mechanism, x.Draw.Figure, mechanisms.Statistic(x.Statistic).Unit(unit)))
	of := ""
	if users > 0 {
		of = fmt.Sprintf(" of %d expected", users)
	}
	fmt.Fprintf(w, indent+"  sees %s%s beyond the tolerance with 95 %% in the first window\n", cli.WithUnit(cli.Tenths(x.Excess), "users"), of)
}
