package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/ledger"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
	"github.com/louver/louver/windows/period"
)

// totalFlags say what running total to draw.
type totalFlags struct {
	Since    string        `for:"since" group:"total" placeholder:"PERIOD" help:"Print a running total of users, of amounts (--statistic sum) or a histogram, in the period that holds --from: hour, midnight, monday or month. All values together cost ε once."`
	Zone     string        `rare:"" for:"watch,since,active" group:"total" placeholder:"NAME" help:"Time zone of the period, and of times that name none, such as Europe/Berlin. Absent: UTC."`
	Update   time.Duration `rare:"" for:"since,active" group:"total" placeholder:"D" help:"Time from one value to the next, a multiple of --window. Absent: that of --window."`
	MaxTotal *cli.Number   `rare:"" for:"since" group:"total" placeholder:"X" help:"The most that one user adds in the period: a number of windows, for a sum an amount."`
}

// total prints a running total of a file.
func (c *ReleaseCommand) total(app *cli.App) error {
	if c.Statistic == "" || c.Statistic == string(mechanisms.Count) {
		c.seen()
	}
	of, schedule, err := c.totalling()
	if err != nil {
		return cli.UsageError(err)
	}
	bags, err := c.windowed(app, schedule)
	if err != nil {
		return err
	}
	return c.grow(app.Out, of, schedule, bags)
}

// totalling checks the flags. The schedule has the windows of the period.
func (c *ReleaseCommand) totalling() (*config.Total, windows.Schedule, error) {
	s := windows.Schedule{Size: c.Window, Every: c.Window}
	if err := without("--since", append(c.columns(), needed{"--from", c.From, "a time in the period"})...); err != nil {
		return nil, s, err
	}
	of := &config.Total{Head: config.Head{Name: "total", Definition: "total", Groups: 1}, Zone: c.Zone,
		Update: cmp.Or(c.Update, c.Window)}
	unit := period.Unit(c.Since)
	var err error
	if of.Query, err = c.TotalQuery(unit, c.Window, of.Update, c.MaxTotal); err != nil {
		return nil, s, err
	}
	if c.Mechanism != "" && c.Mechanism != mechanisms.TotalMechanisms()[0] {
		return nil, s, fmt.Errorf("--since with --mechanism %s; want %s: others are for budgets with a delta", c.Mechanism,
			mechanisms.TotalMechanisms()[0])
	}
	if of.Calendar, err = period.NewCalendar(unit, c.Zone); err != nil {
		return nil, s, fmt.Errorf("--zone %w", err)
	}
	at, err := moment("--from", c.From)
	if err != nil {
		return nil, s, err
	}
	s.Start, s.End = of.PeriodAt(at, c.Window)
	of.Query.Epsilon = c.Epsilon.Decimal
	users := of.Query.Statistic == mechanisms.Count && of.Query.Above == nil && of.Query.Below == nil
	if of.Query.Grid, err = c.Grid(users); err != nil {
		return nil, s, err
	}
	if of.Mechanism, err = mechanisms.NewTotal(of.Query); err != nil {
		return nil, s, err
	}
	return of, s, s.Validate()
}

// grow goes through the windows of a period in order, and prints a total, or that of each bucket, at the end of each
// leaf. Each leaf is one window of the ledger.
//
// Privacy: the allowance lets a user add Most to all leaves and buckets in all, in absolute amounts, for which the
// mechanism promises ε. Which leaves there are depends on the flags alone.
func (c *ReleaseCommand) grow(out io.Writer, of *config.Total, s windows.Schedule, bags map[int64]*windows.Bag) error {
	m, allowance, starts := of.Mechanism, windows.NewAllowance(of.Allowance()), slices.Sorted(maps.Keys(bags))
	var figure config.Ongoing = of
	if m.Buckets != nil {
		figure = &config.SoFar{Total: *of}
	}
	d := newOngoing(figure, c.Window, budget.Limit{Epsilon: of.Query.Epsilon})
	amounts := make([]int64, m.Places())
	for leaf, begin := int64(1), s.Start; begin < s.End; leaf++ {
		end := min(begin+int64(of.Update), s.End)
		for ; len(starts) > 0 && starts[0] < end; starts = starts[1:] {
			clear(amounts)
			bags[starts[0]].Visit(func(u windows.UserHash, seen []windows.Contribution) {
				allowance.Visit(u, seen, amounts)
			})
			m.Enter(d.open, leaf, amounts)
		}
		values, err := d.decide(windows.Window{Start: begin, End: end}, of.Update)
		if err != nil {
			return err
		}
		for _, f := range values {
			if err := c.sayTotal(out, of, f, leaf); err != nil {
				return err
			}
		}
		begin = end
	}
	return nil
}

// grown is a value of a total, in JSON, with the names of an output record. Epsilon is that of all values together.
type grown struct {
	Start     string           `json:"window_start"`
	End       string           `json:"window_end"`
	Statistic string           `json:"statistic"`
	Mechanism string           `json:"mechanism"`
	Since     string           `json:"since"`
	Value     json.Number      `json:"value"`
	Raw       *json.Number     `json:"raw,omitempty"`
	Smoothed  *record.Smoothed `json:"smoothed,omitempty"`
	Error     json.Number      `json:"error_95"`
	*record.BandFields
	Buckets *record.Distribution `json:"buckets,omitempty"`
	Final   bool                 `json:"final"`
	Epsilon json.Number          `json:"epsilon"`
}

// bandOfUsers is the band of a number of users, which is never below 0.
func bandOfUsers(value, off decimal.Decimal) *ledger.Band {
	return ledger.NewBand(ledger.Value{Value: &value, Error95: &off}, false, ledger.Limits{Least: &decimal.Zero})
}

// sayTotal prints the total after a leaf.
func (c *ReleaseCommand) sayTotal(out io.Writer, of *config.Total, f record.Value, leaf int64) error {
	end := cli.Instant(f.WindowEnd)
	if c.JSON {
		return json.NewEncoder(out).Encode(grown{Start: cli.Instant(f.WindowStart), End: end, Statistic: f.Statistic,
			Mechanism: f.Mechanism, Since: cli.Instant(*f.Since), Value: *f.Value, Raw: f.Raw, Smoothed: f.Smoothed,
			Error: *f.Error95, BandFields: f.BandFields, Buckets: f.Buckets, Final: *f.Final,
			Epsilon: json.Number(of.Query.Epsilon.String())})
	}
	if x := f.Buckets; x != nil {
		m := of.Mechanism
		e := m.Buckets.Estimate(x.Raw, x.Coarse, mechanisms.TotalNoise(m, leaf), 1)
		_, err := out.Write(bucketLines(nil, end+" ", x, e, true))
		return err
	}
	_, err := fmt.Fprintf(out, "%s %s %s\n", end, *f.Value, boundBeside(f))
	return err
}
