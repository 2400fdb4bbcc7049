// Package mechanisms draws differentially private statistics of one window's values.
//
// Everything lives on a public [Grid] of points lower + i·step, 0 ≤ i ≤ N. A value is its index i. A [Sample] is the
// multiset of the indices of one window and group, with one value for each user. A [Query] says which statistic is
// wanted, by which mechanism and for which ε. [New] checks it and returns the [Mechanism], which states its
// [privacy.Promise] and draws.
//
// Neighbouring samples differ by one user's value, added or removed. The number of users is private. Nothing here knows
// about Kafka, time or configuration files.
//
// The catalogue (catalogue.go) lists the statistics and their mechanisms, and parameter.go the other parameters of a
// query. Each mechanism stands beside its statement, its proof and its source: those of quantiles in quantile.go, which
// has their defaults, ranks.go and utility.go. Means and quantiles by smooth sensitivity are in package smooth. A new
// statistic needs a mechanism, what is true of a sample, and one row of the catalogue.
//
// [TruncatedGeometric] finds names that many users share and nobody can list beforehand. It has no query and no sample.
//
// Package watch has alarms, which look at one window after another and cost ε once, until they fire.
//
// A [Measure] favours some points of the grid over others before any data is seen ([Tapered] by default). A [Filter]
// learns a measure from published values.
//
// Draws follow their laws exactly, bit for bit: package exact says how. Utilities are whole numbers, and ε and p are
// exact fractions, as written in decimal. Exponential mechanisms look only at the best levels (survey.go), so a draw
// from a million users takes microseconds. Its time depends on the data, but a public schedule of releases hides the
// time.
package mechanisms

import (
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/budget/privacy"
	"github.com/louver/louver/mechanisms/exact"
	"github.com/louver/louver/mechanisms/internal/parameter"
)

// Statistic is the name of a statistic. The catalogue describes each of them.
type Statistic string

// The statistics.
const (
	Median      Statistic = "median"
	Quantile    Statistic = "quantile"
	Quantiles   Statistic = "quantiles"
	Mode        Statistic = "mode"
	Mean        Statistic = "mean"
	Sum         Statistic = "sum"
	TrimmedMean Statistic = "trimmed_mean"
	Count       Statistic = "count"
	Outside     Statistic = "outside"
	Histogram   Statistic = "histogram"
	Share       Statistic = "share"
	// Groups are names that many users share, and how many: see [TruncatedGeometric].
	Groups Statistic = "groups"
)

// Public holds what a draw may use in addition to the sample: figures that have already been released.
type Public struct {
	// Users is the noisy count released for the same window and group, or nil if there is none.
	Users *NoisyCount
	// Measure, if not nil, replaces the query's own base measure: the adaptive one, learnt from earlier releases.
	Measure *Measure
}

// Draw is the outcome of one draw. [Query.Scale] says what its whole numbers mean: usually grid indices, and numbers of
// users if Mechanism.Counts is true.
type Draw struct {
	// Mechanism names the mechanism that was drawn if the draw itself chose it. With "", it is that of
	// [Mechanism.Name].
	Mechanism string
	// Values holds one value, or for [Quantiles] one for each P.
	Values []Value
	// Low and High are the paid value interval, if the query asked for one.
	Low, High int64
	// Clip is the interval that the mechanism found and cut values to, both ends included, on the scale of
	// [Query.ClipScale]. It is nil if the mechanism looked for none.
	Clip []int64
	// Outside says how many users are outside Clip. It is nil if the mechanism does not count them.
	Outside *Outsiders
	// Raw and Coarse are the noisy numbers of a [Histogram]: of users in each bucket, and in each group of buckets.
	// They may be negative. All other figures follow from them.
	Raw, Coarse []int64
}

// Mechanism is a checked query. It is immutable and safe for concurrent use.
type Mechanism interface {
	// Name is the mechanism's name as in streams files, such as "margin". Where a draw chooses, it is two names with a
	// slash between them.
	Name() string
	// Promise returns the cost of every draw.
	Promise() privacy.Promise
	// Counts reports whether the drawn values are numbers of users instead of grid indices.
	Counts() bool
	// Errors bounds each value of the draws with these public figures, whatever the data.
	Errors(public Public) []Bound
	// Draw makes one private draw. random must be a cryptographic source that nothing else reads meanwhile. It fails
	// only if random does, if the sample has more than 2^28 users, or if the public measure is for another grid.
	Draw(s *Sample, public Public, random io.Reader) (Draw, error)
}

// Replaced returns what a draw reveals about one user whose value is replaced by another, where the promise of the
// mechanism is about one that is added or removed. It is as much as so many draws with the returned promise, one or
// two, all independent of each other. In general it is as much as a removal and an addition: see
// [privacy.Promise.Twice].
func Replaced(m Mechanism) (p privacy.Promise, draws int64) {
	switch r := m.(type) {
	case *bucketed:
		return r.promise, moves
	case interface{ replaced() privacy.Promise }:
		return r.replaced(), 1
	}
	return m.Promise().Twice(), 1
}

// header holds the common fields of all mechanisms.
type header struct {
	name    string
	promise privacy.Promise
}

func (h header) Name() string { return h.name }

func (h header) Promise() privacy.Promise { return h.promise }

func (h header) Counts() bool { return false }

// Errors returns no bound. It is for mechanisms whose errors all depend on the data.
func (h header) Errors(Public) []Bound { return []Bound{unbounded()} }

