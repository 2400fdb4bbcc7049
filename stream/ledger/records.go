package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget"
	"github.com/louver/louver/stream/record"
)

// Size is how many records the entry has.
func (e Entry) Size() int {
	groups, ending := e.ending()
	if e.Discovery != nil {
		return 1 + len(e.Discovery.Found) + len(groups)*len(ending)
	}
	series, some, together := len(e.Releases), 0, 0
	for _, s := range e.Continual {
		for k, g := s.kind(), 0; g < len(e.Groups); g++ {
			if k.publishes(s, e, e.Groups[g].Name) {
				some += len(k.series(s))
			}
		}
	}
	for _, r := range e.Releases {
		if e.Together.has(r) {
			together++
		}
	}
	for _, up := range e.Rollups {
		n := len(e.rollupSeries(up))
		if series += n; e.Together != nil {
			together += n
		}
	}
	return len(e.Groups)*series + together + some + len(groups)*len(ending)
}

// Records expands the entry into its output records, group by group, in the order of the releases, the roll-ups and the
// continual figures. Records without a value, which end a series, come last. The same entry gives the same bytes.
// Values are JSON: whoever writes an entry of [record.FormatAvro] converts them with [record.EncodeAvro]. The entry
// must be one that [Entry.Encode] accepts.
func (e Entry) Records() ([]record.Record, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	records := e.windowRecords
	if e.Discovery != nil {
		records = e.discoveryRecords
	}
	out, err := records()
	if err != nil {
		return nil, err
	}
	return append(out, e.tombstones()...), nil
}

// windowRecords are those of a window.
func (e Entry) windowRecords() ([]record.Record, error) {
	histograms, err := e.histograms()
	if err != nil {
		return nil, err
	}
	out := make([]record.Record, 0, e.Size())
	write := func(all ...record.Value) error {
		for _, f := range all {
			r, err := e.record(f)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	}
	for at, g := range e.Groups {
		for i, of := range e.Releases {
			f := e.value(g, i)
			if h := histograms[i]; h != nil && f.Value != nil {
				f.Buckets = h.distribution(of.Buckets.Ends, *g.Values[i].Numbers, 1)
			}
			if len(of.Over) > 0 {
				f.Over = e.over(of.Name, at)
			}
			if err := write(f); err != nil {
				return nil, err
			}
		}
		for _, up := range e.Rollups {
			figures, err := e.rollupValues(up, g.Name, up.group(at))
			if err := errors.Join(err, write(figures...)); err != nil {
				return nil, err
			}
		}
		for _, s := range e.Continual {
			if err := write(e.continualValues(s, g)...); err != nil {
				return nil, err
			}
		}
	}
	together, err := e.togetherValues(histograms)
	return out, errors.Join(err, write(together...))
}

func (e Entry) destination() record.Destination {
	return record.Destination{App: e.App, Topic: e.Output, Format: e.OutputFormat}
}

func (e Entry) record(f record.Value) (record.Record, error) {
	r, err := record.New(f, e.destination())
	if err != nil {
		return record.Record{}, fmt.Errorf("%s: %w", e.Name(), err)
	}
	return r, nil
}

// value returns what the record says of the i-th release of a group.
func (e Entry) value(g Group, i int) record.Value {
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

// continualValues returns what the records of a continual figure say about a group, if the window has some. Such a
// figure looks at everybody, so they have no cap, and nothing in them was drawn for the window itself. What is computed
// from another figure costs nothing.
func (e Entry) continualValues(s Continual, g Group) (all []record.Value) {
	k := s.kind()
	if !k.publishes(s, e, g.Name) {
		return nil
	}
	cost, _ := e.costs(s) // Records has checked the entry
	for i, of := range k.series(s) {
		paid := s.Looks() && of.From == ""
		if of.From == "" {
			of.Epsilon, of.Delta = cost.Epsilon, cost.Delta
		}
		f := e.blank(Group{Name: g.Name}, of)
		f.MaxWindows, f.Instance = nil, s.Instance
		if f.Charge = record.Charged(nil); paid {
			f.Charge = record.Charged(cost.Items)
		}
		k.fill(&f, s, e, g, i)
		all = append(all, f)
	}
	return all
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

// blank returns the record of a release of a group, without its value.
func (e Entry) blank(g Group, r record.Series) record.Value {
	f := record.Value{
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
	charge, _ := e.Charge() // Records has checked the entry
	lost := e.Standing.Lost
	f.BandFields = &record.BandFields{}
	f.LossFields = &record.LossFields{StreamLost: optionalDigits(lost.Stream), BudgetLost: optionalDigits(lost.Budget),
		WindowsUsed: lost.Used, Charge: record.Charged(charge.Items)}
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

// fill copies what was drawn into a record.
func fill(f *record.Value, v Value) {
	f.Mechanism = cmp.Or(v.Mechanism, f.Mechanism)
	f.Value, f.Raw, f.RankError95 = optionalDigits(v.Value), optionalDigits(v.Raw), optionalDigits(v.RankError95)
	f.BandFields = v.Band.Fields()
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

// Values are what the records of the releases and of the continual figures say, group by group.
func (e Entry) Values() (all []record.Value) {
	for _, g := range e.Groups {
		for i := range e.Releases {
			all = append(all, e.value(g, i))
		}
		for _, s := range e.Continual {
			all = append(all, e.continualValues(s, g)...)
		}
	}
	return all
}

// withhold says why a record has no value. It costs nothing if the budget could not pay.
func withhold(f *record.Value, reason string) {
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

func wholeNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// rollupValues returns what the records of a roll-up say about a group.
func (e Entry) rollupValues(up Rollup, name string, of RollupGroup) (all []record.Value, err error) {
	h, err := e.histogramAt(e.release(up.Release))
	if err != nil {
		return nil, err
	}
	windows, start := *of.Windows, up.Since
	if up.Last() { // windows that share a block begin with the same one
		start = record.Whole(e.WindowStart)
	}
	for i, r := range e.rollupSeries(up) {
		f := e.blank(Group{Name: name}, r)
		f.Release += "." + up.Period
		if f.From != "" {
			f.From += "." + up.Period
		}
		f.ID = fmt.Sprintf("%s/%s/%s/%s", e.Stream, f.Group, start, f.Release)
		f.WindowStart, f.Incomplete = up.Since.Time, windows.Incomplete > 0
		f.Windows, f.Counts = &windows, record.UserWindows
		f.Charge = record.Charged(nil)
		switch {
		case windows.Released == 0:
			f.Status, f.Reason = record.Withheld, new(record.BudgetExhausted)
		case of.Values[i].Value == nil:
			f.Status, f.Reason = record.Withheld, new(record.TooFewUsers)
		default:
			v := of.Values[i]
			fill(&f, v)
			if n := v.Numbers; n != nil {
				f.Buckets = h.distribution(r.Buckets.Ends, *n, windows.Released)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// rollupSeries returns the series of a roll-up: the histogram's and those of the figures from it.
func (e Entry) rollupSeries(up Rollup) (all []record.Series) {
	for _, r := range e.Releases {
		if r.Name == up.Release {
			r.Epsilon, r.Delta = decimal.Zero, decimal.Zero
			all = slices.Insert(all, 0, r)
		} else if r.From == up.Release {
			all = append(all, r)
		}
	}
	return all
}
