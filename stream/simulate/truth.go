package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/louver/louver/mechanisms"
	"github.com/louver/louver/stream/config"
	"github.com/louver/louver/windows"
)

// Truth computes the figures of a stream's windows without noise. It may, because nobody is behind simulated events. It
// is not safe for concurrent use.
type Truth struct {
	stream *config.Stream
	hasher *windows.Hasher
	groups map[string]int
	bags   map[int64]*windows.Bag // by window end
}

// NewTruth returns the truth about a stream of simulated events whose windows do not overlap. It knows the statistics
// median, quantile, trimmed_mean, mean and count; another one is an error.
func NewTruth(s *config.Stream) (*Truth, error) {
	t := &Truth{stream: s, hasher: windows.NewHasher([16]byte{}), groups: map[string]int{}, bags: map[int64]*windows.Bag{}}
	for i, g := range s.Groups {
		t.groups[g] = i
	}
	for _, r := range s.Releases {
		if _, err := exact(r.Query, nil); err != nil {
			return nil, fmt.Errorf("%s: release %s: %w", r.Where, r.Name, err)
		}
	}
	return t, nil
}

// Add takes an event in.
func (t *Truth) Add(e Event) {
	at := e.Time.UnixNano() / int64(time.Millisecond) * int64(time.Millisecond) // as the record says it
	size := int64(t.stream.Window.Size)
	w := windows.Window{Start: at - at%size, End: at - at%size + size}
	bag := t.bags[w.End]
	if bag == nil {
		bag = windows.NewBag(windows.BagSpec{Groups: t.stream.Groups, MaxGroups: t.stream.MaxGroups, Policy: t.stream.Contribution, Window: w, Hasher: t.hasher})
		t.bags[w.End] = bag
	}
	bag.Add(t.hasher.User([]byte(e.User)), t.groups[e.Region], at, e.Latency)
}

// Take returns the figures of the window that ends then, under "group/release", and forgets the window. There are none
// if no event fell in it.
func (t *Truth) Take(end time.Time) map[string]decimal.Decimal {
	bag := t.bags[end.UnixNano()]
	if bag == nil {
		return nil
	}
	delete(t.bags, end.UnixNano())
	figures := map[string]decimal.Decimal{}
	for g, name := range t.stream.Groups {
		sample := values(t.stream.Grid, bag.Sample(g))
		for _, r := range t.stream.Releases {
			if v, err := exact(r.Query, sample); err == nil { // NewTruth has refused the others
				figures[name+"/"+r.Name] = v
			}
		}
	}
	return figures
}

// values are those of a sample, one a user, ascending; those beyond the grid are moved to its ends.
func values(grid *mechanisms.Grid, points []windows.Point) (all []decimal.Decimal) {
	for _, p := range points {
		v := grid.Lower().Add(grid.Step().Mul(decimal.NewFromInt(min(max(p.Index, 0), grid.Last()))))
		for range p.Count {
			all = append(all, v)
		}
	}
	return all
}

// exact is a statistic of ascending values; 0 where there are too few for it.
func exact(q mechanisms.Query, values []decimal.Decimal) (decimal.Decimal, error) {
	n := decimal.NewFromInt(int64(len(values)))
	switch q.Statistic {
	case mechanisms.Median:
		return quantile(values, decimal.New(5, -1)), nil
	case mechanisms.Quantile:
		return quantile(values, q.P[0]), nil
	case mechanisms.Mean:
		return mean(values), nil
	case mechanisms.TrimmedMean:
		cut := int(n.Mul(q.Trim).IntPart())
		return mean(values[cut : len(values)-cut]), nil
	case mechanisms.Count:
		counted := slices.DeleteFunc(slices.Clone(values), func(v decimal.Decimal) bool {
			return q.Above != nil && !v.GreaterThan(*q.Above) || q.Below != nil && !v.LessThan(*q.Below)
		})
		return decimal.NewFromInt(int64(len(counted))), nil
	}
	return decimal.Zero, fmt.Errorf("statistic %s has no simulated truth; want median, quantile, mean, trimmed_mean or count", q.Statistic)
}

// quantile is the ⌈pn⌉th smallest value.
func quantile(values []decimal.Decimal, p decimal.Decimal) decimal.Decimal {
	if len(values) == 0 {
		return decimal.Zero
	}
	return values[max(1, p.Mul(decimal.NewFromInt(int64(len(values)))).Ceil().IntPart())-1]
}

func mean(values []decimal.Decimal) decimal.Decimal {
	if len(values) == 0 {
		return decimal.Zero
	}
	return decimal.Avg(values[0], values[1:]...)
}
