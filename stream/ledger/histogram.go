package ledger

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
	"github.com/louver/louver/stream/record"
)

// Histogram describes a histogram of an entry: what all groups have in common.
type Histogram struct {
	Name    string
	Grid    *mechanisms.Grid
	Buckets *histogram.Buckets
	Noise   histogram.Noise
	free    []freeFigure
}

// freeFigure is a figure that is computed from a histogram, and its place among the releases.
type freeFigure struct {
	at     int
	figure *mechanisms.Computed
}

// histogramAt returns the histogram that the i-th release describes, with the figures that are computed from it. It is
// nil if that release is no histogram.
func (e Entry) histogramAt(i int) (*Histogram, error) {
	r := e.Releases[i]
	if r.Buckets == nil {
		return nil, nil
	}
	h, err := newHistogram(r, e.Releases)
	if err != nil {
		return nil, err
	}
	h.Noise = mechanisms.HistogramNoise(r.Mechanism, r.Epsilon.InexactFloat64(), h.Buckets.Levels())
	return h, nil
}

// newHistogram returns the histogram that a series describes, with those of some figures that are computed from it. It
// does not know the noise.
func newHistogram(r record.Series, figures []record.Series) (*Histogram, error) {
	g, buckets, err := r.Buckets.Open()
	if err != nil {
		return nil, fmt.Errorf("release %q: %w", r.Name, err)
	}
	h := &Histogram{Name: r.Name, Grid: g, Buckets: buckets}
	for at, f := range figures {
		if f.From != r.Name {
			continue
		}
		q := mechanisms.Query{Statistic: mechanisms.Statistic(f.Statistic), Above: f.Above, Below: f.Below, Grid: g}
		if f.P != nil && q.Statistic != mechanisms.Median {
			q.P = []decimal.Decimal{*f.P}
		}
		figure, err := mechanisms.NewComputed(q, buckets)
		if err != nil {
			return nil, fmt.Errorf("release %q: %w", f.Name, err)
		}
		h.free = append(h.free, freeFigure{at, figure})
	}
	return h, nil
}

