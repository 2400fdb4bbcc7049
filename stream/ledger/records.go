package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// Size is how many records the entry has.
func (e Entry) Size() int { return len(e.Groups) * (len(e.Releases) + len(e.Watches)) }

// Records expands the entry into its output records, group by group, in the order of the releases and the watches. The
// same entry gives the same bytes. Values are JSON: whoever writes an entry of [record.FormatAvro] converts them with
// [record.EncodeAvro]. The entry must be one that [Entry.Encode] accepts.
func (e Entry) Records() ([]record.Record, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	out := make([]record.Record, 0, e.Size())
	for _, g := range e.Groups {
		for i := range e.Releases {
			r, err := e.record(e.figure(g, i))
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		for i := range e.Watches {
			r, err := e.record(e.watchFigure(g, i))
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func (e Entry) record(f record.Figure) (record.Record, error) {
	r, err := record.New(f, record.Destination{App: e.App, Topic: e.Output, Format: e.OutputFormat})
	if err != nil {
		return record.Record{}, fmt.Errorf("%s: %w", e.Name(), err)
	}
	return r, nil
}

// digits writes a decimal exactly.
func digits(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func optionalDigits(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	n := digits(*d)
	return &n
}

// figure returns the figure of the i-th release of a group.
func (e Entry) figure(g Group, i int) record.Figure {
	r := e.Releases[i]
	f := e.blank(g, r)
	switch {
	case e.Reason != "":
		f.Status, f.Reason = record.Withheld, &e.Reason
		f.Epsilon, f.Delta = "0", "0"
	case g.Values[i].Value == nil:
		f.Status, f.Reason = record.Withheld, &g.Reason
	default:
		fill(&f, g.Values[i])
	}
	return f
}

// blank returns the figure of a release of a group, without its value.
func (e Entry) blank(g Group, r record.Series) record.Figure {
	return record.Figure{
		Schema: record.Schema,
		ID:     fmt.Sprintf("%s/%s/%s/%s", e.Stream, g.Name, record.Whole(e.WindowStart), r.Name),
		Stream: e.Stream, Group: g.Name, Release: r.Name,
		WindowStart: record.Whole(e.WindowStart).Time, WindowEnd: record.Whole(e.WindowEnd).Time,
		DueAt: record.Whole(e.DueAt).Time, Incomplete: e.Incomplete,
		Statistic: r.Statistic, P: optionalDigits(r.P), Mechanism: r.Mechanism, Unit: r.Unit,
		Status: record.OK, Epsilon: digits(r.Epsilon), Delta: digits(r.Delta), MaxWindows: figureCap(e.Cap), Users: g.Users,
		StreamSpent: optionalDigits(e.Standing.StreamSpent),
		Budget:      e.Budget, BudgetSpent: optionalDigits(e.Standing.BudgetSpent),
		BudgetLimit: digits(e.Limit.Epsilon), BudgetLeft: e.Standing.WindowsLeft,
	}
}

// fill says what was drawn.
func fill(f *record.Figure, v Value) {
	f.Mechanism = cmp.Or(v.Mechanism, f.Mechanism)
	f.Value, f.RankError95 = optionalDigits(v.Value), optionalDigits(v.RankError95)
	f.PLow, f.PHigh = optionalDigits(v.PLow), optionalDigits(v.PHigh)
	f.Error95, f.Quality = optionalDigits(v.Error95), record.Quality(v.Quality)
	if c := v.Clip; c != nil {
		f.Clip = &[2]json.Number{digits(c[0]), digits(c[1])}
	}
	if n := v.Interval; n != nil {
		f.Interval = &record.Interval{Level: digits(n.Level), Low: digits(n.Low), High: digits(n.High)}
	}
	if s := v.Smoothed; s != nil {
		f.Smoothed = &record.Smoothed{Value: digits(s.Value), Low: optionalDigits(s.Low), High: optionalDigits(s.High)}
	}
}

// watchFigure returns the figure of the i-th watch in a group. That of an alarm is 1 from the window in which it fires
// until it may be armed again, 0 while it is silent.
func (e Entry) watchFigure(g Group, i int) record.Figure {
	w := e.Watches[i]
	if w.Release != nil {
		return e.onChangeFigure(g, i)
	}
	cost, _ := e.costs(w) // Records has checked the entry
	f := e.blank(Group{Name: g.Name}, record.Series{
		Name: w.Name, Statistic: record.StatisticWatch, Mechanism: record.MechanismWatch,
		Epsilon: cost.Epsilon, Delta: cost.Delta,
	})
	f.MaxWindows = nil // a watch looks at everybody
	f.Instance, f.Excess95 = w.Instance, optionalDigits(w.Excess95)
	value, reason := json.Number("0"), w.Reason
	if w.Fired != nil {
		switch fired := e.group(*w.Fired); {
		case g.Name == *w.Fired:
			value, reason, f.Since = "1", "", w.Since
		case e.group(g.Name) > fired: // nobody looked
			reason = record.NotArmed
		}
	}
	if reason == "" {
		f.Value = &value
		return f
	}
	f.Status, f.Reason = record.Withheld, &reason
	if reason == record.BudgetExhausted {
		f.Epsilon, f.Delta = "0", "0"
	}
	return f
}

// onChangeFigure returns the figure of the i-th watch in a group: the value that was last drawn for the group.
func (e Entry) onChangeFigure(g Group, i int) record.Figure {
	w := e.Watches[i]
	cost, _ := e.costs(w) // Records has checked the entry
	r := *w.Release
	r.Epsilon, r.Delta = cost.Epsilon, cost.Delta
	f := e.blank(Group{Name: g.Name}, r)
	f.MaxWindows, f.Instance, f.Changed = nil, w.Instance, new(w.Draws(g.Name)) // it looks at everybody
	if w.Looks() {
		v := w.Values[e.group(g.Name)]
		fill(&f, v.Figure)
		f.Since = new(record.Whole(v.Since).Time)
		return f
	}
	f.Status, f.Reason = record.Withheld, &w.Reason
	if w.Reason == record.BudgetExhausted {
		f.Epsilon, f.Delta = "0", "0"
	}
	return f
}

func figureCap(c budget.Cap) *record.Cap {
	if c == (budget.Cap{}) {
		return nil
	}
	return &record.Cap{Count: c.Count, Per: budget.FormatPer(c.Per)}
}
