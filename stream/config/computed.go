package config

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// Computed is a figure of every window and group that is computed from a histogram of the same stream. It costs
// nothing.
type Computed struct {
	Head
	// From is the histogram.
	From *Release
	// Query says what is computed, and Figure computes it.
	Query  mechanisms.Query
	Figure *mechanisms.Free
	// Objective is the share of the users that should not be above the limit of the figure, such as 0.999. It is 0 if
	// there is none.
	Objective decimal.Decimal
}

// Kind is Derived.
func (f *Computed) Kind() Kind { return Derived }

// Cost is nothing: what it is computed from is paid.
func (f *Computed) Cost() Cost { return Cost{} }

// WithDelta is the figure itself.
func (f *Computed) WithDelta(bool) Figure { return f }

// About says which values count and what the figure should be.
func (f *Computed) About() About {
	return About{Above: f.Query.Above, Below: f.Query.Below, Objective: f.Objective}
}

// Series describes the only value.
func (f *Computed) Series() []record.Series {
	one := record.Series{Name: f.Name, Statistic: string(f.Query.Statistic), Mechanism: f.From.Mechanism.Name(),
		Unit: f.Query.Statistic.Unit(f.Unit), From: f.From.Name, Above: f.Query.Above, Below: f.Query.Below}
	if p := f.Query.Probabilities(); len(p) == 1 {
		one.P = &p[0]
	}
	return []record.Series{one}
}
