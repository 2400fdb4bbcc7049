package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/watch"
	"github.com/louver/louver/stream/config"
)

// planWatchFlags say what watch to forecast.
type planWatchFlags struct {
	Watch       string        `group:"watch" placeholder:"CONDITION" help:"Forecast a watch, such as \"above: 2000, more_than: 0.01\", that looks at one window after another. Without --epsilon: for several ε."`
	FalseAlarms cli.Number    `default:"0.05" group:"watch" placeholder:"P" help:"Probability of any false alarm in the time of --per."`
	Per         time.Duration `default:"30d" group:"watch" placeholder:"D" help:"Time that --false-alarms is for."`
	WatchGroups int64         `default:"1" group:"watch" placeholder:"N" help:"Number of groups in a window."`
}

// plannedWatch describes a watch before it is armed.
type plannedWatch struct {
	Epsilon json.Number `json:"epsilon"`
	sight
}

// planWatch forecasts a watch.
func (c *PlanCommand) planWatch(app *cli.App) error {
	if flag := cli.FirstGiven(map[string]bool{"a streams file": c.File != "", "--error": c.Error != "",
		"--shape": c.Shape != "", "--mechanism": c.Mechanism != "", "--statistic": c.Statistic != ""}); flag != "" {
		return cli.UsageError(fmt.Errorf("--watch with %s; want one of the two", flag))
	}
	if c.Window < time.Second || c.Per < c.Window || c.WatchGroups < 1 || c.Users < 0 {
		return cli.UsageError(fmt.Errorf("--window %s, --per %s, --watch-groups %d, --users %d; want at least 1s, at "+
			"least --window, at least 1, and a number of users", c.Window, c.Per, c.WatchGroups, c.Users))
	}
	q := watch.Query{FalseAlarms: c.FalseAlarms.Decimal, Windows: int64((c.Per-1)/c.Window) + 1,
		Groups: c.WatchGroups}
	if c.Lower != nil && c.Upper != nil && c.Step != nil {
		var err error
		if q.Grid, err = mechanisms.NewGrid(c.Lower.Decimal, c.Upper.Decimal, c.Step.Decimal); err != nil {
			return cli.UsageError(err)
		}
	}
	epsilons := []string{"0.1", "0.2", "0.5", "1", "2"}
	if c.Epsilon != nil {
		epsilons = []string{c.Epsilon.String()}
	}
	var plans []plannedWatch
	for _, epsilon := range epsilons {
		q.Epsilon = decimal.RequireFromString(epsilon)
		w, err := cli.NewWatch(c.Watch, q)
		if err != nil {
			return cli.UsageError(err)
		}
		plans = append(plans, plannedWatch{json.Number(epsilon), sees(w, c.Users)})
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
