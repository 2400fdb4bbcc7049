// Package mechanisms draws differentially private statistics of one window's values.
//
// Everything lives on a public [Grid] of points lower + i·step, 0 ≤ i ≤ N; a value is its index i. A [Sample] is the
// multiset of the indices of one window and group, one value a user. A [Query] says which statistic is wanted, by
// which mechanism and for which ε; [New] checks it and returns the [Mechanism], which states its [privacy.Promise] and draws.
//
// Neighbouring samples differ by one user's value, added or removed; the number of users is private. Nothing here
// knows of Kafka, time or configuration files.
//
// The catalogue (catalogue.go) lists the statistics and the mechanisms that serve each, parameter.go what can be said of a
// query beside. Each mechanism has a file of its own with its statement, its proof and its source; those of means and
// quantiles by smooth sensitivity are in package smooth. A new statistic is one such file and one row of the catalogue.
//
// A [Watch] is an alarm that looks at one window after another and costs ε once, until it fires.
//
// A [Measure] favours some points of the grid over others before any data are seen ([Tapered] by default); a [Filter]
// learns one from what has been published.
//
// All laws are drawn exactly, bit for bit: package exact says how. Utilities are whole numbers, and ε and p are taken as
// the fractions that their decimal texts are. Exponential mechanisms look at the best levels only (survey.go), so that a
// draw from a million users takes microseconds; its time depends on the data, which a public schedule of releases hides.
package mechanisms

import (
	"io"

	"github.com/louver/louver/budget/privacy"
)

// Statistic names what is asked of a sample. The catalogue says what there is to know of each.
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
)

// Public is what a draw may use beside the sample: figures that have been released already.
type Public struct {
	// Users is the noisy count released for the same window and group; nil: none.
	Users *NoisyCount
	// Measure replaces the query's own base measure (the adaptive one, learnt from earlier releases); nil: its own.
	Measure *Measure
}

// NoisyCount is a released count and the ε of its discrete Laplace noise.
type NoisyCount struct {
	Value   int64
	Epsilon float64
}

// Draw is the outcome of one draw. [Query.Scale] says what its whole numbers stand for: grid indices mostly, numbers of
// users where Mechanism.Counts is true.
type Draw struct {
	// Mechanism names the mechanism that was drawn where the draw itself chose it; "": that of [Mechanism.Name].
	Mechanism string
	// Values holds one value; for [Quantiles] one for each P.
	Values []Value
	// Low and High are the paid value interval; present if the query asked for one.
	Low, High int64
	// Clip is the interval that the mechanism found and cut values to, both ends included, as [Query.ClipScale] says; nil: it
	// looked for none.
	Clip []int64
}

// Mechanism is a checked query. It is immutable and safe for concurrent use.
type Mechanism interface {
	// Name is the mechanism's name as in the configuration, such as "margin"; two with a stroke between them where a draw
	// chooses.
	Name() string
	// Promise is what every draw costs.
	Promise() privacy.Promise
	// Counts says that the values drawn are numbers of users instead of grid indices.
	Counts() bool
	// Errors bounds each value of the draws with these public figures, whatever the data.
	Errors(public Public) []Bound
	// Draw makes one private draw; random must be a cryptographic source, read by nobody else meanwhile. It fails only if
	// random does, if the sample has more than 2^28 users, or if the public measure is for another grid.
	Draw(s *Sample, public Public, random io.Reader) (Draw, error)
}