// Clips reports whether a mechanism finds an interval and cuts values to it.
func Clips(m Mechanism) bool { return clips(m.Name()) }

func clips(mechanism string) bool { return strings.HasPrefix(mechanism, "clipped") }

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
	// [Computed] figures count. Levels is 1 or 2, or 0 to choose by the number of buckets.
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

// rate returns ε/divisor.
func (q *Query) rate(divisor int64) exact.Rate {
	return exact.NewRate(new(big.Rat).Quo(q.Epsilon.Rat(), big.NewRat(divisor, 1)))
}

// New checks a query and returns its mechanism. The error is an [Error] that says what is wrong with the query.
func New(q Query) (Mechanism, error) {
	r, ok := q.Statistic.find()
	if !ok || r.apart {
		return nil, parameter.Wrong("statistic", parameter.Quoted(string(q.Statistic)), "%s", oneOf(Statistics()))
	}
	if q.Grid == nil {
		return nil, parameter.Wrong("bounds", "missing", "lower, upper and step")
	}
	if len(r.offers) == 0 {
		return nil, parameter.Wrong("statistic", parameter.Quoted(string(q.Statistic)),
			"from: with the name of a histogram, which it is computed from")
	}
	chosen := r.offers[max(0, slices.IndexFunc(r.offers, func(o offer) bool { return q.ZCDP && o.forRho }))]
	switch at := slices.IndexFunc(r.offers, func(o offer) bool {
		return q.Mechanism != "" && (o.name == q.Mechanism || o.former == q.Mechanism)
	}); {
	case at >= 0:
		chosen = r.offers[at]
	case q.Mechanism != "":
		return nil, parameter.Wrong("mechanism", parameter.Quoted(q.Mechanism),
			"one of those for statistic %s: %s", q.Statistic,
			oneOf(Available(q.Statistic)))
	case q.Statistic == Median || q.Statistic == Quantile:
		chosen = q.byDefault()
	case q.Clip == "none":
		chosen = r.offers[max(0, slices.IndexFunc(r.offers, func(o offer) bool { return !clips(o.name) }))]
	}
	if err := q.check(r, chosen); err != nil {
		return nil, err
	}
	m, err := chosen.build(&q)
	return m, q.ofWhole(err)
}

// ofWhole says of an error about a part of ε, such as that of an interval, what it means for the whole. The query's own
// ε is all that its author knows.
func (q *Query) ofWhole(err error) error {
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.Parameter != "epsilon" || wrong.Value == parameter.Shown(q.Epsilon) {
		return err
	}
	return parameter.Wrong("epsilon", parameter.Shown(q.Epsilon), "another one: the mechanism draws with parts of it, "+
		"and each of them has to be %s", wrong.Want)
}

// check looks at the parameters that several mechanisms share and refuses those that the statistic or the chosen
// mechanism does not take.
func (q *Query) check(r row, chosen offer) error {
	if _, _, err := parameter.Epsilon(q.Epsilon); err != nil {
		return err
	}
	// Those that all mechanisms take if the statistic does.
	common := []string{"p", "trim", "clip", "above", "below", "buckets", "levels"}
	for _, p := range Parameters() {
		switch {
		case !p.given(q):
		case len(p.Statistics) > 0 && !slices.Contains(r.takes, p.Name):
			return parameter.Wrong(p.Name, p.text(q), "none: statistic %s has no such parameter", q.Statistic)
		case !slices.Contains(common, p.Name) && !slices.Contains(chosen.takes, p.Name):
			return parameter.Wrong(p.Name, p.text(q), "none: mechanism %s has no such parameter", chosen.name)
		}
	}
	switch {
	case q.ReplaceOne && !slices.Contains(chosen.takes, "replace_one"):
		return parameter.Wrong("replace_one", true, "false: mechanism %s has no such parameter", chosen.name)
	case q.Calibration != "" && q.Calibration != "published":
		return parameter.Wrong("calibration", parameter.Quoted(q.Calibration), "tight or published")
	case q.Clip != "" && q.Clip != "none":
		return parameter.Wrong("clip", parameter.Quoted(q.Clip),
			"none, or nothing for an interval that the mechanism finds")
	case q.Clip == "none" && clips(chosen.name):
		return parameter.Wrong("clip", "none", "another mechanism than %s, which finds an interval", chosen.name)
	case !slices.Contains([]string{"", "tapered", "cells", "uniform", "adaptive"}, q.Prior):
		return parameter.Wrong("prior", parameter.Quoted(q.Prior), "adaptive, tapered, cells or uniform")
	case q.ExpectedUsers < 0 || q.ExpectedUsers > MaxUsers:
		return parameter.Wrong("expected_users", q.ExpectedUsers, "a whole number from 1 to %d", MaxUsers)
	}
	return nil
}

// Scale returns the scale of what m, the mechanism of this query, draws: numbers of users for counts, finer points than
// those of the grid for means, and the points of the grid for most others.
func (q *Query) Scale(m Mechanism) Scale {
	if own, ok := m.(interface{ scale() Scale }); ok {
		return own.scale()
	}
	if m.Counts() {
		return Scale{step: decimal.NewFromInt(1)}
	}
	return q.Grid.scale(1)
}

// ClipScale returns the scale of [Draw].Clip.
func (q *Query) ClipScale(m Mechanism) Scale {
	if own, ok := m.(interface{ clipScale() Scale }); ok {
		return own.clipScale()
	}
	return q.Scale(m)
}
