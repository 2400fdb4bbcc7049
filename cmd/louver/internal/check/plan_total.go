package check

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// planTotalFlags say what running total to forecast.
type planTotalFlags struct {
	Since    string        `for:"since" group:"total" placeholder:"PERIOD" help:"Forecast a running total, of users, or with --statistic sum of amounts or histogram of users by value: in the hour, since midnight or monday, or in the month. Without --epsilon: for several ε, or for the one with which the error is never more than --error."`
	MaxTotal *cli.Number   `for:"since" group:"total" placeholder:"X" help:"The most that one user adds in a period: a number of windows, for a sum an amount."`
	Update   time.Duration `for:"since,active" group:"total" placeholder:"D" help:"Time from one value of the total to the next. Absent: that of --window."`
}

// plannedTotal is the forecast of a total.
type plannedTotal struct {
	Epsilon cli.Digits  `json:"epsilon"`
	Errors  totalErrors `json:"error_95"`
	planned             // of a period: without any pure ε, with a δ of 10⁻⁹
	// Quantiles are some that can be computed from a distribution so far.
	Quantiles []quantileNeeds `json:"quantiles,omitempty"`
}

// usualQuantiles are those of which the plan of a distribution says how many users they need.
var usualQuantiles = []string{"p50", "p90", "p99"}

// quantilesOf says how many users the usual quantiles need at the end of a period; nil for a total of one number.
func quantilesOf(leaves int64, m *mechanisms.Total) (all []quantileNeeds) {
	for _, name := range usualQuantiles {
		if m.Buckets != nil {
			p := decimal.RequireFromString("0." + strings.TrimPrefix(name, "p"))
			all = append(all, needsAtTheEnd(name, p, leaves, m))
		}
	}
	return all
}

// text says from how many users on the quantile is rough and useful, and what it is with those that are expected.
func (q quantileNeeds) text(expected int64) string {
	text := cli.Sprintf("%d / %d", q.Rough, q.Useful)
	switch {
	case expected == 0:
		return text
	case expected < q.Rough:
		return text + ": noise"
	case expected < q.Useful:
		return text + ": rough"
	}
	return text + ": useful"
}

// planTotal forecasts a running total.
func (c *PlanCommand) planTotal(app *cli.App) error {
	q, err := c.totalQuery()
	if err != nil {
		return cli.UsageError(err)
	}
	var plans []plannedTotal
	var m *mechanisms.Total
	epsilons, err := c.epsilons(cmp.Or(q.Unit(""), "the values' unit"), func(e decimal.Decimal) (decimal.Decimal, error) {
		q.Epsilon = e
		m, err := mechanisms.NewTotal(q)
		if err != nil {
			return e, err
		}
		return m.Scale.Length(worstError(q.Leaves, m)), nil // no value of the period exceeds it
	})
	if err != nil {
		return cli.UsageError(err)
	}
	for _, q.Epsilon = range epsilons {
		if m, err = mechanisms.NewTotal(q); err != nil {
			return cli.UsageError(err)
		}
		price := budget.Item{Promise: m.Promise(), Times: int64(c.MaxGroups)}
		plans = append(plans, plannedTotal{cli.NewDigits(q.Epsilon), errorsOf(q.Leaves, m),
			newPlanned(price, cost.Alone(price)), quantilesOf(q.Leaves, m)})
	}
	if c.JSON {
		return cli.WriteJSON(app.Out, map[string]any{"since": c.Since, "statistic": q.Statistic,
			"mechanism": m.Name(), "max_groups": c.MaxGroups, "values_in_a_period": q.Leaves, "plans": plans})
	}
	return c.printTotals(app, config.Total{Query: q, Mechanism: m}, plans)
}

// totalQuery returns the total that the flags describe, without its ε.
func (c *PlanCommand) totalQuery() (q mechanisms.TotalQuery, err error) {
	q, err = c.TotalQuery(period.Unit(c.Since), c.Window, cmp.Or(c.Update, c.Window), c.MaxTotal)
	if err == nil {
		q.Grid, err = c.Grid(q.Statistic == mechanisms.Count && q.Above == nil && q.Below == nil)
	}
	return q, err
}

// planned is what a forecast costs one user, in all groups in which the user may count. Lost and LostDelta are what
// that comes to if nothing else is drawn.
type planned struct {
	Charge    []record.Charge `json:"charge"`
	Lost      cli.Digits      `json:"epsilon_lost"`
	LostDelta cli.Digits      `json:"delta_lost"`
}

