package config

import (
	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// SoFar is the distribution so far: a histogram of the users so far today, with the figures that are computed from it.
// It is a running total of each number of the histogram, so periods, costs and who counts are those of a total.
type SoFar struct {
	Total
	// Figures are computed from the histogram and cost nothing, in the order of the file.
	Figures []*Computed
}

// Series describes the histogram, with the ε of a period in all groups of a user, and then the figures from it.
func (f *SoFar) Series() []record.Series {
	return append([]record.Series{f.charged(f.Drawn(), f.Cost().Items)}, f.Computed()...)
}

// Computed describes the figures that are computed from the histogram.
func (f *SoFar) Computed() (all []record.Series) {
	for _, of := range f.Figures {
		all = append(all, of.from(f.Drawn()))
	}
	return all
}

// Drawn describes the histogram, with the ε of a period in one group.
func (f *SoFar) Drawn() record.Series {
	of := f.Total.Drawn()
	of.Buckets = record.NewBuckets(f.Query.Grid, f.Mechanism.Buckets)
	return of
}

// WithDelta has the mechanism that is usual under such a budget.
func (f *SoFar) WithDelta(has bool) Figure {
	return &SoFar{*f.Total.WithDelta(has).(*Total), f.Figures}
}

// Quantiles are the p of the quantiles that are computed from it, in the order of the file.
func (f *SoFar) Quantiles() (all []*Computed) {
	for _, of := range f.Figures {
		if s := of.Query.Statistic; s == mechanisms.Quantile || s == mechanisms.Median {
			all = append(all, of)
		}
	}
	return all
}
