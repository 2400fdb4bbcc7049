package check

import (
	"bytes"
	"cmp"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// planActiveFlags say what number of active users to forecast.
type planActiveFlags struct {
	Active time.Duration `for:"active" group:"total" placeholder:"D" help:"Forecast the number of users seen in so much time, with a value every --update. Without --epsilon: for several ε, or for the one with which the error is --error."`
}

// plannedActive is the forecast of a number of active users, with what any 24 hours cost.
type plannedActive struct {
	Epsilon cli.Digits `json:"epsilon"`
	Error   int64      `json:"error_95"`
	Single  int64      `json:"error_95_one_by_one"`
	planned
}

// planActive forecasts a number of active users.
func (c *PlanCommand) planActive(app *cli.App) error {
	update := cmp.Or(c.Update, c.Window)
	q, delta, err := c.ActiveQuery(c.Active, c.Window, update)
	if err != nil {
		return cli.UsageError(err)
	}
	q.Above, q.Below = nil, nil // the error is the same whoever counts
	if q.Grid, err = mechanisms.NewGrid(decimal.Zero, decimal.NewFromInt(1), decimal.NewFromInt(1)); err != nil {
		return err
	}
	var plans []plannedActive
	mechanism := ""
	epsilons, err := c.epsilons("users", func(epsilon decimal.Decimal) (decimal.Decimal, error) {
		q.Epsilon = epsilon
		m, err := mechanisms.NewActive(q)
		if err != nil {
			return epsilon, err
		}
		return decimal.NewFromInt(m.Error95(1)), nil
	})
	if err != nil {
		return cli.UsageError(err)
	}
	for _, q.Epsilon = range epsilons {
		m, err := mechanisms.NewActive(q)
		if err != nil {
			return cli.UsageError(err)
		}
		price := budget.Item{Promise: m.Promise(), Times: int64(c.MaxGroups)}
		plans = append(plans, plannedActive{cli.NewDigits(q.Epsilon), m.Error95(1), m.OneByOne(),
			newPlanned(price, cli.Alone(delta, price))})
		mechanism = m.Name()
	}
	if c.JSON {
		return cli.WriteJSON(app.Out, map[string]any{"active": config.Duration(c.Active), "mechanism": mechanism,
			"max_groups": c.MaxGroups, "values_in_a_day": q.Leaves, "plans": plans})
	}
	return c.printActive(app, mechanism, update, plans)
}

func (c *PlanCommand) printActive(app *cli.App, mechanism string, update time.Duration, plans []plannedActive) error {
	var out bytes.Buffer
	cli.Fprintf(&out, "users seen in the last %s, with a value every %s, drawn by %s\n", config.Duration(c.Active),
		config.Duration(update), mechanism)
	var rows [][]string
	for _, p := range plans {
		rows = append(rows, []string{p.Epsilon.String(), "ε " + p.Lost.String(), "± " + users(p.Error),
			"± " + users(p.Single)})
	}
	head := []string{"ε", "a user loses in any 24 h", "error", "one by one at the same cost"}
	if err := cli.WriteTable(&out, app.Width(), head, rows); err != nil {
		return err
	}
	out.WriteString(plans[0].notPure())
	return app.Print(out.String())
}