// histograms returns those of an entry, each at the place of its release, and nil at all other places.
func (e Entry) histograms() ([]*Histogram, error) {
	all := make([]*Histogram, len(e.Releases))
	for i := range e.Releases {
		var err error
		if all[i], err = e.histogramAt(i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Compute fills in what follows from the numbers of the histograms of an entry, in every group: the number of users and
// its band, and the figures that are computed. A quantile or a mode is withheld where the histogram shows nobody.
func (e *Entry) Compute() error {
	all, err := e.histograms()
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name(), err)
	}
	for i, h := range all {
		if h == nil {
			continue
		}
		for g := range e.Groups {
			group := &e.Groups[g]
			if len(group.Values) == 0 {
				continue
			}
			n := group.Values[i].Numbers
			if err := h.fits(n); err != nil {
				return fmt.Errorf("%s: release %q: %w", e.Name(), h.Name, err)
			}
			of, v := h.estimate(*n), &group.Values[i]
			users, off := of.Users()
			v.Value, v.Error95 = new(decimal.NewFromInt(users)), Error(off)
			v.Band = NewBand(*v, false, fromZero)
			if h.compute(of, group.Values) {
				group.Reason = record.TooFewUsers
			}
		}
	}
	return e.Together.compute(e, all)
}

// compute fills in the figures that an estimate gives. withheld says that at least one of them has no value.
func (h *Histogram) compute(e *histogram.Estimate, values []Value) (withheld bool) {
	for _, f := range h.free {
		v, ok := f.figure.Of(e)
		if !ok {
			values[f.at], withheld = Value{}, true
			continue
		}
		of := &values[f.at]
		*of = Value{Value: &v.Value, Error95: v.Error95, Quality: string(v.Quality)}
		if v.Low != nil {
			of.Interval = &Interval{Level: mechanisms.ComputedLevel, Low: *v.Low, High: *v.High}
		}
		of.Band = NewBand(*of, true, fromZero)
	}
	return withheld
}

// sum returns the value of numbers that are sums of so many draws, and fills in the figures that they give. withheld
// says that at least one of these has no value.
func (h *Histogram) sum(n *Numbers, draws int64, values []Value) (total Value, withheld bool, err error) {
	everybody, err := mechanisms.NewComputed(mechanisms.Query{Statistic: mechanisms.Count, Grid: h.Grid}, h.Buckets)
	if err != nil {
		return Value{}, false, err
	}
	of := h.Buckets.Estimate(n.Raw, n.Coarse, h.Noise, draws)
	withheld = h.compute(of, values)
	users, _ := everybody.Of(of)
	total = Value{Value: &users.Value, Error95: users.Error95, Quality: string(users.Quality), Numbers: n}
	total.Band = NewBand(total, false, fromZero)
	return total, withheld, nil
}

func (h *Histogram) estimate(n Numbers) *histogram.Estimate {
	return h.Buckets.Estimate(n.Raw, n.Coarse, h.Noise, 1)
}

// fits checks that there is a number for each bucket and each group of buckets.
func (h *Histogram) fits(n *Numbers) error {
	if n == nil {
		return errors.New("it has no numbers")
	}
	if len(n.Raw) != h.Buckets.Len() || len(n.Coarse) != h.Buckets.Groups() {
		return fmt.Errorf("%d numbers and %d of groups; want %d and %d", len(n.Raw), len(n.Coarse), h.Buckets.Len(),
			h.Buckets.Groups())
	}
	return nil
}

// checkHistograms checks what the releases say about histograms, and that each histogram has its numbers.
func (e Entry) checkHistograms() error {
	for _, r := range e.Releases {
		if r.From != "" && !slices.ContainsFunc(e.Releases, func(of record.Series) bool {
			return of.Name == r.From && of.Buckets != nil
		}) {
			return fmt.Errorf("release %q is computed from %q, which is no histogram of the entry", r.Name, r.From)
		}
	}
	all, err := e.histograms()
	if err != nil {
		return err
	}
	for i, h := range all {
		if h == nil {
			continue
		}
		for _, g := range e.Groups {
			if len(g.Values) == 0 {
				continue
			}
			if g.Values[i].Value == nil {
				return errors.New("a histogram is withheld; only whole windows are")
			}
			if err := h.fits(g.Values[i].Numbers); err != nil {
				return fmt.Errorf("release %q of group %q: %w", h.Name, g.Name, err)
			}
		}
	}
	return nil
}

// distribution returns what a record says of buckets whose numbers are sums of so many draws.
func (h *Histogram) distribution(ends []decimal.Decimal, n Numbers, draws int64) *record.Distribution {
	return record.NewDistribution(ends, n.Raw, n.Coarse, h.Buckets.Estimate(n.Raw, n.Coarse, h.Noise, draws).Counts())
}

// Together is one more group of a window: all its groups added up. It has values of histograms, and of the figures from
// them. It costs nothing, because it follows from what was drawn for each group. Its noise is that of all these draws.
type Together struct {
	// Name is the name of the group in records.
	Name string `json:"name"`
	// Counts is [record.UserGroups] if one user may be in several groups of a window, and else "".
	Counts string `json:"counts,omitempty"`
	// Reason is TooFewUsers if a figure has no value, because the histogram shows nobody.
	Reason string `json:"reason,omitempty"`
	// Values holds one value for each release of the entry, which is empty unless it is one of a histogram. There is
	// none if the window is withheld.
	Values []Value `json:"values,omitempty"`
}

// has reports whether there is a value of a release for all groups together.
func (t *Together) has(r record.Series) bool { return t != nil && (r.Buckets != nil || r.From != "") }

// facts are what the definition says.
func (t *Together) facts() *Together {
	if t == nil {
		return nil
	}
	return &Together{Name: t.Name, Counts: t.Counts}
}

// sumOfGroups adds up what the i-th release, a histogram, drew for all groups.
func (e Entry) sumOfGroups(i int) *Numbers {
	var all tally
	for _, g := range e.Groups {
		all.add(tally{Numbers: g.Values[i].Numbers}, histogram.MostUsers)
	}
	return all.Numbers
}

// compute fills in the values of all groups together. The histograms are those of the entry.
func (t *Together) compute(e *Entry, histograms []*Histogram) (err error) {
	if t == nil || e.Reason != "" {
		return nil
	}
	t.Reason, t.Values = "", make([]Value, len(e.Releases))
	for i, h := range histograms {
		if h == nil {
			continue
		}
		var withheld bool
		if t.Values[i], withheld, err = h.sum(e.sumOfGroups(i), int64(len(e.Groups)), t.Values); err != nil {
			return err
		}
		if withheld {
			t.Reason = record.TooFewUsers
		}
	}
	return nil
}

// togetherValues are what the records of all groups together say.
func (e Entry) togetherValues(histograms []*Histogram) (all []record.Value, err error) {
	t := e.Together
	if t == nil {
		return nil, nil
	}
	g := Group{Name: t.Name, Reason: t.Reason, Values: t.Values}
	for i, r := range e.Releases {
		if !t.has(r) {
			continue
		}
		f := e.value(g, i)
		e.together(&f, t.Counts)
		if h := histograms[i]; h != nil && f.Value != nil {
			f.Buckets = h.distribution(r.Buckets.Ends, *g.Values[i].Numbers, int64(len(e.Groups)))
		}
		all = append(all, f)
	}
	for _, up := range e.Rollups {
		of := RollupGroup{Windows: &record.Windows{Of: up.Windows.Of}} // none has been added up
		if up.Together != nil {
			of = *up.Together
		}
		values, err := e.rollupValues(up, t.Name, of)
		if err != nil {
			return nil, err
		}
		for i := range values {
			counts := record.UserWindows
			if t.Counts != "" {
				counts = record.UserWindowGroups
			}
			e.together(&values[i], counts)
		}
		all = append(all, values...)
	}
	return all, nil
}

// together says that a record is of all groups together. It costs nothing beside the groups.
func (e Entry) together(f *record.Value, counts string) {
	f.Together, f.Counts, f.Epsilon, f.Delta = true, counts, "0", "0"
	f.Charge = record.Charged(nil)
}

// checkTogether checks that all groups together have the values of histograms, and of the figures from them.
func (e Entry) checkTogether() error {
	t := e.Together
	switch {
	case t == nil:
		return nil
	case t.Name == "" || e.group(t.Name) >= 0:
		return fmt.Errorf("all groups together are called %q; want a name that no group has", t.Name)
	case t.Counts != "" && t.Counts != record.UserGroups:
		return fmt.Errorf("all groups together count %q; want nothing, or %q", t.Counts, record.UserGroups)
	case e.Reason != "" && len(t.Values) > 0 || e.Reason == "" && len(t.Values) != len(e.Releases):
		return fmt.Errorf("all groups together have %d values of %d releases in a window with reason %q", len(t.Values),
			len(e.Releases), e.Reason)
	}
	all, err := e.histograms()
	if err != nil {
		return err
	}
	for i, v := range t.Values {
		r := e.Releases[i]
		if all[i] != nil {
			if err := all[i].fits(v.Numbers); err != nil {
				return fmt.Errorf("%q of all groups together: %w", r.Name, err)
			}
		}
		if v.Value == nil && t.has(r) && t.Reason == "" || v.Value != nil && !t.has(r) {
			return fmt.Errorf("%q of all groups together has a value, or none: %v", r.Name, v.Value)
		}
		if err := v.check(); err != nil {
			return fmt.Errorf("%q of all groups together: %w", r.Name, err)
		}
	}
	return nil
}
