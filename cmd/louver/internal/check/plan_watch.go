package check

import (
	"bytes"
	"fmt"
	"time"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/config"
)

// planWatchFlags say what watch to forecast.
type planWatchFlags struct {
	Watch       string        `for:"watch" group:"watch" placeholder:"CONDITION" help:"Forecast a watch, such as \"above: 2000, more_than: 0.01\", that looks at one window after another. Without --epsilon: for several ε."`
	FalseAlarms cli.Number    `for:"watch" default:"0.05" group:"watch" placeholder:"P" help:"Probability of any false alarm in the time of --per."`
	Per         time.Duration `for:"watch" default:"30d" group:"watch" placeholder:"D" help:"Time that --false-alarms is for."`
	WatchGroups int64         `for:"watch" default:"1" group:"watch" placeholder:"N" help:"Number of groups in a window."`
}

// plannedWatch describes a watch before it is armed.
type plannedWatch struct {
	Epsilon cli.Digits `json:"epsilon"`
	sight
}

// planWatch forecasts a watch.
func (c *PlanCommand) planWatch(app *cli.App) error {
	if c.Per < c.Window || c.WatchGroups < 1 {
		return cli.UsageError(fmt.Errorf("--per %s, --watch-groups %d; want at least --window, %s, and at least 1",
			config.Duration(c.Per), c.WatchGroups, config.Duration(c.Window)))
	}
	q := watch.Query{FalseAlarms: c.FalseAlarms.Decimal, Windows: int64((c.Per-1)/c.Window) + 1,
		Groups: c.WatchGroups}
	if c.Bounds != (cli.Bounds{}) { // a number of users needs none
		var err error
		if q.Grid, err = c.Grid(false); err != nil {
			return cli.UsageError(err)
		}
	}
	var plans []plannedWatch
	epsilons, _ := c.epsilons("", nil) // there is no wanted error
	for _, q.Epsilon = range epsilons {
		w, err := cli.NewWatch(c.Watch, q)
		if err != nil {
			return cli.UsageError(err)
		}
		plans = append(plans, plannedWatch{cli.NewDigits(q.Epsilon), sees(w, c.Users)})
	}
	if c.JSON {
		return cli.WriteJSON(app.Out, map[string]any{"watch": c.Watch, "plans": plans})
	}
	return c.printWatch(app, plans)
}

func (c *PlanCommand) printWatch(app *cli.App, plans []plannedWatch) error {
	var out bytes.Buffer
	cli.Fprintf(&out, "%s, in windows of %s; a false alarm in %s has a probability of at most %s %%\n",
		c.Watch, config.Duration(c.Window), config.Duration(c.Per), c.FalseAlarms.Shift(2))
	head := []string{"ε until it fires", "margin", "fires from, 95 %"}
	if c.Users > 0 {
		head = append(head, cli.Sprintf("at most, of %d", c.Users), "chance of missing it")
	}
	var rows [][]string
	for _, p := range plans {
		row := []string{p.Epsilon.String(), cli.WithUnit(cli.Tenths(p.Margin), "users"),
			cli.WithUnit(cli.Tenths(p.Excess), "users") + " " + cli.Direction(c.Watch)}
		if p.Most != nil {
			row = append(row, cli.WithUnit(cli.Tenths(*p.Most), "users"), missed(*p.Missed))
		}
		rows = append(rows, row)
	}
	if err := cli.WriteTable(&out, app.Width(), head, rows); err != nil {
		return err
	}
	return app.Print(out.String())
}
