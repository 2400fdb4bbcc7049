package check

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/shopspring/decimal"

	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
)

// planGroupFlags say which names to find.
type planGroupFlags struct {
	Found        *cli.Number `for:"groups" group:"groups" placeholder:"P" help:"Say how many users a name needs to be found with this probability, such as 0.9. With --users: say how likely a name with that many users is found."`
	NamesPerUser int64       `for:"groups" group:"groups" placeholder:"N" help:"How many names a user has that are not found yet. Absent: as many as the user counts for, which is --max-groups."`
	AtLeast      int64       `for:"groups" default:"1" group:"groups" placeholder:"N" help:"A name with fewer users is never found."`
}

// plannedGroups is the forecast of a discovery.
type plannedGroups struct {
	Epsilon    cli.Digits  `json:"epsilon"`
	Delta      cli.Digits  `json:"delta"`
	Threshold  int64       `json:"threshold"`
	Users50    int64       `json:"users_50"`
	Users95    int64       `json:"users_95"`
	Certain    *int64      `json:"users_certain"` // nil: with no number of them
	Wanted     *int64      `json:"users,omitempty"`
	Found      *cli.Digits `json:"found,omitempty"`
	PerMillion float64     `json:"found_of_a_million"` // of names of at_least users
	Error      int64       `json:"error_95"`
}

// planGroups forecasts a discovery of names.
func (c *PlanCommand) planGroups(app *cli.App) error {
	epsilons := []decimal.Decimal{decimal.New(5, -2), decimal.New(1, -1), decimal.New(25, -2), decimal.New(5, -1),
		decimal.NewFromInt(1)}
	if c.Epsilon != nil {
		epsilons = []decimal.Decimal{c.Epsilon.Decimal}
	}
	if err := c.checkGroups(); err != nil {
		return cli.UsageError(err)
	}
	var plans []plannedGroups
	for _, epsilon := range epsilons {
		m, err := c.Groups(epsilon, c.AtLeast)
		if err != nil {
			return cli.UsageError(err)
		}
		plans = append(plans, c.foretell(m))
	}
	if c.JSON {
		return cli.WriteJSON(app.Out, map[string]any{"statistic": mechanisms.Groups, "at_least": c.AtLeast,
			"max_groups": c.MaxGroups, "names_per_user": c.namesPerUser(), "plans": plans})
	}
	return c.printGroups(app, plans)
}

func (c *PlanCommand) namesPerUser() int64 { return max(c.NamesPerUser, int64(c.MaxGroups)) }

func (c *PlanCommand) checkGroups() error {
	most := int64(mechanisms.MaxUsers)
	switch {
	case c.Users > most:
		return fmt.Errorf("--users %d; want from 1 to %d", c.Users, most)
	case c.NamesPerUser != 0 && (c.NamesPerUser < int64(c.MaxGroups) || c.NamesPerUser > 1_000_000):
		return fmt.Errorf("--names-per-user %d; want from %d, which is --max-groups, to 1000000", c.NamesPerUser,
			c.MaxGroups)
	case c.Found != nil && c.Users != 0:
		return errors.New("--found with --users; want one of the two")
	case c.Found != nil && (!c.Found.IsPositive() || c.Found.GreaterThan(decimal.RequireFromString("0.999999"))):
		return fmt.Errorf("--found %s; want more than 0, and at most 0.999999", c.Found)
	}
	return nil
}

// foretell says what a discovery by this mechanism finds.
func (c *PlanCommand) foretell(m *mechanisms.TruncatedGeometric) plannedGroups {
	r := reach{m, float64(c.MaxGroups) / float64(c.namesPerUser())}
	promise := m.Promise()
	p := plannedGroups{Epsilon: cli.NewDigits(promise.Epsilon), Delta: cli.NewDigits(promise.Delta),
		Threshold: m.Threshold(), Users50: r.users(0.5), Users95: r.users(0.95),
		PerMillion: 1e6 * m.Found(m.AtLeast()), Error: m.Error95()}
	if r.counts == 1 {
		p.Certain = new(m.Certain())
	}
	if c.Found != nil {
		p.Wanted = new(r.users(c.Found.InexactFloat64()))
	}
	if c.Users > 0 {
		p.Found = new(cli.NewDigits(decimal.NewFromFloat(r.found(c.Users))))
	}
	return p
}

func (c *PlanCommand) printGroups(app *cli.App, plans []plannedGroups) error {
	var out bytes.Buffer
	names, k := c.namesPerUser(), int64(c.MaxGroups)
	cli.Fprintf(&out, "names that enough users share are found, each with a noisy number of users\n")
	if names > k {
		cli.Fprintf(&out,
			"a user has %s that are not found yet and counts for %d of them, which are chosen by chance\n",
			cli.Plural(names, "name"), k)
	} else {
		cli.Fprintf(&out, "a user counts for at most %s\n", cli.Plural(k, "name"))
	}
	head := []string{"ε", "δ", "users for 50 %", "for 95 %", "always from", "error of the number"}
	switch {
	case c.Found != nil:
		head = append(head, fmt.Sprintf("users for %s %%", c.Found.Shift(2)))
	case c.Users > 0:
		head = append(head, "chance with "+users(c.Users))
	}
	var rows [][]string
	for _, p := range plans {
		certain := "never"
		if p.Certain != nil {
			certain = humanize.Comma(*p.Certain)
		}
		row := []string{p.Epsilon.String(), p.Delta.String(), humanize.Comma(p.Users50),
			humanize.Comma(p.Users95), certain, "± " + users(p.Error)}
		switch {
		case p.Wanted != nil:
			row = append(row, humanize.Comma(*p.Wanted))
		case p.Found != nil:
			row = append(row, chance(p.Found.InexactFloat64()))
		}
		rows = append(rows, row)
	}
	if err := cli.WriteTable(&out, app.Width(), head, rows); err != nil {
		return err
	}
	if k > 1 {
		cli.Fprintf(&out, "one user loses at most %d × ε and %d × δ\n", k, k)
	}
	most := 0.
	for _, p := range plans {
		most = max(most, p.PerMillion)
	}
	cli.Fprintf(&out, "of a million names for which only %s counted, at most %s would be found\n", users(c.AtLeast),
		cli.Short(most))
	return app.Print(out.String())
}

// chance writes a probability as a percentage.
func chance(p float64) string {
	if p < 0.9995 {
		return cli.Short(100*p) + " %"
	}
	return cli.Certainty(p)
}
