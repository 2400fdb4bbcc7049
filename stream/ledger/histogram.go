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
