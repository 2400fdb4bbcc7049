package outputs

import (
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// distribution has the type of a histogram, because only that type may have buckets in the text format of Prometheus.
// But its numbers are those of one window, and fall as well as rise.
var distribution = prometheus.NewDesc("louver_distribution",
	"Users in the newest window of a histogram, by upper end of the bucket. Of one window: not a counter, use "+
		"no rate().", bucket.Labels[:4], nil)

// bucket has the same counts as gauges, one for each bucket, as they are exported. Prometheus gives them the names that
// the buckets of distribution have.
var bucket = metric("louver.distribution.bucket", "",
	"Users in the newest window of a histogram with a value up to le.",
	series, "rollup", "le")

// Bucket is the metric of the counts of a [Distribution]. Its label le is the end of a bucket.
func Bucket() *Metric { return bucket }

// Distribution is how many users had which value in the window of a histogram, as its record shows it.
type Distribution struct {
	Stream, Group, Release string
	// Rollup is the length of the period, such as 1h, if the counts are of many windows; "" if they are of one.
	Rollup string
	// Ends are the last values of the buckets, ascending. The last bucket has no end, and is not among them.
	Ends []float64
	// Counts are the users with a value up to each end, and All are all of them.
	Counts []uint64
	All    uint64
}

// DistributionOf returns the counts of a histogram's record. ok is false for other records, and while the counts are
// withheld.
func DistributionOf(r Record) (d Distribution, ok bool) {
	if r.Buckets == nil || r.Value == nil {
		return Distribution{}, false
	}
	d = Distribution{Stream: r.Stream, Group: r.Group, Release: r.Release}
	if r.Windows != nil {
		d.Release, d.Rollup, _ = strings.Cut(r.Release, ".")
	}
	for i, n := range r.Buckets.Count {
		if d.All += uint64(max(0, n)); i < len(r.Buckets.Ends) {
			if end, ok := float(r.Buckets.Ends[i]); ok {
				d.Ends, d.Counts = append(d.Ends, end), append(d.Counts, d.All)
			}
		}
	}
	return d, true
}

// distribution shows the counts of a histogram.
func (to metrics) distribution(d Distribution) {
	buckets := map[float64]uint64{}
	for i, end := range d.Ends {
		buckets[end] = d.Counts[i]
	}
	// The sum of the values is not known.
	to <- prometheus.MustNewConstHistogram(distribution, d.All, math.NaN(), buckets, d.Stream, d.Group, d.Release,
		d.Rollup)
}
