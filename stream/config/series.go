package config

import (
	"cmp"
	"slices"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config/cost"
	"github.com/louver/louver/stream/record"
	"github.com/louver/louver/windows/period"
)

// Series describes the values that a stream releases for each group: those of its releases, and then those that are
// computed from them, both in the order of the configuration.
func (s *Stream) Series() (all []record.Series) {
	for _, r := range s.Releases {
		all = append(all, r.Series(s.Unit)...)
	}
	for _, f := range s.Free {
		all = append(all, f.Series(s.Unit))
	}
	return all
}

// SeriesNames returns the names of everything that the stream publishes for a group, including roll-ups and
// discoveries.
func (s *Stream) SeriesNames() (all []string) {
	periods := map[string][]string{} // of the roll-ups of each histogram
	add := func(x record.Series) {
		all = append(all, x.Name)
		for _, period := range periods[cmp.Or(x.From, x.Name)] {
			all = append(all, x.Name+"."+period)
		}
	}
	series := s.Series()
	for _, x := range series {
		periods[x.Name] = x.Rollups
	}
	for _, x := range slices.Concat(series, s.StepSeries()) {
		add(x)
	}
	for _, d := range s.Discoveries() {
		all = append(all, d.Name)
	}
	return all
}

// StepSeries describes the records of a stream's totals, alarms and releases on change, each with the ε of an instance.
func (s *Stream) StepSeries() (all []record.Series) {
	for _, t := range s.Totals {
		one, lost := t.Series(s.Unit), cost.Of(s.Budget.Limit, t.Price())
		one.Epsilon, one.Delta = lost.Epsilon, lost.Delta
		all = append(all, one)
	}
	for _, w := range s.Alarms {
		all = append(all, record.Series{Name: w.Name, Statistic: record.StatisticWatch,
			Mechanism: record.MechanismWatch, Epsilon: w.Mechanism.Promise().Epsilon})
	}
	for _, c := range s.OnChange {
		one, lost := c.Release.Series(s.Unit)[0], cost.Of(s.Budget.Limit, c.Price())
		one.Epsilon, one.Delta = lost.Epsilon, lost.Delta
		all = append(all, one)
	}
	return all
}

// Series describes the values of a release whose stream has that unit: one value, or one for each p of a joint draw.
func (r Release) Series(unit string) (all []record.Series) {
	promise := r.Mechanism.Promise()
	one := record.Series{Statistic: string(r.Query.Statistic.Each()), Mechanism: r.Mechanism.Name(),
		Unit:    r.Query.Statistic.Unit(unit),
		Epsilon: promise.Epsilon, Delta: promise.Delta}
	if b := mechanisms.Buckets(r.Mechanism); b != nil {
		one.Buckets = record.NewBuckets(r.Query.Grid, b)
		for _, d := range r.Rollups {
			one.Rollups = append(one.Rollups, period.Name(d))
		}
	}
	p := r.Query.Probabilities()
	for i, name := range r.Names() {
		one.Name = name
		if i < len(p) {
			one.P = &p[i]
		}
		all = append(all, one)
	}
	return all
}
