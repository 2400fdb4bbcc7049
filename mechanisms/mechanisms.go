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
	"io"
	"strings"

	"github.com/louver/louver/budget/privacy"
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
