package ledger

import (
	"cmp"
	"encoding/json"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// digits writes a decimal exactly.
func digits(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func optionalDigits(d *decimal.Decimal) *json.Number {
	if d == nil {
		return nil
	}
	n := digits(*d)
	return &n
}

// blank returns the figure of a release of a group, without its value.
func (e Entry) blank(g Group, r record.Series) record.Figure {
	f := record.Figure{
		Schema: record.Schema,
		Stream: e.Stream, Group: g.Name, Release: r.Name,
		WindowStart: record.Whole(e.WindowStart).Time, WindowEnd: record.Whole(e.WindowEnd).Time,
		DueAt: record.Whole(e.DueAt).Time, Incomplete: e.Incomplete,
		From: r.From, Statistic: r.Statistic, P: optionalDigits(r.P), Mechanism: r.Mechanism, Unit: r.Unit,
		Status: record.OK, Epsilon: digits(r.Epsilon), Delta: digits(r.Delta), MaxWindows: figureCap(e.Cap),
		Users:       g.Users,
		StreamSpent: optionalDigits(e.Standing.StreamSpent),
		Budget:      e.Budget, BudgetSpent: optionalDigits(e.Standing.BudgetSpent),
		BudgetLimit: digits(e.Limit.Epsilon), BudgetLeft: e.Standing.WindowsLeft,
	}
	if e.Bands {
		f.BandFields = &record.BandFields{}
	}
	if l := e.Standing.Lost; l != nil {
		charge, _ := e.Charge() // Records has checked the entry
		f.LossFields = &record.LossFields{StreamLost: optionalDigits(l.Stream), BudgetLost: optionalDigits(l.Budget),
			WindowsUsed: l.Used, Charge: record.Charged(charge.Items)}
	}
	f.Found = e.List != nil || e.Discovery != nil
	if e.List != nil {
		if of := e.List.Of; of != nil {
			f.List = &of.Time
		}
		f.Other = g.Name == e.List.Rules.Other && g.Name != ""
	}
	f.ID = f.At(record.Whole(e.WindowStart))
	return f
}

// fill copies what was drawn into a figure.
func fill(f *record.Figure, v Value) {
	f.Mechanism = cmp.Or(v.Mechanism, f.Mechanism)
	f.Value, f.Raw, f.RankError95 = optionalDigits(v.Value), optionalDigits(v.Raw), optionalDigits(v.RankError95)
	fillBand(f, v.Band)
	f.PLow, f.PHigh = optionalDigits(v.PLow), optionalDigits(v.PHigh)
	f.Error95, f.Quality = optionalDigits(v.Error95), record.Quality(v.Quality)
	if c := v.Clip; c != nil {
		f.Clip = &[2]json.Number{digits(c[0]), digits(c[1])}
	}
	if o := v.Outside; o != nil {
		f.Outside = &record.Outside{Value: o.Value, Error95: o.Error95}
		f.Outside95, f.Cut95 = &o.Most, optionalDigits(o.Cut95)
	}
	if n := v.Interval; n != nil {
		f.Interval = &record.Interval{Level: digits(n.Level), Low: digits(n.Low), High: digits(n.High)}
	}
	if s := v.Smoothed; s != nil {
		f.Smoothed = &record.Smoothed{Value: digits(s.Value), Low: optionalDigits(s.Low), High: optionalDigits(s.High)}
	}
}

// fillBand copies a band into a figure. The entry of a band says that its records have one.
func fillBand(f *record.Figure, b *Band) {
	if b != nil {
		f.BandFields = b.Fields()
	}
}

// Figures are what the records of the releases say, group by group.
func (e Entry) Figures() (all []record.Figure) {
	for _, g := range e.Groups {
		for i := range e.Releases {
			all = append(all, e.figure(g, i))
		}
	}
	return all
}

// charge says what the record was charged, where it is not the window's own charge.
func charge(f *record.Figure, items []budget.Item) {
	if f.LossFields != nil {
		f.Charge = record.Charged(items)
	}
}

// withhold says why a figure has no value. It costs nothing if the budget could not pay.
func withhold(f *record.Figure, reason string) {
	f.Status, f.Reason = record.Withheld, &reason
	if reason == record.BudgetExhausted {
		f.Epsilon, f.Delta = "0", "0"
	}
}

func figureCap(c budget.Cap) *record.Cap {
	if c == (budget.Cap{}) {
		return nil
	}
	return &record.Cap{Count: c.Count, Per: budget.FormatPer(c.Per)}
}
