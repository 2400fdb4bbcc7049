package main

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

type releaseCommand struct {
	File string `arg:"" optional:"" help:"File with the values; absent or -: standard input."`

	Statistic   string   `default:"median" enum:"median,quantile,quantiles,mode,mean,trimmed_mean,count,outside" group:"what" placeholder:"NAME" help:"median, quantile, quantiles, mode, mean, trimmed_mean, count or outside."`
	P           []number `group:"what" placeholder:"P" help:"Probability of a quantile, between 0 and 1; several, ascending, for quantiles."`
	Trim        *number  `group:"what" placeholder:"T" help:"Fraction that trimmed_mean cuts from each end."`
	Above       *number  `group:"what" placeholder:"X" help:"Count users with a value greater than this."`
	Below       *number  `group:"what" placeholder:"X" help:"Count users with a value less than this."`
	Mechanism   string   `group:"what" placeholder:"NAME" help:"Mechanism; absent: the statistic's default."`
	Tilt        []int64  `group:"what" placeholder:"A,B" sep:"," help:"Weights of the two sides, for margin."`
	Calibration string   `default:"tight" enum:"tight,published" group:"what" placeholder:"NAME" help:"tight, or published: the papers' formulas, for smooth_*."`
	Beta        *number  `group:"what" placeholder:"B" help:"β of smooth_*."`
	Interval    *number  `group:"what" placeholder:"LEVEL" help:"Release an interval too, such as 0.95 (paid; shown with --json)."`

	Lower   number `required:"" group:"privacy" placeholder:"X" help:"Least value that counts as it is. Bounds are public: never take them from the data."`
	Upper   number `required:"" group:"privacy" placeholder:"X" help:"Greatest value that counts as it is."`
	Step    number `required:"" group:"privacy" placeholder:"X" help:"Distance of the values that can be released."`
	Prior   string `default:"cells" enum:"cells,uniform" group:"privacy" placeholder:"NAME" help:"Base measure: cells (logarithmic away from zero) or uniform."`
	Epsilon number `required:"" group:"privacy" placeholder:"E" help:"ε of each draw: what each user loses by it."`
	Delta   number `default:"0" group:"privacy" placeholder:"D" help:"δ of each draw, for mechanisms that need one."`
	Repeat  int    `default:"1" group:"privacy" placeholder:"N" help:"Draw N times; each draw costs ε again."`

	Value        string `group:"input" placeholder:"COLUMN" help:"Read CSV with a header: column of the values."`
	User         string `group:"input" placeholder:"COLUMN" help:"Column of the users; absent: each row is a user of its own."`
	Contribution string `default:"last" enum:"first,last,min,max,random" group:"input" placeholder:"NAME" help:"Which value of a user counts: first, last (by row), min, max or random."`

	JSON bool `name:"json" help:"Print one JSON object a draw."`
}

// Help is the long help.
func (releaseCommand) Help() string {
	return `Reads numbers, one user each, parted by spaces or lines; or, with --value, a CSV file with a header.
Prints the value drawn, one line a draw (for quantiles one value for each p).

  louver release --statistic median --lower 0 --upper 100 --step 1 --epsilon 0.5 <ages.txt
  louver release --user id --value ms --statistic quantile --p 0.99 --lower 0 --upper 60000 --step 1 --epsilon 1 requests.csv

Each draw costs every user in the data ε; draws add up, and nothing keeps count of them here.`
}

// number is an exact decimal on the command line.
type number struct{ decimal.Decimal }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *number) UnmarshalText(text []byte) (err error) {
	n.Decimal, err = config.Number(string(text))
	return err
}

// or gives the number, or nil.
func (n *number) orNil() *decimal.Decimal {
	if n == nil {
		return nil
	}
	return &n.Decimal
}

// Run reads, draws and prints.
func (c *releaseCommand) Run(app *App) error {
	query, err := c.query()
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
	random := bufio.NewReader(rand.Reader)
	for range c.Repeat {
		draw, err := mechanism.Draw(sample, mechanisms.Public{}, random)
		if err != nil {
			return err
		}
		line, err := c.line(query, mechanism, draw)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(app.Out, line); err != nil {
			return err
		}
	}
	return nil
}

