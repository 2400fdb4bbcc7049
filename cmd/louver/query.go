package main

import (
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
)

// queryFlags say what is asked of values and how.
type queryFlags struct {
	Statistic   string   `default:"median" enum:"median,quantile,quantiles,mode,mean,sum,trimmed_mean,count,outside" group:"what" placeholder:"NAME" help:"median, quantile, quantiles, mode, mean, sum, trimmed_mean, count or outside."`
	P           []number `group:"what" placeholder:"P" help:"Probability of a quantile, between 0 and 1; several, ascending, for quantiles."`
	Trim        *number  `group:"what" placeholder:"T" help:"Fraction that trimmed_mean cuts from each end."`
	Clip        string   `placeholder:"none" group:"what" help:"none: means and sums take all values as they are, within the bounds. Absent: the mechanism finds narrower bounds."`
	Above       *number  `group:"what" placeholder:"X" help:"Count users with a value greater than this."`
	Below       *number  `group:"what" placeholder:"X" help:"Count users with a value less than this."`
	Mechanism   string   `group:"what" placeholder:"NAME" help:"Mechanism. Absent: the statistic's default."`
	Tilt        []int64  `group:"what" placeholder:"A,B" sep:"," help:"Weights of the two sides, for margin."`
	Calibration string   `default:"tight" enum:"tight,published" group:"what" placeholder:"NAME" help:"tight, or published: the papers' formulas, for smooth_*."`
	Beta        *number  `group:"what" placeholder:"B" help:"β of smooth_*."`
	Gamma       *number  `group:"what" placeholder:"G" help:"Exponent of smooth_cauchy's density, above 1. Absent: 2."`
	Interval    *number  `group:"what" placeholder:"LEVEL" help:"Also release an interval that holds the true value with this probability, such as 0.95. It is paid for from ε."`

	ExpectedUsers int64 `group:"what" placeholder:"N" help:"Public forecast of the number of users, for means, sums and quantiles in the tails. Absent: they spend part of ε to find out."`

	Prior string `default:"tapered" enum:"tapered,cells,uniform" group:"privacy" placeholder:"NAME" help:"Base measure of quantiles: tapered (favours values near zero), cells (logarithmic away from zero) or uniform."`
	Delta number `default:"0" group:"privacy" placeholder:"D" help:"δ of each draw, for mechanisms that need one."`
}

// number is an exact decimal on the command line.
type number struct{ decimal.Decimal }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *number) UnmarshalText(text []byte) (err error) {
	n.Decimal, err = config.Number(string(text))
	return err
}

// orNil gives the number, or nil.
func (n *number) orNil() *decimal.Decimal {
	if n == nil {
		return nil
	}
	return &n.Decimal
}

// query is what the flags ask for; the grid and ε are left to the command.
func (f queryFlags) query() (mechanisms.Query, error) {
	q := mechanisms.Query{Statistic: mechanisms.Statistic(f.Statistic), Mechanism: f.Mechanism, Above: f.Above.orNil(), Below: f.Below.orNil(),
		Interval: f.Interval.orNil(), Clip: f.Clip, Delta: f.Delta.Decimal, Prior: f.Prior, ExpectedUsers: f.ExpectedUsers}
	for _, p := range f.P {
		q.P = append(q.P, p.Decimal)
	}
	if f.Trim != nil {
		q.Trim = f.Trim.Decimal
	}
	if f.Beta != nil {
		q.Beta = f.Beta.Decimal
	}
	if f.Gamma != nil {
		q.Gamma = f.Gamma.Decimal
	}
	if f.Calibration != "tight" {
		q.Calibration = f.Calibration
	}
	switch {
	case len(f.P) == 0 && (q.Statistic == mechanisms.Quantile || q.Statistic == mechanisms.Quantiles):
		return q, fmt.Errorf("--statistic %s without --p; want --p, such as --p 0.9", q.Statistic)
	case f.Trim == nil && q.Statistic == mechanisms.TrimmedMean:
		return q, errors.New("--statistic trimmed_mean without --trim; want --trim, such as --trim 0.05")
	case f.Trim != nil && q.Statistic != mechanisms.TrimmedMean:
		return q, fmt.Errorf("--trim %s with --statistic %s; want it with trimmed_mean only", f.Trim, q.Statistic)
	case f.Beta != nil && !f.Beta.IsPositive():
		return q, fmt.Errorf("--beta %s; want a number greater than 0", f.Beta)
	case len(f.Tilt) == 2 && min(f.Tilt[0], f.Tilt[1]) < 1:
		return q, fmt.Errorf("--tilt %d,%d; want two whole numbers of at least 1", f.Tilt[0], f.Tilt[1])
	case len(f.Tilt) == 2:
		q.Tilt = [2]int64{f.Tilt[0], f.Tilt[1]}
	case len(f.Tilt) != 0:
		return q, fmt.Errorf("--tilt has %d weights; want two, such as --tilt 1,2", len(f.Tilt))
	}
	return q, nil
}
