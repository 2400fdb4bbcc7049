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
func (e Entry) Size() int { return len(e.Groups) * (len(e.Releases) + len(e.Steps)) }

// Records expands the entry into its output records, group by group, in the order of the releases and the steps. The
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
		for _, s := range e.Steps {
			r, err := e.record(s.kind().figure(s, e, g))
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

// blankStep returns the figure of a step about a group, without its value. A step looks at everybody, so it has no cap,
// and nothing that was drawn for the window itself.
func (e Entry) blankStep(s Step, g Group, of record.Series) record.Figure {
	f := e.blank(Group{Name: g.Name}, of)
	f.MaxWindows, f.Instance = nil, s.Instance
	return f
}

// withheld says why a figure of a step has no value. It costs nothing if no instance could be paid.
func withheld(f record.Figure, reason string) record.Figure {
	f.Status, f.Reason = record.Withheld, &reason
	if reason == record.BudgetExhausted {
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
