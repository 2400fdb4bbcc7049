package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/cmd/louver/internal/cli"
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows"
)

// activeFlags say what number of active users to draw.
type activeFlags struct {
	Active time.Duration `for:"active" group:"total" placeholder:"D" help:"Print how many users were seen in the last D, from --from on, every --update. Any 24 hours cost ε once."`
}

// seenLately draws the number of active users from a file.
type seenLately struct {
	of       *config.Active
	schedule windows.Schedule
	lost     budget.Limit // what any day costs, at the δ at which it is told
	days     int64        // in all, the last one begun
	all      cost.Loss    // what they cost together
	json     bool
}

// active prints a number of active users of a file.
func (c *ReleaseCommand) active(app *cli.App) error {
	c.seen()
	d, err := c.lately()
	if err != nil {
		return cli.UsageError(err)
	}
	if d.days > 1 {
		app.Say("louver: from %s to %s there are %d days, which together cost one user at most %s", stamp(d.schedule.Start),
			stamp(d.schedule.End), d.days, d.all)
	}
	bags, err := c.windowed(app, d.schedule)
	if err != nil {
		return err
	}
	return d.through(app.Out, bags)
}

// lately checks the flags.
func (c *ReleaseCommand) lately() (*seenLately, error) {
	if err := without("--active", append(c.columns(),
		needed{"--from", c.From, "the start of the first window"})...); err != nil {
		return nil, err
	}
	update := cmp.Or(c.Update, c.Window)
	q, delta, err := c.ActiveQuery(c.Active, c.Window, update)
	if err != nil {
		return nil, err
	}
	q.Epsilon = c.Epsilon.Decimal
	if q.Grid, err = c.Grid(q.Above == nil && q.Below == nil); err != nil {
		return nil, err
	}
	d := &seenLately{json: c.JSON, of: &config.Active{Head: config.Head{Name: "active", Definition: "active", Groups: 1},
		Query: q, Within: c.Active, Update: update, Size: c.Window, Every: c.Window, Listed: 1}}
	if d.of.Mechanism, err = mechanisms.NewActive(q); err != nil {
		return nil, err
	}
	if d.schedule, err = c.stretch(config.Day); err != nil {
		return nil, err
	}
	if s := d.schedule; s.Start/int64(update) == s.End/int64(update) {
		return nil, fmt.Errorf("--update %s; want a shorter one, or a later --to: no value falls between %s and %s",
			config.Duration(update), stamp(s.Start), stamp(s.End))
	}
	lost := cli.Alone(delta, d.of.Cost().Items...)
	d.lost = budget.Limit{Epsilon: lost.Epsilon, Delta: lost.Delta, Per: config.Day}
	d.days = (d.schedule.End - d.schedule.Start + int64(config.Day) - 1) / int64(config.Day)
	together := slices.Clone(d.of.Cost().Items)
	for i := range together {
		together[i].Times *= d.days
	}
	d.all = cli.Alone(delta, together...)
	return d, nil
}

// through goes through the windows in order, and prints a number at the end of each leaf. The budget pays for each day,
// with room for what rounding adds.
//
// Privacy: the presence makes a user 0 or 1 of each number, for which the mechanism promises ε in any day. Which
// numbers there are depends on the flags alone.
func (d *seenLately) through(out io.Writer, bags map[int64]*windows.Bag) error {
	present, limit := windows.NewPresence(d.of.Presence()), d.lost
	limit.Epsilon = limit.Epsilon.Mul(decimal.NewFromInt(2))
	o := newOngoing(d.of, d.of.Size, limit)
	for w, more := d.schedule.First(), true; more; w, more = d.schedule.Next(w) {
		if err := present.Begin(w); err != nil {
			return err
		}
		if bag := bags[w.Start]; bag != nil {
			bag.Visit(present.Visit)
		}
		if d.of.Finishes(w.End) {
			o.open[0] = d.of.Mechanism.Add(o.open[0], o.leaf, present.Active()[0])
		}
		values, err := o.decide(w, d.of.Every)
		if err != nil {
			return err
		}
		for _, f := range values {
			if err := d.say(out, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// counted is a number of active users, in JSON, with the names of an output record. Charge is what any 24 hours cost.
// EpsilonLost and DeltaLost are what that comes to if nothing else is drawn.
type counted struct {
	Start      string       `json:"window_start"`
	End        string       `json:"window_end"`
	Statistic  string       `json:"statistic"`
	Mechanism  string       `json:"mechanism"`
	Active     string       `json:"active"`
	Incomplete bool         `json:"incomplete"`
	Value      json.Number  `json:"value"`
	Raw        *json.Number `json:"raw,omitempty"`
	Error      json.Number  `json:"error_95"`
	*record.BandFields
	Quality     record.Quality  `json:"quality"`
	Epsilon     json.Number     `json:"epsilon"`
	Charge      []record.Charge `json:"charge"`
	EpsilonLost json.Number     `json:"epsilon_lost"`
	DeltaLost   json.Number     `json:"delta_lost"`
}

func (d *seenLately) say(out io.Writer, f record.Value) error {
	end := cli.Instant(f.WindowEnd)
	if d.json {
		return json.NewEncoder(out).Encode(counted{Start: cli.Instant(f.WindowStart), End: end, Statistic: f.Statistic,
			Mechanism: f.Mechanism, Active: f.Active, Incomplete: f.Incomplete, Value: *f.Value, Raw: f.Raw,
			Error: *f.Error95, BandFields: f.BandFields, Quality: f.Quality,
			Epsilon: json.Number(d.of.Query.Epsilon.String()), Charge: record.Charged(d.of.Cost().Items),
			EpsilonLost: json.Number(d.lost.Epsilon.String()), DeltaLost: json.Number(d.lost.Delta.String())})
	}
	more := ""
	if f.Incomplete {
		more = " incomplete"
	}
	_, err := fmt.Fprintf(out, "%s %s %s%s\n", end, *f.Value, boundBeside(f), more)
	return err
}
