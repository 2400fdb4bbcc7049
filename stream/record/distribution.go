package record

import (
	"encoding/json"

	"github.com/shopspring/decimal"
)

// Distribution is what a record says of a histogram's buckets, as arrays with one item for each bucket.
type Distribution struct {
	// Ends are the last values of the buckets, in the unit of the stream. The last item is nil: that bucket has no end.
	Ends []*json.Number `json:"le"`
	// Raw are the noisy numbers of users that were drawn, and Coarse those of Groups groups of neighbouring buckets: bucket
	// i of K is in group ⌊i·Groups/K⌋. Both may be negative, and sums of several windows are right.
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