func newPlanned(item budget.Item, lost cost.Loss) planned {
	return planned{record.Charged([]budget.Item{item}), cli.NewDigits(lost.Epsilon), cli.NewDigits(lost.Delta)}
}

// notPure says of a charge of ρ what its ε means; "" for others.
func (p planned) notPure() string {
	if p.Charge[0].Kind != privacy.ZCDP {
		return ""
	}
	return fmt.Sprintf("It is not ε-private. It costs ρ = ε²/2, and the ε shown is what that comes to for a δ of %s. "+
		"Beside many other draws it adds less.\n", p.LostDelta)
}

// epsilons lists the ε to forecast: that of the flags, or the least of two digits with which the error is what they
// want, in this unit, or several. errorAt computes the error.
func (c *PlanCommand) epsilons(unit string, errorAt func(epsilon decimal.Decimal) (decimal.Decimal, error)) (
	[]decimal.Decimal, error) {
	switch {
	case c.Epsilon != nil:
		return []decimal.Decimal{c.Epsilon.Decimal}, nil
	case c.Error == "":
		return []decimal.Decimal{decimal.New(1, -1), decimal.New(2, -1), decimal.New(5, -1), decimal.NewFromInt(1),
			decimal.NewFromInt(2)}, nil
	}
	wanted, err := decimal.NewFromString(c.Error)
	if err != nil || !wanted.IsPositive() {
		return nil, fmt.Errorf("--error %s; want a number of %s, such as 20", c.Error, unit)
	}
	const least, digits = 10, 90 // two digits, from 0.0010 to 99
	epsilon := func(i int) decimal.Decimal { return decimal.New(int64(least+i%digits), int32(i/digits)-4) }
	i := sort.Search(5*digits-1, func(i int) bool {
		off, err := errorAt(epsilon(i))
		return err == nil && off.LessThanOrEqual(wanted)
	})
	off, err := errorAt(epsilon(i)) // the largest one may be too small, or something else is wrong
	if err == nil && off.GreaterThan(wanted) {
		err = fmt.Errorf("--error %s is out of reach; want a larger error or --update", c.Error)
	}
	return []decimal.Decimal{epsilon(i)}, err
}

func (c *PlanCommand) printTotals(app *cli.App, of config.Total, plans []plannedTotal) error {
	var out bytes.Buffer
	q := of.Query
	unit, noun := q.Unit(""), period.Unit(c.Since).Noun()
	cli.Fprintf(&out, "a total that %s, %s, with a value every %s: usually %d each %s\n", totalText(&of, ""),
		sinceText(period.Unit(c.Since), ""), config.Duration(cmp.Or(c.Update, c.Window)), q.Leaves, noun)
	var rows [][]string
	for _, p := range plans {
		row := []string{p.Epsilon.String(), "ε " + p.Lost.String()}
		for _, figure := range []cli.Digits{p.Errors.Quarter, p.Errors.Half, p.Errors.End, p.Errors.Most} {
			row = append(row, "± "+boundText(figure, unit))
		}
		rows = append(rows, row)
	}
	if of.Mechanism.Buckets != nil {
		cli.Fprintf(&out, "errors are those of the number of all %s\n", unit)
	}
	head := []string{"ε", "a user loses in a " + noun, "error after a quarter", "after half", "at the end",
		"never more than"}
	if err := cli.WriteTable(&out, app.Width(), head, rows); err != nil {
		return err
	}
	if err := c.printQuantiles(&out, app.Width(), noun, unit, plans); err != nil {
		return err
	}
	out.WriteString(plans[0].notPure())
	if c.Error != "" && c.Epsilon == nil {
		cli.Fprintf(&out, "With a smaller ε (of two digits) the error would at times be more than %s.\n",
			cli.WithUnit(c.Error, unit))
	}
	return app.Print(out.String())
}

// printQuantiles says of a distribution so far how many users its quantiles need.
func (c *PlanCommand) printQuantiles(out io.Writer, width int, noun, unit string, plans []plannedTotal) error {
	var rows [][]string
	for _, p := range plans {
		row := []string{p.Epsilon.String()}
		for _, q := range p.Quantiles {
			row = append(row, q.text(c.Users))
		}
		rows = append(rows, row)
	}
	if len(rows[0]) == 1 {
		return nil
	}
	with := ""
	if c.Users > 0 {
		with = cli.Sprintf(", and what they are with %d", c.Users)
	}
	if _, err := cli.Fprintf(out, "at the end of the %s, quantiles from it are rough / useful from about this number of "+
		"%s on%s:\n", noun, unit, with); err != nil {
		return err
	}
	return cli.WriteTable(out, width, append([]string{"ε"}, usualQuantiles...), rows)
}
