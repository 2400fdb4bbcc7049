package record

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/mechanisms/histogram"
)

// Buckets describes the buckets of a histogram, the same in every group and window. Its JSON names are those of the
// ledger.
type Buckets struct {
	// Lower, Upper and Step are the grid of the values.
	Lower decimal.Decimal `json:"lower"`
	Upper decimal.Decimal `json:"upper"`
	Step  decimal.Decimal `json:"step"`
	// Ends are the last values of all buckets but the last one, ascending. The last one has no end. If the first end is
	// below Lower, that bucket holds the values below the grid.
	Ends []decimal.Decimal `json:"le"`
	// Levels is 2 if groups of neighbouring buckets are drawn too, else 1.
	Levels int `json:"levels"`
}

// NewBuckets describes buckets over a grid.
func NewBuckets(g *mechanisms.Grid, b *histogram.Buckets) *Buckets {
	d := &Buckets{Lower: g.Lower(), Upper: g.Upper(), Step: g.Step(), Levels: b.Levels()}
	for _, end := range b.Ends() {
		d.Ends = append(d.Ends, g.Value(end))
	}
	return d
}

// Open returns the grid and the buckets. It fails if they do not go together, which never happens after [NewBuckets].
func (b *Buckets) Open() (*mechanisms.Grid, *histogram.Buckets, error) {
	g, err := mechanisms.NewGrid(b.Lower, b.Upper, b.Step)
	if err != nil {
		return nil, nil, err
	}
	ends := make([]int64, len(b.Ends))
	for i, end := range b.Ends {
		if n, rest := end.Sub(b.Lower).QuoRem(b.Step, 0); rest.IsZero() {
			ends[i] = n.IntPart()
			continue
		}
		return nil, nil, fmt.Errorf("a bucket that ends at %s, which is no point of the grid", end)
	}
	below := len(ends) > 0 && ends[0] == -1
	opened, err := histogram.New(ends, g.Last(), below, b.Levels)
	if err != nil {
		return nil, nil, err
	}
	if opened.Len() != len(ends)+1 {
		return nil, nil, fmt.Errorf("%d ends of buckets; want each once, and the last one at %s", len(ends), b.Upper)
	}
	return g, opened, nil
}

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
	b, err := d.buckets()
	if err != nil {
		return nil, err
	}
	return b.Estimate(d.Raw, d.Coarse, mechanisms.HistogramNoise(mechanism, epsilon, b.Levels()), windows), nil
}

// EstimateSoFar does the same for a distribution so far, by the published error of the number of all users.
func (d *Distribution) EstimateSoFar(mechanism string, error95 float64) (*histogram.Estimate, error) {
	b, err := d.buckets()
	if err != nil {
		return nil, err
	}
	noise, err := mechanisms.NoiseSoFar(mechanism, b, error95)
	if err != nil {
		return nil, err
	}
	return b.Estimate(d.Raw, d.Coarse, noise, 1), nil
}

// buckets numbers the buckets.
func (d *Distribution) buckets() (*histogram.Buckets, error) {
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
	return b, nil
}
