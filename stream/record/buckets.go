package record

import (
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
