package mechanisms

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
)

// Query is a request for one release. Numbers are exact decimals, and the law follows them exactly.
type Query struct {
	Statistic Statistic
	// P is the probability of a quantile, in (0, 1). [Quantiles] have several, ascending. Other statistics have none.
	P []decimal.Decimal
	// Trim is the fraction cut from each end by [TrimmedMean], in [0, ½).
	Trim decimal.Decimal
	// Above and Below restrict [Count] to values strictly above and strictly below them. nil means no restriction.
	Above, Below *decimal.Decimal
	// Buckets are those of a [Histogram]. Cuts are further grid indices at which a bucket has to end: those from which
	// [Free] figures count. Levels is 1 or 2, or 0 to choose by the number of buckets.
	Buckets *Bucketing
	Cuts    []int64
	Levels  int
	// Mechanism names the mechanism; "" is the statistic's default, the first of [Available]. With ZCDP that of a count
	// is gaussian. That of a median or quantile depends on the other fields too: with Tilt or Interval it is margin;
	// with ZCDP or the "adaptive" Prior it is a margin whose tilt follows the number of users; in a tail with few users
	// it may be above_threshold.
	Mechanism string
	// Calibration of a smooth_* mechanism: "" (tight) or "published".
	Calibration string
	// Tilt weighs the two sides of margin. The zero value chooses by p.
	Tilt [2]int64
	// Epsilon > 0 is the ε of the release, for one user in one group. Delta is 0 unless the mechanism needs it.
	Epsilon, Delta decimal.Decimal
	// Beta of a smooth_* mechanism. Zero leaves it to the mechanism.
	Beta decimal.Decimal
	// Gamma > 1 is the exponent of smooth_cauchy's density 1/(1+|z|^γ). Zero means 2, the Cauchy law.
	Gamma decimal.Decimal
	// Clip is "none" for a mean or sum of all values as they are, within the bounds. With "" the mechanism may find
	// narrower bounds.
	Clip string
	// Interval is the level in (0, 1) of a paid value interval, or nil for none.
	Interval *decimal.Decimal
	// Prior is the base measure: "tapered", "cells", "uniform" or "adaptive"; "" is "tapered".
	Prior string
	// ExpectedUsers is a public forecast of the users in a window and group, or 0 if unknown.
	ExpectedUsers int64
	// ZCDP says that the budget sums up what is charged in ρ (zero-concentrated differential privacy), as one with a δ
	// does. Bounded-range mechanisms and Gaussian noise are cheaper there.
	ZCDP bool
	Grid *Grid
	// ReplaceOne makes the number of users public: neighbours differ in one user's value. It serves to reproduce
	// results from papers. rank and smooth_* take it. The service never uses it.
	ReplaceOne bool
}

// Probabilities returns the p of each value of a draw: ½ for a median; none for statistics that have no p.
func (q Query) Probabilities() []decimal.Decimal {
	if q.Statistic == Median {
		return []decimal.Decimal{decimal.New(5, -1)}
	}
	return q.P
}

// CountsUsers reports whether the query is for the number of all users, which other releases of the window may use.
func (q Query) CountsUsers() bool { return q.Statistic == Count && q.Above == nil && q.Below == nil }

// OfEverybody reports whether the value is the number of all users. That of a histogram is too, but it is too noisy for
// other releases to use.
func (q Query) OfEverybody() bool { return q.CountsUsers() || q.Statistic == Histogram }

// measure returns the base measure that the query names, with some binary digits for the points of a cell. An adaptive
// measure begins as the tapered one.
func (q *Query) measure(digits int) *Measure {
	bounds := q.Grid.cells()
	switch q.Prior {
	case "uniform":
		return Uniform(q.Grid)
	case "cells":
		return cellMeasure(bounds, evenMass(bounds), digits)
	}
	return cellMeasure(bounds, taperedMass(bounds, q.Grid.anchor), digits)
}

// rate returns ε/divisor.
func (q *Query) rate(divisor int64) exact.Rate {
	return exact.NewRate(new(big.Rat).Quo(q.Epsilon.Rat(), big.NewRat(divisor, 1)))
}

// offer is a mechanism that serves a statistic.
type offer struct {
	name   string
	build  func(q *Query) (Mechanism, error)
	takes  []string // the names of the parameters that not every mechanism has
	former string   // an earlier name, which still works
	forRho bool     // it is the default where the budget sums up ρ
}

// Clips reports whether a mechanism finds an interval and cuts values to it.
func Clips(m Mechanism) bool { return clips(m.Name()) }

func clips(mechanism string) bool { return strings.HasPrefix(mechanism, "clipped") }

// header holds the common fields of all mechanisms.
type header struct {
	name    string
	promise privacy.Promise
}

func (h header) Name() string             { return h.name }
func (h header) Promise() privacy.Promise { return h.promise }
func (h header) Counts() bool             { return false }

// Errors returns no bound. It is for mechanisms whose errors all depend on the data.
func (h header) Errors(Public) []Bound { return []Bound{unbounded()} }

// Bucketing says where the buckets of a histogram end: at a list of grid points, or where those of Prometheus' native
// histograms do.
type Bucketing struct {
	Ends []decimal.Decimal
	// Native says that Scale, from 0 to 5, takes the place of Ends.
	Native bool
	Scale  int
}

// String returns the buckets as a streams file has them.
func (b *Bucketing) String() string {
	if b.Native {
		return fmt.Sprintf("{scale: %d}", b.Scale)
	}
	return "[" + strings.Trim(listed(b.Ends), "[]") + "]"
}
