package check

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sort"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/record"
)

// planActiveFlags say what number of active users to forecast.
type planActiveFlags struct {
	Active time.Duration `group:"total" placeholder:"D" help:"Forecast the number of users seen in so much time, with a value every --update. Without --epsilon: for several ε, or for the one with which the error is --error."`
}

// plannedActive is the forecast of a number of active users. Charge is what any 24 hours cost one user, in all groups
// in which the user may count. Lost and LostDelta are what that comes to if nothing else is drawn.
type plannedActive struct {
	Epsilon   cli.Digits      `json:"epsilon"`
	Error     int64           `json:"error_95"`
	Single    int64           `json:"error_95_one_by_one"`
	Charge    []record.Charge `json:"charge"`
	Lost      cli.Digits      `json:"epsilon_lost"`
	LostDelta cli.Digits      `json:"delta_lost"`
}

// planActive forecasts a number of active users.
func (c *PlanCommand) planActive(app *cli.App) error {
	update := cmp.Or(c.Update, c.Window)
	switch {
	case c.File != "" || c.Shape != "" || c.Watch != "" || c.Since != "" || c.MaxTotal != nil:
		return cli.UsageError(fmt.Errorf("--active with a streams file, --shape, --watch, --since or --max-total; want it " +
			"without them"))
	case c.MaxGroups < 1:
		return cli.UsageError(fmt.Errorf("--max-groups %d; want at least 1", c.MaxGroups))
	}
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
	epsilons, err := c.activeEpsilons(q)
	if err != nil {
		return cli.UsageError(err)
	}
	for _, q.Epsilon = range epsilons {
		m, err := mechanisms.NewActive(q)
		if err != nil {
			return cli.UsageError(err)
		}
		price := budget.Item{Promise: m.Promise(), Times: int64(c.MaxGroups)}
		lost := cli.Alone(delta, price)
		plans = append(plans, plannedActive{cli.NewDigits(q.Epsilon), m.Error95(1), m.OneByOne(),
			record.Charged([]budget.Item{price}), cli.NewDigits(lost.Epsilon), cli.NewDigits(lost.Delta)})
		mechanism = m.Name()
	}
	if c.JSON {
		return cli.WriteJSON(app.Out, map[string]any{"active": config.Duration(c.Active), "mechanism": mechanism,
			"max_groups": c.MaxGroups, "values_in_a_day": q.Leaves, "plans": plans})
	}
	return c.printActive(app, mechanism, update, plans)
}

// activeEpsilons lists the ε to forecast: those of the flags, or several.
func (c *PlanCommand) activeEpsilons(q mechanisms.ActiveQuery) ([]decimal.Decimal, error) {
	switch {
	case c.Epsilon != nil:
		return []decimal.Decimal{c.Epsilon.Decimal}, nil
	case c.Error == "":
		return []decimal.Decimal{decimal.New(1, -1), decimal.New(2, -1), decimal.New(5, -1), decimal.NewFromInt(1),
			decimal.NewFromInt(2)}, nil
	}
	wanted, err := decimal.NewFromString(c.Error)
	if err != nil || !wanted.IsPositive() {
		return nil, fmt.Errorf("--error %s with --active; want a number of users, such as 100", c.Error)
	}
	const least, digits = 10, 90 // two digits, from 0.0010 to 99
	epsilon := func(i int) decimal.Decimal { return decimal.New(int64(least+i%digits), int32(i/digits)-4) }
	i := sort.Search(5*digits, func(i int) bool {
		q.Epsilon = epsilon(i)
		m, err := mechanisms.NewActive(q)
		return err == nil && decimal.NewFromInt(m.Error95(1)).LessThanOrEqual(wanted)
	})
	if i == 5*digits {
		return nil, fmt.Errorf("--error %s is out of reach; want a larger error or --update", c.Error)
	}
	return []decimal.Decimal{epsilon(i)}, nil
}

func (c *PlanCommand) printActive(app *cli.App, mechanism string, update time.Duration, plans []plannedActive) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "users seen in the last %s, with a value every %s, drawn by %s\n", config.Duration(c.Active),
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
	if p := plans[0]; p.Charge[0].Kind == privacy.ZCDP {
		fmt.Fprintf(&out, "It is not ε-private: ρ = ε²/2 is what it costs, which is told in ε for a δ of %s. Beside "+
			"many other draws it adds less.\n", p.LostDelta)
	}
	_, err := io.WriteString(app.Out, app.Fold(out.String()))
	return err
}
