package main

import (
	"fmt"
	"os"

	"github.com/louver/louver/mechanisms"
)

type releaseCommand struct {
	File string `arg:"" optional:"" help:"File with the values; absent or -: standard input."`

	queryFlags
	Lower   number `required:"" group:"privacy" placeholder:"X" help:"Least value that counts as it is. Bounds are public: never take them from the data."`
	Upper   number `required:"" group:"privacy" placeholder:"X" help:"Greatest value that counts as it is."`
	Step    number `required:"" group:"privacy" placeholder:"X" help:"Distance of the values that can be released."`
	Epsilon number `required:"" group:"privacy" placeholder:"E" help:"ε of each draw: what each user loses by it."`
	Repeat  int    `default:"1" group:"privacy" placeholder:"N" help:"Draw N times; each draw costs ε again."`

	Value        string `group:"input" placeholder:"COLUMN" help:"Read CSV with a header: column of the values."`
	User         string `group:"input" placeholder:"COLUMN" help:"Column of the users; absent: each row is a user of its own."`
	Contribution string `default:"last" enum:"first,last,min,max,random" group:"input" placeholder:"NAME" help:"Which value of a user counts: first, last (by row), min, max or random."`

	JSON bool `name:"json" help:"Print one JSON object a draw."`
}

// Help is the long help.
func (releaseCommand) Help() string {
	return `Reads numbers, one user each, parted by spaces or lines; or, with --value, a CSV file with a header.
Prints the value drawn, one line a draw; for quantiles one line for each p, such as p99=812; with --interval the value
and the ends of the interval.

  louver release --statistic median --lower 0 --upper 100 --step 1 --epsilon 0.5 <ages.txt
  louver release --user id --value ms --statistic quantile --p 0.99 --lower 0 --upper 60000 --step 1 --epsilon 1 requests.csv

Each draw costs every user in the data ε; draws add up, and nothing keeps count of them here.`
}

// Run reads, draws and prints.
func (c *releaseCommand) Run(app *App) error {
	query, err := c.asked()
	if err != nil {
		return usageError(err)
	}
	mechanism, err := mechanisms.New(query)
	if err != nil {
		return usageError(err)
	}
	name, in := "stdin", app.In
	if c.File != "" && c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		name, in = c.File, file
	}
	sample, err := c.read(name, in, query.Grid)
	if err != nil {
		return err
	}
	return repeat(app, c.Repeat, newDraws(query, mechanism, sample, c.JSON))
}

func (c *releaseCommand) asked() (mechanisms.Query, error) {
	q, err := c.query()
	switch {
	case err != nil:
		return q, err
	case c.Repeat < 1:
		return q, fmt.Errorf("--repeat %d; want at least 1", c.Repeat)
	case c.User != "" && c.Value == "":
		return q, fmt.Errorf("--user %s without --value; want --value with the column of the values", c.User)
	}
	q.Epsilon = c.Epsilon.Decimal
	q.Grid, err = mechanisms.NewGrid(c.Lower.Decimal, c.Upper.Decimal, c.Step.Decimal)
	return q, err
}
