package config

import (
	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/record"
)

// Free is a figure of every window and group that is computed from a histogram of the same stream. It costs nothing.
type Free struct {
	Name string
	// From is the histogram.
	From *Release
	// Query says what is computed, and Figure computes it.
	Query  mechanisms.Query
	Figure *mechanisms.Free
	// Objective is the share of the users that should not be above the limit of the figure, such as 0.999. It is 0 if
	// there is none.
	Objective decimal.Decimal
	// Where says where the figure is defined, as "file:line".
	Where string
}

// Series describes the values of a figure whose stream has that unit.
func (f Free) Series(unit string) record.Series {
	one := record.Series{Name: f.Name, Statistic: string(f.Query.Statistic), Mechanism: f.From.Mechanism.Name(),
		Unit: f.Query.Statistic.Unit(unit), From: f.From.Name, Above: f.Query.Above, Below: f.Query.Below}
	if p := f.Query.Probabilities(); len(p) == 1 {
		one.P = &p[0]
	}
	return one
}