func (c *releaseCommand) query() (mechanisms.Query, error) {
	q := mechanisms.Query{Statistic: mechanisms.Statistic(c.Statistic), Mechanism: c.Mechanism, Above: c.Above.orNil(), Below: c.Below.orNil(),
		Interval: c.Interval.orNil(), Epsilon: c.Epsilon.Decimal, Delta: c.Delta.Decimal, Prior: c.Prior}
	for _, p := range c.P {
		q.P = append(q.P, p.Decimal)
	}
	if c.Trim != nil {
		q.Trim = c.Trim.Decimal
	}
	if c.Beta != nil {
		q.Beta = c.Beta.Decimal
	}
	if c.Calibration != "tight" {
		q.Calibration = c.Calibration
	}
	switch {
	case c.Repeat < 1:
		return q, fmt.Errorf("--repeat %d; want at least 1", c.Repeat)
	case len(c.P) == 0 && (q.Statistic == mechanisms.Quantile || q.Statistic == mechanisms.Quantiles):
		return q, fmt.Errorf("--statistic %s without --p; want --p, such as --p 0.9", q.Statistic)
	case c.Trim == nil && q.Statistic == mechanisms.TrimmedMean:
		return q, errors.New("--statistic trimmed_mean without --trim; want --trim, such as --trim 0.05")
	case c.Trim != nil && q.Statistic != mechanisms.TrimmedMean:
		return q, fmt.Errorf("--trim %s with --statistic %s; want it with trimmed_mean only", c.Trim, q.Statistic)
	case c.User != "" && c.Value == "":
		return q, fmt.Errorf("--user %s without --value; want --value with the column of the values", c.User)
	case len(c.Tilt) == 2:
		q.Tilt = [2]int64{c.Tilt[0], c.Tilt[1]}
	case len(c.Tilt) != 0:
		return q, fmt.Errorf("--tilt has %d weights; want two, such as --tilt 1,2", len(c.Tilt))
	}
	var err error
	q.Grid, err = mechanisms.NewGrid(c.Lower.Decimal, c.Upper.Decimal, c.Step.Decimal)
	return q, err
}

// drawn is a draw in JSON, with the words of an output record.
type drawn struct {
	Statistic string      `json:"statistic"`
	Mechanism string      `json:"mechanism"`
	Epsilon   json.Number `json:"epsilon"`
	Delta     json.Number `json:"delta"`
	*drawnValue
	Values   []drawnValue   `json:"values,omitempty"` // of quantiles
	Interval *drawnInterval `json:"interval,omitempty"`
}

type drawnValue struct {
	P         *json.Number `json:"p"`
	Value     json.Number  `json:"value"`
	RankError *float64     `json:"rank_error_95"`
}

type drawnInterval struct {
	Level json.Number `json:"level"`
	Low   json.Number `json:"low"`
	High  json.Number `json:"high"`
}

// line writes a draw.
func (c *releaseCommand) line(q mechanisms.Query, m mechanisms.Mechanism, draw mechanisms.Draw) (string, error) {
	text := func(value int64) string {
		if m.Counts() {
			return fmt.Sprint(value)
		}
		return q.Grid.Text(value)
	}
	values := make([]drawnValue, len(draw.Values))
	plain := make([]string, len(draw.Values))
	for i, v := range draw.Values {
		plain[i] = text(v)
		values[i].Value = json.Number(plain[i])
		if i < len(draw.RankError95) && !math.IsNaN(draw.RankError95[i]) {
			values[i].RankError = &draw.RankError95[i]
		}
		p := json.Number("0.5")
		switch {
		case i < len(q.P):
			p = json.Number(q.P[i].String())
		case q.Statistic != mechanisms.Median:
			continue
		}
		values[i].P = &p
	}
	if !c.JSON {
		return strings.Join(plain, " "), nil
	}
	promise := m.Promise()
	out := drawn{Statistic: string(q.Statistic), Mechanism: m.Name(), Epsilon: json.Number(promise.Epsilon.String()), Delta: json.Number(promise.Delta.String())}
	if q.Statistic == mechanisms.Quantiles {
		out.Values = values
	} else {
		out.drawnValue = &values[0]
	}
	if q.Interval != nil {
		out.Interval = &drawnInterval{json.Number(q.Interval.String()), json.Number(text(draw.Low)), json.Number(text(draw.High))}
	}
	b, err := json.Marshal(out)
	return string(b), err
}
