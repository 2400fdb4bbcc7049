package record

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
)

// Distribution is what a record says about a histogram's buckets, as arrays with one item for each bucket.
type Distribution struct {
	// Ends are the last values of the buckets, in the unit of the stream. The last item is nil: that bucket has no end.
	Ends []*json.Number `json:"le"`
	// Raw are the noisy numbers of users that were drawn, and Coarse those of Groups groups of neighbouring buckets:
	// bucket i of K is in group ⌊i·Groups/K⌋. Both may be negative, and sums of several windows are right.
	Raw    []int64 `json:"raw"`
	Coarse []int64 `json:"coarse"`
	Groups int     `json:"groups"`
	// Count are the counts that are shown: never negative. Sums of several windows are wrong.
	Count []int64 `json:"count"`
}

// NewDistribution writes the ends of the buckets as numbers.
func NewDistribution(ends []decimal.Decimal, raw, coarse, counts []int64) *Distribution {
	d := &Distribution{Raw: raw, Coarse: coarse, Groups: len(coarse), Count: counts}
	if coarse == nil {
		d.Coarse = []int64{}
	}
	for _, end := range ends {
		d.Ends = append(d.Ends, new(json.Number(end.String())))
	}
	d.Ends = append(d.Ends, nil)
	return d
}

// Estimate returns the estimates from what was drawn with this mechanism and ε in so many windows. It numbers the
// buckets from 0, and takes these numbers for their points.
func (d *Distribution) Estimate(mechanism string, epsilon float64, windows int64) (*histogram.Estimate, error) {
	places := make([]int64, len(d.Ends)-1)
	for i := range places {
		places[i] = int64(i)
	}
	levels := 1
	if d.Groups > 0 {
		levels = 2
	}
	b, err := histogram.New(places, int64(len(places)-1), false, levels)
	if err != nil {
		return nil, err
	}
	if len(d.Raw) != b.Len() || len(d.Coarse) != b.Groups() {
		return nil, fmt.Errorf("%d numbers and %d of groups; want %d and %d", len(d.Raw), len(d.Coarse),
			b.Len(), b.Groups())
	}
	return b.Estimate(d.Raw, d.Coarse, mechanisms.HistogramNoise(mechanism, epsilon, levels), windows), nil
}
