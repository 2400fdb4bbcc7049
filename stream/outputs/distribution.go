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
		"no rate().", append(series[:3:3], "rollup"), nil)

// distribution shows the counts of a histogram, as its record shows them.
func (to metrics) distribution(r Record) {
	release, rollup := r.Release, ""
	if r.Windows != nil {
		release, rollup, _ = strings.Cut(r.Release, ".")
	}
	buckets, sum := map[float64]uint64{}, uint64(0)
	for i, n := range r.Buckets.Count {
		if sum += uint64(max(0, n)); i < len(r.Buckets.Ends) && r.Buckets.Ends[i] != nil {
			if end, err := r.Buckets.Ends[i].Float64(); err == nil {
				buckets[end] = sum
			}
		}
	}
	// The sum of the values is not known.
	to <- prometheus.MustNewConstHistogram(distribution, sum, math.NaN(), buckets, r.Stream, r.Group, release, rollup)
}
